use std::path::PathBuf;
use std::time::Duration;

use anthill_core::model::clients::{self, CLIENTS, Client, DEFAULT};
use anthill_core::model::ids::ProjectId;
use anthill_core::ops::settings::{self, Guard, Settings};
use anthill_core::view::shell;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::args::Global;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::install::{Detail, Install, InstallReport, Places, Scope, Wish, program, show, tell};
use crate::typed::parse_new_id;

/// Set up a project: hooks, protocol, agents, commands, ignore rules
///
/// Names the files that change, then writes; with --dry-run it shows the changes and writes nothing.
/// Your settings keep every other byte: comments, order, hooks of others. Run it again after an
/// update: what is older is renewed in its place, the rest is not touched. `anthill uninstall` gives
/// back what was there. Without --client it is {client}, and every other client that the project
/// shows signs of.
///
/// Examples:
///   anthill init --dry-run
///   anthill init --project-id myapp
///   anthill init --guard --status-line
///   anthill init --client codex gemini
///   anthill init --scope user
///   anthill init --scope plugin --to ~/anthill-plugin
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct InitArgs {
    /// What this project is called [default: its name so far, or that of its directory]
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Whose settings are changed
    #[arg(long, default_value = "project")]
    scope: Scope,
    /// For these clients and no others
    #[arg(long, value_name = "CLIENT", num_args = 1.., value_delimiter = ',', value_parser = client_parser())]
    client: Vec<String>,
    /// Also let hooks look at tool calls before they happen, and turn the edit guard on
    #[arg(long)]
    guard: bool,
    /// Also show `anthill status --line` in the status line of {status line}, if it shows nothing else
    #[arg(long)]
    status_line: bool,
    /// Where the plugin goes [default: anthill-plugin in the home root]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Also write where links of the project lead out of it
    #[arg(long)]
    follow_links: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask; init never does, so this changes nothing
    #[arg(long, short)]
    yes: bool,
}

/// The word for all clients.
const ALL: &str = "all";

fn client_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name).chain([ALL]))
}

/// Returns the clients that were named.
fn named_clients(args: &InitArgs) -> Vec<&'static Client> {
    let is_named = |client: &&Client| args.client.iter().any(|name| name == client.name || name == ALL);
    CLIENTS.into_iter().filter(is_named).collect()
}

pub fn run(context: &Context<'_>, global: &Global, args: &InitArgs) -> Result<()> {
    let project = args.project_id.as_deref().map(parse_new_id::<ProjectId>).transpose()?;
    check(args)?;
    let places = Places::find(context, args.to.as_deref())?;
    let patience = (!args.dry_run).then(|| Duration::from_secs_f64(global.lock_timeout));
    let install = Install::open(&places, args.scope, patience)?;
    let mut wish = wish(args, &places)?;
    wish.known = install.known_commands();
    let own = context.own_project();
    wish.project = match args.scope {
        Scope::Project => project.or_else(|| own.clone()).or(new_project(context, &install)?),
        _ => None,
    };
    let plan = install.plan(&wish)?;
    show(context, std::slice::from_ref(&plan), &places.project, Detail::of(args.dry_run));
    let mut notes = notes(args, &wish, &places);
    notes.extend(wish.project.as_ref().filter(|project| own.as_ref() != Some(project)).map(named));
    if !args.dry_run {
        notes.extend(args.guard.then(|| turn_on_guard(context)).transpose()?);
        install.apply(&plan, &wish)?;
    }
    let told =
        InstallReport { applied: !args.dry_run, did: "Set up, changed", nothing: "Nothing to change", notes };
    tell(context, &[plan], &places.project, &told)
}

/// Refuses what does not go together.
fn check(args: &InitArgs) -> Result<()> {
    if args.to.is_some() && args.scope != Scope::Plugin {
        return Err(
            CliError::invalid("--to says where a plugin goes").hinted("add --scope plugin, or leave it out")
        );
    }
    let clients = named_clients(args);
    let shows = |client: &Client| client.files.has_status_line();
    let nobody_shows = !clients.is_empty() && !clients.iter().any(|client| shows(client));
    if args.status_line && (args.scope == Scope::Plugin || nobody_shows) {
        let titles = clients::titles(shows);
        return Err(CliError::invalid(format!("--status-line is for the settings of {titles}"))
            .hinted("leave it out, or: anthill init --status-line --scope user"));
    }
    if clients.iter().any(|client| !args.scope.has(client)) {
        let message = format!("the scope `{}` exists for {} only", args.scope.word(), args.scope.titles());
        return Err(CliError::invalid(message).hinted("for other clients: --scope project or --scope user"));
    }
    Ok(())
}

fn wish(args: &InitArgs, places: &Places) -> Result<Wish> {
    let program = program::find()?;
    let named = named_clients(args);
    // Outside a project there are no traces of clients.
    let clients = match (named.is_empty(), args.scope) {
        (true, Scope::Project) => places.clients(),
        (true, _) => vec![DEFAULT],
        (false, _) => named,
    };
    Ok(Wish {
        scope: args.scope,
        clients,
        guard: args.guard,
        status_line: args.status_line,
        program: shell::word(&program),
        bare_program: program,
        known: Vec::new(),
        project: None,
        follow_links: args.follow_links,
    })
}

/// Returns a name for a project without one. The configuration's default goes to the first project that asks.
fn new_project(context: &Context<'_>, install: &Install<'_>) -> Result<Option<ProjectId>> {
    let settings = Settings::read(&*context.engine)?;
    Ok(install.new_project(settings.default_project()))
}

/// Says what the project is called from now on.
fn named(project: &ProjectId) -> String {
    format!("this project is called `{project}`; to call it otherwise: anthill init --project-id ID")
}

/// Turns the edit guard on, unless somebody has decided about it; returns what to say about it.
fn turn_on_guard(context: &Context<'_>) -> Result<String> {
    Ok(match settings::turn_on_guard(&*context.engine, &context.actor)? {
        Guard::TurnedOn => {
            "the edit guard is now on for all projects; to turn it off: anthill set config features.enable_edit_guard false".into()
        }
        Guard::Kept(true) => "the edit guard is on already".into(),
        Guard::Kept(false) => {
            "the edit guard stays off, as the configuration says; to turn it on: anthill set config features.enable_edit_guard true".into()
        }
    })
}

/// Returns what a person has to know or to do.
fn notes(args: &InitArgs, wish: &Wish, places: &Places) -> Vec<String> {
    let mut notes = Vec::new();
    if !program::is_on_path(&wish.bare_program) {
        notes.push(format!(
            "hooks call `{}`: no anthill on your PATH is this one. Put it there and run init again if others share these files",
            wish.bare_program
        ));
    }
    notes.extend(wish.clients.iter().filter_map(|client| client.files.advice).map(Into::into));
    let plugins = wish.clients.iter().filter_map(|client| client.files.plugin.as_ref());
    for plugin in plugins.filter(|_| args.scope == Scope::Plugin) {
        notes.extend((plugin.install)(&shell::word(&places.plugin.display().to_string())));
    }
    notes
}
