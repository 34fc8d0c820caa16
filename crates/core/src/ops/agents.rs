//! What agents do now, and what came out of those that are done.

use serde_json::{Value, json};

use super::surplus::What;
use super::{Error, Result, document_of_state, read};
use crate::error::Code;
use crate::hint;
use crate::model::current_session::CurrentSessions;
use crate::model::documents::agent_loop::{AgentResult, Finding, MergedFinding};
use crate::model::hint::Hint;
use crate::model::ids::Key;
use crate::model::key::Fields;
use crate::model::kind::{Doc, Kind};
use crate::model::next::See;
use crate::model::room::Room;
use crate::store::Engine;
use crate::store::engine::items;

/// Returns the agents that are known to run or to have run, with this status or all.
pub fn list(engine: &dyn Engine, status: Option<&str>) -> Result<Vec<Value>> {
    read::list(engine, &Doc::shared(kind("active_agents"), Room::State), status)
}

/// Returns what one agent found, also if that is in an archive.
pub fn result(engine: &dyn Engine, agent: &Key) -> Result<Value> {
    let doc = Doc::of_key(kind("agent_result"), agent);
    if let Some(found) = engine.read(&doc)? {
        return Ok(found.value);
    }
    let archived = What::Agents.read(engine)?.into_iter().rev();
    archived.into_iter().find(|result| result[AgentResult::agent_id] == agent.as_str()).ok_or_else(|| {
        let hint = hint!["see who is at work: ", See::Agents, "   (what others found: ", See::Findings, ")"];
        Error::missing(
            format!("there is no result of the agent `{agent}`"),
            read::ways_on(engine, &doc, hint),
        )
    })
}

/// The findings of all agents.
#[derive(Debug, Default)]
pub struct Merged {
    /// The worst first. Each as it is stored, with the agents that have it as `agent_ids`.
    pub findings: Vec<Value>,
    /// How many results there are.
    pub results: usize,
    pub warnings: Vec<Hint>,
}

/// Merges the findings of all results: the worst first, what several agents found once. Of the archived results those count
/// whose sessions are at work.
pub fn merge(engine: &dyn Engine) -> Result<Merged> {
    let mut merged = Merged::default();
    for result in of_sessions_at_work(engine)? {
        merged.add_result(&result);
    }
    for doc in engine.documents(&Room::State)? {
        if doc.kind != kind("agent_result") {
            continue;
        }
        match engine.read(&doc) {
            Ok(Some(result)) => merged.add_result(&result.value),
            Ok(None) => {}
            // What the others found is worth to be seen all the same.
            Err(error) if error.code() == Code::Damaged => merged.warnings.push(error.to_string().into()),
            Err(error) => return Err(error.into()),
        }
    }
    merged.findings.sort_by(|one, other| severity(one).cmp(severity(other)));
    Ok(merged)
}

/// Returns the archived results of agents whose sessions are at work in the project.
fn of_sessions_at_work(engine: &dyn Engine) -> Result<Vec<Value>> {
    let current = document_of_state("current_session");
    let present = match engine.read(&current) {
        Err(error) if error.code() == Code::Damaged => None,
        found => found?,
    };
    let sessions = CurrentSessions::of(present.map(|present| present.value)).sessions();
    if sessions.is_empty() {
        return Ok(Vec::new());
    }
    let mut archived = What::Agents.read(engine)?;
    archived.retain(|result| {
        result.text(AgentResult::session_id).is_some_and(|id| sessions.iter().any(|at| at == id))
    });
    Ok(archived)
}

impl Merged {
    fn add_result(&mut self, result: &Value) {
        self.results += 1;
        let agent = result.text(AgentResult::agent_id).unwrap_or_default();
        items(kind("agent_result"), result).into_iter().for_each(|finding| self.add(finding, agent));
    }

    /// Adds a finding, or the agent to the one that says the same. The worse of two severities holds.
    fn add(&mut self, finding: &Value, agent: &str) {
        let Some(known) = self.findings.iter_mut().find(|known| said(known) == said(finding)) else {
            let mut finding = finding.clone();
            if finding.is_object() {
                finding[MergedFinding::agent_ids] = json!([agent]);
                self.findings.push(finding);
            }
            return;
        };
        if severity(finding) < severity(known) {
            known[Finding::severity] = finding[Finding::severity].clone();
        }
        if let Some(agents) = known[MergedFinding::agent_ids]
            .as_array_mut()
            .filter(|agents| agents.iter().all(|known| known != agent))
        {
            agents.push(agent.into());
        }
    }
}

/// Returns what a finding says; two that say the same are one.
fn said(finding: &Value) -> [&str; 4] {
    let text = |key| finding.text(key).map_or("", str::trim);
    [text(Finding::category), text(Finding::title), text(Finding::details), text(Finding::recommendation)]
}

/// Returns how bad a finding is; one that does not say it comes last.
pub fn severity(finding: &Value) -> &str {
    finding.text(Finding::severity).unwrap_or("S9")
}

fn kind(name: &str) -> &'static Kind {
    Kind::find(name).expect("a kind of the registry")
}
