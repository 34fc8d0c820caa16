//! What a command works with: the store, the actor, the output.

use anthill_core::model::ids::{ProjectId, SessionId};
use anthill_core::model::install::project_of;
use anthill_core::model::text_file::TextFile;
use anthill_core::ops::Actor;
use anthill_core::store::file::news::on_news;
use anthill_core::store::observed::Observed;
use anthill_core::store::{Engine, Kept};
use anthill_live::{foreign, gates};
use clap::ColorChoice;

use crate::args::Global;
use crate::clock::clock;
use crate::error::Result;
use crate::hooks::HookObserver;
use crate::output::Output;
use crate::roots::{self, Roots};
use crate::typed::parse_id;
use crate::words::CommandLine;
use crate::{engine, env};

pub struct Context<'o> {
    pub engine: Box<dyn Engine>,
    /// The home root and the project root.
    pub roots: Roots,
    pub actor: Actor,
    pub output: &'o Output,
    session: Option<SessionId>,
    named: Option<SessionId>,
}

impl<'o> Context<'o> {
    pub fn new(global: &Global, output: &'o Output) -> Result<Context<'o>> {
        let named = global.session_id.as_deref().map(parse_id::<SessionId>).transpose()?;
        // A client's name for its session may not be a valid id for us; then the session stays unnamed.
        let acting = env::session().and_then(|session| session.parse::<SessionId>().ok());
        let session = named.clone().or_else(|| acting.clone());
        let user = env::text(env::USER).unwrap_or_else(roots::own_name);
        let text = |id: &Option<SessionId>| id.as_ref().map(ToString::to_string);
        let (clock, door) = (clock()?, &CommandLine);
        let actor = Actor { clock, session: text(&session), acting: text(&acting), user, door };
        let roots = Roots::new(global.home.clone(), global.root.clone());
        on_news(|text| Output::new(false, ColorChoice::Auto).warning(text));
        let (engine, observer) = (engine::open(global, &roots)?, HookObserver::new(global, &roots));
        let engine = Box::new(Observed::new(Box::new(engine), Box::new(observer)));
        Ok(Context { engine, roots, actor, output, session, named })
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

    /// Returns the id of this project, from its own configuration.
    pub fn own_project(&self) -> Option<ProjectId> {
        let root = self.roots.project().ok()?;
        project_of(&foreign::read_text(&root.join(gates::config::FILE), foreign::CONFIG).ok()?)
    }

    /// Returns the session at work, if it is known.
    pub fn own_session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Returns the session of `--session-id`.
    pub fn named_session(&self) -> Option<&SessionId> {
        self.named.as_ref()
    }
}
