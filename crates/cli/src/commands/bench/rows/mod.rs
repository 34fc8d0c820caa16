//! What is measured. The names and numbers are those of docs/performance.md.

mod aged;
mod bulk;
mod hook;
mod kept;
mod messages;
mod queue;
mod single;
mod storm;
mod wake;
mod weight;

use super::contest::Bench;
use super::row::Row;

/// A part of the measurement: what it is called while it runs, and how to run it.
pub type Step = (String, Box<dyn FnOnce(&Bench) -> Vec<Row>>);

/// Returns everything there is to measure, in order.
pub fn steps(bench: &Bench) -> Vec<Step> {
    let typical = bench.typical();
    let mut steps: Vec<Step> = vec![("start, get, set".into(), Box::new(single::rows))];
    for size in bench.sizes.clone() {
        steps.push((format!("a queue of {size} tasks"), Box::new(move |bench| queue::rows(bench, size))));
    }
    for size in bench.sizes.clone() {
        steps.push((
            format!("{size} tasks that are kept back"),
            Box::new(move |bench| kept::rows(bench, size)),
        ));
    }
    steps.push((
        format!("a changed file of {typical} tasks"),
        Box::new(move |bench| vec![bulk::cold(bench, typical)]),
    ));
    for size in bench.sizes.iter().copied().filter(|size| *size >= typical) {
        steps.push((
            format!("import of {size} tasks"),
            Box::new(move |bench| vec![bulk::import(bench, size)]),
        ));
    }
    steps.push(("32 at once".into(), Box::new(move |bench| storm::rows(bench, typical))));
    steps.push(("waking up".into(), Box::new(wake::rows)));
    steps.push(("hooks".into(), Box::new(hook::rows)));
    steps.push(("messages".into(), Box::new(messages::rows)));
    steps.push(past(bench));
    steps.push(("memory and size".into(), Box::new(weight::rows)));
    steps
}

/// Returns what there is to measure of a store that saw a year of work.
pub fn past(bench: &Bench) -> Step {
    let largest = bench.sizes.last().copied().unwrap_or(1);
    let name = format!("a store that has seen {} sessions", bench.past);
    (name, Box::new(move |bench| aged::rows(bench, largest)))
}
