//! What every command answers with `--json`, as it was recorded: `corpus.txt` is a transcript that is played again.
//!
//! A line that begins with `$ ` is typed into a shell; what it printed and how it ended follows. A line that begins with
//! `# ` begins anew, in a project without anything. `ANTHILL_BLESS=1` writes down what is answered now: read the diff,
//! for scripts read these answers.

use std::fs;
use std::path::Path;

use crate::{env, told};

const FILE: &str = "tests/it/corpus.txt";

#[test]
#[expect(clippy::disallowed_methods, reason = "a file of the tests")]
fn answers_are_as_they_were_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let recorded = fs::read_to_string(&path).unwrap();
    let answered = played(&recorded);
    if told("BLESS", 0) == 1 {
        fs::write(&path, &answered).unwrap();
    }
    let parts = |text: &str| text.split("\n$ ").map(str::to_owned).collect::<Vec<_>>();
    for (recorded, answered) in parts(&recorded).iter().zip(&parts(&answered)) {
        assert_eq!(recorded, answered, "ANTHILL_BLESS=1 records it anew");
    }
}

/// Types the commands of a transcript again and returns what becomes of it.
fn played(transcript: &str) -> String {
    let (mut answered, mut env) = (String::new(), env());
    for line in transcript.lines() {
        if line.starts_with("# ") {
            env = crate::env();
            answered += &format!("{line}\n\n");
        }
        if let Some(typed) = line.strip_prefix("$ ") {
            let ran = env.sh(typed);
            answered += &format!("$ {typed}\n{}[exit {}]\n\n", ran.stdout, ran.code);
        }
    }
    answered
}
