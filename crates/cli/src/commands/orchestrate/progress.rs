//! What happens, as it happens: on a terminal a line for every agent at work below the lines of what is done, else the
//! lines alone.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use anthill_core::model::pipeline::{NO_GROUP, Order};
use anthill_core::model::plan::word;
use anthill_core::view::text::escape;
use anthill_live::orchestrate::{Event, brief};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::output::{Output, shorten};

pub struct Progress<'o> {
    output: &'o Output,
    /// The lines of those at work, by their orders, on a terminal.
    bars: Option<(MultiProgress, BTreeMap<String, ProgressBar>)>,
}

impl Progress<'_> {
    pub fn new(output: &Output) -> Progress<'_> {
        let seen = !output.json && std::io::stderr().is_terminal();
        Progress { output, bars: seen.then(|| (MultiProgress::new(), BTreeMap::new())) }
    }

    pub fn tell(&mut self, event: &Event) {
        match event {
            Event::Started { order, number } => self.start(order, *number),
            Event::Settled { order, .. } | Event::Failed { order, .. } | Event::Stopped { order } => {
                self.end(&order.id);
            }
            Event::Merged { .. } | Event::Checked { .. } | Event::Warning(_) => {}
        }
        let output = self.output;
        let line = || match event {
            Event::Warning(warning) => output.warning(warning),
            event => output.status(&line_of(event)),
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

    /// Takes the lines of those at work away.
    pub fn clear(&mut self) {
        if let Some((bars, lines)) = self.bars.take() {
            lines.values().for_each(ProgressBar::finish_and_clear);
            // A terminal that is gone needs no clearing.
            let _ = bars.clear();
        }
    }
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
        Event::Stopped { order } => format!("Stopped: {}", name(order)),
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
