//! What a command works with: the store, the actor, the output.

use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anthill_core::error::Code;
use anthill_core::model::ids::{Id, InvalidId, ProjectId, SessionId};
use anthill_core::model::install::project_of;
use anthill_core::model::kind::Doc;
use anthill_core::model::text_file::TextFile;
use anthill_core::model::time::{self, Boot, Clock, Moment};
use anthill_core::ops::{Actor, settings};
use anthill_core::store::file::fs::Fs;
use anthill_core::store::file::news::on_news;
use anthill_core::store::file::real_fs::{self, RealFs};
use anthill_core::store::file::redirected_fs::RedirectedFs;
use anthill_core::store::file::{FileEngine, Options};
use anthill_core::store::observed::Observed;
use anthill_core::store::{Engine, Kept};
use anthill_live::{foreign, gates};
use clap::ColorChoice;
use jiff::{SignedDuration, Timestamp};

use crate::args::{Global, Select};
use crate::door::in_words;
use crate::error::{CliError, Result};
use crate::hooks::HookObserver;
use crate::output::Output;
use crate::words::CommandLine;
use crate::{env, roots};

pub struct Context<'o> {
    pub engine: Box<dyn Engine>,
    /// The home root and the project root.
    pub roots: Roots,
    pub actor: Actor,
    pub output: &'o Output,
    session: Option<SessionId>,
    told: Option<SessionId>,
}

impl<'o> Context<'o> {
    pub fn new(global: &Global, output: &'o Output) -> Result<Context<'o>> {
        let told = global.session_id.as_deref().map(parse_id::<SessionId>).transpose()?;
        // A client may name its session in ways that are no ids of ours; then it stays unnamed.
        let acting = env::session().and_then(|session| session.parse::<SessionId>().ok());
        let session = told.clone().or_else(|| acting.clone());
        let user = env::text(env::USER).unwrap_or_else(roots::own_name);
        let text = |id: &Option<SessionId>| id.as_ref().map(ToString::to_string);
        let (clock, door) = (clock()?, &CommandLine);
        let actor = Actor { clock, session: text(&session), acting: text(&acting), user, door };
        let roots = Roots::new(global);
        on_news(|text| Output::new(false, ColorChoice::Auto).warning(text));
        Ok(Context { engine: open_store(global, &roots)?, roots, actor, output, session, told })
    }

    /// Returns a path inside the project as seen from its root; others stay as they are.
    pub fn below_root<'p>(&self, path: &'p str) -> &'p str {
        if !path.starts_with('/') {
            return path;
        }
        let project = self.roots.project().unwrap_or_default();
        let below = std::path::Path::new(path).strip_prefix(project);
        match below.ok().and_then(std::path::Path::to_str) {
            Some("") => ".",
            Some(below) => below,
            None => path,
        }
    }

    /// Returns where a text of the project is, as it can be typed here.
    pub fn shown(&self, text_file: &TextFile) -> String {
        self.typed(&self.engine.called(Kept::TextFile(text_file)).path)
    }

    /// Returns a path below the project's root as it can be typed here: in a worktree or a subdirectory, the root is elsewhere.
    pub fn typed(&self, path: &str) -> String {
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        match (self.roots.project(), here) {
            (Ok(root), Ok(here)) if root.canonicalize().is_ok_and(|root| root != here) => {
                root.join(path).display().to_string()
            }
            _ => path.to_owned(),
        }
    }

    /// Finds the document that the arguments mean.
    pub fn select(&self, select: &Select) -> Result<Doc> {
        select.of()?.find(&self.caller()).map_err(in_words)
    }

    /// Returns the project that the root is, by its own configuration.
    pub fn own_project(&self) -> Option<ProjectId> {
        let root = self.roots.project().ok()?;
        project_of(&foreign::read_text(&root.join(gates::config::FILE), foreign::CONFIG).ok()?)
    }

    /// Returns the session at work, if it is known.
    pub fn own_session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Returns the session of `--session-id`.
    pub fn told_session(&self) -> Option<&SessionId> {
        self.told.as_ref()
    }
}

/// Where state is kept, absolute. The project is looked for when it is needed first.
#[derive(Debug, Clone)]
pub struct Roots(Arc<RootsFound>);

#[derive(Debug)]
struct RootsFound {
    home: Option<PathBuf>,
    root: Option<PathBuf>,
    project: OnceLock<PathBuf>,
}

impl Roots {
    fn new(global: &Global) -> Roots {
        let (home, root) = (global.home.clone(), global.root.clone());
        Roots(Arc::new(RootsFound { home, root, project: OnceLock::new() }))
    }

    pub fn home(&self) -> io::Result<PathBuf> {
        absolute(roots::home(self.0.home.as_deref())).map_err(|error| explained("the home root", error))
    }

    pub fn project(&self) -> io::Result<PathBuf> {
        if let Some(project) = self.0.project.get() {
            return Ok(project.clone());
        }
        let find = || absolute(roots::project(self.0.root.as_deref(), &self.home()?)?);
        let project = find().map_err(|error| explained("the project root", error))?;
        Ok(self.0.project.get_or_init(|| project).clone())
    }
}

fn open_store(global: &Global, roots: &Roots) -> Result<Box<dyn Engine>> {
    if global.store != "file" {
        let message = format!("the store `{}` is not supported by this build", global.store);
        return Err(CliError::new(Code::Unsupported, message).hinted("leave --store out to work on files"));
    }
    let options = Options {
        patience: Duration::from_secs_f64(global.lock_timeout),
        allow_network_fs: global.allow_network_fs,
        told_segments: Some(settings::kept_segments),
        ..Options::default()
    };
    let (for_home, for_project) = (roots.clone(), roots.clone());
    let home = RealFs::found_by(move || for_home.home());
    let told = |engine: &dyn Engine| settings::places(engine, env::path(env::HOME).as_deref());
    let elsewhere = |place: PathBuf| Arc::new(RealFs::new(place)) as Arc<dyn Fs>;
    let home = RedirectedFs::new(Arc::new(home), Box::new(told), Box::new(elsewhere), options.patience);
    let project = RealFs::found_by(move || for_project.project());
    let engine = FileEngine::new(Arc::new(home), Arc::new(project), options);
    Ok(Box::new(Observed::new(Box::new(engine), Box::new(HookObserver::new(global, roots)))))
}

fn explained(what: &str, error: io::Error) -> io::Error {
    if roots::stranger(&error).is_some() {
        return error;
    }
    io::Error::new(error.kind(), format!("cannot find {what}: {error}"))
}

fn absolute(path: PathBuf) -> io::Result<PathBuf> {
    if path.is_absolute() { Ok(path) } else { Ok(std::env::current_dir()?.join(path)) }
}

/// Returns the machine's clock, or the one that a test wants.
fn clock() -> Result<Arc<dyn Clock>> {
    match env::text(env::ANTHILL_NOW) {
        None => Ok(Arc::new(SystemClock)),
        Some(text) => {
            let wrong = || CliError::invalid(format!("{} is not a time: `{text}`", env::ANTHILL_NOW));
            let (since, rate) =
                text.split_once('*').map_or((&text[..], None), |(since, rate)| (since, Some(rate)));
            let since = time::read(since).ok_or_else(wrong)?;
            match rate {
                None => Ok(Arc::new(since)),
                Some(rate) => Ok(Arc::new(HastyClock { since, rate: rate.parse().map_err(|_| wrong())? })),
            }
        }
    }
}

#[derive(Debug)]
struct SystemClock;

/// A clock that runs so many times as fast since some moment, for tests in which months pass.
#[derive(Debug)]
struct HastyClock {
    since: Timestamp,
    rate: i32,
}

impl Clock for HastyClock {
    fn now(&self) -> Timestamp {
        let passed = SystemClock.now().duration_since(self.since);
        passed
            .checked_mul(self.rate)
            .and_then(|passed| self.since.checked_add(passed).ok())
            .unwrap_or(Timestamp::MAX)
    }
}

/// Returns enough of the identity of the current boot to tell it from others, where the system tells it.
fn boot_id() -> Option<String> {
    real_fs::boot_id().ok()?.map(|id| id.chars().take(8).collect())
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        time::of_system(std::time::SystemTime::now())
    }

    fn moment(&self) -> Moment {
        let (at, id) = (self.now(), boot_id());
        let began = || at.checked_sub(SignedDuration::try_from(real_fs::uptime()?).ok()?).ok();
        let boot = id.and_then(|id| Some(Boot { id, began: began()? }));
        Moment { at, boot }
    }
}

/// Reads an id that is chosen for something new.
pub fn parse_new_id<T: Id>(text: &str) -> Result<T> {
    T::chosen(text).map_err(|error| CliError::invalid(error.to_string()))
}

pub fn parse_id<T>(text: &str) -> Result<T>
where
    T: FromStr<Err = InvalidId>,
{
    text.parse().map_err(|error: InvalidId| CliError::invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hasty_clock_makes_a_day_of_an_hour() {
        let now = SystemClock.now();
        let hasty = HastyClock { since: now - SignedDuration::from_hours(1), rate: 24 };
        let ahead = hasty.now().duration_since(now);
        assert!(ahead >= SignedDuration::from_hours(23) && ahead < SignedDuration::from_hours(24), "{ahead}");
    }
}
