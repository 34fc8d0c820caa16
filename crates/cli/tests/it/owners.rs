//! Whose the files are: root beside a user, two users of one group, two who share nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anthill_testkit::test_env::{Ran, TestEnv};

use super::env;

const ALICE: u32 = 4201;
const BOB: u32 = 4202;
const TEAM: u32 = 4300;

/// Whether several users can be played here; if so, all of them can start the binary.
#[expect(clippy::print_stderr, reason = "who reads the log should know that it was not tried")]
pub fn may_be_others(env: &TestEnv) -> bool {
    if !rustix::process::geteuid().is_root()
        || env.finish(env.clean("setpriv").arg("--version"), b"").code != 0
    {
        eprintln!("skipped: only root can act as two users, and only with setpriv");
        return false;
    }
    fs::copy(env.binary(), env.root().join("anthill")).unwrap();
    fs::set_permissions(env.root(), Permissions::from_mode(0o755)).unwrap();
    true
}

/// Prepares the binary for a user with one group more than their own, and a umask that lets nobody else in.
pub fn as_user(env: &TestEnv, user: u32, group: u32, dir: &Path, args: &[&str]) -> Command {
    let mut command = env.clean("setpriv");
    let ids = [format!("--reuid={user}"), format!("--regid={user}"), format!("--groups={group}")];
    command.args(ids).args(["sh", "-c", "umask 077; exec \"$0\" \"$@\""]);
    command.arg(env.root().join("anthill")).args(args);
    command.current_dir(dir);
    command
}

/// Makes a directory that belongs to somebody.
fn home_of(env: &TestEnv, name: &str, user: u32, group: u32, mode: u32) -> PathBuf {
    let dir = env.root().join(name);
    fs::create_dir_all(&dir).unwrap();
    chown(&dir, Some(user), Some(group)).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
    dir
}

fn act(env: &TestEnv, user: u32, project: &Path, args: &[&str]) -> Ran {
    let home = env.root().join(format!("home-{user}"));
    env.finish(as_user(env, user, TEAM, project, args).env("HOME", home), b"")
}

#[track_caller]
fn acts(env: &TestEnv, user: u32, project: &Path, line: &str) -> Ran {
    let args: Vec<_> = line.split(' ').collect();
    let ran = act(env, user, project, &args);
    assert_eq!(ran.code, 0, "{user}: {line}: {}", ran.shown());
    ran
}

fn everything_below(dir: &Path) -> Vec<PathBuf> {
    let below = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let deeper = |path: PathBuf| {
        let more = if path.symlink_metadata().unwrap().is_dir() { everything_below(&path) } else { vec![] };
        std::iter::once(path).chain(more)
    };
    below.flat_map(deeper).collect()
}

#[expect(clippy::disallowed_methods, reason = "as somebody else who does what he should not")]
fn gone(path: &Path) {
    let _ = fs::remove_file(path);
}

/// What touches every kind of file: locks, journals, heads, lists, texts, logs, sessions, mailboxes, backups, aside.
const LINES: [&str; 17] = [
    "leader init goal",
    "leader add-task x --id t1",
    "leader add-task y --id t2",
    "worker register w",
    "worker claim w",
    "worker complete w t1 done",
    "leader aggregate",
    "set config features.a 1",
    "set config features.a 2",
    "session start s1",
    "session heartbeat s1",
    "message send s1 s2 note 1",
    "message poll s2",
    "workflow create feature --phase a=b",
    "compact backup",
    "error record --message timeout --class timeout",
    "doctor --repair",
];

#[test]
fn what_root_writes_belongs_to_the_user() {
    let env = env();
    if !may_be_others(&env) {
        return;
    }
    let (project, home) =
        (home_of(&env, "work", ALICE, TEAM, 0o755), home_of(&env, "home-4201", ALICE, ALICE, 0o700));
    fs::create_dir(project.join(".git")).unwrap();
    chown(project.join(".git"), Some(ALICE), Some(TEAM)).unwrap();
    for user in [0, ALICE, 0, ALICE] {
        for line in LINES {
            let mut command =
                if user == 0 { env.clean(env.binary()) } else { as_user(&env, user, TEAM, &project, &[]) };
            let ran = env.finish(command.args(line.split(' ')).env("HOME", &home).current_dir(&project), b"");
            // In the second round some of it is done already.
            assert!(ran.code < 5 && ran.code != 2, "{user}: {line}: {}", ran.shown());
        }
        for (dir, group) in [(&project, None), (&home, Some(ALICE))] {
            for path in everything_below(dir) {
                let about = path.symlink_metadata().unwrap();
                assert_eq!(about.uid(), ALICE, "{}", path.display());
                assert!(group.is_none_or(|group| about.gid() == group), "{}", path.display());
                assert_eq!(
                    about.mode() & 0o077 & if path.ends_with(".git") { 0 } else { 0o777 },
                    0,
                    "{}",
                    path.display()
                );
            }
        }
    }
    let ran = env.finish(
        env.clean(env.binary()).args(["init", "--client", "claude"]).env("HOME", &home).current_dir(&project),
        b"",
    );
    assert_eq!(ran.code, 0, "{}", ran.shown());
    for path in everything_below(&home).into_iter().chain(everything_below(&project)) {
        assert_eq!(path.symlink_metadata().unwrap().uid(), ALICE, "{}", path.display());
    }
}

#[test]
fn two_users_of_a_shared_project_work_in_turns() {
    let env = env();
    if !may_be_others(&env) {
        return;
    }
    let project = home_of(&env, "work", ALICE, TEAM, 0o2770);
    home_of(&env, "home-4201", ALICE, ALICE, 0o700);
    home_of(&env, "home-4202", BOB, BOB, 0o700);
    acts(&env, ALICE, &project, "leader init goal");
    for turn in 0..3 {
        for user in [ALICE, BOB, 0] {
            acts(&env, user, &project, &format!("leader add-task x --id t{turn}-{user}"));
            acts(&env, user, &project, &format!("worker claim w{user}"));
            acts(&env, user, &project, &format!("worker complete w{user} t{turn}-{user} done"));
            acts(&env, user, &project, "leader status");
            acts(&env, user, &project, "doctor --repair");
        }
    }
    acts(&env, BOB, &project, "leader add-task z --id z");
    for path in everything_below(&project) {
        let about = path.symlink_metadata().unwrap();
        let mode = if about.is_dir() { 0o2770 } else { 0o660 };
        assert_eq!((about.gid(), about.mode() & 0o7777), (TEAM, mode), "{}", path.display());
    }
    assert!(
        everything_below(&env.root().join("home-4202"))
            .iter()
            .all(|path| path.metadata().unwrap().mode() & 0o077 == 0)
    );
}

#[test]
fn what_is_not_shared_is_refused_with_its_owner_and_the_way_out() {
    let env = env();
    if !may_be_others(&env) {
        return;
    }
    let project = home_of(&env, "work", ALICE, TEAM, 0o770);
    home_of(&env, "home-4201", ALICE, ALICE, 0o700);
    home_of(&env, "home-4202", BOB, BOB, 0o700);
    acts(&env, ALICE, &project, "leader init goal");
    // Shared later: what was made before is not.
    fs::set_permissions(&project, Permissions::from_mode(0o2770)).unwrap();
    for line in [
        &["leader", "add-task", "x"][..],
        &["leader", "status"],
        &["get", "queue"],
        &["worker", "claim", "w"],
    ] {
        let ran = act(&env, BOB, &project, line);
        let told = ["/work/.coordination` belongs to user 4201, with mode 0700", "chmod -R g+rwX"];
        assert!(
            ran.code == 6 && told.iter().all(|word| ran.stderr.contains(word)),
            "{line:?}: {}",
            ran.shown()
        );
    }
    // The way out is one.
    let told = act(&env, BOB, &project, &["leader", "status"]).stderr;
    let line =
        told.lines().find_map(|line| line.split_once("with a group of yours: ")).expect("it is told").1;
    let line =
        line.replace("GROUP", &TEAM.to_string()).replace("$TEST_ENV", &env.root().display().to_string());
    assert_eq!(env.sh(&line).code, 0, "{line}");
    acts(&env, BOB, &project, "leader add-task x");
    acts(&env, ALICE, &project, "leader add-task y");
    // What root once took.
    chown(project.join(".coordination/.anthill/journal.jsonl"), Some(0), Some(0)).unwrap();
    let ran = act(&env, ALICE, &project, &["leader", "add-task", "z"]);
    let told = ["journal.jsonl` belongs to `root`", "sudo chown -R"];
    assert!(ran.code == 6 && told.iter().all(|word| ran.stderr.contains(word)), "{}", ran.shown());
}

#[test]
fn a_link_gives_nothing_away() {
    let env = env();
    if !may_be_others(&env) {
        return;
    }
    let project = home_of(&env, "work", ALICE, ALICE, 0o755);
    let secret = home_of(&env, "secret", 0, 0, 0o700);
    env.write("secret/tasks.json", "{}");
    env.write("secret/lock", "");
    symlink(&secret, project.join(".coordination")).unwrap();
    let root = project.display().to_string();
    assert_ne!(env.run(&["--root", &root, "leader", "init", "g"]).code, 0);
    gone(&project.join(".coordination"));
    env.ok(&["--root", &root, "leader", "init", "g"]);
    let hidden = project.join(".coordination/.anthill");
    for name in ["head.json", "index-tasks.json", "twin-tasks.json", "lock", "next-tasks.json"] {
        gone(&hidden.join(name));
        symlink(secret.join("lock"), hidden.join(name)).unwrap();
        env.run(&["--root", &root, "leader", "add-task", "x"]);
        gone(&hidden.join(name));
    }
    for path in everything_below(&secret) {
        assert_eq!(path.symlink_metadata().unwrap().uid(), 0, "{}", path.display());
    }
    assert_eq!(env.read_text("secret/lock"), "");
}
