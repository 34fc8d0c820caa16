use std::time::Duration;

use anthill_core::model::clients::CLIENTS;
use anthill_core::ops::settings::Settings;
use anthill_core::view::shell;
use clap::Args;

use crate::args::Global;
use crate::context::Context;
use crate::error::Result;
use crate::install::{Detail, Install, InstallReport, Places, Scope, Wish, program, show, tell};
use crate::remains;

/// Take back what init changed
///
/// Files that nobody has edited since are again what they were, byte for byte. From others only our
/// parts are taken out. What anthill keeps (tasks, sessions, messages, …) stays.
///
/// Examples:
///   anthill uninstall --dry-run
///   anthill uninstall
///   anthill uninstall --scope user
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct UninstallArgs {
    /// Whose settings [default: all of this project]
    #[arg(long)]
    scope: Option<Scope>,
    /// Also write where links of the project lead out of it
    #[arg(long)]
    follow_links: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

pub fn run(context: &Context<'_>, global: &Global, args: &UninstallArgs) -> Result<()> {
    let places = Places::find(context, None)?;
    let patience = (!args.dry_run).then(|| Duration::from_secs_f64(global.lock_timeout));
    let scopes = args.scope.map_or(vec![Scope::Local, Scope::Project], |scope| vec![scope]);
    let mut plans = Vec::new();
    let mut recorded = false;
    for scope in &scopes {
        let install = Install::open(&places, *scope, patience)?;
        let wish = Wish { follow_links: args.follow_links, ..everything(*scope, &install)? };
        let plan = install.plan_removal(&wish)?;
        recorded |= install.is_recorded();
        show(context, std::slice::from_ref(&plan), &places.project, Detail::of(args.dry_run));
        if !args.dry_run {
            install.apply_removal(&plan)?;
        }
        plans.push(plan);
    }
    let changed = plans.iter().any(|plan| plan.real_changes().next().is_some());
    let mut notes = if changed || recorded { left(&places, &scopes) } else { Vec::new() };
    if (changed || recorded) && Settings::read(&*context.engine).is_ok_and(|settings| settings.guards_edits())
    {
        notes.push(
            "the edit guard stays on; to turn it off: anthill set config features.enable_edit_guard false"
                .into(),
        );
    }
    notes.extend(elsewhere(&places, &scopes)?);
    let told = InstallReport {
        applied: !args.dry_run,
        did: "Taken back, changed",
        nothing: "Nothing to remove",
        notes,
    };
    tell(context, &plans, &places.project, &told)
}

/// Returns a wish for everything that `init` can write, to find all of it.
fn everything(scope: Scope, install: &Install<'_>) -> Result<Wish> {
    let program = program::find()?;
    Ok(Wish {
        scope,
        clients: CLIENTS.into_iter().filter(|client| scope.has(client)).collect(),
        guard: true,
        status_line: true,
        program: shell::word(&program),
        bare_program: program,
        known: install.known_commands(),
        project: install.recorded_project(),
        follow_links: false,
    })
}

/// Says what stays, and how to remove it too.
fn left(places: &Places, scopes: &[Scope]) -> Vec<String> {
    let mut notes = Vec::new();
    let (project, home) = (&places.project, &places.home);
    let here = [".coordination", "coordination", ".claude/state", ".claude/workflow_state_system.md"];
    let found: Vec<_> = here.into_iter().filter(|name| project.join(name).exists()).collect();
    if !found.is_empty() {
        notes.push(format!(
            "what anthill keeps for this project stays; to remove it: rm -r {}",
            found.join(" ")
        ));
    }
    let shared = remains::in_home(home).join(" ");
    if !shared.is_empty() {
        notes.push(match scopes.contains(&Scope::User) {
            true => format!("what anthill keeps for all projects stays; to remove it: rm -r {shared}"),
            false => format!("what anthill keeps for all projects stays in the home; if no other one needs it: rm -r {shared}"),
        });
    }
    if scopes.contains(&Scope::Plugin) {
        let plugins = CLIENTS.iter().filter_map(|client| client.files.plugin.as_ref());
        notes.extend(plugins.map(|plugin| plugin.removed.into()));
    }
    notes
}

/// Names other scopes that were set up.
fn elsewhere(places: &Places, scopes: &[Scope]) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for scope in [Scope::User, Scope::Plugin].into_iter().filter(|scope| !scopes.contains(scope)) {
        if Install::open(places, scope, None)?.is_recorded() {
            let word = scope.word();
            notes.push(format!(
                "anthill is also set up with the scope {word}: anthill uninstall --scope {word}"
            ));
        }
    }
    Ok(notes)
}
