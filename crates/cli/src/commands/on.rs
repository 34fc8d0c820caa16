use anthill_core::api::overview::{AddHook, ListHooks, RemoveHook};
use anthill_core::model::ids::SessionId;
use anthill_core::model::kind::Doc;
use anthill_core::ops::hooks;
use anthill_live::hooks::obstacle::Owner;
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::error::{CliError, Result, io_error};
use crate::sentence::text;
use crate::typed::{kind_parser, parse_id};

/// Run a command after every change of a kind of document
///
/// The command runs after the change, whoever made it, with the project and this session as
/// arguments ("" without a project) and the event as JSON on stdin: kind, revision, at, by, op,
/// project_id, session_id, and the new value if it is small. It has 5 seconds, and runs only if
/// you trust it (anthill trust CMD) and while the session is active or idle. What it prints goes
/// to `sessions/ID/hooks.log`. A line of shell finds its arguments in "$1" and "$2".
///
/// Without arguments, the hooks of the session are listed.
///
/// Examples:
///   anthill on epics --run .claude/hooks/on-epic-update.sh --session-id dev
///   anthill trust .claude/hooks/on-epic-update.sh
///   anthill on --session-id dev
///   anthill on --remove epics-1 --session-id dev
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct OnArgs {
    /// Document kind (`anthill schema` lists them)
    #[arg(value_parser = kind_parser(&[]), requires = "run")]
    kind: Option<String>,
    /// The command to run
    #[arg(long, value_name = "CMD", requires = "kind", allow_hyphen_values = true)]
    run: Option<String>,
    /// Name of the hook [default: the kind and a number]
    #[arg(long, value_name = "ID", requires = "run")]
    id: Option<String>,
    /// Remove the hook of this name
    #[arg(long, value_name = "ID", conflicts_with_all = ["kind", "run", "id"])]
    remove: Option<String>,
}

pub fn run(context: &Context<'_>, args: &OnArgs) -> Result<()> {
    match (&args.kind, &args.run, &args.remove) {
        (Some(kind), Some(command), _) => register(context, kind, command, args.id.as_deref()),
        (_, _, Some(id)) => {
            let request = RemoveHook { id: id.clone(), session_id: None };
            context.perform(request, |hook| tell(context, "Removed the hook", &hook.value))
        }
        _ => context.perform(ListHooks { session_id: None }, |found| list(context, found.items())),
    }
}

/// Returns the session at work; without one nothing was done about its hooks.
fn session<'c>(context: &'c Context<'_>) -> &'c SessionId {
    context.own_session().expect("hooks belong to a session")
}

fn register(context: &Context<'_>, kind: &str, command: &str, id: Option<&str>) -> Result<()> {
    let request = AddHook {
        kind: kind.parse().map_err(CliError::invalid)?,
        command: command.to_owned(),
        id: id.map(parse_id).transpose()?,
        session_id: None,
    };
    let registered = context.ask(request)?;
    let (what, session) =
        (if registered.repeated { "Registered already" } else { "Registered" }, session(context));
    let what = format!("{what} for changes of {kind} in session {session}");
    context.answer::<AddHook>(&registered, |registered| tell(context, &what, &registered.hook))?;
    match owner(context, session)?.obstacle(&*context.engine, &registered.hook)? {
        Some(obstacle) => {
            context.output.warning(&format!("it will not run: {}", obstacle.in_words(context.actor.door)));
        }
        None if registered.repeated => {}
        None => context.output.status("it runs after the next change"),
    }
    Ok(())
}

fn tell(context: &Context<'_>, what: &str, hook: &Value) -> Result<()> {
    context.output.print(&format!("{what}: {}", text(hook, "id")))
}

fn list(context: &Context<'_>, found: &[Value]) -> Result<()> {
    let session = session(context);
    let obstacles = owner(context, session)?.obstacles(&*context.engine, found)?;
    for (hook, obstacle) in found.iter().zip(obstacles) {
        let state = obstacle
            .map_or(String::new(), |why| format!("  (does not run: {})", why.in_words(context.actor.door)));
        let line = format!("{}  on {}: {}{state}", text(hook, "id"), text(hook, "on"), text(hook, "command"));
        context.output.print(&line.replace('\n', " "))?;
    }
    if found.is_empty() {
        context.output.status(&format!(
            "session {session} has no hooks; add one: anthill on KIND --run CMD --session-id {session}"
        ));
    }
    if context.engine.read(&Doc::session(session))?.is_some_and(|state| hooks::is_over(&state.value)) {
        context.output.status(&format!("session {session} is over: none of its hooks runs"));
    }
    Ok(())
}

fn owner<'s>(context: &Context<'_>, session: &'s SessionId) -> Result<Owner<'s>> {
    let root = context.roots.project().map_err(|error| io_error("look at the command", &error))?;
    Ok(Owner::find(&*context.engine, session, &root)?)
}
