//! Which command line an agent is. The names of clients stand for lines that run them without a person; everything else is a
//! line of its own.

use std::path::PathBuf;

use anthill_core::model::clients::{self, Client};
use anthill_core::model::service::Ailment;

/// The environment variable that names the conversation to go on with.
pub(crate) const CONVERSATION: &str = "ANTHILL_CONVERSATION";

/// An agent, as somebody named it.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// A line for the shell.
    pub line: String,
    /// What we know about it, if its client is in the table.
    pub client: Option<&'static Client>,
}

/// Why somebody named no agent.
#[derive(Debug, thiserror::Error)]
pub enum NoAgent {
    #[error("the agent is blank")]
    Blank,
    #[error("`{program}` is not in the PATH")]
    Missing { program: &'static str },
}

impl Agent {
    /// Returns the agent of that name, if it can be started. A client that is not there is better told before anything
    /// begins.
    pub fn find(name: &str, search_path: &[PathBuf]) -> Result<Agent, NoAgent> {
        if name.trim().is_empty() {
            return Err(NoAgent::Blank);
        }
        let agent = Agent::named(name);
        let is_missing = |client: &&Client| !search_path.iter().any(|dir| dir.join(client.name).is_file());
        match agent.client.filter(is_missing) {
            Some(client) => Err(NoAgent::Missing { program: client.name }),
            None => Ok(agent),
        }
    }

    pub fn named(name: &str) -> Agent {
        let client = clients::find(name.trim());
        Agent { line: client.map_or(name, |client| client.run.line).to_owned(), client }
    }

    /// Returns what an exit code of its client says about the service.
    pub fn ailment(&self, code: Option<i32>) -> Option<Ailment> {
        let codes = self.client.map_or(&[][..], |client| client.run.codes);
        codes.iter().find(|(known, _)| Some(*known) == code).map(|(_, ailment)| *ailment)
    }

    /// Returns what a person can do about something that does not pass by itself.
    pub fn cure(&self, ailment: Ailment) -> String {
        let own = match (self.client, ailment) {
            (Some(client), Ailment::Login) => client.run.login,
            (Some(client), Ailment::Place) => client.run.place,
            (None, Ailment::Login) => "log the agent's client in",
            (None, Ailment::Place) => "let the agent's client work in this directory",
            (_, Ailment::Credit) => "add credit to the account that the agent uses, or name another agent",
            (_, Ailment::Limit | Ailment::Overload | Ailment::Network) => "wait",
        };
        format!("{own}; then run this again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_for_users_has_these_lines() {
        let page = include_str!("../../../../docs/orchestrate.md");
        for client in clients::CLIENTS {
            let (name, line, resume) = (client.name, client.run.line, client.run.resume);
            assert!(page.contains(&format!("| `{name}`")), "{name}");
            assert!(page.contains(&format!("| `{line}` |")), "docs/orchestrate.md lacks {line}");
            assert!(resume.contains(&format!("\"${CONVERSATION}\"")), "{resume}");
            assert_eq!(Agent::named(&format!(" {name} ")).line, line);
        }
        let line = "claude -p";
        assert_eq!(Agent::named(line), Agent { line: line.into(), client: None });
    }
}
