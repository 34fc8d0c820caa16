//! One file per command: its arguments, whose doc comments are the help, and `run`.

mod agent_loop;
mod agents;
mod append;
mod bench;
mod claim;
mod clean;
mod compact;
mod complete_ids;
mod completions;
mod delete;
mod demo;
mod diff;
pub mod doctor;
mod done;
mod edit;
mod epic;
mod error;
mod explain;
mod get;
mod history;
pub mod hook;
pub mod hooks_run;
mod init;
mod leader;
mod list;
mod log;
mod man;
mod merge;
mod message;
mod metrics;
mod on;
mod orchestrate;
mod pipeline;
mod restore;
mod revisions;
mod schema;
mod session;
mod set;
mod short;
mod show;
mod sprint;
mod status;
mod story;
mod team;
mod tool;
mod trust;
mod undo;
mod uninstall;
mod update_task;
mod validate;
mod watch;
mod worker;
mod workflow;

use clap::{Args, Subcommand};

use crate::args::Global;
use crate::asides;
use crate::context::Context;
use crate::direct::one;
use crate::error::Result;
use crate::output::Output;
use crate::process::ExitCode;

#[derive(Debug, Subcommand)]
pub enum Command {
    Init(init::InitArgs),
    Status(status::StatusArgs),
    #[command(about = short::ADD, long_about = short::ADD_LONG)]
    Add(leader::add_task::AddTaskArgs),
    #[command(about = short::READY, long_about = short::READY_LONG)]
    Ready(worker::list::ListArgs),
    Claim(claim::ClaimArgs),
    Done(done::DoneArgs),
    Show(show::ShowArgs),
    Explain(explain::ExplainArgs),
    #[command(subcommand)]
    Leader(leader::Leader),
    #[command(subcommand)]
    Worker(worker::Worker),
    #[command(subcommand)]
    Message(message::Message),
    #[command(subcommand)]
    Session(session::Session),
    #[command(hide = true)]
    ListActive(session::list::ListActiveArgs),
    #[command(subcommand)]
    Epic(epic::Epic),
    #[command(subcommand)]
    Story(story::Story),
    #[command(subcommand)]
    Sprint(sprint::Sprint),
    #[command(subcommand)]
    Tool(tool::Tool),
    #[command(subcommand)]
    Team(team::Team),
    #[command(subcommand)]
    Workflow(workflow::Workflow),
    #[command(subcommand)]
    Pipeline(pipeline::Pipeline),
    Orchestrate(orchestrate::OrchestrateArgs),
    #[command(subcommand, name = "loop")]
    AgentLoop(agent_loop::AgentLoop),
    UpdateTask(update_task::UpdateTaskArgs),
    #[command(subcommand)]
    Error(error::ErrorCommand),
    #[command(subcommand)]
    Compact(compact::Compact),
    #[command(subcommand)]
    Agents(agents::Agents),
    Metrics(metrics::MetricsArgs),
    Clean(clean::CleanArgs),
    Hook(hook::HookArgs),
    Get(get::GetArgs),
    List(list::ListArgs),
    Watch(watch::WatchArgs),
    Set(set::SetArgs),
    Append(append::AppendArgs),
    Delete(delete::DeleteArgs),
    Validate(validate::ValidateArgs),
    Schema(schema::SchemaArgs),
    History(history::HistoryArgs),
    Restore(restore::RestoreArgs),
    Undo(undo::UndoArgs),
    Edit(edit::EditArgs),
    Diff(diff::DiffArgs),
    Merge(merge::MergeArgs),
    Log(log::LogArgs),
    On(on::OnArgs),
    Trust(trust::TrustArgs),
    #[command(hide = true)]
    HooksRun(hooks_run::HooksRunArgs),
    Doctor(doctor::DoctorArgs),
    Demo(demo::DemoArgs),
    Bench(bench::BenchArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    CompleteIds(complete_ids::CompleteIdsArgs),
    Man(man::ManArgs),
    Uninstall(uninstall::UninstallArgs),
}

/// Adds the arguments of a command to its parser.
type Augment = fn(clap::Command) -> clap::Command;

/// The arguments of each command: a line needs the parser of its own command only.
const PARSERS: &[(&str, Augment)] = &[
    ("init", init::InitArgs::augment_args),
    ("status", status::StatusArgs::augment_args),
    ("add", leader::add_task::AddTaskArgs::augment_args),
    ("ready", worker::list::ListArgs::augment_args),
    ("claim", claim::ClaimArgs::augment_args),
    ("done", done::DoneArgs::augment_args),
    ("show", show::ShowArgs::augment_args),
    ("explain", explain::ExplainArgs::augment_args),
    ("leader", leader::Leader::augment_subcommands),
    ("worker", worker::Worker::augment_subcommands),
    ("message", message::Message::augment_subcommands),
    ("session", session::Session::augment_subcommands),
    ("list-active", session::list::ListActiveArgs::augment_args),
    ("epic", epic::Epic::augment_subcommands),
    ("story", story::Story::augment_subcommands),
    ("sprint", sprint::Sprint::augment_subcommands),
    ("tool", tool::Tool::augment_subcommands),
    ("team", team::Team::augment_subcommands),
    ("workflow", workflow::Workflow::augment_subcommands),
    ("pipeline", pipeline::Pipeline::augment_subcommands),
    ("orchestrate", orchestrate::OrchestrateArgs::augment_args),
    ("loop", agent_loop::AgentLoop::augment_subcommands),
    ("update-task", update_task::UpdateTaskArgs::augment_args),
    ("error", error::ErrorCommand::augment_subcommands),
    ("compact", compact::Compact::augment_subcommands),
    ("agents", agents::Agents::augment_subcommands),
    ("metrics", metrics::MetricsArgs::augment_args),
    ("clean", clean::CleanArgs::augment_args),
    ("hook", hook::HookArgs::augment_args),
    ("get", get::GetArgs::augment_args),
    ("list", list::ListArgs::augment_args),
    ("watch", watch::WatchArgs::augment_args),
    ("set", set::SetArgs::augment_args),
    ("append", append::AppendArgs::augment_args),
    ("delete", delete::DeleteArgs::augment_args),
    ("validate", validate::ValidateArgs::augment_args),
    ("schema", schema::SchemaArgs::augment_args),
    ("history", history::HistoryArgs::augment_args),
    ("restore", restore::RestoreArgs::augment_args),
    ("undo", undo::UndoArgs::augment_args),
    ("edit", edit::EditArgs::augment_args),
    ("diff", diff::DiffArgs::augment_args),
    ("merge", merge::MergeArgs::augment_args),
    ("log", log::LogArgs::augment_args),
    ("on", on::OnArgs::augment_args),
    ("trust", trust::TrustArgs::augment_args),
    ("hooks-run", hooks_run::HooksRunArgs::augment_args),
    ("doctor", doctor::DoctorArgs::augment_args),
    ("demo", demo::DemoArgs::augment_args),
    ("bench", bench::BenchArgs::augment_args),
    ("complete-ids", complete_ids::CompleteIdsArgs::augment_args),
    ("completions", completions::CompletionsArgs::augment_args),
    ("man", man::ManArgs::augment_args),
    ("uninstall", uninstall::UninstallArgs::augment_args),
];

/// Returns the parser of one command.
pub fn parser(name: &str) -> Option<clap::Command> {
    let (name, augment) = PARSERS.iter().find(|(known, _)| *known == name)?;
    Some(augment(clap::Command::new(*name)))
}

/// Runs a command; `program` is the parser of all of them.
pub fn run(
    global: &Global,
    command: Command,
    output: &Output,
    program: fn() -> clap::Command,
) -> Result<ExitCode> {
    let context = || Context::new(global, output).inspect(asides::tell);
    let done = |result: Result<()>| result.map(|()| ExitCode::SUCCESS);
    match command {
        Command::Init(args) => done(init::run(&context()?, global, &args)),
        Command::Status(args) => done(status::run(context, output, &args)),
        Command::Add(args) => done(leader::add_task::run(&context()?, &args)),
        Command::Ready(args) => done(worker::list::run(&context()?, &args)),
        Command::Claim(args) => done(claim::run(&context()?, &args)),
        Command::Done(args) => done(done::run(&context()?, &args)),
        Command::Show(args) => done(show::run(&context()?, &args)),
        Command::Explain(args) => done(explain::run(&context()?, &args)),
        Command::Leader(command) => done(leader::run(&context()?, &command)),
        Command::Worker(command) => worker::run(context, &command),
        Command::Message(command) => done(message::run(&context()?, &command)),
        Command::Session(command) => done(session::run(&context()?, &command)),
        Command::ListActive(args) => done(session::list::run_active(&context()?, &args)),
        Command::Epic(command) => done(epic::run(&context()?, &command)),
        Command::Story(command) => done(story::run(&context()?, &command)),
        Command::Sprint(command) => done(sprint::run(&context()?, &command)),
        Command::Tool(command) => done(tool::run(&context()?, &command)),
        Command::Team(command) => done(team::run(&context()?, &command)),
        Command::Workflow(command) => done(workflow::run(&context()?, &command)),
        Command::Pipeline(command) => pipeline::run(context, output, &command),
        Command::Orchestrate(args) => orchestrate::run(&context()?, &args),
        Command::AgentLoop(command) => agent_loop::run(&context()?, &command),
        Command::UpdateTask(args) => done(update_task::run(&context()?, &args)),
        Command::Error(command) => done(error::run(&context()?, &command)),
        Command::Compact(command) => done(compact::run(&context()?, &command)),
        Command::Agents(command) => done(agents::run(&context()?, &command)),
        Command::Metrics(args) => done(metrics::run(&context()?, &args)),
        Command::Clean(args) => done(clean::run(&context()?, &args)),
        Command::Hook(_) => Ok(hook::run(global, true)),
        Command::Get(args) => done(get::run(&context()?, &args)),
        Command::List(args) => done(list::run(&context()?, &args)),
        Command::Watch(args) => done(watch::run(&context()?, &args)),
        Command::Set(args) => done(set::run(&context()?, &args)),
        Command::Append(args) => done(append::run(&context()?, &args)),
        Command::Delete(args) => done(delete::run(&context()?, &args)),
        Command::Validate(args) => validate::run(&context()?, &args),
        Command::Schema(args) => done(schema::run(output, &args)),
        Command::History(args) => done(history::run(&context()?, &args)),
        Command::Restore(args) => done(restore::run(&context()?, &args)),
        Command::Undo(args) => done(undo::run(&context()?, &args)),
        Command::Edit(args) => done(edit::run(&context()?, &args)),
        Command::Diff(args) => done(diff::run(&context()?, &args)),
        Command::Merge(args) => done(merge::run(&context()?, &args)),
        Command::Log(args) => done(log::run(&context()?, &args)),
        Command::On(args) => done(on::run(&context()?, &args)),
        Command::Trust(args) => done(trust::run(&context()?, &args)),
        Command::HooksRun(args) => done(hooks_run::run(&context()?, &args)),
        Command::Doctor(args) => doctor::run(&context()?, &args),
        Command::Demo(args) => demo::run(global, &args, output),
        Command::Bench(args) => done(bench::run(output, &args)),
        Command::CompleteIds(args) => done(complete_ids::run(global, output, &args, parser)),
        Command::Completions(args) => done(completions::run(output, &args, program())),
        Command::Man(args) => done(man::run(output, &args, program())),
        Command::Uninstall(args) => done(uninstall::run(&context()?, global, &args)),
    }
}

/// Runs the hot commands, which need no clap.
pub fn direct(noun: &str, verb: &str, rest: &[String]) -> Option<ExitCode> {
    match noun {
        "get" => one(rest, get::run),
        "set" => one(rest, set::run),
        "status" => status::direct(rest),
        "add" => one(rest, leader::add_task::run),
        "ready" => one(rest, worker::list::run),
        "claim" => one(rest, claim::run),
        "done" => one(rest, done::run),
        "leader" => leader::direct(verb, rest),
        "worker" => worker::direct(verb, rest),
        "message" => message::direct(verb, rest),
        "session" => session::direct(verb, rest),
        "list-active" => session::direct(noun, rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use proptest::prelude::*;

    use super::*;
    use crate::direct::by_clap::{agree, names};

    /// What is longer is broken anywhere, in the middle of paragraphs that are broken already.
    #[test]
    fn help_fits_into_a_hundred_columns() {
        let mut left = vec![crate::command_line::Cli::command()];
        while let Some(command) = left.pop() {
            let texts = [command.get_long_about(), command.get_after_help()].into_iter().flatten();
            for line in texts.flat_map(|text| text.to_string().lines().map(str::to_owned).collect::<Vec<_>>())
            {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
            left.extend(command.get_subcommands().cloned());
        }
    }

    /// Everything that a command takes, its verbs included.
    fn taken(command: &clap::Command) -> String {
        let arguments: Vec<_> = command.get_arguments().collect();
        let verbs = command.get_subcommands().map(|verb| format!("{} {}", verb.get_name(), taken(verb)));
        format!("{arguments:?} {:?}", verbs.collect::<Vec<_>>())
    }

    #[test]
    fn every_command_has_a_parser_of_its_own() {
        for command in crate::command_line::Cli::command().get_subcommands() {
            let alone = parser(command.get_name()).unwrap_or_else(|| panic!("{}", command.get_name()));
            assert_eq!(taken(&alone), taken(command), "{}", command.get_name());
        }
    }

    const OTHERS: [&str; 18] = [
        "w1",
        "t1",
        "config",
        "queue",
        "a.b",
        "1",
        "0.5",
        "x y",
        "json",
        "value",
        "auto",
        "",
        "--",
        "-1",
        "--no",
        "a,b",
        "--field=x",
        "7",
    ];

    /// Tests one argument type on random lines, and on one that must be read directly.
    macro_rules! hot {
        ($($test:ident: $type:ty, $line:expr;)*) => {
            $(mod $test {
                use super::*;

                #[test]
                fn an_ordinary_line_is_read_directly() {
                    let words: Vec<_> = $line.iter().map(|word: &&str| (*word).to_owned()).collect();
                    assert!(agree::<$type>(&words), "{words:?}");
                }

                proptest! {
                    #[test]
                    fn what_is_read_is_read_as_clap_does(picks in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
                        let known: Vec<_> = names::<$type>().into_iter().chain(OTHERS).chain(OTHERS).collect();
                        let words: Vec<_> = picks.iter().map(|pick| pick.get(&known).to_string()).collect();
                        agree::<$type>(&words);
                    }
                }
            })*
        };
    }

    hot! {
        direct_get: get::GetArgs, ["config", "--field", "a.b", "--json", "--format", "value"];
        direct_set: set::SetArgs, ["config", "a.b", "1", "--expect-revision", "7", "--root", "/x"];
        add_task: leader::add_task::AddTaskArgs, ["x y", "-p", "1", "--depends", "a", "b", "--needs", "a,b", "--files", "x"];
        session_heartbeat: session::heartbeat::HeartbeatArgs, ["s1", "--status", "idle"];
        session_list: session::list::ListArgs, ["--active", "--project-id", "p", "--timeout-minutes", "0.5"];
        session_list_active: session::list::ListActiveArgs, ["--json", "--timeout-minutes", "5"];
        message_send: message::send::SendArgs, ["w1", "t1", "x y", "1", "--priority", "high", "--ttl", "0.5", "--as", "agent", "--require-session"];
        message_poll: message::poll::PollArgs, ["w1", "--wait", "0.5", "--limit", "7", "--no-mark-read", "--format", "value"];
        message_done: message::done::DoneArgs, ["w1", "t1", "--json"];
        leader_status: leader::status::StatusArgs, ["--json"];
        whole_status: status::StatusArgs, ["--line", "--project-id", "p", "--session-id", "s"];
        list: worker::list::ListArgs, ["--home", "/x"];
        short_claim: crate::commands::claim::ClaimArgs, ["t1", "-w", "w1", "--lease", "0.5"];
        short_done: crate::commands::done::DoneArgs, ["t1", "x y", "--worker", "w1", "--modified", "a", "b", "--epoch", "1"];
        claim: worker::claim::ClaimArgs, ["w1", "--wait", "--lease", "0.5", "--json"];
        start: worker::start::StartArgs, ["w1", "t1", "--epoch", "1"];
        heartbeat: worker::heartbeat::HeartbeatArgs, ["w1"];
        complete: worker::complete::CompleteArgs, ["w1", "t1", "x y", "--modified", "a", "b", "--created", "c"];
        fail: worker::fail::FailArgs, ["w1", "t1", "why"];
        release: worker::release::ReleaseArgs, ["w1", "t1", "--session-id", "s"];
    }
}
