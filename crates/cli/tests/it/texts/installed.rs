use std::fs;
use std::path::Path;

use super::markdown::spans;
use super::stage::{Stage, expect};

/// How the command lines of a text for agents are tried.
struct Walk {
    /// Where `anthill init` puts it, below the project.
    file: &'static str,
    /// What has to be there before.
    before: &'static str,
    /// What stands for its words in capitals.
    words: &'static [(&'static str, &'static str)],
    /// What happens between two lines: this is done before a line that begins so.
    between: &'static [(&'static str, &'static str)],
    /// Lines that do not end with 0 here, as the text says.
    codes: &'static [(&'static str, i32)],
    /// What must hold when the text has been followed.
    after: &'static str,
}

const QUEUE: &str =
    "anthill leader init GOAL; anthill leader add-task First --id T1; anthill leader add-task Second --id T2";

/// The worker has the first task again.
const AGAIN: &str = "anthill leader reset T1 --force; anthill worker claim w1";

/// There is a result.
const RESULT: &str =
    "anthill leader add-task Zero --id T0 -p 1; anthill worker claim w0; anthill worker complete w0 T0 done";

const EPOCH: &str = "$(anthill get queue --field 'tasks[id=T1].lease.epoch')";

/// Brings a pipeline of one group to the order of a role: `at developer`, `at qa_expert`, `at tech_lead`, `at pm`.
const AT: &str = r#"
cat >at <<'END'
set -e
anthill pipeline init --replace "a shop, number $$" >/dev/null
anthill pipeline next >/dev/null
echo '{"task_groups": [{"id": "A", "name": "A shop"}], "success_criteria": ["a shop"]}' | anthill pipeline plan --file -
anthill pipeline next
report() {
    if [ "$at" = "$1" ]; then exit 0; fi
    echo "$4" | anthill pipeline report "$1" "$2" "$3" --file -
    anthill pipeline next
}
at=$1
report developer A READY_FOR_QA '{"files_modified": ["a.py"], "unit_tests_status": "3/3 passing"}'
report qa_expert A PASS '{"test_results": {"e2e_tests": "3/3 passed"}}'
report tech_lead A APPROVED '{"feedback": "good"}'
END
echo '{"test_results": {"e2e_tests": "3/3 passed"}, "evidence": [{"requirement": "a shop", "met": true, "evidence": "tests/shop.py: 3/3 passed"}]}' >REPORT.json
cp REPORT.json REVIEW.json
echo '{"task_groups": [{"id": "A", "name": "A shop"}], "success_criteria": ["a shop"]}' >PLAN.json
"#;

const GROUP: &[(&str, &str)] = &[("GROUP", "A")];

const WALKS: &[Walk] = &[
    Walk {
        file: "CLAUDE.md",
        before: "anthill leader init GOAL; anthill session start s1; anthill session start s2",
        words: &[
            ("W", "w1"),
            ("ID", "phase_0"),
            ("ID…", "phase_0"),
            ("PATH", "src/a.rs"),
            ("PATH…", "src/a.rs"),
            ("FILE…", "src/a.rs"),
            ("FROM", "s1"),
            ("TO", "s2"),
            ("TYPE", "note"),
            ("JSON", "'{\"a\": 1}'"),
            ("ME", "s2"),
            ("MESSAGE-ID", "$(anthill message poll s2 --again --json | jq -r '.[0].id')"),
            ("NAME", "Bash"),
        ],
        between: &[
            ("anthill leader add-task", "anthill leader add-task First --id phase_0"),
            ("anthill leader aggregate", RESULT),
            ("anthill worker fail", "anthill leader reset phase_0 --force; anthill worker claim w1"),
            (
                "anthill workflow show",
                "anthill workflow create Build --phase A=dev B=dev; anthill workflow start",
            ),
            (
                "anthill workflow phase phase_0 --status failed",
                "anthill workflow create Again --replace --phase A=dev B=dev; anthill workflow start",
            ),
        ],
        ..WALK
    },
    Walk {
        file: ".claude/skills/leader/SKILL.md",
        words: &[("W", "w1"), ("ID", "T1"), ("ID…", "T1"), ("PATH…", "src/a.rs")],
        between: &[
            ("anthill leader add-task", "anthill leader add-task First --id T1"),
            (
                "anthill leader retry",
                "anthill leader reset T1 --force; anthill worker claim w1; anthill worker fail w1 T1 why",
            ),
            ("anthill leader aggregate", "anthill worker run w1 --until-empty --agent claude"),
        ],
        codes: &[("anthill leader status", 4)],
        after: "anthill leader status --json | jq -e '.progress.percent == 100'",
        ..WALK
    },
    Walk {
        file: ".claude/skills/worker/SKILL.md",
        before: QUEUE,
        words: &[("W", "w1"), ("ID", "T1"), ("FILE…", "src/a.rs")],
        between: &[("anthill worker fail", AGAIN)],
        codes: &[("anthill get workers", 4)],
        ..WALK
    },
    Walk { file: ".claude/skills/team-status/SKILL.md", before: QUEUE, ..WALK },
    Walk {
        file: ".claude/skills/work-loop/SKILL.md",
        before: r#"printf '[gates.test]\nrun = "true"\n' > .claude/anthill.toml; anthill trust --project"#,
        words: &[("ID", "work-001"), ("NAME", "lint"), ("COMMAND", "true")],
        codes: &[("anthill loop status", 4)],
        after: "anthill loop gate --all; anthill loop gate --all; anthill loop status --json | jq -e '.status == \"complete\"'",
        ..WALK
    },
    Walk {
        file: ".claude/skills/orchestrate/SKILL.md",
        before: AT,
        words: &[("ROLE", "developer"), ("GROUP", "A"), ("STATUS", "READY_FOR_QA"), ("F", "REPORT.json")],
        between: &[("anthill pipeline report", "sh at developer")],
        codes: &[("anthill pipeline status", 4)],
        ..WALK
    },
    Walk {
        file: ".claude/agents/anthill-worker.md",
        before: QUEUE,
        words: &[("W", "w1"), ("ID", "T1"), ("FILE…", "src/a.rs"), ("N", EPOCH)],
        between: &[("anthill worker fail", AGAIN)],
        ..WALK
    },
    Walk {
        file: ".claude/agents/anthill-developer.md",
        before: AT,
        words: GROUP,
        between: &[("anthill pipeline", "sh at developer")],
        ..WALK
    },
    Walk {
        file: ".claude/agents/anthill-qa-expert.md",
        before: AT,
        words: GROUP,
        between: &[("anthill pipeline", "sh at qa_expert")],
        ..WALK
    },
    Walk {
        file: ".claude/agents/anthill-tech-lead.md",
        before: AT,
        words: GROUP,
        between: &[("anthill pipeline", "sh at tech_lead")],
        ..WALK
    },
    Walk {
        file: ".claude/agents/anthill-pm.md",
        before: AT,
        between: &[
            ("anthill pipeline status", "anthill pipeline init shop; anthill pipeline next"),
            ("anthill pipeline report", "sh at pm"),
        ],
        ..WALK
    },
];

const WALK: Walk = Walk { file: "", before: "", words: &[], between: &[], codes: &[], after: "" };

/// Returns the command lines of a text.
fn lines(text: &str) -> Vec<String> {
    let is_command =
        |span: &String| span.starts_with("anthill ") || span.starts_with("cat ") || span.starts_with("… ");
    spans(text).into_iter().filter(is_command).collect()
}

/// Follows a text from its first command line to its last.
fn follow(walk: &Walk, text: &str) -> Result<(), String> {
    let (stage, lines) = (Stage::new(), lines(text));
    stage.prepare(walk.before);
    if lines.is_empty() {
        return Err("it has no command line".into());
    }
    let mut codes = walk.codes.to_vec();
    for line in lines.iter().map(|line| filled(line, walk.words)) {
        if line.contains('…') && !line.contains("\"…\"") {
            return Err(format!("`{line}` is not a whole line"));
        }
        let begins = |(start, _): &&(&str, &str)| line.starts_with(start);
        walk.between.iter().filter(begins).for_each(|(_, script)| stage.prepare(script));
        let at = codes.iter().position(|(start, _)| line.starts_with(start));
        let code = at.map_or(0, |at| codes.remove(at).1);
        expect(&stage.run(&line), code, &line)?;
    }
    expect(&stage.run(&format!("set -e; {}", walk.after)), 0, walk.after)
}

/// Fills in what a reader would fill in: whole words.
fn filled(line: &str, words: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|character| !is_part(character)).unwrap_or(rest.len()).max(first.len_utf8());
        let (word, after) = rest.split_at(length);
        filled += words.iter().find(|(of, _)| *of == word).map_or(word, |(_, value)| value);
        rest = after;
    }
    filled
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || "-_…".contains(character)
}

/// Returns every text below a directory that `init` made.
fn texts(root: &Path, below: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().map(Result::unwrap) {
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => texts(root, &format!("{path}/"), found),
            false if path.ends_with(".md") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn every_command_line_that_agents_are_told_runs() {
    let stage = Stage::new();
    stage.prepare("anthill init");
    let mut found = Vec::new();
    texts(&stage.env.project(), "", &mut found);
    found.sort();
    let mut known: Vec<_> = WALKS.iter().map(|walk| walk.file).collect();
    known.sort_unstable();
    assert_eq!(found, known, "what is installed, and what is tried");
    let read = |walk: &Walk| stage.env.read_text(&format!("project/{}", walk.file));
    let tried =
        WALKS.iter().filter_map(|walk| Some(format!("{}: {}", walk.file, follow(walk, &read(walk)).err()?)));
    let faults: Vec<_> = tried.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn words_in_capitals_are_filled_in_as_a_whole() {
    let words = [("ID", "T1"), ("ID…", "T2"), ("W", "w1"), ("MESSAGE-ID", "m")];
    assert_eq!(
        filled("x W ID \"WHAT\" --depends ID… MESSAGE-ID W.", &words),
        "x w1 T1 \"WHAT\" --depends T2 m w1."
    );
}
