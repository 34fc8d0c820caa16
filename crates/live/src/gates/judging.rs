//! The end of an iteration: every gate is run, then it is judged. Gate runs that overlap count once.
//!
//! Only the holder of a seat judges. The next one waits for it; if the iteration was judged meanwhile, that is the result for both,
//! since both would check the same. A killed process leaves the seat, and no result.

use std::time::Duration;

use anthill_core::model::agent_loop::{STOPPED, WorkLoop};
use anthill_core::model::room::Room;
use anthill_core::ops::agent_loop::{self, GateReport, LoopChanged};
use anthill_core::ops::{self, Actor};
use anthill_core::store::{Engine, Seat};
use serde_json::Value;

use super::{Event, Gate, consent, run_within};
use crate::runner::run_state::RunState;
use crate::runner::watchdog::Watchdog;
use crate::runner::{Result, Site};

/// How long to wait for the seat before checking whether the run stops.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the gates run with.
pub(crate) struct GateRunner<'b> {
    pub engine: &'b dyn Engine,
    pub gates: &'b [Gate],
    pub site: &'b Site,
    pub state: &'b RunState,
    pub watchdog: &'b Watchdog,
}

/// Judges an iteration because somebody asks for it.
pub fn judge(
    engine: &dyn Engine,
    gates: &[Gate],
    site: &Site,
    (expect, actor): (Option<u64>, &Actor),
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<LoopChanged> {
    let (state, watchdog) = (RunState::default(), Watchdog::start(site.watchdog.as_deref()));
    if let Err(error) = watchdog.trouble() {
        tell(Event::Warning(format!("a gate's command will outlive us if we are killed: {error}")));
    }
    let runner = GateRunner { engine, gates, site, state: &state, watchdog: &watchdog };
    let judged = runner.judge(expect, actor, tell)?;
    Ok(judged.expect("BUG: nobody ends this run"))
}

impl GateRunner<'_> {
    /// Runs the gates and judges, or takes the result of somebody else; `None` when the run stops.
    pub fn judge(
        &self,
        expect: Option<u64>,
        actor: &Actor,
        tell: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Option<LoopChanged>> {
        let before = agent_loop::show(self.engine)?;
        agent_loop::check_goes_on(&before)?;
        let Some(_seat) = self.seat(tell)? else { return Ok(None) };
        let now = agent_loop::show(self.engine)?;
        if now.status() == STOPPED || mark(&before) != mark(&now) {
            return Ok(Some(agent_loop::judged(self.engine)?));
        }
        consent::check(self.engine, &self.site.root, self.gates)?;
        let Some(ran) = run_within(self.gates, self.site, (self.state, self.watchdog), tell) else {
            return Ok(None);
        };
        let reports: Vec<GateReport> =
            self.gates.iter().zip(ran).map(|(gate, ran)| ran.report(gate)).collect();
        Ok(Some(agent_loop::note_gates(self.engine, &reports, true, expect, actor)?))
    }

    fn seat(&self, tell: &(dyn Fn(Event<'_>) + Sync)) -> Result<Option<Box<dyn Seat>>> {
        let take =
            |patience| self.engine.seat(&Room::State, "loop-gates", patience).map_err(ops::Error::from);
        let mut seat = take(Duration::ZERO)?;
        if seat.is_none() {
            tell(Event::Waiting);
        }
        while seat.is_none() && self.state.signal().is_none() {
            seat = take(PATIENCE)?;
        }
        Ok(seat)
    }
}

/// Returns what differs between one judgement of a loop and the next.
fn mark(work: &WorkLoop) -> (Option<&Value>, Option<&Value>) {
    (work.queue.get("started"), work.last_judged())
}
