//! What happens, as it happens: on a terminal a line for every agent at work below the lines of what is done, else the
//! lines alone.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use anthill_core::model::pipeline::{NO_GROUP, Order};
use anthill_core::model::plan::word;
use anthill_core::ops::{Actor, pipeline};
use anthill_core::store::Engine;
use anthill_core::view::pipeline::table;
use anthill_core::view::text::escape;
use anthill_live::pipeline_run::Event;
use anthill_live::runner::brief;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::agent_args;
use crate::context::Context;
use crate::output::Output;
use crate::sentence::shorten;
use crate::words::CommandLine;

pub struct Progress<'o> {
    output: &'o Output,
    actor: &'o Actor,
    /// The run, where all groups are to be shown.
    watched: Option<&'o dyn Engine>,
    /// The lines of those at work, by their orders, on a terminal.
    bars: Option<(MultiProgress, BTreeMap<String, ProgressBar>)>,
}

impl<'o> Progress<'o> {
    pub fn new(context: &'o Context<'_>, watch: bool) -> Progress<'o> {
        let output = context.output;
        let seen = !output.json && std::io::stderr().is_terminal();
        let bars = seen.then(|| (MultiProgress::new(), BTreeMap::new()));
        Progress { output, actor: &context.actor, watched: watch.then_some(&*context.engine), bars }
    }

    pub fn tell(&mut self, event: &Event) {
        match event {
            Event::Started { order, number } => self.start(order, *number),
            Event::Settled { order, .. }
            | Event::Failed { order, .. }
            | Event::PutBack { order, .. }
            | Event::Stopped { order } => {
                self.end(&order.id);
            }
            Event::Unclear { .. } | Event::Paused { .. } => {}
            Event::GaveUp { .. } | Event::Merged { .. } | Event::Checked { .. } | Event::Warning(_) => {}
        }
        let (output, actor) = (self.output, self.actor);
        let groups = match event {
            Event::Settled { .. } => self.watched.and_then(groups).unwrap_or_default(),
            _ => Vec::new(),
        };
        let line = || {
            match event {
                Event::Warning(warning) => output.warning(warning),
                Event::Paused { until, reason } => output.status(&agent_args::paused(actor, *until, reason)),
                event => output.status(&line_of(event)),
            }
            groups.iter().for_each(|group| output.status(group));
        };
        match &self.bars {
            Some((bars, _)) => bars.suspend(line),
            None => line(),
        }
    }

    fn start(&mut self, order: &Order, number: u64) {
        let Some((bars, lines)) = &mut self.bars else { return };
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a constant template");
        let again = if number > 1 { format!(", try {number}") } else { String::new() };
        let text = escape(&name(order)).into_owned() + &again;
        let bar = bars.add(ProgressBar::new_spinner().with_style(style).with_message(text));
        bar.enable_steady_tick(Duration::from_millis(250));
        lines.insert(order.id.clone(), bar);
    }

    fn end(&mut self, order: &str) {
        if let Some(bar) = self.bars.as_mut().and_then(|(_, lines)| lines.remove(order)) {
            bar.finish_and_clear();
        }
    }

    /// Removes the lines of agents at work.
    pub fn clear(&mut self) {
        if let Some((bars, lines)) = self.bars.take() {
            lines.values().for_each(ProgressBar::finish_and_clear);
            // The terminal may be gone.
            let _ = bars.clear();
        }
    }
}

/// Returns a line for every group, if they can be read just now.
fn groups(engine: &dyn Engine) -> Option<Vec<String>> {
    let (run, caps) = (pipeline::show(engine).ok()?, pipeline::caps(engine).ok()?);
    let line = |row: &Value| {
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let waits = if text("waits").is_empty() { String::new() } else { format!("  ({})", text("waits")) };
        format!(
            "  {:4} {:16} {:7} {}{waits}",
            text("group"),
            text("status"),
            text("dev/qa/lead"),
            text("name")
        )
    };
    Some(table(&run, caps, &CommandLine).as_array()?.iter().map(line).collect())
}

fn line_of(event: &Event) -> String {
    match event {
        Event::Started { order, number: 1 } => format!("Started: {}", name(order)),
        Event::Started { order, number } => format!("Started: {}, try {number}", name(order)),
        Event::Settled { order, said } => format!("Reported: {}: {said}", name(order)),
        Event::Failed { order, reason, again_in } => {
            let then = match again_in {
                Some(delay) if delay.is_zero() => "; again".to_owned(),
                Some(delay) => format!("; again in {} s", delay.as_secs()),
                None => String::new(),
            };
            format!("Failed: {}: {}{then}", name(order), shorten(&brief(reason), 200))
        }
        Event::Unclear { order } => format!("Asked again: {}: its last words are no answer", name(order)),
        Event::PutBack { order, reason } => format!("Put back: {}: {}", name(order), shorten(reason, 200)),
        // The caller adds the time, by the local clock.
        Event::Paused { reason, .. } => format!("Paused: {reason}"),
        Event::Stopped { order } => format!("Stopped: {}", name(order)),
        Event::GaveUp { group, reason } => format!("Given up: group {group}: {}", shorten(reason, 200)),
        Event::Merged { group, branch } => format!("Merged: {group} ({branch})"),
        Event::Checked { failure: None } => "Checked: it passes".into(),
        Event::Checked { failure: Some(what) } => format!("Checked: {}", shorten(&brief(what), 200)),
        Event::Warning(warning) => warning.clone(),
    }
}

fn name(order: &Order) -> String {
    let group = if order.group == NO_GROUP { String::new() } else { format!(" {}", order.group) };
    format!("{}{group} ({})", word(order.role), word(order.purpose))
}
