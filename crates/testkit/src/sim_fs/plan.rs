//! When a simulated process dies or is refused, and what it called until then.

use std::io;

/// Raw error numbers that mean the same on every Unix.
pub mod errno {
    pub const EINTR: i32 = 4;
    pub const EIO: i32 = 5;
    pub const EACCES: i32 = 13;
    pub const EMFILE: i32 = 24;
    pub const ENOSPC: i32 = 28;
    pub const EROFS: i32 = 30;
}

/// What goes wrong, and at which call. The first call after `set_plan` is number 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Plan {
    #[default]
    None,
    /// Dies before the call takes effect; it and every later call fail with "killed".
    KillAt(usize),
    /// Dies with the first half of the bytes written; like `KillAt` for a call that writes no bytes.
    KillMid(usize),
    /// Dies after the call took effect, without learning of it.
    KillAfter(usize),
    /// Refuses the call without effect; if `persistent`, also every later call of the same method.
    FailAt { call: usize, errno: i32, persistent: bool },
    /// Fails with the first half of the bytes written; like `FailAt` for a call that writes no bytes, and
    /// for the later calls if `persistent`.
    FailMid { call: usize, errno: i32, persistent: bool },
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    plan: Plan,
    trace: Vec<String>,
    killed: bool,
    failing: Option<&'static str>,
}

/// What becomes of one call.
pub(super) enum Fate {
    Run,
    RunUnheard(io::Error),
    RunHalf(io::Error),
    Refuse(io::Error),
}

impl Faults {
    pub(super) fn new(plan: Plan) -> Faults {
        Faults { plan, ..Faults::default() }
    }

    pub(super) fn trace(&self) -> &[String] {
        &self.trace
    }

    pub(super) fn killed(&self) -> bool {
        self.killed
    }

    pub(super) fn alive(&self) -> io::Result<()> {
        if self.killed { Err(killed()) } else { Ok(()) }
    }

    /// Counts a call and decides its fate. The dead make no calls: theirs are refused uncounted.
    pub(super) fn enter(&mut self, method: &'static str, path: &str) -> Fate {
        if self.killed {
            return Fate::Refuse(killed());
        }
        self.trace.push(format!("{method} {path}"));
        match self.plan {
            Plan::KillAt(call) | Plan::KillMid(call) | Plan::KillAfter(call) => self.kill(method, call),
            Plan::FailAt { call, errno, persistent } | Plan::FailMid { call, errno, persistent } => {
                self.fail(method, call, io::Error::from_raw_os_error(errno), persistent)
            }
            Plan::None => Fate::Run,
        }
    }

    fn kill(&mut self, method: &'static str, call: usize) -> Fate {
        if self.trace.len() != call {
            return Fate::Run;
        }
        self.killed = true;
        match self.plan {
            Plan::KillAfter(_) => Fate::RunUnheard(killed()),
            Plan::KillMid(_) if writes_bytes(method) => Fate::RunHalf(killed()),
            _ => Fate::Refuse(killed()),
        }
    }

    fn fail(&mut self, method: &'static str, call: usize, error: io::Error, persistent: bool) -> Fate {
        if self.failing == Some(method) {
            return Fate::Refuse(error);
        }
        if self.trace.len() != call {
            return Fate::Run;
        }
        self.failing = persistent.then_some(method);
        match self.plan {
            Plan::FailMid { .. } if writes_bytes(method) => Fate::RunHalf(error),
            _ => Fate::Refuse(error),
        }
    }
}

fn writes_bytes(method: &str) -> bool {
    matches!(method, "write_new" | "write_at")
}

fn killed() -> io::Error {
    io::Error::other("killed")
}
