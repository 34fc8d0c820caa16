use std::path::Path;
use std::time::Duration;

use anthill_core::ops::settings::Settings;
use clap::Args;

use crate::args::Global;
use crate::context::Context;
use crate::error::Result;
use crate::install::{Client, Install, Places, Scope, Told, Wish, program, show, tell};

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
        let plan = install.plan_removal(&everything(*scope, install.known_commands())?)?;
        recorded |= install.is_recorded();
        show(context, std::slice::from_ref(&plan), &places.project);
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
    let told =
        Told { applied: !args.dry_run, did: "Taken back, changed", nothing: "Nothing to remove", notes };
    tell(context, &plans, &places.project, &told)
}

/// Returns a wish for all that init can write, to find all of it.
fn everything(scope: Scope, known: Vec<String>) -> Result<Wish> {
    let program = program::find()?;
    Ok(Wish {
        scope,
        clients: if scope == Scope::Local { vec![Client::Claude] } else { Client::ALL.to_vec() },
        guard: true,
        mcp: true,
        status_line: true,
        program: program::quoted(&program),
        bare_program: program,
        known,
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
    let shared: Vec<_> = ["orchestration", "sessions"]
        .into_iter()
        .map(|name| home.join(name))
        .filter(|dir| dir.exists())
        .collect();
    if !shared.is_empty() && scopes.contains(&Scope::User) {
        let dirs: Vec<_> = shared.iter().map(|dir: &std::path::PathBuf| quoted(dir)).collect();
        notes.push(format!(
            "what anthill keeps for all projects stays; to remove it: rm -r {}",
            dirs.join(" ")
        ));
    }
    if scopes.contains(&Scope::Plugin) {
        notes.push("Claude Code still knows the plugin: claude plugin uninstall anthill@anthill, claude plugin marketplace remove anthill".into());
    }
    notes
}

fn quoted(dir: &Path) -> String {
    program::quoted(&dir.display().to_string())
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
