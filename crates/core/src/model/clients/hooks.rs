//! What a client tells hooks, and by which names.

/// The events for which it calls a hook.
#[derive(Debug)]
pub struct Hooks {
    /// In the order in which they are registered.
    pub events: &'static [HookEvent],
    /// How long a hook may take, in the unit of the client.
    pub timeout: u64,
    pub denial: Denial,
}

#[derive(Debug)]
pub struct HookEvent {
    pub name: &'static str,
    pub what: What,
    /// The tools or triggers that it is wanted for, if not for all.
    pub matcher: Option<&'static str>,
    /// How long this one may take, if not as long as the others.
    pub timeout: Option<u64>,
}

impl HookEvent {
    pub(super) const fn new(name: &'static str, what: What) -> HookEvent {
        HookEvent { name, what, matcher: None, timeout: None }
    }

    pub(super) const fn only(self, matcher: &'static str) -> HookEvent {
        HookEvent { matcher: Some(matcher), ..self }
    }

    pub(super) const fn within(self, timeout: u64) -> HookEvent {
        HookEvent { timeout: Some(timeout), ..self }
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    SessionStart,
    SessionEnd,
    Prompt,
    BeforeTool,
    AfterTool,
    ToolFailed,
    TurnFailed,
    AgentStart,
    AgentStop,
    BeforeCompact,
    Stop,
    TaskCreated,
    TaskCompleted,
}

/// How a hook denies a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// By `permissionDecision` in `hookSpecificOutput`.
    Permission,
    /// By `decision`.
    Decision,
}

/// What a tool does that we care about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Changes the one file that this field of its input names.
    Edit(&'static str),
    /// Runs a line of shell, by which patches are applied, too.
    Shell,
    Patch,
    /// Starts an agent.
    Agent,
    Skill,
    /// Writes the whole list of todos.
    Todos,
    TaskCreate,
    TaskUpdate,
}
