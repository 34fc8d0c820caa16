use anthill_core::model::pipeline::Pipeline as Run;

use crate::context::Context;

/// Says what to do next with a run.
pub fn tell(context: &Context<'_>, run: &Run) {
    let line = match run.stop_reason() {
        Some(reason) if run.is_given_up() => {
            format!("the run was given up: {reason}; go on: anthill orchestrate --resume")
        }
        Some(reason) => {
            format!("the run has stopped: {reason}; a new plan lets it go on: anthill pipeline plan --file F")
        }
        None if run.summary() == "completed" => "the run is complete".into(),
        None => "next: anthill pipeline next".into(),
    };
    context.output.status(&line);
}
