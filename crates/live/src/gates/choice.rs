//! Which gates somebody means.

use std::ffi::OsString;
use std::time::Duration;

use anthill_core::model::ids::Key;

use super::{Gate, Gates, Run};

/// One gate, as somebody names it.
#[derive(Debug)]
pub struct GateChoice {
    pub name: Key,
    /// A command to run instead of the project's.
    pub command: Option<Vec<OsString>>,
    /// A limit instead of the project's.
    pub timeout: Option<Duration>,
}

/// Why there is no gate to run.
#[derive(Debug, thiserror::Error)]
pub enum NoGate {
    #[error("no gate is configured, and the project's files tell of none")]
    NoneAtAll,
    #[error("there is no gate `{name}`")]
    Unknown { name: Key, known: Vec<Key> },
}

impl Gates {
    /// Returns the gate that is meant, with what was said about it.
    pub fn choose(&self, choice: GateChoice) -> Result<Gate, NoGate> {
        let GateChoice { name, command, timeout } = choice;
        let gate = match (self.find(name.as_str()).cloned(), command) {
            (Some(gate), None) => gate,
            (Some(gate), Some(command)) => Gate { run: Run::Command(command), detected: false, ..gate },
            (None, Some(command)) => Gate::new(name, Run::Command(command)),
            (None, None) => {
                let known = self.list.iter().map(|gate| gate.name.clone()).collect();
                return Err(NoGate::Unknown { name, known });
            }
        };
        Ok(Gate { timeout: timeout.unwrap_or(gate.timeout), ..gate })
    }

    /// Returns all of them, if there are any.
    pub fn every(self) -> Result<Vec<Gate>, NoGate> {
        if self.list.is_empty() { Err(NoGate::NoneAtAll) } else { Ok(self.list) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    fn choice(name: &str, command: Option<&str>) -> GateChoice {
        let command = command.map(|command| vec![command.into()]);
        GateChoice { name: name.parse().unwrap(), command, timeout: Some(Duration::from_secs(1)) }
    }

    #[test]
    fn what_is_said_about_a_gate_comes_before_what_the_project_says() {
        let lint = Gate { detected: true, ..Gate::new("lint".parse().unwrap(), Run::Line("ruff".into())) };
        let gates = Gates { list: vec![lint.clone()], source: Source::Detected };
        let chosen = gates.choose(choice("lint", None)).unwrap();
        assert_eq!(chosen, Gate { timeout: Duration::from_secs(1), ..lint });
        let chosen = gates.choose(choice("lint", Some("mypy"))).unwrap();
        assert_eq!((chosen.run.name(), chosen.detected), ("mypy".into(), false));
        assert!(gates.choose(choice("test", Some("pytest"))).is_ok());
        assert!(
            matches!(gates.choose(choice("test", None)), Err(NoGate::Unknown { known, .. }) if known.len() == 1)
        );
        assert!(gates.every().is_ok());
    }
}
