//! What agents do now, and what came out of those that are done.

use serde_json::{Value, json};

use super::{Error, Result, read};
use crate::error::Code;
use crate::model::ids::Key;
use crate::model::kind::{Doc, Kind};
use crate::model::room::Room;
use crate::store::Engine;
use crate::store::engine::items;

/// Returns the agents that are known to run or to have run, with this status or all.
pub fn list(engine: &dyn Engine, status: Option<&str>) -> Result<Vec<Value>> {
    read::list(engine, &Doc::shared(kind("active_agents"), Room::State), status)
}

/// Returns what one agent found.
pub fn result(engine: &dyn Engine, agent: &Key) -> Result<Value> {
    let found = engine.read(&Doc::of_key(kind("agent_result"), agent))?;
    found.map(|found| found.value).ok_or_else(|| {
        let hint = "see who is at work: anthill agents list   (what others found: anthill agents merge)";
        Error::missing(format!("there is no result of the agent `{agent}`"), hint)
    })
}

/// The findings of all agents.
#[derive(Debug, Default)]
pub struct Merged {
    /// The worst first. Each as it is stored, with the agents that have it as `agent_ids`.
    pub findings: Vec<Value>,
    /// How many results there are.
    pub results: usize,
    pub warnings: Vec<String>,
}

/// Merges the findings of all results: the worst first, what several agents found once.
pub fn merge(engine: &dyn Engine) -> Result<Merged> {
    let mut merged = Merged::default();
    for doc in engine.documents(&Room::State)? {
        if doc.kind != kind("agent_result") {
            continue;
        }
        match engine.read(&doc) {
            Ok(Some(result)) => {
                merged.results += 1;
                let agent = result.value["agent_id"].as_str().unwrap_or_default().to_owned();
                items(doc.kind, &result.value).into_iter().for_each(|finding| merged.add(finding, &agent));
            }
            Ok(None) => {}
            // What the others found is worth to be seen all the same.
            Err(error) if error.code() == Code::Damaged => merged.warnings.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    merged.findings.sort_by(|one, other| severity(one).cmp(severity(other)));
    Ok(merged)
}

impl Merged {
    /// Adds a finding, or the agent to the one that says the same. The worse of two severities holds.
    fn add(&mut self, finding: &Value, agent: &str) {
        let Some(known) = self.findings.iter_mut().find(|known| said(known) == said(finding)) else {
            let mut finding = finding.clone();
            if finding.is_object() {
                finding["agent_ids"] = json!([agent]);
                self.findings.push(finding);
            }
            return;
        };
        if severity(finding) < severity(known) {
            known["severity"] = finding["severity"].clone();
        }
        if let Some(agents) =
            known["agent_ids"].as_array_mut().filter(|agents| agents.iter().all(|known| known != agent))
        {
            agents.push(agent.into());
        }
    }
}

/// Returns what a finding says; two that say the same are one.
fn said(finding: &Value) -> [&str; 4] {
    let text = |name| finding.get(name).and_then(Value::as_str).map_or("", str::trim);
    [text("category"), text("title"), text("details"), text("recommendation")]
}

/// Returns how bad a finding is; one that does not say it comes last.
pub fn severity(finding: &Value) -> &str {
    finding.get("severity").and_then(Value::as_str).unwrap_or("S9")
}

fn kind(name: &str) -> &'static Kind {
    Kind::find(name).expect("a kind of the registry")
}
