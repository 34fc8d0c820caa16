//! Sets off the hooks of sessions, after a command has answered.
//!
//! [`HookObserver`] sees every commit. If no session has hooks, that costs one look. Otherwise the change is noted, and right before
//! this process ends it starts another one that runs the hooks (`anthill hooks-run`); nobody waits for that. A command that keeps
//! running starts it after every change.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{io, thread};

use anthill_core::model::kind::Doc;
use anthill_core::model::room::Room;
use anthill_core::ops;
use anthill_core::store::observed::{Changed, Observer};
use anthill_core::store::{self, Engine, Entry};
use anthill_live::hooks::notice::Notice;
use clap::ColorChoice;

use crate::args::Global;
use crate::clock::clock;
use crate::error::Result;
use crate::output::Output;
use crate::roots::Roots;
use crate::{engine, env, hook_runner, process};

/// What hooks have to be told, by store. It is not part of a context, since the process may end in the middle of an answer.
static NOTED: Mutex<Vec<PendingHooks>> = Mutex::new(Vec::new());
static KEEPS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Says that this process does not end soon: hooks are started after every change.
pub fn keep_running() {
    KEEPS_RUNNING.store(true, Ordering::Relaxed);
}

/// Starts the process that runs the hooks, if there is something for it to do.
fn set_off() {
    for pending in std::mem::take(&mut *NOTED.lock().unwrap_or_else(PoisonError::into_inner)) {
        match pending.start() {
            // Only a process that keeps running has to wait for its children.
            Ok(mut child) if KEEPS_RUNNING.load(Ordering::Relaxed) => {
                drop(thread::spawn(move || child.wait()));
            }
            Ok(_) => {}
            Err(error) => pending.give_up(&error),
        }
    }
}

/// Notes changes that sessions have hooks for.
pub struct HookObserver {
    global: Global,
    roots: Roots,
}

impl HookObserver {
    pub fn new(global: &Global, roots: &Roots) -> HookObserver {
        HookObserver { global: global.clone(), roots: roots.clone() }
    }

    fn note(&self, engine: &dyn Engine, changes: &[Changed<'_>], entry: &Entry) -> ops::Result<()> {
        mirror(engine, changes, entry)?;
        let triggers = Doc::triggers();
        if engine.is_absent(&triggers) {
            return Ok(());
        }
        let pairs = ops::read::list(engine, &triggers, None)?;
        let concerns = |changed: &&Changed<'_>| pairs.iter().any(|pair| pair["on"] == changed.doc.kind.name);
        let notices: String =
            changes.iter().filter(concerns).map(|changed| Notice::new(changed, entry).encode()).collect();
        if notices.is_empty() {
            return Ok(());
        }
        let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
        if !noted.is_empty() {
            // A second change while the first one waits: this process may keep running.
            keep_running();
        }
        let pending = PendingHooks { notices, ..self.pending() };
        match noted.iter_mut().find(|known| known.is_of_the_store_of(&pending)) {
            Some(known) => known.notices.push_str(&pending.notices),
            None => noted.push(pending),
        }
        process::at_end(set_off);
        drop(noted);
        if KEEPS_RUNNING.load(Ordering::Relaxed) {
            set_off();
        }
        Ok(())
    }

    fn pending(&self) -> PendingHooks {
        let (home, root) = (self.roots.home().ok(), self.roots.project().ok());
        PendingHooks { global: Global { home, root, ..self.global.clone() }, notices: String::new() }
    }
}

impl Observer for HookObserver {
    /// Only a person trusts commands. A hook or an agent that could do so would need no trust.
    fn may_change(&self, doc: &Doc) -> store::Result<()> {
        if doc.kind.name != "trusted" || env::is_person() {
            return Ok(());
        }
        let who = if env::hook_depth() > 0 { "a hook" } else { "an agent" };
        Err(store::Error::Refused {
            message: format!("{who} cannot change what is trusted"),
            hint: "ask your user to type it, in a terminal without a session: anthill trust --help".into(),
        })
    }

    fn committed(&self, engine: &dyn Engine, changes: &[Changed<'_>], entry: &Entry) -> Vec<String> {
        match self.note(engine, changes, entry) {
            Ok(()) => Vec::new(),
            Err(error) => vec![format!("the change is made, but hooks were not run: {error}")],
        }
    }
}

/// Updates the triggers after a change of `hooks.json` that `anthill on` did not make.
fn mirror(engine: &dyn Engine, changes: &[Changed<'_>], entry: &Entry) -> ops::Result<()> {
    for changed in changes.iter().filter(|changed| changed.doc.kind.name == "hooks") {
        if let Room::Session(session) = &changed.doc.room {
            ops::hooks::mirror(engine, session, entry)?;
        }
    }
    Ok(())
}

/// What the process that runs the hooks has to be told.
#[derive(Debug)]
struct PendingHooks {
    /// Where the change was made, by absolute paths.
    global: Global,
    /// One line each.
    notices: String,
}

impl PendingHooks {
    fn is_of_the_store_of(&self, other: &PendingHooks) -> bool {
        let place = |pending: &PendingHooks| {
            let Global { home, root, store, .. } = &pending.global;
            (home.clone(), root.clone(), store.clone())
        };
        place(self) == place(other)
    }

    fn start(&self) -> io::Result<Child> {
        let mut child = Command::new(process::program()?)
            .args(self.arguments())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        // It reads all of this before it does anything else.
        child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(self.notices.as_bytes()))?;
        Ok(child)
    }

    fn arguments(&self) -> Vec<OsString> {
        let Global { home, root, store, allow_network_fs, .. } = &self.global;
        let mut arguments: Vec<OsString> = vec!["hooks-run".into(), "--store".into(), store.into()];
        for (option, root) in [("--home", home), ("--root", root)] {
            arguments.extend(root.iter().flat_map(|root| [option.into(), root.into()]));
        }
        if *allow_network_fs {
            arguments.push("--allow-network-fs".into());
        }
        arguments
    }

    /// Says that hooks were not run: here, and in the logs of their sessions.
    fn give_up(&self, error: &io::Error) {
        let output = Output::new(false, ColorChoice::Auto);
        output.warning(&format!("hooks were not run: {error}"));
        // If that cannot be logged, the warning above has to do.
        drop(self.excuse(error));
    }

    fn excuse(&self, error: &io::Error) -> Result<()> {
        let roots = Roots::new(self.global.home.clone(), self.global.root.clone());
        let engine = engine::open(&self.global, &roots)?;
        hook_runner::excuse(&hook_runner::new(&engine, &roots, clock()?)?, &self.notices, error)
    }
}
