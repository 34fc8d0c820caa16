//! Asking a person whether what a project's files name may run.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use anthill_live::gates::{Gate, consent};

use crate::context::Context;
use crate::env;
use crate::error::{Result, io_error};

/// Makes sure that these gates may run: they are trusted, or a person says so now. A yes is kept.
pub fn obtain(context: &Context<'_>, root: &Path, gates: &[Gate]) -> Result<()> {
    let engine = &*context.engine;
    let waiting = consent::missing(engine, root, gates)?;
    if waiting.is_empty() || !can_ask(context) {
        return Ok(consent::check(engine, root, gates)?);
    }
    let shown: Vec<String> = waiting.iter().map(consent::Waiting::shown).collect();
    context.output.status(&format!(
        "The files of this project name commands that you have not trusted yet:\n{}",
        shown.join("\n")
    ));
    if !is_yes(context)? {
        return Ok(consent::check(engine, root, gates)?);
    }
    let meant: Vec<Gate> = waiting.into_iter().map(|waiting| waiting.gate.clone()).collect();
    Ok(consent::give(engine, root, &meant, &context.actor)?)
}

fn can_ask(context: &Context<'_>) -> bool {
    !context.output.json && env::is_person() && io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn is_yes(context: &Context<'_>) -> Result<bool> {
    context.output.status("Run them here, now and later? [y/N]");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| io_error("read the answer", &error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
