//! What the demonstration shows: a live board on a terminal, one line per event elsewhere.

use std::collections::HashMap;
use std::io::IsTerminal;

use anthill_core::model::kind::Doc;
use anthill_core::model::task::Task;
use anthill_core::store::engine::items;
use anthill_core::view::board::{self, Line, Tone};
use serde_json::Value;

use crate::context::Context;
use crate::output::Output;

pub struct Show<'o> {
    output: &'o Output,
    /// Whether a board can be redrawn in place.
    terminal: bool,
    /// How many lines the board has on the screen.
    drawn: usize,
    /// How each task was told of last.
    told: HashMap<String, String>,
    events: Vec<String>,
}

impl<'o> Show<'o> {
    pub fn new(output: &'o Output) -> Show<'o> {
        let terminal = std::io::stdout().is_terminal() && !output.json;
        Show { output, terminal, drawn: 0, told: HashMap::new(), events: Vec::new() }
    }

    /// Says something once.
    pub fn say(&mut self, text: &str) {
        if !self.output.json {
            // If stdout is closed, the demonstration still goes on to its end.
            let _ = self.output.print(text);
        }
    }

    /// Tells what happened.
    pub fn event(&mut self, text: &str) {
        if !self.terminal {
            self.say(&format!("  {text}"));
        }
        self.events.push(text.to_owned());
    }

    /// Tells what is new in the queue, and draws the board again.
    pub fn progress(&mut self, context: &Context<'_>, queue: &Value) {
        for task in tasks(queue) {
            let now = status_of(&task);
            if self.told.insert(task.id().to_owned(), now.clone()).is_some_and(|before| before != now) {
                self.event(&format!("{}: {now}", task.id()));
            }
        }
        if self.terminal {
            self.redraw(context, queue);
        }
    }

    /// Shows the board as it is at the end.
    pub fn board(&mut self, context: &Context<'_>, queue: &Value) {
        if self.terminal {
            self.redraw(context, queue);
        } else if !self.output.json {
            let _ = self.output.data("");
            let _ = self.output.lines(&lines(context, queue));
        }
        self.say("");
    }

    fn redraw(&mut self, context: &Context<'_>, queue: &Value) {
        let mut board = lines(context, queue);
        board.push(Line { tone: Tone::Plain, text: String::new() });
        let events = self.events.iter().rev().take(6).rev();
        board.extend(events.map(|event| Line { tone: Tone::Dim, text: format!("  {event}") }));
        self.drawn = self.output.redraw_over(&board, self.drawn).unwrap_or(0);
    }
}

fn lines(context: &Context<'_>, queue: &Value) -> Vec<Line> {
    let now = context.actor.clock.moment();
    let left = |task: &Value| Task::of(task.clone()).lease_left(&now);
    board::board(queue, now.at, &left, context.output.width(), context.actor.door)
}

/// Says in a few words how a task stands.
fn status_of(task: &Task) -> String {
    let status = task.value()["status"].as_str().unwrap_or_default().replace('_', " ");
    let ended = task.value()["last_claim"]["by"].as_str();
    match (task.owner(), ended) {
        (Some(owner), _) => format!("{status} by {owner} (lease {})", task.epoch()),
        (None, Some(last)) => format!("{status} again: the lease of {last} is over"),
        (None, None) => status,
    }
}

/// Returns the tasks of a queue.
pub fn tasks(queue: &Value) -> Vec<Task> {
    items(Doc::queue().kind, queue).into_iter().cloned().map(Task::of).collect()
}
