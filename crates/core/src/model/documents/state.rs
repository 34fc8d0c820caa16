//! Shared configuration and planning, sessions, and the messages between them (seed 000).

use serde_json::{Map, Value};

use crate::model::shape::{ById, Decimal, Entries, FormatVersion, Integer, Maybe, Time, document, words};

document!(
    /// Settings that all sessions of this user share.
    Config {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        global: Option<GlobalSettings>,
        features: Option<Features>,
        paths: Option<Paths>,
        journal: Option<JournalSettings>,
        retention: Option<RetentionSettings>,
    }
);

document!(
    GlobalSettings {
        default_project: Option<String>,
        max_parallel_agents: Option<Integer>,
        /// Seconds without a heartbeat after which a session counts as gone.
        session_timeout: Option<Decimal>,
        /// Milliseconds.
        state_sync_interval: Option<Decimal>,
    }
);

document!(
    Features {
        enable_orchestration: Option<bool>,
        enable_state_sharing: Option<bool>,
        enable_message_passing: Option<bool>,
        enable_auto_recovery: Option<bool>,
        /// Whether edits of files that others work on are denied; off unless it is said.
        enable_edit_guard: Option<bool>,
        /// Whether an agent is sent back to work while its loop is not done; off unless it is said.
        enable_stop_gate: Option<bool>,
    }
);

document!(
    Paths {
        shared_state: Option<String>,
        session_state: Option<String>,
        scripts: Option<String>,
        locks: Option<String>,
    }
);

document!(
    JournalSettings {
        /// How many older segments of each room's journal stay for history.
        kept_segments: Option<Integer>,
    }
);

document!(
    /// How long what is over stays where commands look; then it goes to an archive of its month. 0 keeps it.
    RetentionSettings {
        /// Days after its end that a session stays.
        sessions_days: Option<Integer>,
        /// Days that a message stays after it was done with, or sent.
        messages_days: Option<Integer>,
        /// Days after its end that a task stays in the queue.
        tasks_days: Option<Integer>,
        /// How many errors that are over stay.
        errors: Option<Integer>,
        /// How many agents that have finished stay.
        agents: Option<Integer>,
        /// How many sessions the metrics remember.
        metrics: Option<Integer>,
    }
);

document!(
    /// The agents and other tools that work can be given to, by id.
    Tools {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        tools: Entries<Tool>,
    }
);

document!(
    Tool {
        id: Option<String>,
        name: Option<String>,
        kind as "type": Option<String>,
        capabilities: Option<Vec<String>>,
        max_instances: Option<Integer>,
        priority: Option<String>,
        config: Option<Map<String, Value>>,
    }
);

document!(
    /// A project's epics and the stories they consist of.
    Epics {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        project_id: Option<String>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        epics: Vec<Epic>,
    }
);

document!(
    Epic {
        id: String,
        title: Option<String>,
        status: Option<PlanStatus>,
        priority: Option<String>,
        created_at: Option<Time>,
        stories: Option<Vec<Story>>,
    }
);

document!(
    Story {
        id: String,
        title: Option<String>,
        status: Option<PlanStatus>,
        /// `null` while nobody has taken the story.
        assigned_to: Option<String>,
        points: Option<Decimal>,
        /// What a tool must be able to do to be given the story.
        required_capabilities: Option<Vec<String>>,
        /// Ids of tasks of the queue; the story is completed when all of them are done.
        tasks: Option<Vec<String>>,
        created_at: Option<Time>,
        /// `null` until the story is completed.
        completed_at: Option<Time>,
    }
);

words!(
    /// Where an epic or a story stands.
    PlanStatus {
        Planned = "planned",
        Pending = "pending",
        InProgress = "in_progress",
        Blocked = "blocked",
        Completed = "completed",
        Cancelled = "cancelled",
    }
);

document!(
    /// A project's sprints and which one is running.
    Sprints {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        project_id: Option<String>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        /// The id of the running sprint.
        current_sprint: Option<String>,
        sprints: Vec<Sprint>,
    }
);

document!(
    Sprint {
        id: String,
        name: Option<String>,
        status: Option<SprintStatus>,
        /// A calendar day such as `2026-01-31`.
        start_date: Option<String>,
        /// A calendar day such as `2026-01-31`.
        end_date: Option<String>,
        velocity: Option<Decimal>,
        /// Ids of stories.
        stories: Option<Vec<String>>,
        completed_points: Option<Decimal>,
        total_points: Option<Decimal>,
    }
);

words!(
    SprintStatus {
        Planned = "planned",
        Active = "active",
        Completed = "completed",
        Cancelled = "cancelled",
    }
);

document!(
    /// Who works on a project, and how many may work at once.
    Team {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        project_id: Option<String>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        settings: Option<TeamSettings>,
        members: Vec<Member>,
    }
);

document!(TeamSettings { max_parallel_agents: Option<Integer> });

document!(
    Member {
        agent: String,
        role: Option<String>,
        capacity: Option<Decimal>,
        skills: Option<Vec<String>>,
        model: Option<String>,
    }
);

document!(
    /// One agent session: who runs it, where, on what, and when it was last heard of.
    Session {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        session_id: String,
        project_id: Option<String>,
        created_at: Option<Time>,
        last_heartbeat: Option<Time>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        status: Option<SessionStatus>,
        user: Option<User>,
        context: Option<SessionContext>,
        agents: Option<Vec<SessionAgent>>,
        ended_at: Option<Time>,
        /// When it was given up, because nobody had heard of it for too long.
        expired_at: Option<Time>,
    }
);

words!(
    SessionStatus {
        Active = "active",
        Idle = "idle",
        Ended = "ended",
        Expired = "expired",
    }
);

document!(User { id: Option<String>, name: Option<String> });

document!(
    SessionContext {
        working_directory: Option<String>,
        current_branch: Option<String>,
        active_epic: Option<String>,
        active_story: Option<String>,
        /// What other sessions handed over, oldest first.
        handoffs: Option<Vec<Handoff>>,
    }
);

document!(
    Handoff {
        /// The session that it came from.
        from: String,
        at: Option<Time>,
        /// What that session had to say.
        context: Option<String>,
        /// Ids of the tasks.
        tasks: Option<Vec<String>>,
    }
);

document!(
    SessionAgent {
        id: String,
        kind as "type": Option<String>,
        status: Option<String>,
        started_at: Option<Time>,
        ended_at: Option<Time>,
    }
);

document!(
    /// The messages a session has sent and received.
    Messages {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        messages: Vec<Message>,
    }
);

document!(
    /// One message from a session to another.
    Message {
        revision: Option<Integer>,
        id: String,
        from: String,
        to: String,
        kind as "type": String,
        priority: Option<MessagePriority>,
        payload: Maybe<Value>,
        timestamp: Option<Time>,
        /// Seconds after which an unread message expires.
        ttl: Option<Decimal>,
        read: Option<bool>,
        processed: Option<bool>,
        /// Counts the messages of its sender.
        seq: Option<Integer>,
        /// The id of the message that this one answers.
        in_reply_to: Option<String>,
        /// Who really sent it.
        sender: Option<MessageSender>,
        status: Option<MessageStatus>,
        delivered_at: Option<Time>,
        read_at: Option<Time>,
        processed_at: Option<Time>,
        expires_at: Option<Time>,
        /// Why it was never read.
        reason: Option<String>,
    }
);

document!(
    MessageSender {
        /// The session at work, if one was known; `from` is only what the sender said.
        session_id: Option<String>,
        role: Option<String>,
        kind: Option<SenderKind>,
    }
);

words!(SenderKind { Agent = "agent", Person = "person" });

words!(
    MessageStatus {
        Sent = "sent",
        Delivered = "delivered",
        Read = "read",
        Processed = "processed",
        Expired = "expired",
    }
);

document!(
    /// How the messages of a mailbox stand. Each message is a file of its own beside this one.
    Mailbox {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        session_id: Option<String>,
        updated_at: Option<Time>,
        messages: ById<MessageNote>,
    }
);

document!(
    MessageNote {
        id: String,
        from: Option<String>,
        seq: Option<Integer>,
        kind as "type": Option<String>,
        priority: Option<MessagePriority>,
        status: NoteStatus,
    }
);

words!(
    NoteStatus {
        Unread = "unread",
        Read = "read",
        Processed = "processed",
        Expired = "expired",
    }
);

document!(
    /// What a session has sent.
    Sent {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        session_id: Option<String>,
        updated_at: Option<Time>,
        /// The number of its last message.
        last_seq: Integer,
    }
);

words!(
    /// How soon a message should be read; without one it is `normal`.
    MessagePriority {
        Normal = "normal",
        Critical = "critical",
        High = "high",
        Low = "low",
    }
);

document!(
    /// What happened in a session, oldest first.
    Events {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        events: Vec<Event>,
    }
);

document!(
    Event {
        /// Counts up within the session.
        seq: Integer,
        at: Option<Time>,
        kind as "type": String,
        data: Maybe<Value>,
    }
);

document!(
    /// What events of ours tell in `data`, each only some of it.
    EventData {
        project_id: Option<String>,
        working_directory: Option<String>,
        /// Ids of the tasks that went back.
        released: Option<Vec<String>>,
        from: Option<String>,
        to: Option<String>,
        /// Ids of the tasks that were handed over.
        tasks: Option<Vec<String>>,
        context: Option<String>,
    }
);

document!(
    /// The payload of a message that hands tasks over.
    HandoffPayload {
        /// The task, if it is one.
        task_id: Option<String>,
        task_ids: Option<Vec<String>>,
        from: Option<String>,
        context: Option<String>,
    }
);

document!(
    /// A session in the archive: what was known of it when it was put away, each document under the name of its kind.
    ArchivedSession {
        session_id: String,
        archived_at: Option<Time>,
        session: Option<Value>,
        hooks_log: Option<String>,
    }
);

document!(
    /// A message in the archive.
    ArchivedMessage {
        mailbox: String,
        tray: String,
        message: Value,
    }
);

document!(
    /// Commands to run when something a session watches has changed.
    Hooks {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        hooks: Vec<Hook>,
    }
);

document!(
    Hook {
        id: String,
        /// The kind of document whose changes run the command.
        on: String,
        command: String,
        enabled: Option<bool>,
        added_at: Option<Time>,
    }
);

document!(
    /// Which sessions have hooks for changes of which kinds, so that a change without any costs one look. The hooks
    /// themselves are in each session's `hooks.json`.
    Triggers {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        triggers: Vec<Trigger>,
    }
);

document!(Trigger {
    session_id: String,
    /// The kind of document whose changes concern the session.
    on: String,
});

document!(
    /// The commands that the user lets hooks run.
    Trusted {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        trusted: Vec<TrustedCommand>,
    }
);

document!(
    TrustedCommand {
        command: String,
        /// Of the command's text.
        sha256: String,
        /// The root of the project whose files name the command; none for a hook's, which is trusted anywhere.
        project: Option<String>,
        /// The script that the command names, if it names one.
        file: Option<String>,
        /// Of the file's bytes: a changed script is not trusted any more.
        file_sha256: Option<String>,
        /// The other scripts that it names.
        more_files: Option<Vec<TrustedFile>>,
        trusted_at: Option<Time>,
        by: Option<String>,
    }
);

document!(TrustedFile { file: String, file_sha256: String });

document!(
    /// The work a session has in hand.
    Tasks {
        version: Option<FormatVersion>,
        revision: Option<Integer>,
        updated_at: Option<Time>,
        updated_by: Option<String>,
        tasks: Vec<SessionTask>,
    }
);

document!(
    SessionTask {
        id: String,
        kind as "type": Option<String>,
        title: Option<String>,
        story_id: Option<String>,
        /// The project of the story.
        project_id: Option<String>,
        status: Option<SessionTaskStatus>,
        priority: Option<String>,
        created_at: Option<Time>,
        updated_at: Option<Time>,
        assigned_to: Option<String>,
        payload: Maybe<Value>,
    }
);

words!(
    SessionTaskStatus {
        Pending = "pending",
        InProgress = "in_progress",
        Completed = "completed",
        Blocked = "blocked",
        Cancelled = "cancelled",
        Failed = "failed",
    }
);
