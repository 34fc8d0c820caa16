use std::io::IsTerminal;
use std::mem::ManuallyDrop;
use std::thread;
use std::time::Duration;

use anthill_core::api::queue::look::ShowQueue;
use anthill_core::model::flaws::flaws;
use anthill_core::model::kind::{Doc, UNFIT};
use anthill_core::model::task::Task;
use anthill_core::model::time::Moment;
use anthill_core::ops::merge::in_words;
use anthill_core::ops::{doctor, read};
use anthill_core::view::board::{self, Line};
use clap::Args;
use jiff::SignedDuration;
use serde_json::Value;

use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::output::compact;
use crate::words;

/// Show how far the work is: counts, who works on what, what waits and why
///
/// Examples:
///   anthill leader status
///   anthill leader status --watch         # redraw as things happen, until Ctrl-C
///   anthill leader status --json | jq .progress
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StatusArgs {
    /// Keep the board up to date until Ctrl-C; with --json a line for each change, with the tasks of the board
    #[arg(short, long)]
    watch: bool,
}

/// A watched board is drawn again after this long even if nothing happens: its times go on.
const TICK: Duration = Duration::from_secs(1);

impl Direct for StatusArgs {
    const OPTIONS: &'static [Opt] = &[("--watch", "-w", Takes::Nothing)];

    fn read(words: &mut Words) -> Option<StatusArgs> {
        Some(StatusArgs { watch: words.flag("--watch") })
    }
}

pub fn run(context: &Context<'_>, args: &StatusArgs) -> Result<()> {
    if args.watch {
        return follow(context);
    }
    if context.output.json {
        return context.perform(ShowQueue {}, |_| Ok(()));
    }
    if let Some(lines) = draw_excerpt(context) {
        return context.output.lines(&lines);
    }
    // The program ends with this: giving thousands of tasks back one by one would take a tenth of the time.
    let queue = ManuallyDrop::new(read::document(&*context.engine, &Doc::queue())?.value);
    context.output.lines(&draw(context, &queue))
}

/// Draws the board without reading the whole queue, if that can be done.
fn draw_excerpt(context: &Context<'_>) -> Option<Vec<Line>> {
    let excerpt = read::excerpt(&*context.engine, &Doc::queue(), board::MOST)?;
    let now = context.actor.clock.moment();
    let mut lines =
        board::board_of_excerpt(&excerpt, now.at, &left(&now), context.output.width(), context.actor.door)?;
    let count =
        |wanted: &str| excerpt.counts.iter().find(|(word, _)| *word == wanted).map_or(0, |(_, count)| *count);
    let is_stuck = count("created") > 0 && ["available", "claimed", "in_progress"].map(count) == [0, 0, 0];
    if count(UNFIT) > 0 {
        lines.extend(unfit(context));
    }
    if is_stuck {
        lines.extend(flawed(context));
    }
    lines.extend(paused(context));
    lines.extend(aside(context));
    Some(lines)
}

fn draw(context: &Context<'_>, queue: &Value) -> Vec<Line> {
    let now = context.actor.clock.moment();
    let mut lines = board::board(queue, now.at, &left(&now), context.output.width(), context.actor.door);
    lines.extend(unfit(context));
    lines.extend(flawed(context));
    lines.extend(paused(context));
    lines.extend(aside(context));
    lines
}

/// Tells of edits of the queue that could not be joined.
fn aside(context: &Context<'_>) -> Vec<Line> {
    let asides = context.engine.asides(&Doc::queue().room).unwrap_or_default();
    board::notices(asides.iter().map(|aside| words::in_words(&in_words(aside))), context.output.width())
}

/// Names the tasks that nobody gets, as their ids are none. What cannot be looked at is no reason to have no board.
fn unfit(context: &Context<'_>) -> Vec<Line> {
    let findings = doctor::odd_ids(&*context.engine, &Doc::queue()).unwrap_or_default();
    let messages: Vec<_> = findings.iter().map(|finding| finding.message.clone()).collect();
    findings.first().map_or_else(Vec::new, |first| board::unfit(&messages, &words::in_words(&first.fix)))
}

/// Names what is wrong with tasks that are handed out all the same, or would be if they did not wait for what never comes.
fn flawed(context: &Context<'_>) -> Vec<Line> {
    const MOST: usize = 5;
    let queue = context.engine.read(&Doc::queue()).ok().flatten();
    let flaws = queue.map(|queue| flaws(Doc::queue().kind, &queue.value)).unwrap_or_default();
    board::notices(
        flaws.iter().take(MOST).map(|flaw| format!("{}: anthill doctor", flaw.message)),
        context.output.width(),
    )
}

/// Says which workers pause. A register that cannot be read is no reason to have no board.
fn paused(context: &Context<'_>) -> Vec<Line> {
    let doc = Doc::workers();
    let exists = !context.engine.is_absent(&doc);
    let register = exists.then(|| context.engine.read(&doc).ok().flatten()).flatten();
    let now = context.actor.now();
    register.map_or_else(Vec::new, |found| board::paused(&found.value, now, context.output.width()))
}

/// Returns what is left of a task's lease.
pub(super) fn left(now: &Moment) -> impl Fn(&Value) -> Option<SignedDuration> {
    |task| Task::of(task.clone()).lease_left(now)
}

/// How long a board stands at least.
const PAUSE: Duration = Duration::from_millis(100);

/// How often an excerpt is asked for while others are at work: for ten seconds, as each time waits for a moment. Whoever
/// stays open shall not hold the whole of a long queue because a disk is slow.
const TRIES: usize = 200;

/// Draws the board again when something changes, ten times a second at most. Without a terminal, one board (or JSON line)
/// each time; the line has the tasks that the board would show.
fn follow(context: &Context<'_>) -> Result<()> {
    let doc = Doc::queue();
    let mut listener = context.engine.listen(std::slice::from_ref(&doc))?;
    let terminal = std::io::stdout().is_terminal() && !context.output.json;
    let mut changed = true;
    loop {
        let queue = || -> Result<Value> {
            let found = context.engine.read(&doc)?.map(|document| document.value);
            Ok(found.unwrap_or_else(|| doc.default(context.actor.now())))
        };
        // Others may be at work. The whole queue is the last resort: it may be long.
        let lines = || match (0..TRIES).find_map(|_| draw_excerpt(context)) {
            Some(lines) => Ok(lines),
            None => queue().map(|queue| draw(context, &queue)),
        };
        let json = || match (0..TRIES).find_map(|_| read::excerpt(&*context.engine, &doc, board::MOST)) {
            Some(excerpt) => Ok(board::json_of_excerpt(excerpt)),
            None => queue().map(|queue| board::json(&queue)),
        };
        if context.output.json {
            context.output.data(&compact(&json()?))?;
        } else if terminal {
            context.output.redraw(&lines()?)?;
        } else if changed {
            context.output.lines(&lines()?)?;
            context.output.data("")?;
        }
        // Nobody reads faster, and a storm of commits shall not become one of boards.
        thread::sleep(PAUSE);
        changed = listener.wait(terminal.then_some(TICK))?;
    }
}
