//! Following a document: every change as it happens, or the newest of each interval.

use std::time::{Duration, Instant};

use anthill_core::model::json::push_text;
use anthill_core::model::kind::Doc;
use anthill_core::model::time;
use anthill_core::store::{Error, Event, Long, Result, Watch};
use jiff::Timestamp;

/// Tells events as they come, `most` of them: after one of them, only the newest of each interval.
pub fn follow<E: From<Error>>(
    watch: &mut dyn Watch,
    interval: Option<Duration>,
    most: u64,
    tell: &mut dyn FnMut(Event) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut left = most;
    while left > 0 {
        let Some(event) = watch.next(None)? else { continue };
        // The snapshot is no change: what follows it is not held back.
        let interval = interval.filter(|_| event.op != "snapshot");
        tell(event)?;
        left -= 1;
        let Some(interval) = interval else { continue };
        while left > 0 {
            let Some(newest) = newest_within(watch, interval)? else { break };
            tell(newest)?;
            left -= 1;
        }
    }
    Ok(())
}

/// Waits until the interval is over and returns the newest event that came in it.
fn newest_within(watch: &mut dyn Watch, interval: Duration) -> Result<Option<Event>> {
    let end = Instant::now() + interval;
    let mut newest = None;
    loop {
        match watch.next(Some(end.saturating_duration_since(Instant::now())))? {
            Some(event) => newest = Some(after(newest, event)),
            None => return Ok(newest),
        }
        // What is told by its changes is told in full, however soon that is.
        if newest.as_ref().is_some_and(is_much) {
            return Ok(newest);
        }
    }
}

/// Returns one event for two that follow each other: where the newer one tells only what changed, all that changed.
fn after(earlier: Option<Event>, mut event: Event) -> Event {
    if let (Some(Event { long: Some(Long::Changes(before)), .. }), Some(Long::Changes(changes))) =
        (earlier, &mut event.long)
    {
        let (before, more) = (before.trim_end_matches(']'), changes.trim_start_matches('['));
        let comma = if before.len() > 1 && more.len() > 1 { "," } else { "" };
        *changes = format!("{before}{comma}{more}");
    }
    event
}

/// Whether an event has so many changes, or is a whole document, that nothing more should be added to it.
fn is_much(event: &Event) -> bool {
    match &event.long {
        Some(Long::Changes(changes)) => changes.len() > MOST,
        Some(Long::Whole(_)) => true,
        None => false,
    }
}

/// So many bytes of changes are told at once.
const MOST: usize = 1 << 20;

/// Returns how an event begins as JSON: all but what it is about. In one piece, without a detour by values: somebody may be
/// waiting for just this.
pub fn head(doc: &Doc, event: &Event, now: Timestamp) -> String {
    let at = event.at.clone().unwrap_or_else(|| time::stamp(now));
    let mut line = String::with_capacity(event.text.len() + 256);
    line.push_str("{\"kind\":");
    push_text(&mut line, doc.kind.name);
    line.extend([",\"revision\":", &event.revision.to_string()]);
    for (name, text) in [(",\"at\":", &at), (",\"by\":", &event.by), (",\"op\":", &event.op)] {
        line.push_str(name);
        push_text(&mut line, text);
    }
    if event.missed > 0 {
        line.extend([",\"missed\":", &event.missed.to_string()]);
    }
    line
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Gives these events; `None` is a time without any.
    struct Scripted(VecDeque<Option<Event>>);

    impl Watch for Scripted {
        fn next(&mut self, _: Option<Duration>) -> Result<Option<Event>> {
            Ok(self.0.pop_front().expect("nobody asks for more"))
        }
    }

    fn event(revision: u64, op: &str, changes: &str) -> Event {
        let long = Some(Long::Changes(changes.to_owned()));
        let (by, op, text) = ("w1".into(), op.into(), Default::default());
        Event { revision, at: Some("t".into()), by, op, text, long, missed: 0 }
    }

    #[test]
    fn changes_within_an_interval_are_told_at_once_and_none_is_lost() {
        let events = [
            Some(event(1, "snapshot", "[]")),
            Some(event(2, "set", "[2]")),
            Some(event(3, "set", "[]")),
            Some(event(4, "set", "[4]")),
            Some(event(5, "set", "[5]")),
            None,
            None,
            Some(event(6, "set", "[6]")),
        ];
        let (mut told, mut watch) = (Vec::new(), Scripted(events.into()));
        let mut tell = |event: Event| {
            let Some(Long::Changes(changes)) = event.long else { panic!("all of these are changes") };
            told.push((event.revision, changes));
            Ok::<(), Error>(())
        };
        follow(&mut watch, Some(Duration::from_secs(9)), 4, &mut tell).unwrap();
        let all = [(1, "[]"), (2, "[2]"), (5, "[4,5]"), (6, "[6]")];
        assert_eq!(told, all.map(|(revision, changes)| (revision, changes.to_owned())));
    }

    #[test]
    fn an_event_begins_with_what_happened() {
        let head = head(&Doc::queue(), &Event { missed: 2, ..event(7, "set", "[]") }, Timestamp::UNIX_EPOCH);
        assert_eq!(head, r#"{"kind":"queue","revision":7,"at":"t","by":"w1","op":"set","missed":2"#);
    }
}
