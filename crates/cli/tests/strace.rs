//! Every system call of a write is a place to die or to fail: `strace` makes it happen there.
//!
//! Each test runs its command once to count the system calls, then once per call with a SIGKILL, or an
//! error, at exactly that call. Whatever happens, the state is the old or the new one, the next command
//! works and `doctor` finds nothing.

#![expect(clippy::print_stderr, reason = "says why a test was skipped")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anthill_testkit::effort::sample;
use anthill_testkit::test_env::{Entry, Ran, TestEnv};
use serde_json::{Value, json};

/// Where this machine keeps its two processors busy.
const THREADS: usize = 2;

/// A short run of the tests tries one in so many points.
const PART: usize = 3;

/// The moment of every traced command, so that its new state is always the same.
const MOMENT: &str = "2026-02-02T00:00:00Z";

/// Calls whose failure says nothing about us, with the reason.
const NOT_OURS: &[(&str, &str)] = &[
    ("brk", "memory: an allocation that fails ends a Rust program"),
    ("mmap", "memory"),
    ("munmap", "memory"),
    ("mprotect", "memory"),
    ("mremap", "memory"),
    ("getrandom", "the standard library seeds its hash maps and has no way to go on without"),
    ("sigaltstack", "the standard library's guard for stack overflows"),
    ("rt_sigaction", "the same"),
    ("exit_group", "does not return"),
    ("geteuid", "cannot fail"),
    ("getuid", "cannot fail"),
    ("close", "the file stays open then, which no kernel does, and with it a lock"),
];

/// Calls that can meet a full disk.
const MEETS_FULL_DISK: &[&str] = &[
    "open",
    "openat",
    "openat2",
    "write",
    "pwrite64",
    "mkdirat",
    "renameat",
    "renameat2",
    "fdatasync",
    "fsync",
];

/// A command and the state that it starts from.
struct Scenario {
    template: TestEnv,
    kind: &'static str,
    /// What else the command changes, in other rooms: how to look at it.
    others: &'static [&'static [&'static str]],
    args: &'static [&'static str],
    old: Value,
    new: Value,
    /// The texts that belong to each state.
    text_files: [BTreeMap<String, Entry>; 2],
    calls: Vec<Call>,
}

/// The `nth` call of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    name: String,
    nth: usize,
    /// Whether the program itself made it, not the loader before it.
    in_main: bool,
}

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_anthill"))
}

impl Scenario {
    /// Returns `None` where there is no `strace`, or where it may not trace.
    fn new(template: TestEnv, kind: &'static str, args: &'static [&'static str]) -> Option<Scenario> {
        Scenario::with(template, kind, &[], args)
    }

    fn with(
        template: TestEnv,
        kind: &'static str,
        others: &'static [&'static [&'static str]],
        args: &'static [&'static str],
    ) -> Option<Scenario> {
        let old = state(&copy_of(&template), kind, others);
        let traced = copy_of(&template);
        let log = traced.root().join("strace.log");
        let ran = run(&traced, args, b"", &["-o", &log.display().to_string()]);
        if ran.code != 0 {
            eprintln!("skipped: strace is not installed or may not trace: {}", ran.shown());
            return None;
        }
        let calls = calls_in(&fs::read_to_string(log).unwrap(), &traced.root().display().to_string());
        let new = state(&traced, kind, others);
        assert_ne!(old, new);
        let text_files = [text_files(&template), text_files(&traced)];
        Some(Scenario { template, kind, others, args, old, new, text_files, calls })
    }

    /// Tries every call; collects what went wrong, so that one run shows all of it. Returns how many runs
    /// did not end with exit 0.
    fn sweep(
        &self,
        points: &[(Call, String)],
        judge: impl Fn(&Self, &TestEnv, &Ran) -> Result<(), String> + Sync,
    ) -> usize {
        let ended = AtomicUsize::new(0);
        sweep(points, |options, inject| {
            let env = copy_of(&self.template);
            let ran = run(&env, self.args, b"", options);
            ended.fetch_add(usize::from(ran.code != 0), Ordering::Relaxed);
            let verdict = judge(self, &env, &ran).and_then(|()| self.goes_on(&env));
            verdict.map_err(|reason| format!("{inject}: {reason}\n{}", ran.shown()))
        });
        ended.into_inner()
    }

    /// Dead at any moment: the old or the new state.
    fn judge_kill(&self, env: &TestEnv, ran: &Ran) -> Result<(), String> {
        let found = state(env, self.kind, self.others);
        match ran.code {
            137 if found == self.old || found == self.new => Ok(()),
            0 if found == self.new => Ok(()),
            code => Err(format!("exit {code}, neither old nor new: {found}")),
        }
    }

    /// Failed at any moment: exit 6 and the old state, or survived with exit 0 and the new state.
    fn judge_error(&self, env: &TestEnv, ran: &Ran) -> Result<(), String> {
        let found = state(env, self.kind, self.others);
        match ran.code {
            0 if found == self.new => Ok(()),
            6 if found == self.old => Ok(()),
            6 if found == self.new && indeterminate(ran)? => Ok(()),
            code => Err(format!("exit {code}, and the state is {found}")),
        }
    }

    /// The next commands work, keep what was there, and find nothing to complain about.
    fn goes_on(&self, env: &TestEnv) -> Result<(), String> {
        let before = state(env, self.kind, self.others);
        let next = env.run(&["set", self.kind, "x_next", "1", "--lock-timeout", "1"]);
        if next.code != 0 {
            return Err(format!("the next command: {}", next.shown()));
        }
        let after = state(env, self.kind, self.others);
        let revision = before["revision"].as_u64().unwrap_or(0);
        if after["revision"] != revision + 1 || after["x_next"] != 1 {
            return Err(format!("the next command made {after} of {before}"));
        }
        if before != Value::Null && unstamped(&before) != unstamped(&after) {
            return Err(format!("the next command made {after} of {before}"));
        }
        let [old, new] = &self.text_files;
        let expected = if before == self.new { new } else { old };
        let texts = || match text_files(env) {
            found if found == *expected => Ok(()),
            found => Err(format!("texts {found:?} instead of {expected:?}")),
        };
        // The texts of a room are there when somebody has entered it.
        if self.others.is_empty() {
            texts()?;
        }
        let report = env.run(&["doctor", "--json"]);
        if report.code != 0 || report.json()["findings"] != Value::Array(Vec::new()) {
            return Err(format!("doctor: {}", report.shown()));
        }
        texts()?;
        match env.bytes().into_keys().find(|path| path.contains("/next-") || path.contains("/quarantine/")) {
            Some(left) => Err(format!("left over: {left}")),
            None => Ok(()),
        }
    }
}

/// Checks every point: it gets the options for `strace`, and a name for messages.
fn sweep(points: &[(Call, String)], check: impl Fn(&[&str], &str) -> Result<(), String> + Sync) {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((call, what)) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            let inject = format!("inject={}:{what}:when={}", call.name, call.nth);
            let trace = format!("trace={}", call.name);
            if let Err(failure) = check(&["-o", "/dev/null", "-e", &trace, "-e", &inject], &inject) {
                failures.lock().unwrap().push(failure);
            }
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} points:\n{}", failures.len(), points.len(), failures.join("\n"));
}

/// Returns the points that this run of the tests tries.
fn tried<T: Debug>(points: Vec<T>) -> Vec<T> {
    assert!(points.len() > 50, "only {} points: {points:?}", points.len());
    sample(thread::current().name().expect("a test has a name"), PART, points)
}

fn kills(calls: &[Call]) -> Vec<(Call, String)> {
    tried(calls.iter().map(|call| (call.clone(), "signal=SIGKILL".into())).collect())
}

/// Returns the points at which a disk fails, or is full.
fn errors(calls: &[Call]) -> Vec<(Call, String)> {
    let ours = |call: &&Call| call.in_main && !NOT_OURS.iter().any(|(name, _)| *name == call.name);
    let fails = calls.iter().filter(ours).map(|call| (call.clone(), "error=EIO".into()));
    let fills = |call: &&Call| ours(call) && MEETS_FULL_DISK.contains(&call.name.as_str());
    tried(fails.chain(calls.iter().filter(fills).map(|call| (call.clone(), "error=ENOSPC".into()))).collect())
}

/// Runs the command under `strace` with these options.
fn run(env: &TestEnv, args: &[&str], input: &[u8], options: &[&str]) -> Ran {
    let mut command = env.clean("strace");
    // Below the project root, so that a root that is not found shows as state in the wrong place.
    let dir = env.project().join("src");
    fs::create_dir_all(&dir).unwrap();
    command
        .current_dir(dir)
        .env("ANTHILL_NOW", MOMENT)
        .args(["-f", "-qq"])
        .args(options)
        .arg(env.binary())
        .args(args);
    if fs::exists("/usr/bin/strace").unwrap_or(false) || env.sh("command -v strace").code == 0 {
        return env.finish(&mut command, input);
    }
    Ran { code: 127, stdout: String::new(), stderr: "strace: not found".into() }
}

/// Returns the texts beside the documents of the queue, and messages.
fn text_files(env: &TestEnv) -> BTreeMap<String, Entry> {
    let mut entries = env.bytes();
    let trays = ["/inbox/", "/outbox/", "/processed/"];
    let is_text = |path: &str| path.ends_with(".md") || path.ends_with(".log");
    let is_text_file = |path: &str| {
        (path.contains(".coordination/") && is_text(path)) || trays.iter().any(|tray| path.contains(tray))
    };
    entries.retain(|path, _| is_text_file(path) && !path.contains("/.anthill/"));
    entries
}

/// Returns the document as `get` shows it, and beside it what others show; `null` if there is none.
fn state(env: &TestEnv, kind: &str, others: &[&[&str]]) -> Value {
    let look = |args: &[&str]| {
        let ran = env.run(args);
        match ran.code {
            0 => ran.json(),
            4 => Value::Null,
            _ => Value::from(ran.shown()),
        }
    };
    // Those first: looking at them must not depend on what the document's own room has been through.
    let others: Vec<_> = others.iter().map(|args| look(args)).collect();
    let mut state = look(&["get", kind, "--json"]);
    if !others.is_empty() {
        state["others"] = others.into();
    }
    state
}

/// Returns a document without what the next command sets in it.
fn unstamped(document: &Value) -> Value {
    let mut document = document.clone();
    for field in ["x_next", "revision", "updated_at", "last_updated"] {
        document.as_object_mut().expect("a document is an object").shift_remove(field);
    }
    document
}

/// Returns whether the error, wherever it was told, says that the change may have happened.
fn indeterminate(ran: &Ran) -> Result<bool, String> {
    let told =
        [&ran.stdout, &ran.stderr].into_iter().find_map(|text| serde_json::from_str::<Value>(text).ok());
    told.and_then(|error| error["error"]["indeterminate"].as_bool()).ok_or_else(|| "no error object".into())
}

/// Returns the calls of a log, each with its place among those of its name. What comes before the first look at
/// `root`, or for it, belongs to the loader and the standard library.
fn calls_in(log: &str, root: &str) -> Vec<Call> {
    let (mut count, mut in_main) = (BTreeMap::new(), false);
    let names = log.lines().filter_map(|line| {
        let (_, call) = line.split_once(' ')?;
        let name = call.trim_start().split_once('(')?.0;
        let first = name == "getcwd" || call.contains(root);
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        plain.then(|| (name.to_owned(), first))
    });
    let mut calls = Vec::new();
    for (name, first) in names.filter(|(name, _)| name != "execve") {
        in_main |= first;
        let nth = count.entry(name.clone()).or_insert(0);
        *nth += 1;
        calls.push(Call { name, nth: *nth, in_main });
    }
    calls
}

fn copy_of(template: &TestEnv) -> TestEnv {
    let env = env();
    copy(template.root(), env.root());
    env
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&to).unwrap();
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

fn existing_document() -> Option<Scenario> {
    let env = env();
    env.ok(&["set", "config", "x", "0"]);
    env.ok(&["set", "config", "x_items", "[]"]);
    Scenario::new(env, "config", &["set", "config", "x", "1", "--json"])
}

fn first_ever() -> Option<Scenario> {
    Scenario::new(env(), "queue", &["set", "queue", "x", "1", "--json"])
}

fn after_a_hand_edit() -> Option<Scenario> {
    let env = env();
    env.ok(&["append", "config", "x_items", "\"old\""]);
    let path = "user/.claude/orchestration/config.json";
    env.write(path, env.read_text(path).replace("3600", "7"));
    Scenario::new(env, "config", &["append", "config", "x_items", "\"new\"", "--json"])
}

/// Starts from a document that anthill has never seen.
fn copied_in() -> Option<Scenario> {
    let env = env();
    env.write("project/.coordination/tasks.json", r#"{"version": "1.0", "tasks": [], "x": 0}"#);
    Scenario::new(env, "queue", &["set", "queue", "x", "1", "--json"])
}

/// Starts where another command was killed between its commit and the publishing of it.
fn after_a_crash() -> Option<Scenario> {
    let first = existing_document()?;
    let kill = ["-o", "/dev/null", "-e", "inject=renameat2:signal=SIGKILL:when=1"];
    assert_eq!(run(&first.template, first.args, b"", &kill).code, 137);
    let scenario = Scenario::new(first.template, "config", &["append", "config", "x_items", "1", "--json"])?;
    assert_eq!(scenario.old, first.new, "what was committed counts, published or not");
    Some(scenario)
}

/// Two tasks, the second of which waits for the first.
fn with_plan() -> TestEnv {
    let env = env();
    env.ok(&["leader", "add-task", "First", "--id", "t1"]);
    env.ok(&["leader", "add-task", "Second", "--id", "t2", "--depends", "t1"]);
    env
}

fn claim() -> Option<Scenario> {
    Scenario::new(with_plan(), "queue", &["worker", "claim", "w1", "--json"])
}

/// Ends a task, which writes a result and sets the other task free.
fn completion() -> Option<Scenario> {
    let env = with_plan();
    env.ok(&["worker", "claim", "w1"]);
    Scenario::new(env, "queue", &["worker", "complete", "w1", "t1", "Did it", "--json"])
}

/// Two sessions, one with a task of its own and one of the queue.
fn with_sessions() -> TestEnv {
    let env = with_plan();
    for session in ["s1", "s2"] {
        env.ok(&["session", "start", session]);
    }
    env.ok(&["append", "tasks", "tasks", r#"{"id": "own", "status": "pending"}"#, "--session-id", "s1"]);
    env.ok(&["worker", "claim", "w1", "--session-id", "s1"]);
    env
}

/// Five rooms change together.
fn handoff() -> Option<Scenario> {
    let others: &[&[&str]] = &[
        &["get", "mailbox", "--session-id", "s2", "--json"],
        &["get", "sent", "--session-id", "s1", "--json"],
        &["get", "tasks", "--session-id", "s2", "--json"],
        &["get", "tasks", "--session-id", "s1", "--json"],
        &["get", "session", "--session-id", "s2", "--json"],
    ];
    let args = &["session", "handoff", "s1", "s2", "--context", "half done", "--json"];
    Scenario::with(with_sessions(), "queue", others, args)
}

/// Two mailboxes change together.
fn message() -> Option<Scenario> {
    let env = env();
    env.ok(&["set", "config", "x", "0"]);
    env.ok(&["message", "send", "a", "b", "note", "1", "--id", "m1"]);
    let others: &[&[&str]] = &[
        &["get", "mailbox", "--session-id", "b", "--json"],
        &["get", "sent", "--session-id", "a", "--json"],
    ];
    Scenario::with(env, "config", others, &["message", "send", "a", "b", "note", "2", "--id", "m2", "--json"])
}

#[track_caller]
fn kill_everywhere(scenario: Option<Scenario>) {
    let Some(scenario) = scenario else { return };
    let kills = kills(&scenario.calls);
    assert_eq!(scenario.sweep(&kills, Scenario::judge_kill), kills.len(), "every kill hits");
}

#[track_caller]
fn fail_everywhere(scenario: Option<Scenario>) {
    let Some(scenario) = scenario else { return };
    let points = errors(&scenario.calls);
    let failed = scenario.sweep(&points, Scenario::judge_error);
    assert!(failed > points.len() / 4, "only {failed} of {} errors were noticed", points.len());
}

#[test]
fn strace_kill_at_every_call_of_a_set() {
    kill_everywhere(existing_document());
}

#[test]
fn strace_kill_at_every_call_of_the_first_set_ever() {
    kill_everywhere(first_ever());
}

#[test]
fn strace_kill_at_every_call_of_an_append_after_a_hand_edit() {
    kill_everywhere(after_a_hand_edit());
}

#[test]
fn strace_kill_at_every_call_of_a_set_in_a_copied_document() {
    kill_everywhere(copied_in());
}

#[test]
fn strace_kill_at_every_call_of_a_recovery() {
    kill_everywhere(after_a_crash());
}

#[test]
fn strace_error_at_every_call_of_a_set() {
    fail_everywhere(existing_document());
}

#[test]
fn strace_error_at_every_call_of_the_first_set_ever() {
    fail_everywhere(first_ever());
}

#[test]
fn strace_error_at_every_call_of_an_append_after_a_hand_edit() {
    fail_everywhere(after_a_hand_edit());
}

#[test]
fn strace_error_at_every_call_of_a_recovery() {
    fail_everywhere(after_a_crash());
}

#[test]
fn strace_kill_at_every_call_of_a_claim() {
    kill_everywhere(claim());
}

#[test]
fn strace_kill_at_every_call_of_a_completion() {
    kill_everywhere(completion());
}

#[test]
fn strace_error_at_every_call_of_a_claim() {
    fail_everywhere(claim());
}

#[test]
fn strace_error_at_every_call_of_a_completion() {
    fail_everywhere(completion());
}

#[test]
fn strace_kill_at_every_call_of_a_handoff() {
    kill_everywhere(handoff());
}

#[test]
fn strace_kill_at_every_call_of_a_message() {
    kill_everywhere(message());
}

#[test]
fn strace_error_at_every_call_of_a_message() {
    fail_everywhere(message());
}

/// A command that changes files of others.
struct Setup {
    command: &'static str,
    /// How everything was before anthill came, and how it is when it is set up.
    states: [BTreeMap<String, Entry>; 2],
}

/// Calls that change something, or come between two that do.
const CHANGES: &[&str] =
    &["openat", "write", "rename", "unlink", "mkdir", "rmdir", "fsync", "chmod", "fchmod"];

impl Setup {
    fn new(command: &'static str) -> Setup {
        let env = Setup::bare();
        let bare = foreign(&env);
        env.ok(&["init"]);
        Setup { command, states: [bare, foreign(&env)] }
    }

    fn bare() -> TestEnv {
        let env = env();
        env.write("project/.claude/settings.json", "{ \"model\": \"x\", } // odd");
        env.write("project/CLAUDE.md", "# Mine");
        env
    }

    /// Runs the command on a project that is ready for it. Copies will not do: what was changed is remembered by place.
    fn run(&self, options: &[&str]) -> (TestEnv, Ran) {
        let env = Setup::bare();
        if self.command == "uninstall" {
            env.ok(&["init"]);
        }
        let ran = run(&env, &[self.command], b"", options);
        (env, ran)
    }

    fn points(&self) -> Vec<Call> {
        let place = env();
        let log = place.root().join("strace.log");
        let (env, ran) = self.run(&["-o", &log.display().to_string()]);
        if ran.code != 0 {
            eprintln!("skipped: strace is not installed or may not trace: {}", ran.shown());
            return Vec::new();
        }
        let calls = calls_in(&fs::read_to_string(&log).unwrap(), &env.root().display().to_string());
        let points: Vec<_> =
            calls.into_iter().filter(|call| call.in_main && CHANGES.contains(&call.name.as_str())).collect();
        tried(points)
    }

    /// Interrupts the command at each point; whoever comes next finishes it, or takes it back.
    fn sweep(&self, what: &str, codes: &[i32], endings: &[&[&str]]) {
        let points = self.points();
        let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some(call) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                let inject = format!("inject={}:{what}:when={}", call.name, call.nth);
                let trace = format!("trace={}", call.name);
                for then in endings {
                    let (env, ran) = self.run(&["-o", "/dev/null", "-e", &trace, "-e", &inject]);
                    let verdict = match codes.contains(&ran.code) {
                        true => then.iter().try_for_each(|command| self.goes_on(&env, command)),
                        false => Err(format!("exit {}", ran.code)),
                    };
                    if let Err(reason) = verdict {
                        failures.lock().unwrap().push(format!("{inject}: {reason}"));
                    }
                }
            }
        };
        thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
        let failures = failures.into_inner().unwrap();
        assert!(
            failures.is_empty(),
            "{} at {} points:\n{}",
            failures.len(),
            points.len(),
            failures.join("\n")
        );
    }

    fn goes_on(&self, env: &TestEnv, command: &str) -> Result<(), String> {
        let expected = &self.states[usize::from(command == "init")];
        let ran = env.run(&[command]);
        let found = foreign(env);
        let differs = |path: &&String| found.get(*path) != expected.get(*path);
        let paths: Vec<_> = found.keys().chain(expected.keys()).filter(differs).collect();
        match ran.code == 0 && paths.is_empty() {
            true => Ok(()),
            false => Err(format!("{command} ends with {} and {paths:?} differ", ran.code)),
        }
    }
}

/// Returns everything but the record.
fn foreign(env: &TestEnv) -> BTreeMap<String, Entry> {
    let mut entries = env.bytes();
    entries.retain(|path, _| !(path.contains("/.anthill-install/") && path.ends_with(".json")));
    entries
}

#[test]
fn strace_kill_at_every_call_of_init() {
    Setup::new("init").sweep("signal=SIGKILL", &[137], &[&["uninstall"], &["init", "uninstall"]]);
}

#[test]
fn strace_kill_at_every_call_of_uninstall() {
    Setup::new("uninstall").sweep("signal=SIGKILL", &[137], &[&["uninstall"], &["init", "uninstall"]]);
}

#[test]
fn strace_error_at_every_call_of_init() {
    Setup::new("init").sweep("error=EIO", &[0, 6], &[&["init", "uninstall"]]);
}

#[test]
fn strace_error_at_every_call_of_uninstall() {
    Setup::new("uninstall").sweep("error=EIO", &[0, 6], &[&["init", "uninstall"]]);
}

/// A session with a task, an agent, an error and an unread message.
fn with_hooks() -> TestEnv {
    let env = with_plan();
    for event in [
        json!({"hook_event_name": "SessionStart", "source": "startup"}),
        json!({"hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "dev"}),
        json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": "request timed out"}),
    ] {
        assert_eq!(hook(&env, &hook_event(event)).code, 0);
    }
    env.ok(&["worker", "claim", "w1", "--session-id", "s1"]);
    env.ok(&["message", "send", "lead", "s1", "note", "1", "--id", "m1"]);
    env
}

fn hook_event(mut fields: Value) -> Vec<u8> {
    fields["session_id"] = "s1".into();
    fields["cwd"] = "/p".into();
    fields.to_string().into_bytes()
}

fn hook(env: &TestEnv, event: &[u8]) -> Ran {
    env.finish(env.command(&HOOK).env("ANTHILL_NOW", MOMENT), event)
}

const HOOK: [&str; 3] = ["hook", "--lock-timeout", "5"];

/// One event of a client. It leads to several commits, so the state is not simply old or new: but when the same event
/// comes again it is new.
struct Hook {
    template: TestEnv,
    event: Vec<u8>,
    new: BTreeMap<String, Value>,
    calls: Vec<Call>,
}

impl Hook {
    /// Returns `None` where there is no `strace`, or where it may not trace.
    fn new(template: TestEnv, fields: Value) -> Option<Hook> {
        let (event, traced) = (hook_event(fields), copy_of(&template));
        let log = traced.root().join("strace.log");
        let ran = run(&traced, &HOOK, &event, &["-o", &log.display().to_string()]);
        if ran.code != 0 {
            eprintln!("skipped: strace is not installed or may not trace: {}", ran.shown());
            return None;
        }
        let calls = calls_in(&fs::read_to_string(log).unwrap(), &traced.root().display().to_string());
        assert_eq!(hook(&traced, &event).code, 0);
        Some(Hook { new: documents(&traced), template, event, calls })
    }

    fn sweep(&self, points: &[(Call, String)]) {
        sweep(points, |options, inject| {
            let env = copy_of(&self.template);
            let ran = run(&env, &HOOK, &self.event, options);
            self.judge(&env, &ran).map_err(|reason| format!("{inject}: {reason}\n{}", ran.shown()))
        });
    }

    fn judge(&self, env: &TestEnv, ran: &Ran) -> Result<(), String> {
        if !matches!(ran.code, 0 | 137) {
            return Err(format!("exit {}", ran.code));
        }
        if !ran.stdout.is_empty() && ran.code == 0 && serde_json::from_str::<Value>(&ran.stdout).is_err() {
            return Err("stdout is no JSON".into());
        }
        let again = hook(env, &self.event);
        if again.code != 0 || !again.stderr.is_empty() {
            return Err(format!("the same event again: {}", again.shown()));
        }
        let told = |ran: &Ran| ran.stdout.contains("id m1:");
        let tells = self.event.windows(11).any(|part| part == b"PostToolUse");
        if tells && !told(ran) && !told(&again) {
            return Err("the message is lost".into());
        }
        // It also writes what the dead have committed into the files.
        let report = env.run(&["doctor", "--json"]);
        if report.code != 0 || report.json()["findings"] != json!([]) {
            return Err(format!("doctor: {}", report.shown()));
        }
        let found = documents(env);
        let names = found.keys().chain(self.new.keys());
        if let Some(name) = names.into_iter().find(|name| found.get(*name) != self.new.get(*name)) {
            return Err(format!("{name}: {:?} instead of {:?}", found.get(name), self.new.get(name)));
        }
        Ok(())
    }
}

/// Returns every document, without what counts how often something was tried. Of backups, that there are some.
fn documents(env: &TestEnv) -> BTreeMap<String, Value> {
    let mut documents = BTreeMap::new();
    for (path, entry) in env.bytes() {
        let Entry::File(bytes) = entry else { continue };
        if !path.ends_with(".json") || path.contains("/.anthill/") || path.ends_with("/events.json") {
            continue;
        }
        if path.contains("/compaction/") {
            documents.insert("backups".into(), Value::Null);
            continue;
        }
        let mut value = serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        strip(&mut value);
        documents.insert(path, value);
    }
    documents
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("revision");
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

#[track_caller]
fn kill_hook_everywhere(hook: Option<Hook>) {
    let Some(hook) = hook else { return };
    // Before the program itself has done anything there is nothing to see.
    let ours: Vec<_> = hook.calls.iter().filter(|call| call.in_main).cloned().collect();
    hook.sweep(&kills(&ours));
}

#[track_caller]
fn fail_hook_everywhere(hook: Option<Hook>) {
    let Some(hook) = hook else { return };
    hook.sweep(&errors(&hook.calls));
}

fn session_start() -> Option<Hook> {
    Hook::new(with_plan(), json!({"hook_event_name": "SessionStart", "source": "startup"}))
}

fn tool_use() -> Option<Hook> {
    // An absolute path: the two runs have different working directories.
    let input = json!({"file_path": "/elsewhere/a.rs"});
    Hook::new(
        with_hooks(),
        json!({"hook_event_name": "PostToolUse", "tool_name": "Write", "tool_input": input}),
    )
}

fn agent_stop() -> Option<Hook> {
    let fields = json!({"agent_id": "a1", "agent_type": "dev", "last_assistant_message": "- [S1] x"});
    let mut event = json!({"hook_event_name": "SubagentStop"});
    event.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    Hook::new(with_hooks(), event)
}

fn before_compaction() -> Option<Hook> {
    Hook::new(with_hooks(), json!({"hook_event_name": "PreCompact", "trigger": "auto"}))
}

fn session_end() -> Option<Hook> {
    Hook::new(with_hooks(), json!({"hook_event_name": "SessionEnd", "reason": "other"}))
}

#[test]
fn strace_kill_at_every_call_of_a_hook_at_a_start() {
    kill_hook_everywhere(session_start());
}

#[test]
fn strace_kill_at_every_call_of_a_hook_after_a_tool() {
    kill_hook_everywhere(tool_use());
}

#[test]
fn strace_kill_at_every_call_of_a_hook_at_the_end_of_an_agent() {
    kill_hook_everywhere(agent_stop());
}

#[test]
fn strace_kill_at_every_call_of_a_hook_before_compaction() {
    kill_hook_everywhere(before_compaction());
}

#[test]
fn strace_kill_at_every_call_of_a_hook_at_an_end() {
    kill_hook_everywhere(session_end());
}

#[test]
fn strace_errors_at_calls_of_a_hook_at_a_start() {
    fail_hook_everywhere(session_start());
}

#[test]
fn strace_errors_at_calls_of_a_hook_after_a_tool() {
    fail_hook_everywhere(tool_use());
}

#[test]
fn strace_errors_at_calls_of_a_hook_at_the_end_of_an_agent() {
    fail_hook_everywhere(agent_stop());
}

#[test]
fn strace_errors_at_calls_of_a_hook_before_compaction() {
    fail_hook_everywhere(before_compaction());
}

#[test]
fn strace_errors_at_calls_of_a_hook_at_an_end() {
    fail_hook_everywhere(session_end());
}
