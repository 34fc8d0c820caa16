use anthill_core::api::sessions::ShowSession;
use anthill_core::model::ids::SessionId;
use anthill_core::model::session::word;
use anthill_core::model::task;
use anthill_core::ops::messages;
use anthill_core::ops::sessions::look::Shown;
use clap::Args;
use serde_json::Value;

use super::report::tell_expired;
use crate::context::Context;
use crate::error::Result;
use crate::sentence::shorten;
use crate::typed::parse_id;

/// Show a session and what it has in hand
///
/// Examples:
///   anthill session show session-abc123
///   anthill session show session-abc123 --json      # its state exactly as it is stored
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ShowArgs {
    /// The session
    id: String,
}

pub fn run(context: &Context<'_>, args: &ShowArgs) -> Result<()> {
    let shown = context.on_session(&args.id, |id| Ok(ShowSession { id: parse_id(id)? }))?;
    context.answer::<ShowSession>(&shown, |shown| {
        let id: SessionId = parse_id(text(shown.session.value(), "session_id").unwrap_or(&args.id))?;
        tell_expired(context, &shown.expired);
        let mut lines = lines(&id, shown);
        // The session is shown even if its mailbox cannot be read.
        if let Ok(unread @ 1..) = messages::unread(&*context.engine, &id) {
            lines.push(format!("  unread messages: {unread}   (anthill message poll {id})"));
        }
        context.output.print(&lines.join("\n"))
    })
}

fn lines(id: &SessionId, shown: &Shown) -> Vec<String> {
    let state = shown.session.value();
    let mut lines = vec![format!("{id} ({})", word(shown.status))];
    for (label, pointer) in FIELDS {
        if let Some(text) = state.pointer(pointer).and_then(Value::as_str) {
            lines.push(format!("  {label}: {}", one_line(text)));
        }
    }
    let agents = shown.session.agents().iter().map(|agent| {
        let kind = text(agent, "type").map(|kind| format!(" {}", one_line(kind))).unwrap_or_default();
        format!("{}{kind} ({})", one_line(text(agent, "id").unwrap_or_default()), status(agent, "unknown"))
    });
    section(&mut lines, "agents", agents);
    let tasks = shown.tasks.iter().map(|task| {
        let what = ["title", "type"].into_iter().find_map(|field| text(task, field)).unwrap_or_default();
        format!("{} ({}) {}", text(task, "id").unwrap_or_default(), status(task, "pending"), one_line(what))
    });
    section(&mut lines, "open tasks", tasks);
    let claims = shown.claims.iter().map(|claim| {
        let what = one_line(text(claim.value(), "description").unwrap_or_default());
        let owner = claim.owner().unwrap_or_default();
        format!("{} ({}, {owner}, lease {}) {what}", claim.id(), task::word(claim.status()), claim.epoch())
    });
    section(&mut lines, "in the queue", claims);
    let handoffs = state.pointer("/context/handoffs").and_then(Value::as_array).into_iter().flatten();
    let handoffs = handoffs.rev().take(3).map(|handoff| {
        let said = one_line(text(handoff, "context").unwrap_or_default());
        format!(
            "{} from {}: {said}",
            text(handoff, "at").unwrap_or_default(),
            text(handoff, "from").unwrap_or_default()
        )
    });
    section(&mut lines, "handed over to it", handoffs);
    lines
}

const FIELDS: [(&str, &str); 10] = [
    ("project", "/project_id"),
    ("user", "/user/name"),
    ("directory", "/context/working_directory"),
    ("branch", "/context/current_branch"),
    ("epic", "/context/active_epic"),
    ("story", "/context/active_story"),
    ("created", "/created_at"),
    ("last heartbeat", "/last_heartbeat"),
    ("ended", "/ended_at"),
    ("expired", "/expired_at"),
];

fn section(lines: &mut Vec<String>, title: &str, entries: impl Iterator<Item = String>) {
    let mut entries = entries.peekable();
    if entries.peek().is_some() {
        lines.push(format!("  {title}:"));
        lines.extend(entries.map(|entry| format!("    {}", entry.trim_end())));
    }
}

fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str)
}

fn status<'v>(value: &'v Value, default: &'v str) -> &'v str {
    text(value, "status").unwrap_or(default)
}

fn one_line(text: &str) -> String {
    shorten(&text.replace(['\n', '\r', '\t'], " "), 80)
}
