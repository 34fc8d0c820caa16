use anthill_core::api::workflow::{CreateWorkflow, PhasePlan, place};
use clap::Args;

use super::report;
use crate::args::ExpectArgs;
use crate::context::Context;
use crate::error::Result;
use crate::typed::{names, parse_id, prose};

/// Create a workflow
///
/// Its phases are phase_0, phase_1, … and run one after the other, unless --parallel or --depends say
/// otherwise. Phases that share --files never run at once. An agent of a --handover phase that wants to
/// stop without saying how it ended is asked once. The workflow belongs to the session that creates
/// it. A completed workflow makes room and is kept in `.claude/state/workflow_archive`; one that is not
/// completed only with --replace. With --id the command may be repeated safely.
///
/// Examples:
///   anthill workflow create "Build a calculator with tests" \
///       --phase "Create module=general-purpose" --phase "Test=verifier"
///   anthill workflow create "Review" --parallel --phase "Security=sec" "Speed=perf" \
///       "Report=writer" --depends phase_2=phase_0,phase_1
///   anthill workflow create "Refactor" --parallel --phase "A=dev" "B=dev" \
///       --files phase_0=src/a.rs phase_1=src/b.rs,src/lib.rs
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CreateArgs {
    /// The request, word for word
    #[arg(allow_hyphen_values = true, value_parser = prose)]
    task: String,
    /// A phase and the agent that does it; split at the last `=`
    #[arg(long, value_name = "TITLE=AGENT", num_args = 1.., required = true, value_parser = phase)]
    phase: Vec<(String, String)>,
    /// Phases wait only for what --depends says
    #[arg(long)]
    parallel: bool,
    /// What a phase waits for, instead of the one before it
    #[arg(long, value_name = "PHASE=PHASE,…", num_args = 1.., value_parser = pair)]
    depends: Vec<(String, String)>,
    /// What a phase works on: files, directories or patterns
    #[arg(long, value_name = "PHASE=FILE,…", num_args = 1.., value_parser = pair)]
    files: Vec<(String, String)>,
    /// Phases whose agents are asked for a report before they stop, once
    #[arg(long, value_name = "PHASE", num_args = 1..)]
    handover: Vec<String>,
    /// The workflow's id [default: wf_YYYYMMDD_HHMMSS]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Put a workflow aside that is not completed
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    expect: ExpectArgs,
}

fn phase(text: &str) -> std::result::Result<(String, String), String> {
    let example = "write it as TITLE=AGENT (the task comes before --phase)";
    let (title, agent) = text.rsplit_once('=').ok_or(example)?;
    let (title, agent) = (title.trim(), agent.trim());
    if title.is_empty() || agent.is_empty() {
        return Err(example.into());
    }
    Ok((title.into(), agent.into()))
}

/// Reads what is said about a phase.
fn pair(text: &str) -> std::result::Result<(String, String), String> {
    let (phase, list) = text.split_once('=').ok_or("write it as PHASE=A,B, such as phase_1=phase_0")?;
    Ok((phase.trim().into(), list.into()))
}

pub fn run(context: &Context<'_>, args: &CreateArgs) -> Result<()> {
    let request = CreateWorkflow {
        id: args.id.as_deref().map(parse_id).transpose()?,
        task: args.task.clone(),
        phases: phases(args)?,
        parallel: args.parallel,
        replace: args.replace,
        expect_revision: args.expect.expect_revision,
    };
    context.perform(request, |done| report::tell(context, done, ("Created", done.flow.id())))
}

fn phases(args: &CreateArgs) -> Result<Vec<PhasePlan>> {
    let phase = |(title, agent): &(String, String)| PhasePlan {
        title: title.clone(),
        agent: agent.clone(),
        depends_on: None,
        files: Vec::new(),
        handover: false,
    };
    let mut phases: Vec<_> = args.phase.iter().map(phase).collect();
    let place = |id: &str| place(id, args.phase.len());
    for (id, list) in &args.depends {
        phases[place(id)?].depends_on.get_or_insert_default().extend(split(list));
    }
    for (id, list) in &args.files {
        phases[place(id)?].files.extend(split(list));
    }
    for id in &args.handover {
        phases[place(id)?].handover = true;
    }
    Ok(phases)
}

fn split(list: &str) -> Vec<String> {
    names(&list.split(',').map(str::to_owned).collect::<Vec<_>>())
}
