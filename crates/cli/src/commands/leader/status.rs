use std::io::IsTerminal;
use std::mem::ManuallyDrop;
use std::thread;
use std::time::Duration;

use anthill_core::api::queue::look::ShowQueue;
use anthill_core::model::kind::Doc;
use anthill_core::ops::read;
use anthill_core::view::board as view;
use anthill_live::board::Board;
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::output::compact;

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

/// How often a watched board is drawn if nothing happens: its times change.
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
    let board = board(context);
    if let Some(lines) = board.draw_overview() {
        return context.output.lines(&lines);
    }
    // Not dropped: the program ends next, and freeing thousands of tasks would take a tenth of the time.
    let queue = ManuallyDrop::new(read::document(&*context.engine, &Doc::queue())?.value);
    context.output.lines(&board.draw(&queue))
}

fn board<'c>(context: &'c Context<'_>) -> Board<'c> {
    Board { engine: &*context.engine, actor: &context.actor, width: context.output.width() }
}

/// How long a board stays at least.
const PAUSE: Duration = Duration::from_millis(100);

/// How often an overview is tried while others write: for ten seconds, as each try waits for a moment. A process that keeps running
/// should not hold the whole of a long queue because a disk is slow.
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
            let found = read::found(&*context.engine, &doc)?.map(|document| document.value);
            Ok(found.unwrap_or_else(|| doc.default(context.actor.now())))
        };
        // Others may be at work. The whole queue is the last resort: it may be long.
        let lines = || match (0..TRIES).find_map(|_| board(context).draw_overview()) {
            Some(lines) => Ok(lines),
            None => queue().map(|queue| board(context).draw(&queue)),
        };
        let json = || match (0..TRIES).find_map(|_| read::overview(&*context.engine, &doc, view::MOST)) {
            Some(overview) => Ok(view::json_of_overview(overview)),
            None => queue().map(|queue| view::json(&queue)),
        };
        if context.output.json {
            context.output.data(&compact(&json()?))?;
        } else if terminal {
            context.output.redraw(&lines()?)?;
        } else if changed {
            context.output.lines(&lines()?)?;
            context.output.data("")?;
        }
        // Nobody reads faster, and many commits should not become as many boards.
        thread::sleep(PAUSE);
        changed = listener.wait(terminal.then_some(TICK))?;
    }
}
