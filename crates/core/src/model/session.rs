//! One session, and what may happen to it.
//!
//! ```text
//! active <-> idle -> ended                  by its own word
//!    ^--------+----> expired -> active      by its silence; a sign of life brings it back
//! ```
//! A session is edited as the value it is, so that what we do not know of it stays.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::documents::queue::QueueTask;
use super::documents::state::{
    Event, EventData, Events, Handoff, Session as SessionDoc, SessionAgent, SessionContext, SessionTask, User,
};
use super::ids::{ProjectId, SessionId};
use super::key::{Fields, FieldsMut};
use super::task::{Effect, Task};
use super::time;

pub use super::documents::state::SessionStatus as Status;

/// Signs of life that follow each other faster are not worth writing down.
pub const BEAT: SignedDuration = SignedDuration::from_secs(1);

/// How many events of a session are kept, the newest.
pub const KEPT_EVENTS: usize = 1000;

/// How many handed over contexts are kept, the newest.
const KEPT_HANDOFFS: usize = 100;

/// How many agents of a session are kept, the newest.
const KEPT_AGENTS: usize = 100;

/// Statuses of agents that have come to an end by themselves.
const AGENT_ENDS: [&str; 7] =
    ["released", "ended", "completed", "complete", "failed", "stopped", "cancelled"];

#[derive(Debug, Clone, PartialEq)]
pub struct Session(Value);

/// Where a session works.
#[derive(Debug, Clone, Default)]
pub struct Whereabouts {
    pub directory: Option<String>,
    pub branch: Option<String>,
    /// Whether somebody said so, or it is just where the command was typed.
    pub told: bool,
}

/// What is known of a session when it starts.
#[derive(Debug, Clone, Default)]
pub struct Start {
    pub project: Option<ProjectId>,
    /// The project of whoever names none.
    pub default_project: Option<String>,
    pub whereabouts: Whereabouts,
    pub user: String,
    /// Whether its lists are made only when somebody has something for them.
    pub sparing: bool,
}

impl Session {
    /// Makes a session, in the field order of its documents.
    pub fn new(id: &SessionId, start: &Start, now: Timestamp) -> Session {
        let project = start.project.as_ref().map(ProjectId::as_str).or(start.default_project.as_deref());
        let mut session = Session(json!({
            SessionDoc::session_id: id.as_str(),
            SessionDoc::project_id: project,
            SessionDoc::created_at: time::stamp(now),
            SessionDoc::last_heartbeat: time::stamp(now),
            SessionDoc::status: Status::Active.word(),
            SessionDoc::user: {User::id: start.user, User::name: start.user},
            SessionDoc::context: {},
            SessionDoc::agents: [],
        }));
        session.move_to(&start.whereabouts);
        session
    }

    /// Takes the state of a session.
    pub fn of(value: Value) -> Session {
        Session(value)
    }

    pub fn value(&self) -> &Value {
        &self.0
    }

    pub fn into_value(self) -> Value {
        self.0
    }

    pub fn status(&self) -> Status {
        self.0.read(SessionDoc::status).unwrap_or_default()
    }

    pub fn project(&self) -> Option<&str> {
        self.0.text(SessionDoc::project_id)
    }

    pub fn last_heartbeat(&self) -> Option<&str> {
        self.0.text(SessionDoc::last_heartbeat)
    }

    pub fn directory(&self) -> Option<&str> {
        self.0.at(SessionDoc::context)?.text(SessionContext::working_directory)
    }

    pub fn agents(&self) -> &[Value] {
        self.0.list(SessionDoc::agents)
    }

    /// Returns when it was last heard of; a session that has never sent a heartbeat was there when it was made.
    pub fn heard_at(&self) -> Option<Timestamp> {
        let fields = [SessionDoc::last_heartbeat, SessionDoc::created_at];
        fields.into_iter().find_map(|field| time::read(self.0.text(field)?))
    }

    /// Whether it has ended or expired.
    pub fn is_over(&self) -> bool {
        is_over(&self.0)
    }

    /// Whether it counts as gone because nobody has heard of it for so long.
    pub fn is_overdue(&self, timeout: Duration, now: Timestamp) -> bool {
        !self.is_over() && self.heard_at().is_some_and(|heard| age(heard, now) > signed(timeout))
    }

    /// Returns how it stands, also if nobody has written that down yet.
    pub fn effective_status(&self, timeout: Duration, now: Timestamp) -> Status {
        if self.is_overdue(timeout, now) { Status::Expired } else { self.status() }
    }

    /// Whether it is at work and was heard of in this time.
    pub fn is_active(&self, within: Duration, now: Timestamp) -> bool {
        !self.is_over() && self.heard_at().is_some_and(|heard| age(heard, now) < signed(within))
    }

    /// Starts again. Whatever is told replaces what is known.
    pub fn restart(&mut self, start: &Start, now: Timestamp) -> Effect {
        let effect = if self.is_over() { Effect::Changed } else { Effect::Repeated };
        if let Some(project) = &start.project {
            self.0.set(SessionDoc::project_id, project.as_str());
        } else if let (None, Some(project)) = (self.project(), &start.default_project) {
            self.0.set(SessionDoc::project_id, project.as_str());
        }
        if self.0.at(SessionDoc::user).is_none_or(Value::is_null) {
            self.0.set(SessionDoc::user, json!({User::id: start.user, User::name: start.user}));
        }
        if start.whereabouts.told || effect == Effect::Changed || self.directory().is_none() {
            self.move_to(&start.whereabouts);
        }
        self.revive(Status::Active, now);
        effect
    }

    /// Takes a sign of life; `false` from a session that has ended.
    #[must_use]
    pub fn beat(&mut self, status: Status, now: Timestamp) -> bool {
        if self.status() == Status::Ended {
            return false;
        }
        self.revive(status, now);
        true
    }

    fn revive(&mut self, status: Status, now: Timestamp) {
        self.0.set(SessionDoc::last_heartbeat, time::stamp(now));
        self.0.set(SessionDoc::status, status);
        self.0.unset(SessionDoc::ended_at);
        self.0.unset(SessionDoc::expired_at);
    }

    /// Ends by its own word, with everything that it has.
    pub fn end(&mut self, now: Timestamp) -> Effect {
        if self.status() == Status::Ended {
            return Effect::Repeated;
        }
        self.0.set(SessionDoc::status, Status::Ended);
        self.0.set(SessionDoc::ended_at, time::stamp(now));
        self.release_agents(now);
        Effect::Changed
    }

    /// Ends because nobody has heard of it.
    pub fn expire(&mut self, now: Timestamp) {
        self.0.set(SessionDoc::status, Status::Expired);
        self.0.set(SessionDoc::expired_at, time::stamp(now));
        self.release_agents(now);
    }

    /// Ends the agents that are still at work. Their entries stay: they tell what was.
    fn release_agents(&mut self, now: Timestamp) {
        let agents = self.0.list_mut(SessionDoc::agents);
        for agent in agents.into_iter().flatten().filter_map(Value::as_object_mut) {
            let status = agent.text(SessionAgent::status).unwrap_or_default();
            if !AGENT_ENDS.contains(&status) {
                agent.set(SessionAgent::status, "released");
                agent.set(SessionAgent::ended_at, time::stamp(now));
            }
        }
    }

    /// Turns to a story.
    pub fn take_up(&mut self, epic: &str, story: &str) {
        let context = self.context();
        context.set(SessionContext::active_epic, epic);
        context.set(SessionContext::active_story, story);
    }

    /// Puts a story down, if it is the one that it is at.
    pub fn put_down(&mut self, story: &str) {
        let context = self.context();
        if context.text(SessionContext::active_story) == Some(story) {
            context.set(SessionContext::active_epic, Value::Null);
            context.set(SessionContext::active_story, Value::Null);
        }
    }

    /// Notes that an agent of it is at work.
    pub fn agent_began(&mut self, id: &str, kind: &str, now: Timestamp) {
        let agent = json!({
            SessionAgent::id: id, SessionAgent::kind: kind, SessionAgent::status: "running",
            SessionAgent::started_at: time::stamp(now),
        });
        let agents = self.agents_mut();
        match agents.iter_mut().find(|known| known[SessionAgent::id] == id) {
            Some(known) if known[SessionAgent::status] == "running" => {}
            Some(known) => *known = agent,
            None => agents.push(agent),
        }
        keep_newest(agents, KEPT_AGENTS);
    }

    /// Notes that an agent of it has ended.
    pub fn agent_ended(&mut self, id: &str, now: Timestamp) {
        if let Some(known) = self
            .agents_mut()
            .iter_mut()
            .find(|known| known[SessionAgent::id] == id && known[SessionAgent::status] == "running")
        {
            known.set(SessionAgent::status, "ended");
            known.set(SessionAgent::ended_at, time::stamp(now));
        }
    }

    fn agents_mut(&mut self) -> &mut Vec<Value> {
        if !self.0[SessionDoc::agents].is_array() {
            self.0.set(SessionDoc::agents, json!([]));
        }
        self.0[SessionDoc::agents].as_array_mut().expect("the lines above made it an array")
    }

    /// Whether a task of the queue is in this session's hands.
    pub fn has(id: &SessionId, task: &Task) -> bool {
        let named = task.value().text(QueueTask::session_id);
        task.is_active() && (named == Some(id.as_str()) || task.owner() == Some(id.as_str()))
    }

    /// Takes over what another session was at, and what it has to say.
    pub fn take_over(
        &mut self,
        from: &SessionId,
        other: &Session,
        said: Option<&str>,
        tasks: &[String],
        now: Timestamp,
    ) {
        let mut handoff = json!({Handoff::from: from.as_str(), Handoff::at: time::stamp(now)});
        if let Some(said) = said {
            handoff.set(Handoff::context, said);
        }
        handoff[Handoff::tasks] = json!(tasks);
        let known = other.0.at(SessionDoc::context);
        let context = self.context();
        for field in [SessionContext::active_epic.any(), SessionContext::active_story.any()] {
            if let Some(value) = known.read(field) {
                context.set(field, value.clone());
            }
        }
        let handoffs = context.entry(SessionContext::handoffs).or_insert_with(|| json!([]));
        if !handoffs.is_array() {
            *handoffs = json!([]);
        }
        if let Some(handoffs) = handoffs.as_array_mut() {
            handoffs.push(handoff);
            keep_newest(handoffs, KEPT_HANDOFFS);
        }
    }

    fn move_to(&mut self, place: &Whereabouts) {
        let Some(directory) = &place.directory else { return };
        let context = self.context();
        context.set(SessionContext::working_directory, directory.as_str());
        match &place.branch {
            Some(branch) => context.set(SessionContext::current_branch, branch.as_str()),
            None => drop(context.unset(SessionContext::current_branch)),
        }
    }

    fn context(&mut self) -> &mut Map<String, Value> {
        if !self.0[SessionDoc::context].is_object() {
            self.0.set(SessionDoc::context, json!({}));
        }
        self.0[SessionDoc::context].as_object_mut().expect("the lines above made it an object")
    }
}

/// Whether a stored state says that its session is over.
pub fn is_over(state: &Value) -> bool {
    matches!(state.text(SessionDoc::status), Some("ended" | "expired"))
}

/// Returns the word that documents use for a status.
pub fn word(status: Status) -> &'static str {
    status.word()
}

/// Adds an event to a session's log, which keeps the newest.
pub fn add_event(log: &mut Value, kind: &str, data: &Value, now: Timestamp) {
    let Some(events) = log.list_mut(Events::events) else { return };
    let last = events.iter().filter_map(|event| event.read(Event::seq)).max().unwrap_or(0);
    events.push(
        json!({Event::seq: last + 1, Event::at: time::stamp(now), Event::kind: kind, Event::data: data}),
    );
    keep_newest(events, KEPT_EVENTS);
}

/// Returns the tasks of the queue that went back when the session ended last.
pub fn returned(log: &Value) -> Vec<&str> {
    let events = log.list(Events::events);
    let ended = |event: &&Value| matches!(event.text(Event::kind), Some("end" | "expired"));
    let released = events.iter().rfind(ended).and_then(|event| event[Event::data].read(EventData::released));
    released.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether a task of a session's own list is still to be done.
pub fn is_open(task: &Value) -> bool {
    let status = task.text(SessionTask::status);
    !matches!(status, Some("completed" | "cancelled" | "failed"))
}

fn keep_newest(list: &mut Vec<Value>, most: usize) {
    list.drain(..list.len().saturating_sub(most));
}

fn age(heard: Timestamp, now: Timestamp) -> SignedDuration {
    now.duration_since(heard)
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn id(text: &str) -> SessionId {
        text.parse().unwrap()
    }

    fn start() -> Start {
        let whereabouts =
            Whereabouts { directory: Some("/p".into()), branch: Some("main".into()), told: false };
        Start {
            project: None,
            default_project: Some("app".into()),
            whereabouts,
            user: "ann".into(),
            sparing: false,
        }
    }

    fn fresh() -> Session {
        Session::new(&id("s1"), &start(), at(0))
    }

    #[test]
    fn a_new_session_is_that_of_the_source() {
        let stamp = time::stamp(at(0));
        let expected = json!({
            "session_id": "s1", "project_id": "app", "created_at": stamp, "last_heartbeat": stamp,
            "status": "active", "user": {"id": "ann", "name": "ann"},
            "context": {"working_directory": "/p", "current_branch": "main"}, "agents": [],
        });
        assert_eq!(fresh().value(), &expected);
        let nowhere = Session::new(&id("s1"), &Start::default(), at(0));
        assert_eq!(nowhere.value()["context"], json!({}), "what is not known is left out");
    }

    #[test]
    fn silence_makes_a_session_idle_to_others_and_then_overdue() {
        let session = fresh();
        assert!(session.is_active(secs(300), at(299)));
        assert!(!session.is_active(secs(300), at(300)), "younger, not as old");
        assert!(session.is_active(secs(300), at(-50)), "a clock that was set back");
        assert!(!session.is_overdue(secs(3600), at(3600)));
        assert!(session.is_overdue(secs(3600), at(3601)));
        assert!(!session.is_overdue(Duration::MAX, at(1_000_000)));
        assert_eq!(session.effective_status(secs(3600), at(3601)), Status::Expired);
        let mut ended = session;
        assert_eq!(ended.end(at(1)), Effect::Changed);
        assert!(!ended.is_active(secs(300), at(2)) && !ended.is_overdue(secs(1), at(9999)));
        assert_eq!(ended.effective_status(secs(1), at(9999)), Status::Ended);
        let zoneless = Session::of(json!({"session_id": "s", "last_heartbeat": "2027-01-15T08:00:00"}));
        assert_eq!(zoneless.heard_at(), Some(at(0)));
        let unknown = Session::of(json!({"session_id": "s"}));
        assert!(!unknown.is_active(Duration::MAX, at(0)) && !unknown.is_overdue(secs(0), at(0)));
    }

    #[test]
    fn a_heartbeat_wakes_all_but_the_ended() {
        let mut session = fresh();
        session.expire(at(10));
        assert_eq!(session.value()["expired_at"], json!(time::stamp(at(10))));
        assert!(session.beat(Status::Active, at(20)));
        assert_eq!(session.status(), Status::Active);
        assert_eq!(session.value().get("expired_at"), None);
        assert_eq!(session.last_heartbeat(), Some(time::stamp(at(20)).as_str()));
        assert!(session.beat(Status::Idle, at(21)));
        assert_eq!(session.status(), Status::Idle);
        session.end(at(30));
        let before = session.clone();
        assert!(!session.beat(Status::Active, at(40)));
        assert_eq!(session.end(at(50)), Effect::Repeated);
        assert_eq!(session, before);
    }

    #[test]
    fn a_start_replaces_what_is_told() {
        let mut session = fresh();
        let elsewhere = Whereabouts { directory: Some("/q".into()), branch: None, told: false };
        let silent = Start { whereabouts: elsewhere.clone(), default_project: Some("b".into()), ..start() };
        assert_eq!(session.restart(&silent, at(5)), Effect::Repeated);
        assert_eq!((session.directory(), session.project()), (Some("/p"), Some("app")));
        let told = Start {
            project: Some("other".parse().unwrap()),
            whereabouts: Whereabouts { told: true, ..elsewhere },
            ..start()
        };
        assert_eq!(session.restart(&told, at(6)), Effect::Repeated);
        assert_eq!((session.directory(), session.project()), (Some("/q"), Some("other")));
        assert_eq!(session.value()["context"].get("current_branch"), None);
        session.end(at(7));
        assert_eq!(session.restart(&start(), at(8)), Effect::Changed);
        assert_eq!((session.status(), session.directory()), (Status::Active, Some("/p")));
        assert_eq!(session.value().get("ended_at"), None);
        assert_eq!(session.value()["created_at"], json!(time::stamp(at(0))));
    }

    #[test]
    fn agents_are_released_and_stay_as_evidence() {
        let mut session = fresh();
        session.0.set(
            SessionDoc::agents,
            json!([{"id": "a", "status": "idle", "x": 1}, {"id": "b", "status": "completed"}]),
        );
        session.end(at(9));
        let ended = json!({"id": "a", "status": "released", "x": 1, "ended_at": time::stamp(at(9))});
        assert_eq!(session.agents(), [ended, json!({"id": "b", "status": "completed"})]);
    }

    #[test]
    fn a_session_takes_over_what_the_other_was_at() {
        let (mut to, mut from) = (fresh(), fresh());
        from.context().insert("active_epic".into(), "e1".into());
        from.context().insert("active_story".into(), Value::Null);
        to.context().insert("active_story".into(), "mine".into());
        for turn in 0..=KEPT_HANDOFFS {
            to.take_over(&id("s0"), &from, Some(&format!("turn {turn}")), &["t".into()], at(1));
        }
        let context = &to.value()["context"];
        assert_eq!((&context["active_epic"], &context["active_story"]), (&json!("e1"), &json!("mine")));
        let handoffs = context["handoffs"].as_array().unwrap();
        assert_eq!(handoffs.len(), KEPT_HANDOFFS);
        let first = json!({"from": "s0", "at": time::stamp(at(1)), "context": "turn 1", "tasks": ["t"]});
        assert_eq!(handoffs[0], first);
    }

    #[test]
    fn events_count_up_and_the_oldest_go() {
        let mut log = json!({"events": []});
        for _ in 0..KEPT_EVENTS + 2 {
            add_event(&mut log, "start", &json!({}), at(0));
        }
        let events = log["events"].as_array().unwrap();
        assert_eq!((events.len(), &events[0]["seq"]), (KEPT_EVENTS, &json!(3)));
        assert_eq!(events[KEPT_EVENTS - 1]["seq"], json!(KEPT_EVENTS + 2));
    }
}
