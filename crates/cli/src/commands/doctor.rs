use anthill_core::ops::doctor;
use anthill_core::store::Finding;
use clap::Args;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::Result;
use crate::output::Format;
use crate::start::ExitCode;

/// Look for damage in all rooms, and mend it with --repair
///
/// What interrupted commands left is finished and swept in any case. A damaged file is never thrown
/// away: --repair restores the last good content and keeps the bad file in the room's quarantine.
///
/// Examples:
///   anthill doctor
///   anthill doctor --repair
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DoctorArgs {
    /// Restore the last good content of damaged files
    #[arg(long)]
    repair: bool,
}

pub fn run(context: &Context<'_>, args: &DoctorArgs) -> Result<ExitCode> {
    let findings = doctor::doctor(&*context.engine, args.repair)?;
    let notes = doctor::notes(&*context.engine)?;
    let open = findings.iter().find(|finding| !finding.repaired);
    if context.output.json {
        let list: Vec<Value> = findings.iter().map(finding_json).collect();
        context
            .output
            .value(&json!({"ok": open.is_none(), "findings": list, "notes": notes}), Format::Json)?;
    }
    for finding in &findings {
        let label = if finding.repaired { "repaired" } else { finding.code.facts().word };
        context.output.status(&format!("{label}: {}\n    {}", finding.message, finding.fix));
    }
    for note in &notes {
        context.output.status(&format!("note: {note}"));
    }
    if findings.is_empty() {
        context.output.status("all is well");
    }
    Ok(ExitCode::from(open.map_or(0, |finding| finding.code.facts().exit)))
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "code": finding.code.facts().word,
        "severity": if finding.repaired { "repaired" } else { "error" },
        "subject": finding.subject,
        "message": finding.message,
        "fix": finding.fix,
    })
}
