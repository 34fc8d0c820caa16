//! The hook of coding agents' clients: one event in, at most one answer out. A process per tool call, so it is found before
//! any parser of arguments. Whatever happens, it does not get in the agent's way: it never exits with 2, which blocks.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anthill_core::model::changes::Changes;
use anthill_core::model::client_event::{Event, What};
use anthill_core::model::clients::Denial;
use anthill_core::model::current_session::Arrival;
use anthill_core::model::ids::ProjectId;
use anthill_core::ops::client::{self, Charge, Reply, World};
use anthill_live::changes::{self, Before, Effort};
use anthill_live::{foreign, runner};
use clap::{Args, ColorChoice, FromArgMatches};
use jiff::tz::TimeZone;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::stdio::stdin;
use serde_json::{Value, json};

use crate::args::Global;
use crate::context::Context;
use crate::direct::{self, Direct};
use crate::line::{Opt, Words, likely_word};
use crate::output::{self, Output};
use crate::process::ExitCode;
use crate::{env, git};

/// Take one hook event of a coding agent's client on stdin
///
/// Clients run it ({hooks}); `anthill init` tells them to. It registers
/// the session, keeps its signs of life, counts what it does, follows its agents and the workflow,
/// records errors, saves state before the context is shortened; and answers with what the agent
/// should know: messages, its task, saved state. It always exits with 0 for events that it does not
/// know, and never with 2, which would block the agent.
///
/// Locks are waited for less than 2 seconds, unless --lock-timeout says otherwise.
///
/// Examples:
///   anthill init
///   echo '{"session_id":"s1","hook_event_name":"SessionStart","source":"startup"}' | anthill hook
///   anthill hook < event.json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct HookArgs {}

impl Direct for HookArgs {
    const OPTIONS: &'static [Opt] = &[];

    fn read(_: &mut Words) -> Option<HookArgs> {
        Some(HookArgs {})
    }
}

/// The longest event that is read.
const LIMIT: u64 = 16 << 20;

/// How long an event waits for a lock, in seconds. At the end of a session, clients wait for one and a half seconds in all.
const PATIENCE: f64 = 1.8;
const PATIENCE_AT_END: f64 = 0.4;

/// How long an event may take to arrive. Clients write it at once.
const LISTENING: Duration = Duration::from_secs(5);

/// For wrong arguments: 2 would block the agent.
const USAGE: u8 = 64;

/// Runs the command line if it is `hook`, also with unknown options; `None` for any other.
pub fn run_line(args: &[OsString]) -> Option<ExitCode> {
    let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let at = likely_word(&words)?;
    if words.get(at).map(String::as_str) != Some("hook") || asks_for_help(&words) {
        return None;
    }
    let rest: Vec<String> = [&words[..at], &words[at + 1..]].concat();
    let global = match direct::read::<HookArgs>(&rest) {
        Some((global, _)) => Some(global),
        None => parsed(args),
    };
    let waits = rest.iter().any(|word| word.starts_with("--lock-timeout"));
    Some(match global {
        Some(global) => run(&global, waits),
        None => {
            Output::new(false, ColorChoice::Auto)
                .warning("anthill hook takes no arguments but the global options; see: anthill hook --help");
            ExitCode::from(USAGE)
        }
    })
}

/// Reads a line by clap, as `--root=DIR` needs it. Kept apart: it is large, and seldom needed.
#[inline(never)]
fn parsed(args: &[OsString]) -> Option<Global> {
    let line: Vec<_> = std::iter::once("anthill".into()).chain(args.iter().cloned()).collect();
    let hook = HookArgs::augment_args(clap::Command::new("hook"));
    Global::from_arg_matches(&Global::read_with(hook, &line)?).ok()
}

fn asks_for_help(words: &[String]) -> bool {
    words.iter().any(|word| word == "--help" || word == "-h")
}

/// Handles the event on stdin. With `waits`, locks are waited for as long as the arguments say.
pub fn run(global: &Global, waits: bool) -> ExitCode {
    let output = Output::new(false, global.color);
    if stdin().is_terminal() {
        output.warning("this reads an event from a client; to make clients run it: anthill init");
        return ExitCode::from(USAGE);
    }
    let Some(event) = read().as_deref().and_then(Event::read) else { return ExitCode::SUCCESS };
    let patience = if event.what == What::SessionEnd { PATIENCE_AT_END } else { PATIENCE };
    let lock_timeout = if waits { global.lock_timeout } else { patience };
    let global = Global { lock_timeout, ..global.clone() };
    let context = match Context::new(&global, &output) {
        // Not dropped: the process ends next.
        Ok(context) => ManuallyDrop::new(context),
        Err(error) => {
            output.warning(&format!("anthill hook: {}", error.message));
            return ExitCode::SUCCESS;
        }
    };
    if event.what == What::SessionStart {
        tell_session(&event);
    }
    let world = Process { context: &context };
    let mut answer = |reply: &Reply, text: Option<&str>| match answer(&event, reply, text) {
        None => true,
        Some(answer) => context.output.data(&output::compact(&answer)).is_ok(),
    };
    for trouble in client::handle(&*context.engine, &event, &world, &context.actor, &mut answer) {
        context.output.warning(&format!("anthill hook: {trouble}"));
    }
    ExitCode::SUCCESS
}

/// Reads the event; `None` if there is none, or one that is too long. All of it is read, so that its writer gets no error. If the
/// input does not end, we stop after a while, and what was read until then is the event.
fn read() -> Option<Vec<u8>> {
    let (mut bytes, begun) = (Vec::with_capacity(4096), Instant::now());
    let mut is_too_long = false;
    while is_more(begun) {
        // Without the standard library's buffer, which would copy everything once more.
        if retry_on_intr(|| rustix::io::read(stdin(), spare_capacity(&mut bytes))).ok()? == 0 {
            break;
        }
        if bytes.len() as u64 > LIMIT {
            is_too_long = true;
            bytes.clear();
        }
        if bytes.len() == bytes.capacity() {
            bytes.reserve(bytes.len());
        }
    }
    (!is_too_long).then_some(bytes)
}

/// Waits until something can be read, or the end; false if it takes too long.
fn is_more(begun: Instant) -> bool {
    let left = LISTENING.saturating_sub(begun.elapsed());
    let Ok(left) = Timespec::try_from(left) else { return true };
    let mut input = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
    // If waiting fails, reading says why.
    left.tv_sec + left.tv_nsec > 0
        && retry_on_intr(|| poll(&mut input, Some(&left))).map_or(true, |ready| ready > 0)
}

/// Returns what the client is told; `None` for nothing.
fn answer(event: &Event, reply: &Reply, text: Option<&str>) -> Option<Value> {
    let told = [text, reply.deny.as_deref(), reply.go_on.as_deref(), reply.tell_user.as_deref()];
    if told.iter().all(Option::is_none) {
        return None;
    }
    let mut answer = json!({});
    if let Some(text) = text {
        answer["hookSpecificOutput"] = json!({"hookEventName": event.name, "additionalContext": text});
    }
    match (&reply.deny, event.denial) {
        (None, _) => {}
        (Some(reason), Denial::Decision) => {
            answer["decision"] = "deny".into();
            answer["reason"] = reason.as_str().into();
        }
        (Some(reason), Denial::Permission) => {
            answer["hookSpecificOutput"] = json!({
                "hookEventName": event.name, "permissionDecision": "deny", "permissionDecisionReason": reason,
            });
        }
    }
    if let Some(reason) = &reply.go_on {
        answer["decision"] = "block".into();
        answer["reason"] = reason.as_str().into();
    }
    if let Some(message) = &reply.tell_user {
        answer["systemMessage"] = message.as_str().into();
    }
    Some(answer)
}

/// Tells the shell commands of this session its id, by the file that a client reads for that.
fn tell_session(event: &Event) {
    let Some(path) = env::of_clients(|variables| variables.exports).map(PathBuf::from) else { return };
    let line = format!("export {}={}\n", env::ANTHILL_SESSION_ID, event.session);
    let known = foreign::read_text(&path, foreign::CONFIG);
    // Only if it is a file: a pipe could block.
    let is_file = known.as_ref().map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |_| true);
    let told = known.is_ok_and(|text| text.contains(&line));
    if is_file
        && !told
        && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path)
    {
        // Without it, commands have to be given their session.
        let _ = file.write_all(line.as_bytes());
    }
}

/// What this process can tell.
struct Process<'c> {
    context: &'c Context<'c>,
}

impl World for Process<'_> {
    fn arrival(&self) -> Arrival {
        let Some(here) = self.here() else { return Arrival::default() };
        let directory = here.to_str().map(str::to_owned);
        Arrival { branch: git::branch(&here), commit: git::commit(&here), directory }
    }

    fn client(&self) -> Option<String> {
        env::of_clients(|variables| variables.process)?.into_string().ok()
    }

    fn below_root(&self, path: &str) -> String {
        let here = || self.here()?.join(path).to_str().map(str::to_owned);
        let absolute =
            if path.starts_with('/') { path.to_owned() } else { here().unwrap_or_else(|| path.into()) };
        let below = self.context.below_root(&absolute);
        // An agent's own worktree belongs to the project, too.
        let own = below.strip_prefix(".claude/worktrees/").and_then(|rest| rest.split_once('/'));
        own.map_or(below, |(_, rest)| rest).to_owned()
    }

    fn user(&self) -> String {
        self.context.actor.user.clone()
    }

    fn project(&self) -> Option<ProjectId> {
        self.context.own_project()
    }

    fn hides_session(&self) -> bool {
        env::of_clients(|variables| variables.session_of_hooks).is_some()
    }

    fn charge(&self) -> Option<Charge> {
        let epoch = env::text(env::ANTHILL_EPOCH)?.parse().ok()?;
        Some(Charge {
            worker: env::text(env::ANTHILL_WORKER)?,
            task: env::text(env::ANTHILL_TASK_ID)?,
            epoch,
        })
    }

    fn mark(&self) -> String {
        let state = RandomState::new();
        format!("{:016x}{:016x}", state.hash_one(0), state.hash_one(1))
    }

    fn tail(&self, path: &str, most: u64) -> Option<String> {
        let mut file = foreign::open(path.as_ref()).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most))).ok()?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn zone(&self) -> TimeZone {
        runner::zone()
    }

    /// If the store cannot be written, a file in the temporary directory remembers it.
    fn is_first_trouble(&self, event: &Event) -> bool {
        let mut hasher = DefaultHasher::new();
        (self.context.roots.project().ok(), event.session.as_str()).hash(&mut hasher);
        let path = std::env::temp_dir().join(format!("anthill-told-{:016x}", hasher.finish()));
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => true,
            Err(error) => error.kind() != io::ErrorKind::AlreadyExists && event.what == What::SessionStart,
        }
    }

    fn look(&self) -> Option<Value> {
        Some(changes::look(&self.here()?, Effort::HOOK)?.value())
    }

    fn changes_since(&self, look: &Value, shared: bool) -> Option<Changes> {
        Before::of(look, &self.here()?, Effort::HOOK)?.since(shared)
    }
}

impl Process<'_> {
    fn here(&self) -> Option<PathBuf> {
        std::env::current_dir().ok()
    }
}
