//! Commands in a project's files do not run before the user has trusted them: cloning a repository is not an agreement to run it.
//! Detected gates need no trust, as they are the ordinary commands of tools.

use std::path::Path;

use anthill_core::hint;
use anthill_core::model::next::Next;
use anthill_core::ops::trust::{self, Fingerprint, Verdict};
use anthill_core::ops::{Actor, Error, Result};
use anthill_core::store::Engine;
use anthill_core::view::text::escape;

use super::{Gate, Run, config};
use crate::hooks::fingerprint;
use crate::runner;

/// A gate that waits for consent.
#[derive(Debug)]
pub struct Waiting<'g> {
    pub gate: &'g Gate,
    /// Whether the same line was trusted, with another script.
    pub changed: bool,
}

/// Returns the line that the project's configuration has for a gate.
pub fn line_of(gate: &Gate) -> Option<&str> {
    match &gate.run {
        Run::Line(line) if !gate.detected => Some(line),
        Run::Line(_) | Run::Command(_) => None,
    }
}

/// Takes the fingerprints of what the project's configuration lets gates run.
pub fn fingerprints(root: &Path, gates: &[Gate]) -> std::io::Result<Vec<Fingerprint>> {
    gates.iter().filter_map(line_of).map(|line| fingerprint::of_project(line, root)).collect()
}

/// Returns the gates that nobody has consented to, as they are now.
pub fn missing<'g>(engine: &dyn Engine, root: &Path, gates: &'g [Gate]) -> Result<Vec<Waiting<'g>>> {
    let mut waiting = Vec::new();
    for gate in gates {
        let Some(line) = line_of(gate) else { continue };
        // A script that cannot be read is not trusted.
        let verdict = match fingerprint::of_project(line, root) {
            Ok(fingerprint) => trust::judge(engine, &fingerprint)?,
            Err(_) => Verdict::Changed,
        };
        match verdict {
            Verdict::Trusted => {}
            Verdict::Changed => waiting.push(Waiting { gate, changed: true }),
            Verdict::Unknown => waiting.push(Waiting { gate, changed: false }),
        }
    }
    Ok(waiting)
}

/// Trusts these gates of this project, as they are now. Only for a person's yes.
pub fn give(engine: &dyn Engine, root: &Path, gates: &[Gate], actor: &Actor) -> runner::Result<()> {
    let failed = |source| runner::Error::Io { action: "read the scripts of gates", source };
    let fingerprints = fingerprints(root, gates).map_err(failed)?;
    Ok(trust::trust(engine, &fingerprints, actor).map(drop)?)
}

/// Refuses gates that wait for consent.
pub fn check(engine: &dyn Engine, root: &Path, gates: &[Gate]) -> Result<()> {
    let waiting = missing(engine, root, gates)?;
    match waiting.is_empty() {
        true => Ok(()),
        false => Err(Error::refused(
            refusal(&waiting),
            hint!["read them, then let them run: ", Next::TrustProject],
        )),
    }
}

/// Says which gates do not run, and what they would run.
fn refusal(waiting: &[Waiting<'_>]) -> String {
    let lines: Vec<String> = waiting.iter().map(Waiting::shown).collect();
    format!("`{}` names commands that are not trusted:\n{}", config::FILE, lines.join("\n"))
}

impl Waiting<'_> {
    /// Returns a line for a person who is to decide.
    pub fn shown(&self) -> String {
        let line = line_of(self.gate).unwrap_or_default().replace(['\n', '\r', '\t'], " ");
        let changed = if self.changed { "  (its script has changed)" } else { "" };
        format!("  {}: {}{changed}", self.gate.name, escape(&line))
    }
}
