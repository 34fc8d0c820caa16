//! What somebody is told to do: plain words, and between them the steps that a door says in its own way.

use std::fmt;

use serde::Serialize;

use super::next::{Next, See, With};

/// Words with steps in them. The words alone name no command, flag or link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Hint(Vec<HintPart>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HintPart {
    Text(String),
    Step(Next),
}

/// Makes a [`Hint`] of texts and steps: `hint!["see it: ", See::Workflow]`.
#[macro_export]
macro_rules! hint {
    ($($part:expr),+ $(,)?) => {
        $crate::model::hint::Hint::of(vec![$($crate::model::hint::HintPart::from($part)),+])
    };
}

/// Who turns steps into words: the command line into commands, a page into links.
pub trait Door: fmt::Debug + Sync {
    fn say(&self, step: &Next) -> String;

    fn tell(&self, hint: &Hint) -> String {
        let words = hint.0.iter().map(|part| match part {
            HintPart::Text(text) => text.clone(),
            HintPart::Step(step) => self.say(step),
        });
        words.collect()
    }
}

/// The door of those who have no words of their own: it names the step as the code does.
#[derive(Debug)]
pub struct Plain;

impl Door for Plain {
    fn say(&self, step: &Next) -> String {
        match step {
            Next::See(see) => format!("{see:?}"),
            Next::With(with) => format!("{with:?}"),
            step => format!("{step:?}"),
        }
    }
}

impl Hint {
    pub fn of(parts: Vec<HintPart>) -> Hint {
        Hint(parts)
    }

    /// Returns the hints that stand on lines of their own.
    pub fn lines(self) -> Vec<Hint> {
        let mut lines = vec![Hint::default()];
        for part in self.0 {
            match part {
                HintPart::Text(text) => text.split('\n').enumerate().for_each(|(at, text)| {
                    if at > 0 {
                        lines.push(Hint::default());
                    }
                    lines.last_mut().expect("there is a first one").push(text.into());
                }),
                step => lines.last_mut().expect("there is a first one").push(step),
            }
        }
        lines.retain(|line| !line.0.is_empty());
        lines
    }

    /// Returns this hint and another one, each on a line of its own.
    pub fn and(mut self, other: impl Into<Hint>) -> Hint {
        self.push("\n".into());
        self.0.extend(other.into().0);
        self
    }

    fn push(&mut self, part: HintPart) {
        if part != HintPart::Text(String::new()) {
            self.0.push(part);
        }
    }
}

impl From<&str> for HintPart {
    fn from(text: &str) -> HintPart {
        HintPart::Text(text.into())
    }
}

impl From<String> for HintPart {
    fn from(text: String) -> HintPart {
        HintPart::Text(text)
    }
}

impl From<Next> for HintPart {
    fn from(step: Next) -> HintPart {
        HintPart::Step(step)
    }
}

impl From<See> for HintPart {
    fn from(see: See) -> HintPart {
        HintPart::Step(Next::See(see))
    }
}

impl From<With> for HintPart {
    fn from(with: With) -> HintPart {
        HintPart::Step(Next::With(with))
    }
}

impl<T: Into<String>> From<T> for Hint {
    fn from(text: T) -> Hint {
        Hint(vec![HintPart::Text(text.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_hint() {
        let all = hint!["see it: ", See::Loop, "\nor begin anew\n", With::Reset].and("at last");
        let lines: Vec<String> = all.lines().iter().map(|line| Plain.tell(line)).collect();
        assert_eq!(lines, ["see it: Loop", "or begin anew", "Reset", "at last"]);
        assert_eq!(Hint::from("").lines(), []);
    }

    #[test]
    fn steps_can_be_sent() {
        let hint = hint!["see: ", See::Task("t1".into()), " or ", Next::Doctor];
        assert_eq!(
            serde_json::to_string(&hint).unwrap(),
            r#"[{"text":"see: "},{"step":{"see":{"task":"t1"}}},{"text":" or "},{"step":"doctor"}]"#
        );
    }
}
