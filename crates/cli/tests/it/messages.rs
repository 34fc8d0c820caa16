//! The contract of messages, from the outside: sent once, read once, kept until they are done with.

use std::time::{Duration, Instant};
use std::{fs, thread};

use anthill_testkit::test_env::{Ran, Running, TestEnv};
use serde_json::{Value, json};

use crate::exit_codes::fails;
use crate::watch::wait_until_it_listens;
use crate::{env, told};

const MAIL: &str = "user/.claude/orchestration/messages";

/// The message of the seed, to the letter.
const SEEDED: &str = r#"{
  "id": "msg-12345",
  "from": "session-abc123",
  "to": "session-xyz789",
  "type": "task_handoff",
  "priority": "normal",
  "payload": {
    "task_id": "task-001",
    "context": "Authentication implementation complete"
  },
  "timestamp": "2026-01-01T00:00:00Z",
  "ttl": 3600,
  "read": false,
  "processed": false
}"#;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Sends a message of plain words, such as `a b note 1 --id m`, and returns it.
#[track_caller]
fn send(env: &TestEnv, line: &str) -> Value {
    env.json(&words(&format!("message send {line}")))
}

/// Polls with options and returns the messages.
#[track_caller]
fn poll(env: &TestEnv, line: &str) -> Vec<Value> {
    env.json(&words(&format!("message poll {line}"))).as_array().unwrap().clone()
}

/// The same, by their ids.
#[track_caller]
fn polled(env: &TestEnv, line: &str) -> Vec<String> {
    poll(env, line).iter().map(id).collect()
}

fn id(message: &Value) -> String {
    message["id"].as_str().unwrap().to_owned()
}

/// Runs a line at a time of the first day, such as `01:30`.
fn at(env: &TestEnv, clock: &str, line: &str) -> Ran {
    env.finish(env.command(&words(line)).env("ANTHILL_NOW", format!("2026-01-01T{clock}:00Z")), b"")
}

#[track_caller]
fn refused(env: &TestEnv, line: &str, code: i32) -> Value {
    let word = ["", "refused", "invalid", "conflict", "not_found"][code as usize];
    fails(env, &words(&format!("message {line}")), b"", code, word)
}

/// Returns the message in a file below the mailboxes, such as `b/inbox/m.json`.
#[track_caller]
fn lying(env: &TestEnv, file: &str) -> Value {
    serde_json::from_slice(&env.read(&format!("{MAIL}/{file}"))).unwrap()
}

/// Returns the names in a tray, such as `b/inbox`.
fn tray(env: &TestEnv, dir: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(env.root().join(MAIL).join(dir)) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Returns the mailbox's notes as `id status`.
fn notes(env: &TestEnv, session: &str) -> Vec<String> {
    let mailbox = lying(env, &format!("{session}/mailbox.json"));
    let word = |note: &Value, field: &str| note[field].as_str().unwrap().to_owned();
    let notes = mailbox["messages"].as_array().unwrap().iter();
    notes.map(|note| format!("{} {}", word(note, "id"), word(note, "status"))).collect()
}

/// Leaves a message in an inbox as another program would.
fn drop_in(env: &TestEnv, to: &str, id: &str, fields: &Value) {
    let mut message: Value = serde_json::from_str(SEEDED).unwrap();
    (message["id"], message["to"]) = (id.into(), to.into());
    fields.as_object().unwrap().iter().for_each(|(field, value)| message[field] = value.clone());
    env.write(&format!("{MAIL}/{to}/inbox/{id}.json"), message.to_string());
}

/// Removes a file below the mailboxes, as a person would.
fn take_away(env: &TestEnv, file: &str) {
    assert_eq!(env.sh(&format!("rm {}", env.root().join(MAIL).join(file).display())).code, 0, "{file}");
}

/// Starts a poll that waits, and lets it fall asleep.
fn waiting(env: &TestEnv, line: &str) -> Running {
    let waiter = env.spawn(&words(&format!("message poll {line}")));
    asleep(&waiter);
    waiter
}

/// Waits until a process that listens has nothing else to do: then it sleeps.
fn asleep(waiter: &Running) {
    wait_until_it_listens(waiter);
    let state = || fs::read_to_string(format!("/proc/{}/stat", waiter.id())).unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while !state().contains(") S ") {
        assert!(Instant::now() < end, "it never sleeps");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns what a process prints until it ends well, and insists on its being woken: the system's events may
/// fail, and looking all the same every few seconds would hide it.
#[track_caller]
fn woken(mut waiter: Running) -> Value {
    let begin = Instant::now();
    let mut text = String::new();
    while let Some(line) = waiter.line_within(Duration::from_secs(60)) {
        text.push_str(&line);
    }
    assert_eq!(waiter.wait(), 0, "{text}");
    assert!(begin.elapsed() < Duration::from_secs(4), "nobody woke it for {:?}", begin.elapsed());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

// ---- the format

#[test]
fn a_message_lies_where_and_as_the_seed_says() {
    let env = env();
    let payload = r#"{"task_id": "task-001", "context": "Completed auth implementation"}"#;
    let args = ["message", "send", "session-abc123", "session-xyz789", "handoff_request", payload];
    let sent = env.json(&[&args[..], &["--ttl", "3600"]].concat());
    let id = id(&sent);
    assert!(id.starts_with("msg-20260101000001-"), "{id}");
    assert_eq!(
        sent,
        json!({
            "id": id, "from": "session-abc123", "to": "session-xyz789", "type": "handoff_request",
            "priority": "normal",
            "payload": {"task_id": "task-001", "context": "Completed auth implementation"},
            "timestamp": "2026-01-01T00:00:01.000Z", "ttl": 3600, "read": false, "processed": false, "seq": 1,
            "sender": {"session_id": null, "role": null, "kind": "person"}, "status": "delivered",
            "delivered_at": "2026-01-01T00:00:01.000Z", "expires_at": "2026-01-01T01:00:01.000Z",
        })
    );
    let file = format!("{id}.json");
    assert_eq!(tray(&env, "session-xyz789/inbox"), [file.as_str()]);
    assert_eq!(tray(&env, "session-abc123/outbox"), [file.as_str()]);
    assert_eq!(lying(&env, &format!("session-xyz789/inbox/{file}")), sent);
    let copy = lying(&env, &format!("session-abc123/outbox/{file}"));
    assert_eq!((&copy["payload"], &copy["status"]), (&sent["payload"], &json!("sent")));
    assert!(["read", "processed", "delivered_at"].iter().all(|field| copy.get(field).is_none()), "{copy}");
    assert!(env.read_text(&format!("{MAIL}/session-xyz789/inbox/{file}")).contains("\n  \"read\": false,\n"));
    assert_eq!(lying(&env, "session-abc123/sent.json")["last_seq"], 1);
    env.ok(&["doctor"]);
    env.ok(&["validate"]);
}

#[test]
fn a_person_reads_what_was_done() {
    let env = env();
    env.ok(&words("set session status \"active\" --session-id b"));
    let sent = env.ok(&words("message send a b note 1 --id m-1"));
    assert_eq!((&*sent.stdout, &*sent.stderr), ("Sent to b: m-1 (number 1 from a)\n", ""));
    let again = env.ok(&words("message send a b note 1 --id m-1"));
    assert_eq!(again.stdout, "Had been sent to b: m-1 (number 1 from a)\n");
    assert!(env.ok(&words("message poll b --format table --no-mark-read")).stdout.contains("m-1"));
    assert_eq!(env.ok(&words("message done b m-1")).stdout, "Done with m-1\n");
    assert_eq!(env.ok(&words("message done b m-1")).stdout, "Was done with already: m-1\n");
    let alone = env.ok(&words("message broadcast b note 1"));
    assert_eq!(alone.stdout, "No other session is at work: nothing was sent\n");
}

#[test]
fn reading_marks_a_message_and_done_moves_it() {
    let env = env();
    send(&env, "a b note 1 --id m");
    let read = poll(&env, "b");
    assert_eq!((read.len(), &read[0]["read"], &read[0]["processed"]), (1, &json!(true), &json!(false)));
    assert_eq!(
        (&read[0]["status"], &read[0]["read_at"]),
        (&json!("read"), &json!("2026-01-01T00:00:02.000Z"))
    );
    assert_eq!(lying(&env, "b/inbox/m.json"), read[0]);
    assert_eq!(lying(&env, "a/outbox/m.json")["read"], Value::Null, "the sender's copy is what was sent");
    assert_eq!(notes(&env, "b"), ["m read"]);

    let done = env.json(&words("message done b m"));
    assert_eq!((&done["read"], &done["processed"]), (&json!(true), &json!(true)));
    assert_eq!(
        (&done["status"], &done["processed_at"]),
        (&json!("processed"), &json!("2026-01-01T00:00:03.000Z"))
    );
    assert_eq!((tray(&env, "b/inbox").len(), tray(&env, "b/processed")), (0, vec!["m.json".to_owned()]));
    assert_eq!(lying(&env, "b/processed/m.json"), done);
    assert_eq!(notes(&env, "b"), ["m processed"]);
    let before = env.bytes();
    assert_eq!(env.json(&words("message done b m")), done, "once more gives the same");
    assert!(env.bytes() == before, "once more changes nothing");
    assert_eq!(polled(&env, "b --again"), [""; 0]);
    env.ok(&["doctor"]);
}

#[test]
fn what_is_not_there_cannot_be_done() {
    let env = env();
    send(&env, "a b note 1 --id m");
    let error = refused(&env, "done b no-such", 4);
    assert!(error["hint"].as_str().unwrap().contains("anthill message poll b --again"), "{error}");
    refused(&env, "done a m", 4);
    refused(&env, "done nobody m", 4);
    // What is done with unread counts as read.
    assert_eq!(env.json(&words("message done b m"))["read"], true);
    assert_eq!(polled(&env, "b"), [""; 0]);
}

// ---- reading

#[test]
fn the_most_urgent_come_first_then_the_first() {
    let env = env();
    for (number, priority) in
        ["low", "normal", "critical", "high", "normal", "critical", "low", "high"].iter().enumerate()
    {
        send(&env, &format!("a b note 1 --id m{number} --priority {priority}"));
    }
    send(&env, "c b note 1 --id c1 --priority critical");
    let order = ["m2", "m5", "c1", "m3", "m7", "m1", "m4", "m0", "m6"];
    assert_eq!(polled(&env, "b --no-mark-read"), order);
    assert_eq!(polled(&env, "b"), order);
    assert_eq!(polled(&env, "b --again"), order);
    refused(&env, "send a b note 1 --priority urgent", 2);
}

#[test]
fn a_message_is_read_once() {
    let env = env();
    send(&env, "a b note 1 --id m1");
    assert_eq!(polled(&env, "b --no-mark-read"), ["m1"]);
    assert_eq!(lying(&env, "b/inbox/m1.json")["read"], false);
    assert_eq!(polled(&env, "b --no-mark-read"), ["m1"]);
    assert_eq!(polled(&env, "b --again"), [""; 0], "not read yet");
    assert_eq!(polled(&env, "b"), ["m1"]);
    let second = env.ok(&words("message poll b"));
    assert_eq!((second.code, &*second.stdout, &*second.stderr), (0, "[]\n", ""));
    send(&env, "a b note 2 --id m2");
    assert_eq!(polled(&env, "b"), ["m2"]);
    assert_eq!(polled(&env, "b --again"), ["m1", "m2"]);
    assert_eq!(polled(&env, "b --again"), ["m1", "m2"], "as often as one likes");
    env.ok(&words("message done b m1"));
    assert_eq!(polled(&env, "b --again"), ["m2"]);
    for wrong in ["poll b --again --wait 1", "poll b --again --no-mark-read", "poll b --limit 0", "poll ../b"]
    {
        refused(&env, wrong, 2);
    }
}

#[test]
fn nobody_has_ever_written_to_them() {
    let env = env();
    let before = env.bytes();
    assert_eq!(polled(&env, "b"), [""; 0]);
    assert_eq!(polled(&env, "b --again"), [""; 0]);
    assert!(env.bytes() == before, "looking makes no mailbox");
}

#[test]
fn so_many_and_no_more() {
    let env = env();
    (1..=5).for_each(|number| drop(send(&env, &format!("a b note {number} --id m{number}"))));
    let first = env.ok(&words("message poll b --limit 2"));
    assert_eq!(first.stderr, "there are more: poll again\n");
    let ids = |ran: &Ran| -> Vec<_> { ran.json().as_array().unwrap().iter().map(id).collect() };
    assert_eq!(ids(&first), ["m1", "m2"]);
    let again = env.ok(&words("message poll b --again --limit 1"));
    assert_eq!((ids(&again), &*again.stderr), (vec!["m1".to_owned()], "there are more: poll again\n"));
    assert_eq!(polled(&env, "b --limit 1"), ["m3"]);
    let last = env.ok(&words("message poll b --limit 2"));
    assert_eq!((ids(&last), &*last.stderr), (vec!["m4".to_owned(), "m5".to_owned()], ""));
    assert_eq!(polled(&env, "b"), [""; 0]);
}

#[test]
fn what_nobody_reads_in_time_expires() {
    let env = env();
    at(&env, "01:00", "message send a b note 1 --id soon --ttl 60");
    at(&env, "01:00", "message send a b note 1 --id late --ttl 7200");
    at(&env, "01:00", "message send a b note 1 --id ever");
    at(&env, "01:00", "message send a b note 1 --id read --ttl 60 --priority high");
    let ids = |ran: Ran| -> Vec<_> { ran.json().as_array().unwrap().iter().map(id).collect() };
    assert_eq!(ids(at(&env, "01:00", "message poll b --limit 1")), ["read"]);
    assert_eq!(ids(at(&env, "01:01", "message poll b")), ["late", "ever"]);
    assert_eq!(tray(&env, "b/processed"), ["soon.json"]);
    let expired = lying(&env, "b/processed/soon.json");
    let stands = (&expired["status"], &expired["read"], &expired["processed"], &expired["processed_at"]);
    assert_eq!(stands, (&json!("expired"), &json!(false), &json!(false), &json!("2026-01-01T01:01:00.000Z")));
    assert_eq!(expired["reason"], "expired: not read within its ttl of 60 s");
    assert_eq!(notes(&env, "b"), ["soon expired", "late read", "ever read", "read read"]);
    assert_eq!(
        ids(at(&env, "23:00", "message poll b --again")),
        ["read", "late", "ever"],
        "what was read stays"
    );
    assert_eq!(env.ok(&words("message done b soon")).stdout, "Had expired unread: soon\n");
    for wrong in ["-1", "NaN", "soon", "inf"] {
        refused(&env, &format!("send a b note 1 --ttl={wrong}"), 2);
    }
}

// ---- sending

#[test]
fn the_same_id_is_the_same_message() {
    let env = env();
    let first = send(&env, "a b note {\"x\":1} --id m --ttl 60 --priority high --in-reply-to q");
    let before = env.bytes();
    let line = "a b note {\"x\":1} --id m --priority high --in-reply-to q --ttl 60";
    assert_eq!(send(&env, line), first, "the same answer");
    assert!(env.bytes() == before, "nothing was written");
    for other in [
        "a b note {\"x\":2} --id m --ttl 60 --priority high --in-reply-to q",
        "a b memo {\"x\":1} --id m --ttl 60 --priority high --in-reply-to q",
        "a b note {\"x\":1} --id m --ttl 61 --priority high --in-reply-to q",
        "a b note {\"x\":1} --id m --ttl 60 --in-reply-to q",
        "a b note {\"x\":1} --id m --ttl 60 --priority high",
        "a c note {\"x\":1} --id m --ttl 60 --priority high --in-reply-to q",
        "c b note {\"x\":1} --id m --ttl 60 --priority high --in-reply-to q",
    ] {
        let error = refused(&env, &format!("send {other}"), 3);
        assert!(error["hint"].as_str().unwrap().contains("nothing was sent"), "{error}");
    }
    polled(&env, "b");
    assert_eq!(send(&env, line), first, "also after it was read");
    env.ok(&words("message done b m"));
    assert_eq!(send(&env, line), first, "also after it was done with");
    assert_eq!((polled(&env, "b").len(), tray(&env, "b/inbox").len()), (0, 0));
    assert_eq!(send(&env, "a c note 1")["seq"], 2, "a repetition is not counted");
}

#[test]
fn a_sender_counts_all_that_it_sends() {
    let env = env();
    let seq = |line: &str| send(&env, line)["seq"].as_u64().unwrap();
    assert_eq!([seq("a b note 1"), seq("a c note 1"), seq("a b note 1")], [1, 2, 3]);
    assert_eq!([seq("b a note 1"), seq("a b note 1")], [1, 4]);
    assert_eq!(
        poll(&env, "b").iter().map(|message| message["seq"].as_u64().unwrap()).collect::<Vec<_>>(),
        [1, 3, 4]
    );
    assert_eq!(tray(&env, "a/outbox").len(), 4);
}

#[test]
fn one_writes_to_oneself() {
    let env = env();
    send(&env, "a a note 1 --id m");
    assert_eq!(
        (tray(&env, "a/inbox"), tray(&env, "a/outbox")),
        (vec!["m.json".into()], vec!["m.json".into()])
    );
    assert_eq!(polled(&env, "a"), ["m"]);
    env.ok(&["doctor"]);
}

#[test]
fn an_answer_says_what_it_answers() {
    let env = env();
    let question = send(&env, "a b question \"which\"");
    let answer = send(&env, &format!("b a answer \"main\" --in-reply-to {}", id(&question)));
    assert_eq!(answer["in_reply_to"], question["id"]);
    assert_eq!(poll(&env, "a")[0]["in_reply_to"], question["id"]);
    refused(&env, "send b a answer 1 --in-reply-to ../x", 2);
}

#[test]
fn who_really_sent_it() {
    let env = env();
    let sender = |variables: &[(&str, &str)], options: &str| {
        let line = format!("message send a b note 1 --json {options}");
        env.finish(env.command(&words(&line)).envs(variables.iter().copied()), b"").json()["sender"].take()
    };
    let expected = |session: Option<&str>, role: Option<&str>, kind: &str| json!({"session_id": session, "role": role, "kind": kind});
    assert_eq!(sender(&[], ""), expected(None, None, "person"));
    assert_eq!(sender(&[("CLAUDECODE", "1")], ""), expected(None, None, "agent"));
    assert_eq!(sender(&[("CLAUDE_CODE_SESSION_ID", "s9")], ""), expected(Some("s9"), None, "agent"));
    assert_eq!(
        sender(&[("ANTHILL_SESSION_ID", "s8")], "--role qa"),
        expected(Some("s8"), Some("qa"), "agent")
    );
    assert_eq!(
        sender(&[("ANTHILL_ROLE", "pm")], "--session-id s7"),
        expected(Some("s7"), Some("pm"), "agent")
    );
    assert_eq!(sender(&[("CLAUDECODE", "1")], "--as person"), expected(None, None, "person"));
    assert_eq!(sender(&[], "--as agent"), expected(None, None, "agent"));
}

#[test]
fn what_is_no_message_is_refused_and_leaves_no_trace() {
    let env = env();
    let refused = |args: &[&str], input: &[u8], piece: &str| {
        let before = (env.bytes(), paths(&env));
        let error = fails(&env, args, input, 2, "invalid");
        let said = format!("{} {}", error["message"], error["hint"]);
        assert!(said.contains(piece), "{args:?}: {error}");
        assert!((env.bytes(), paths(&env)) == before, "{args:?} left a trace");
    };
    let large = format!("\"{}\"", "x".repeat(10 << 20));
    refused(
        &["message", "send", "a", "b", "note", "-"],
        large.as_bytes(),
        "put it into a file and send its path",
    );
    refused(&["message", "send", "a", "b", "note", "-"], &[b'7'; 17 << 20], "larger than");
    refused(&["message", "send", "a", "b", "note", "{not json"], b"", "not JSON");
    refused(&["message", "send", "a", "b", "note", "hello"], b"", "needs quotes of its own");
    refused(&["message", "send", "a", "b", "note", "-"], b"", "not JSON");
    refused(&["message", "send", "a", "b", "note", "-"], b"\"\xff\"", "not JSON");
    refused(&["message", "send", "a", "b", "note", "1", "--id", "../../x"], b"", "not a valid");
    refused(&["message", "send", "a", "../../x", "note", "1"], b"", "not a valid");
    refused(&["message", "send", "../../x", "b", "note", "1"], b"", "not a valid");
    refused(&["message", "send", "a", ".", "note", "1"], b"", "not a valid");
    refused(&["message", "send", "a", "b", "", "1"], b"", "the type must be");
    refused(&["message", "send", "a", "b", "no\u{1b}[31mte", "1"], b"", "the type must be");
    refused(&["message", "send", "a", "b", "note", "1", "--role", "\n"], b"", "the role must be");
    refused(&["message", "poll", "../../x"], b"", "not a valid");
    refused(&["message", "done", "b", "../../x"], b"", "not a valid");
    refused(&["message", "broadcast", "a", "note", "{"], b"", "not JSON");
}

/// Returns every name below the root, also those of directories and locks.
fn paths(env: &TestEnv) -> Vec<String> {
    let found = env.sh(&format!("find {} | sort", env.root().display()));
    found.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn the_largest_payload_arrives() {
    let env = env();
    let largest = format!("\"{}\"", "é".repeat((1 << 19) - 1));
    assert_eq!(largest.len(), 1 << 20);
    let ran = env.run_with_input(&["message", "send", "a", "b", "note", "-"], largest.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(poll(&env, "b")[0]["payload"].as_str().unwrap().len(), (1 << 20) - 2);
}

#[test]
fn escapes_are_data_and_do_not_reach_the_terminal() {
    let env = env();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}";
    env.ok(&["message", "send", "a", "b", "note", &json!({"text": evil}).to_string(), "--id", "m"]);
    assert_eq!(lying(&env, "b/inbox/m.json")["payload"]["text"], evil, "stored as it is");
    let harmless = |ran: &Ran| {
        let steers = |sign: char| (sign.is_control() && sign != '\n') || sign == '\u{202e}';
        assert!(!ran.stdout.contains(steers) && !ran.stderr.contains(steers), "{:?}", ran.stdout);
    };
    for format in ["json", "table", "md"] {
        let ran = env.ok(&["message", "poll", "b", "--no-mark-read", "--format", format]);
        harmless(&ran);
        assert!(ran.stdout.contains("owned"), "{format}: {}", ran.stdout);
    }
    let ran = env.ok(&["message", "poll", "b"]);
    harmless(&ran);
    assert_eq!(ran.json()[0]["payload"]["text"], evil, "and read as it is");
}

#[test]
fn a_session_that_has_not_started_has_a_mailbox_all_the_same() {
    let env = env();
    let error = refused(&env, "send a b note 1 --require-session", 4);
    assert!(error["message"].as_str().unwrap().contains("there is no session `b`"), "{error}");
    assert!(!env.root().join(MAIL).exists());
    let sent = env.ok(&words("message send a b note 1 --id m"));
    assert_eq!(sent.stderr, "warning: no session `b` has started yet; the message waits in its mailbox\n");
    assert_eq!(polled(&env, "b"), ["m"]);
    env.ok(&words("set session status \"active\" --session-id b"));
    let sent = env.ok(&words("message send a b note 1 --require-session"));
    assert_eq!(sent.stderr, "");
}

#[test]
fn messages_can_be_turned_off() {
    let env = env();
    send(&env, "a b note 1 --id m");
    env.ok(&words("set config features.enable_message_passing false"));
    for line in [
        "send a b note 1",
        "poll b",
        "poll b --wait 1",
        "poll b --again",
        "done b m",
        "outbox a",
        "broadcast a note 1",
    ] {
        let error = refused(&env, line, 1);
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("anthill set config features.enable_message_passing true"), "{line}: {error}");
    }
    env.ok(&words("set config features.enable_message_passing true"));
    assert_eq!(polled(&env, "b"), ["m"]);
}

// ---- what became of them

/// Returns what a sender sees, as `id status read processed`.
#[track_caller]
fn outbox(env: &TestEnv, line: &str) -> Vec<String> {
    let sent = env.json(&words(&format!("message outbox {line}")));
    let line = |message: &Value| {
        format!(
            "{} {} {} {}",
            id(message),
            message["status"].as_str().unwrap(),
            message["read"],
            message["processed"]
        )
    };
    sent.as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_sender_sees_what_was_read() {
    let env = env();
    for line in ["b note 1 --id z", "b note 2 --id y", "c note 3 --id x --ttl 60", "b note 4 --id w"] {
        send(&env, &format!("a {line}"));
    }
    let delivered =
        |ids: &[&str]| ids.iter().map(|id| format!("{id} delivered false false")).collect::<Vec<_>>();
    assert_eq!(outbox(&env, "a"), delivered(&["z", "y", "x", "w"]), "in the order of sending");
    let before = env.bytes();
    assert_eq!(outbox(&env, "a --limit 2"), delivered(&["x", "w"]), "the newest");
    assert!(env.bytes() == before, "looking changes nothing");

    polled(&env, "b --limit 2");
    env.ok(&words("message done b z"));
    let stand =
        ["z processed true true", "y read true false", "x delivered false false", "w delivered false false"];
    assert_eq!(outbox(&env, "a"), stand);
    assert_eq!(outbox(&env, "a y"), ["y read true false"], "only this one");
    let late = at(&env, "02:00", "message outbox a --format table").stdout;
    assert!(late.lines().any(|line| line.contains("x") && line.contains("expired")), "{late}");
    env.ok(&words("message done b y"));
    assert_eq!(outbox(&env, "a y"), ["y processed true true"]);
    assert_eq!(lying(&env, "a/outbox/y.json")["status"], "sent", "nobody writes into it");
}

#[test]
fn a_sender_whose_recipients_cannot_be_asked() {
    let env = env();
    assert_eq!(outbox(&env, "nobody"), [""; 0]);
    refused(&env, "outbox a m", 4);
    assert!(!env.root().join(MAIL).exists(), "looking makes no mailbox");
    send(&env, "a b note 1 --id m");
    send(&env, "a c note 2 --id n");
    refused(&env, "outbox a no-such", 4);
    refused(&env, "outbox a ../../x", 2);
    // One list is damaged, one copy is no message: the others are told all the same.
    polled(&env, "c");
    env.write(&format!("{MAIL}/b/mailbox.json"), "{");
    env.write(&format!("{MAIL}/a/outbox/torn.json"), "{");
    let ran = env.ok(&words("message outbox a --json"));
    let sent: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&sent[0]["status"], &sent[1]["status"]), (&json!("sent"), &json!("read")), "{sent}");
    for told in ["messages to `b`", "torn.json` is left out"] {
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

// ---- other programs

#[test]
fn a_message_of_another_program_is_read() {
    let env = env();
    env.write(&format!("{MAIL}/session-xyz789/inbox/msg-12345.json"), SEEDED);
    let read = poll(&env, "session-xyz789");
    let mut expected: Value = serde_json::from_str(SEEDED).unwrap();
    expected["read"] = true.into();
    expected["status"] = "read".into();
    expected["read_at"] = "2026-01-01T00:00:01.000Z".into();
    assert_eq!(read, [expected]);
    assert_eq!(polled(&env, "session-xyz789"), [""; 0]);
    assert_eq!(polled(&env, "session-xyz789 --again"), ["msg-12345"]);
    // By the script of the seed: no priority, no ttl, a local time without a zone.
    env.write(
        &format!("{MAIL}/session-xyz789/inbox/msg-2.json"),
        r#"{"id": "msg-2", "from": "a", "to": "session-xyz789", "type": "note", "payload": {"x": 1},
            "timestamp": "2025-01-21T10:00:00.123456", "read": false}"#,
    );
    drop_in(
        &env,
        "session-xyz789",
        "msg-1",
        &json!({"timestamp": "2025-01-21T09:00:00Z", "ttl": null, "priority": "low"}),
    );
    assert_eq!(polled(&env, "session-xyz789"), ["msg-2", "msg-1"]);
    env.ok(&words("message done session-xyz789 msg-12345"));
    assert_eq!(tray(&env, "session-xyz789/processed"), ["msg-12345.json"]);
    env.ok(&["doctor"]);
}

#[test]
fn others_messages_come_in_the_order_of_their_times() {
    let env = env();
    send(&env, "a b note 1 --id ours");
    for (id, minute) in [("z", 1), ("y", 3), ("x", 2)] {
        drop_in(&env, "b", id, &json!({"timestamp": format!("2026-01-01T00:0{minute}:00Z")}));
    }
    assert_eq!(polled(&env, "b"), ["ours", "z", "x", "y"]);
}

#[test]
fn a_broken_message_stays_and_blocks_nobody() {
    let env = env();
    send(&env, "a b note 1 --id good");
    env.write(&format!("{MAIL}/b/inbox/torn.json"), &SEEDED[..40]);
    env.write(&format!("{MAIL}/b/inbox/other.json"), SEEDED);
    env.write(&format!("{MAIL}/b/inbox/list.json"), "[]");
    env.write(&format!("{MAIL}/b/inbox/note.txt"), "not a message");
    env.write(&format!("{MAIL}/b/inbox/.hidden.json"), "{}");
    drop_in(&env, "b", "also-good", &json!({}));
    let ran = env.ok(&words("message poll b"));
    let ids: Vec<_> = ran.json().as_array().unwrap().iter().map(id).collect();
    assert_eq!(ids, ["good", "also-good"]);
    for name in ["torn", "other", "list"] {
        let warning = format!("warning: `orchestration/messages/b/inbox/{name}.json` is left out: ");
        assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
    }
    assert_eq!(ran.stderr.lines().count(), 3, "{}", ran.stderr);
    assert_eq!(env.read_text(&format!("{MAIL}/b/inbox/torn.json")), SEEDED[..40]);
    let error = refused(&env, "done b torn", 1);
    assert!(error["hint"].as_str().unwrap().contains("correct the file"), "{error}");
    // A writer that was slow, or a person who corrects it, writes into the same file.
    drop_in(&env, "b", "torn", &json!({}));
    assert_eq!(polled(&env, "b"), ["torn"]);
    let mailbox = lying(&env, "b/mailbox.json");
    let note = mailbox["messages"].as_array().unwrap().iter().find(|note| note["id"] == "torn").unwrap();
    assert_eq!(note["type"], "task_handoff", "{note}");
    // What was good when it came and is broken before it is read.
    send(&env, "a b note 1 --id cut");
    let whole = env.read(&format!("{MAIL}/b/inbox/cut.json"));
    env.write(&format!("{MAIL}/b/inbox/cut.json"), &whole[..30]);
    assert_eq!(polled(&env, "b"), [""; 0]);
    env.write(&format!("{MAIL}/b/inbox/cut.json"), whole);
    assert_eq!(polled(&env, "b"), ["cut"]);
}

#[test]
fn a_person_edits_messages() {
    let env = env();
    (1..=4).for_each(|number| drop(send(&env, &format!("a b note {number} --id m{number} --ttl 600"))));
    let edit = |id: &str, from: &str, to: &str| {
        let file = format!("{MAIL}/b/inbox/{id}.json");
        let text = env.read_text(&file);
        assert!(text.contains(from), "{text}");
        env.write(&file, text.replacen(from, to, 1));
    };
    edit("m1", "\"read\": false", "\"read\": true");
    take_away(&env, "b/inbox/m2.json");
    edit("m3", "\"payload\": 3", "\"payload\": 33");
    edit("m4", "\"ttl\": 600", "\"ttl\": 0");
    let read = poll(&env, "b");
    assert_eq!((read.len(), &read[0]["id"], &read[0]["payload"]), (1, &json!("m3"), &json!(33)));
    assert_eq!(notes(&env, "b"), ["m1 read", "m2 processed", "m3 read", "m4 expired"]);
    assert_eq!(polled(&env, "b --again"), ["m1", "m3"]);
    // Removed after it was read: nothing to read again, and nothing to complain of.
    take_away(&env, "b/inbox/m3.json");
    assert_eq!(polled(&env, "b --again"), ["m1"]);
    refused(&env, "done b m3", 4);
    env.ok(&["doctor"]);
}

#[test]
fn what_a_person_puts_back_is_there_again() {
    let env = env();
    (1..=2).for_each(|number| drop(send(&env, &format!("a b note {number} --id m{number}"))));
    polled(&env, "b");
    for id in ["m1", "m2"] {
        env.ok(&["message", "done", "b", id]);
    }
    let mail = env.root().join(MAIL).display().to_string();
    let line = format!(
        "cd {mail}/b && mv processed/m1.json processed/m2.json inbox && sed -i s/true/false/ inbox/m2.json"
    );
    assert_eq!(env.sh(&line).code, 0);
    assert_eq!(polled(&env, "b"), ["m2"], "one is unread again");
    assert_eq!(polled(&env, "b --again"), ["m1", "m2"]);
    env.ok(&words("message done b m2"));
    assert_eq!(
        (tray(&env, "b/inbox"), tray(&env, "b/processed")),
        (vec!["m1.json".into()], vec!["m2.json".into()])
    );
    env.ok(&["doctor"]);
}

#[test]
fn without_its_list_a_mailbox_is_read_from_its_files() {
    for next in ["poll", "send", "done"] {
        let env = env();
        (1..=3).for_each(|number| drop(send(&env, &format!("a b note {number} --id m{number}"))));
        assert_eq!(polled(&env, "b --limit 1"), ["m1"]);
        take_away(&env, "b/mailbox.json");
        match next {
            "poll" => assert_eq!(polled(&env, "b"), ["m2", "m3"]),
            "done" => {
                env.ok(&words("message done b m2"));
                assert_eq!(polled(&env, "b"), ["m3"]);
            }
            _ => {
                send(&env, "a b note 4 --id m4");
                let mut ids = polled(&env, "b");
                ids.sort_unstable();
                assert_eq!(ids, ["m2", "m3", "m4"]);
            }
        }
        let again = polled(&env, "b --again");
        assert!(again.contains(&"m1".to_owned()), "{next}: {again:?}");
        assert_eq!(polled(&env, "b"), [""; 0], "{next}");
        env.ok(&["doctor"]);
    }
}

// ---- to all

/// Lets a session be at work, or have another state.
fn session(env: &TestEnv, id: &str, fields: &str) {
    for (field, value) in fields.split_whitespace().map(|field| field.split_once('=').unwrap()) {
        env.ok(&["set", "session", field, &format!("\"{value}\""), "--session-id", id]);
    }
}

#[test]
fn a_broadcast_goes_to_those_at_work() {
    let env = env();
    session(&env, "lead", "status=active project_id=p");
    session(&env, "busy", "status=active project_id=p");
    session(&env, "idle", "status=idle project_id=q");
    session(&env, "ended", "status=ended project_id=p");
    session(&env, "expired", "status=expired");
    session(&env, "silent", "last_heartbeat=2025-12-31T22:00:00Z status=active project_id=p");
    let to = |sent: &Value| -> Vec<String> {
        sent.as_array().unwrap().iter().map(|message| message["to"].as_str().unwrap().to_owned()).collect()
    };
    let line = "message broadcast lead emergency_stop {} --priority critical --id stop-1";
    let sent = env.json(&words(line));
    assert_eq!(to(&sent), ["busy", "idle"]);
    assert_eq!((id(&sent[0]), id(&sent[1])), ("stop-1.busy".to_owned(), "stop-1.idle".to_owned()));
    let before = env.bytes();
    assert_eq!(env.json(&words(line)), sent, "once more gives the same");
    assert!(env.bytes() == before);
    // One that comes later gets it too when it is repeated, the others do not.
    session(&env, "new", "status=active");
    assert_eq!(to(&env.json(&words(line))), ["busy", "idle", "new"]);
    for reader in ["busy", "idle", "new"] {
        assert_eq!(polled(&env, reader), [format!("stop-1.{reader}")]);
    }
    for silent in ["lead", "ended", "expired", "silent"] {
        assert_eq!(polled(&env, silent), [""; 0], "{silent}");
    }
    refused(&env, "broadcast lead emergency_stop 1 --id stop-1", 3);
    assert_eq!(to(&env.json(&words("message broadcast lead note 1 --project-id p"))), ["busy"]);
    assert_eq!(to(&env.json(&words("message broadcast lead note 1 --project-id none"))), [""; 0]);
    assert_eq!(env.ok(&words("message broadcast lead note 2")).stdout, "Sent to 3: busy, idle, new\n");
}

#[test]
fn a_broadcast_whose_ids_do_not_fit_reaches_nobody() {
    let env = env();
    session(&env, "a", "status=active");
    session(&env, &"b".repeat(100), "status=active");
    refused(&env, &format!("broadcast lead note 1 --id {}", "x".repeat(100)), 2);
}

// ---- waiting

#[test]
fn a_waiting_poll_wakes_up_for_a_message() {
    let env = env();
    send(&env, "a b note 0 --id m0");
    assert_eq!(woken(env.spawn(&words("message poll b --wait 60")))[0]["id"], "m0", "it is there already");
    for (number, wait) in [(1, "--wait 60"), (2, "--wait"), (3, "--wait 60 --no-mark-read")] {
        let waiter = waiting(&env, &format!("b {wait}"));
        send(&env, &format!("a b note {number} --id m{number}"));
        let read = woken(waiter);
        assert_eq!((read.as_array().unwrap().len(), &read[0]["payload"]), (1, &json!(number)), "{wait}");
    }
    assert_eq!(polled(&env, "b"), ["m3"], "it was left unread");
}

#[test]
fn a_poll_waits_for_a_mailbox_that_is_not_there_yet() {
    let env = env();
    let waiter = waiting(&env, "b --wait 60");
    send(&env, "a b note 1 --id m");
    assert_eq!(woken(waiter)[0]["id"], "m");
    // Nor the one of another program, made step by step.
    let waiter = waiting(&env, "c --wait 60");
    drop_in(&env, "c", "m", &json!({}));
    assert_eq!(woken(waiter)[0]["id"], "m");
}

#[test]
fn a_waiting_poll_wakes_up_for_a_message_of_another_program() {
    let env = env();
    send(&env, "a b note 1");
    polled(&env, "b");
    let waiter = waiting(&env, "b --wait 60");
    drop_in(&env, "b", "m1", &json!({}));
    assert_eq!(woken(waiter)[0]["id"], "m1");
    // As the seed's script does it: the file is there before its text is.
    let waiter = waiting(&env, "b --wait 60");
    env.write(&format!("{MAIL}/b/inbox/m2.json"), "");
    asleep(&waiter);
    drop_in(&env, "b", "m2", &json!({}));
    assert_eq!(woken(waiter)[0]["id"], "m2");
}

#[test]
fn a_poll_waits_no_longer_than_it_should() {
    let env = env();
    for session in ["nobody", "b"] {
        let begin = Instant::now();
        let ran = env.ok(&["message", "poll", session, "--wait", "0.3"]);
        assert_eq!((&*ran.stdout, &*ran.stderr), ("[]\n", ""));
        assert!(begin.elapsed() >= Duration::from_millis(300), "{:?}", begin.elapsed());
        send(&env, "a b note 1");
        polled(&env, "b");
    }
    assert_eq!(env.ok(&words("message poll b --wait 0")).stdout, "[]\n");
    refused(&env, "poll b --wait -1", 2);
}

#[test]
fn of_two_that_wait_one_gets_it() {
    let env = env();
    let mut waiters = [waiting(&env, "b --wait 60"), waiting(&env, "b --wait 60")];
    send(&env, "a b note 1 --id m1");
    let end = Instant::now() + Duration::from_secs(30);
    let first = loop {
        let spoke = waiters.iter().position(|waiter| waiter.line_within(Duration::from_millis(10)).is_some());
        if let Some(first) = spoke {
            break first;
        }
        assert!(Instant::now() < end, "nobody got it");
    };
    asleep(&waiters[1 - first]);
    send(&env, "a b note 2 --id m2");
    assert_eq!(waiters[first].wait(), 0);
    let [one, other] = waiters;
    let other = if first == 0 { other } else { one };
    let read = woken(other);
    assert_eq!((read.as_array().unwrap().len(), &read[0]["id"]), (1, &json!("m2")));
}

#[test]
fn the_polling_loop_of_the_seed_in_one_line_that_waits() {
    let env = env();
    let script = r#"
        handle_task_handoff() { echo "took $(echo "$1" | jq -r .payload.task_id)"; }
        handle_emergency_stop() { echo stopped; exit 0; }
        while MESSAGES=$(anthill message poll "$SESSION_ID" --wait 60); do
          echo "$MESSAGES" | jq -c '.[]' | while read -r msg; do
            case "$(echo "$msg" | jq -r '.type')" in
              task_handoff) handle_task_handoff "$msg" ;;
              emergency_stop) handle_emergency_stop "$msg" ;;
            esac
            anthill message done "$SESSION_ID" "$(echo "$msg" | jq -r .id)" > /dev/null
          done
          anthill message poll "$SESSION_ID" --again | jq -e 'any(.type == "emergency_stop")' > /dev/null && exit 0
        done"#;
    let mut command = env.clean("sh");
    let mut running = Running::start(command.args(["-c", script]).env("SESSION_ID", "session-xyz789"));
    for number in 1..=3 {
        send(&env, &format!("a session-xyz789 task_handoff {{\"task_id\":\"task-{number}\"}}"));
        assert_eq!(running.line(), format!("took task-{number}"));
    }
    send(&env, "a session-xyz789 emergency_stop {} --priority critical");
    assert_eq!((running.line().as_str(), running.wait()), ("stopped", 0));
}

// ---- many

/// `ANTHILL_LETTERS_READ` and `_POLLS` make it larger.
#[test]
fn messages_that_were_read_do_not_slow_a_poll_down() {
    let (read, polls) = (told("LETTERS_READ", 2_000), told("LETTERS_POLLS", 15));
    let env = env();
    (0..read).for_each(|number| drop_in(&env, "full", &format!("m{number}"), &json!({"read": true})));
    send(&env, "a empty note 1 --id m");
    polled(&env, "empty");
    env.ok(&words("message done empty m"));
    let poll = |session: &str| {
        let begin = Instant::now();
        assert_eq!(polled(&env, session), [""; 0]);
        begin.elapsed()
    };
    let first = poll("full");
    let (full, empty): (Vec<_>, Vec<_>) = (0..polls).map(|_| (poll("full"), poll("empty"))).unzip();
    // The fastest: what else the machine does makes others slow.
    let (full, empty) = (full.iter().min().unwrap(), empty.iter().min().unwrap());
    say(&format!("{read} read: the first poll took {first:?}, then {full:?}; of an empty mailbox {empty:?}"));
    assert!(*full <= 2 * *empty, "{full:?} instead of {empty:?}");
    assert_eq!(notes(&env, "full").len(), read);
    // And what is new among them is found.
    send(&env, "a full note 1 --id new");
    assert_eq!(polled(&env, "full"), ["new"]);
}

#[expect(clippy::print_stderr, reason = "figures, for the eye")]
fn say(text: &str) {
    eprintln!("{text}");
}

#[test]
fn people_write_plain_text_to_a_name() {
    let env = env();
    env.ok(&words("session start session-bob"));
    env.ok(&words("session start session-ann"));
    env.ok(&words("leader add-task x"));
    env.ok(&words("worker claim bob --session-id session-bob"));
    for (to, id) in [("session-bob", "by-id"), ("bob", "by-worker"), ("session-b", "by-prefix")] {
        let sent = env.json(&["message", "send", to, "look at the tests", "--id", id]);
        assert_eq!((&sent["to"], &sent["type"]), (&json!("session-bob"), &json!("note")), "{to}");
        assert_eq!(sent["payload"], "look at the tests");
    }
    let ran = env.run(&["message", "send", "session-", "hello"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("`session-` begins the ids of 2 sessions: `session-ann`, `session-bob`"),
        "{}",
        ran.stderr
    );
    let answered =
        env.json(&["message", "reply", "by-worker", "they are fixed", "--session-id", "session-bob"]);
    assert_eq!(answered["in_reply_to"], "by-worker");
    let user = answered["to"].as_str().unwrap().to_owned();
    let mail = env.json(&["message", "list", &user]);
    assert_eq!(mail["inbox"][0]["payload"], "they are fixed");
    assert_eq!(mail["outbox"].as_array().unwrap().len(), 3);
    assert_eq!(mail["outbox"][0]["read"], false);
    env.ok(&words("message poll session-bob"));
    let shown = env.run(&["message", "list", "session-bob"]).stdout;
    assert!(shown.contains("read") && shown.contains("they are fixed"), "{shown}");
    assert_eq!(env.json(&["message", "list", &user])["outbox"][0]["read"], true);
    assert_eq!(env.run(&words("message reply nothing x --session-id session-bob")).code, 4);
}
