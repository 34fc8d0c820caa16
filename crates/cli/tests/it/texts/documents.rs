use std::fs;
use std::path::{Path, PathBuf};

use super::markdown::{Block, Section, sections};
use super::stage::Stage;

/// What a section of a document needs, and what must hold after it.
struct Scene {
    document: &'static str,
    heading: &'static str,
    before: &'static str,
    after: &'static str,
}

const fn scene(
    document: &'static str,
    heading: &'static str,
    before: &'static str,
    after: &'static str,
) -> Scene {
    Scene { document, heading, before, after }
}

const SCENES: &[Scene] = &[
    scene(
        "docs/guide.md",
        "A team in five minutes",
        "",
        "anthill leader status --json | jq -e '.progress.percent == 100'; anthill doctor",
    ),
    scene("docs/guide.md", "Or let agents do all of it", GATE, ""),
    scene("docs/guide.md", "Sessions", "anthill leader add-task 'Write the tests'", ""),
    scene("docs/editing.md", "When both changed the same", CONFLICT, "anthill get queue | grep -q cancelled"),
    scene("docs/editing.md", "With a command", "anthill leader add-task 'do it'", ""),
    scene("docs/hooks.md", "Change hooks", HOOK, ""),
    scene("docs/hooks.md", "Example: tasks for stories that nobody has", EPIC, ""),
    scene("docs/loop.md", "The work loop", GATE, "anthill loop gate --all"),
    scene("docs/loop.md", "By itself", LOOP, ""),
    scene("docs/messages.md", "Instead of a polling loop", LETTERS, "test -e handled"),
    scene("docs/orchestrate.md", "Orchestrate", "echo 'a shop' >requirements.md", ""),
    scene("docs/pipeline.md", "The pipeline", PLAN, ""),
];

const GATE: &str = r#"printf '[gates.test]\nrun = "true"\n' >.claude/anthill.toml; anthill trust --project"#;

const LOOP: &str = r#"printf '[gates.test]\nrun = "true"\n' >.claude/anthill.toml; anthill trust --project; anthill loop start 'the tests pass'"#;

const CONFLICT: &str = r#"
anthill leader add-task 'do it' --id t1
jq '.tasks[0].status = "cancelled"' .coordination/tasks.json >edited
anthill worker claim w1
anthill worker complete w1 t1 made
cat edited >.coordination/tasks.json
anthill leader add-task 'another'
"#;

const HOOK: &str = r#"
mkdir .claude/hooks
printf '#!/bin/sh\n' >.claude/hooks/on-epic-update.sh
chmod +x .claude/hooks/on-epic-update.sh
"#;

const EPIC: &str = r#"
mkdir .claude/hooks
printf '#!/bin/sh\n' >.claude/hooks/on-epic-update.sh
anthill epic add 'User authentication' --id epic-001 --project-id myapp
"#;

const LETTERS: &str = r#"
echo 'SESSION_ID=session-xyz789; handle_task_handoff() { touch handled; }' >"$BASH_ENV"
anthill message send a session-xyz789 task_handoff 1 --priority high
anthill message send a session-xyz789 emergency_stop 1
"#;

const PLAN: &str = r#"
echo '{"task_groups": [{"id": "A", "name": "Sign-in"}, {"id": "B", "name": "Users"}, {"id": "C", "depends_on": ["A"]}]}' >plan.json
echo '{"files_modified": ["src/login.rs"], "unit_tests_status": "3/3 passing"}' >done.json
"#;

const SHELLS: [&str; 2] = ["console", "sh"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<String> {
    let entries = fs::read_dir(root().join("docs")).unwrap();
    let names = entries.map(|entry| format!("docs/{}", entry.unwrap().file_name().to_string_lossy()));
    let mut pages: Vec<_> = names.filter(|name| name.ends_with(".md")).collect();
    pages.sort();
    pages
}

/// Runs every section that is there to be run; returns what went wrong.
fn faults(document: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let sections = sections(&text);
    let mut faults: Vec<_> =
        sections.iter().flat_map(|section| section.blocks.iter().filter_map(untold)).collect();
    faults.extend(sections.iter().flat_map(|section| play(document, section)));
    faults.into_iter().map(|fault| format!("{document}:{fault}")).collect()
}

/// Finds commands in a block that does not say that it has any.
fn untold(block: &Block) -> Option<String> {
    let is_command = |line: &str| line.starts_with("anthill ") || line.starts_with("$ ");
    let told = !block.language.is_empty() || !block.text.lines().any(is_command);
    (!told).then(|| format!("{}: a block with commands needs its language: console or sh", block.line))
}

fn play(document: &str, section: &Section) -> Vec<String> {
    let runs = |block: &&Block| SHELLS.contains(&block.language.as_str()) && block.excuse.is_none();
    let blocks: Vec<_> = section.blocks.iter().filter(runs).collect();
    if blocks.is_empty() {
        return Vec::new();
    }
    let stage = Stage::new();
    let scene = SCENES.iter().find(|scene| scene.document == document && scene.heading == section.heading);
    stage.prepare(scene.map_or("", |scene| scene.before));
    for block in blocks {
        if let Err(fault) = stage.play(block) {
            return vec![format!("{}: {fault}", block.line)];
        }
    }
    stage.prepare(scene.map_or("", |scene| scene.after));
    Vec::new()
}

#[track_caller]
fn check(documents: &[String]) {
    let faults: Vec<_> = documents.iter().flat_map(|document| faults(document)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_block_of_the_readme_runs() {
    check(&["README.md".into(), "CONTRIBUTING.md".into()]);
}

#[test]
fn the_board_of_the_readme_is_a_real_one() {
    let ran = Stage::new().run(include_str!("../../../../../docs/board.sh"));
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("$ anthill leader status\n{}", ran.stdout)), "{}", ran.shown());
}

#[test]
fn every_block_of_the_pages_runs() {
    check(&pages());
}

#[test]
fn what_is_prepared_is_there() {
    for Scene { document, heading, .. } in SCENES {
        let text = fs::read_to_string(root().join(document)).unwrap();
        assert!(sections(&text).iter().any(|section| section.heading == *heading), "{document}: {heading}");
    }
}
