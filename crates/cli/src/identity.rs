//! Who works here, when nobody says so.

use anthill_core::model::ids::Key;
use rustix::process::getsid;
use rustix::termios::ttyname;

use crate::context::Context;
use crate::env;
use crate::error::Result;
use crate::typed::parse_id;

/// Returns the worker that is told, else the one of the runner's command, else the session at work, else a name that is the
/// same for every command of this user in this terminal, or in this process session where there is none.
pub fn worker(context: &Context<'_>, told: Option<&str>) -> Result<Who> {
    let known = told.map(str::to_owned).or_else(|| env::text(env::ANTHILL_WORKER));
    if let Some(known) = known.or_else(|| context.own_session().map(ToString::to_string)) {
        return Ok(Who { worker: parse_id(&known)?, made_up: false });
    }
    let name = made_up(&context.actor.user, &place());
    Ok(Who { worker: parse_id(&name)?, made_up: true })
}

/// A worker, and whether nobody has chosen its name.
#[derive(Debug)]
pub struct Who {
    pub worker: Key,
    made_up: bool,
}

impl Who {
    /// Says which name was made up, so that it can be told to others.
    pub fn tell(&self, context: &Context<'_>) {
        if self.made_up {
            context
                .output
                .status(&format!("you are `{}` here; to be another worker: --worker W", self.worker));
        }
    }
}

/// Names the terminal, or the process session.
fn place() -> String {
    let terminal = || {
        let name = ttyname(std::io::stdin(), Vec::new()).or_else(|_| ttyname(std::io::stderr(), Vec::new()));
        name.ok()?.into_string().ok()
    };
    let session = || getsid(None).map_or(0, |session| session.as_raw_nonzero().get()).to_string();
    terminal().map_or_else(session, |name| name.trim_start_matches("/dev/").to_owned())
}

/// Makes an id of names that may be none.
fn made_up(user: &str, place: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let name: String =
        format!("{user}-{place}").chars().map(|letter| if fits(letter) { letter } else { '-' }).collect();
    let name = name.trim_start_matches(['.', '-']);
    name.chars().take(128).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_user_is_an_id() {
        assert_eq!(made_up("ann", "pts/3"), "ann-pts-3");
        assert_eq!(made_up("DOMAIN\\Bö", "4711"), "DOMAIN-B--4711");
        assert_eq!(made_up("", "tty1"), "tty1");
        assert!(made_up(&"x".repeat(500), "1").parse::<Key>().is_ok());
    }
}
