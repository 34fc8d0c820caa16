//! Sets off the hooks of sessions, after a command has answered.
//!
//! Every commit passes [`HookObserver`]. Where no session has hooks it costs one look. Otherwise the change is noted, and
//! right before the process ends another one is started that runs the hooks (`anthill hooks-run`); nobody waits for it. A
//! command that keeps running starts it at every change.

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
use anthill_core::store::{Engine, Entry};
use anthill_live::hooks::notice::Notice;
use clap::ColorChoice;

use crate::args::Global;
use crate::context::Roots;
use crate::output::Output;

/// What is to be told to hooks. Outside of any context: also who ends the process in the middle of an answer sets it off.
static NOTED: Mutex<Option<Errand>> = Mutex::new(None);
static IS_NOTED: AtomicBool = AtomicBool::new(false);
static KEEPS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Says that this process does not end soon: hooks are set off at every change.
pub fn keep_running() {
    KEEPS_RUNNING.store(true, Ordering::Relaxed);
}

/// Starts the process that runs the hooks, if there is something for it to do.
pub fn set_off() {
    if !IS_NOTED.swap(false, Ordering::Relaxed) {
        return;
    }
    let Some(errand) = NOTED.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    match errand.start() {
        // Only a process that stays has to bury its children.
        Ok(mut child) if KEEPS_RUNNING.load(Ordering::Relaxed) => drop(thread::spawn(move || child.wait())),
        Ok(_) => {}
        Err(error) => {
            Output::new(false, ColorChoice::Auto).warning(&format!("hooks were not run: {error}"));
        }
    }
}

/// Notes what hooks are to hear of.
pub struct HookObserver {
    roots: Roots,
    store: String,
    allow_network_fs: bool,
}

impl HookObserver {
    pub fn new(global: &Global, roots: &Roots) -> HookObserver {
        let (store, allow_network_fs) = (global.store.clone(), global.allow_network_fs);
        HookObserver { roots: roots.clone(), store, allow_network_fs }
    }

    fn note(&self, engine: &dyn Engine, changes: &[Changed<'_>], entry: &Entry) -> ops::Result<()> {
        mirror(engine, changes, entry)?;
        let triggers = Doc::triggers();
        if !engine.may_exist(&triggers) {
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
        if noted.is_some() {
            // Who has a second change while the first one waits may not be about to end.
            keep_running();
        }
        noted.get_or_insert_with(|| self.errand()).notices.push_str(&notices);
        IS_NOTED.store(true, Ordering::Relaxed);
        drop(noted);
        if KEEPS_RUNNING.load(Ordering::Relaxed) {
            set_off();
        }
        Ok(())
    }

    fn errand(&self) -> Errand {
        let mut arguments: Vec<OsString> =
            vec!["hooks-run".into(), "--store".into(), self.store.clone().into()];
        let roots = [("--home", self.roots.home()), ("--root", self.roots.project())];
        for (option, root) in roots {
            arguments.extend(root.into_iter().flat_map(|root| [option.into(), root.into()]));
        }
        if self.allow_network_fs {
            arguments.push("--allow-network-fs".into());
        }
        Errand { arguments, notices: String::new() }
    }
}

impl Observer for HookObserver {
    fn committed(&self, engine: &dyn Engine, changes: &[Changed<'_>], entry: &Entry) -> Vec<String> {
        match self.note(engine, changes, entry) {
            Ok(()) => Vec::new(),
            Err(error) => vec![format!("the change is made, but hooks were not run: {error}")],
        }
    }
}

/// Lets the triggers follow a change of `hooks.json` that was not made by `anthill on`.
fn mirror(engine: &dyn Engine, changes: &[Changed<'_>], entry: &Entry) -> ops::Result<()> {
    for changed in changes.iter().filter(|changed| changed.doc.kind.name == "hooks") {
        if let Room::Session(session) = &changed.doc.room {
            ops::hooks::mirror(engine, session, entry)?;
        }
    }
    Ok(())
}

/// What the process that runs the hooks is told.
#[derive(Debug)]
struct Errand {
    arguments: Vec<OsString>,
    /// One line each.
    notices: String,
}

impl Errand {
    fn start(&self) -> io::Result<Child> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(&self.arguments)
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
}
