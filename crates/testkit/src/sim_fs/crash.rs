//! Which disks a power loss may leave behind.

use std::collections::BTreeSet;

use super::tree::Outcome;
use super::world::World;

/// Up to this many pending effects, every subset of them is tried.
const FEW: usize = 12;
/// Up to this many combinations of outcomes, every one is tried.
const COMBINATIONS: usize = 1 << FEW;
/// Random combinations tried per image asked for; most of them repeat an image already found.
const TRIES: usize = 8;

/// Returns at most `budget` disks, all different: the telling ones first, then combinations, then chance.
pub(super) fn images(world: &World, budget: usize) -> Vec<World> {
    let options = world.pending_outcomes();
    let mut seen = BTreeSet::new();
    choices(&options, budget)
        .map(|outcomes| world.after_power_loss(&outcomes))
        .filter(|image| seen.insert(world.fingerprint(image)))
        .take(budget)
        .collect()
}

type Options = [&'static [Outcome]];
type Choices<'a> = Box<dyn Iterator<Item = Vec<Outcome>> + 'a>;

fn choices<'a>(options: &'a Options, budget: usize) -> Choices<'a> {
    let kept_or_lost: Vec<_> = options.iter().map(|outcomes| &outcomes[..2]).collect();
    let subsets: Choices = match options.len() <= FEW {
        true => combinations(kept_or_lost),
        false => Box::new(std::iter::empty()),
    };
    let rest: Choices = match count(options) <= COMBINATIONS {
        true => combinations(options.to_vec()),
        false => Box::new(random(options).take(budget.saturating_mul(TRIES))),
    };
    Box::new(corners(options.len()).chain(damages(options)).chain(subsets).chain(rest))
}

/// None, all, every prefix, every single one lost, every single one kept.
fn corners(count: usize) -> impl Iterator<Item = Vec<Outcome>> {
    let keep = move |kept: &dyn Fn(usize) -> bool| -> Vec<Outcome> {
        (0..count).map(|at| if kept(at) { Outcome::Whole } else { Outcome::Lost }).collect()
    };
    let ends = [0, count].into_iter().map(move |length| keep(&|at| at < length));
    let prefixes = (1..count).map(move |length| keep(&|at| at < length));
    let lost = (0..count).map(move |one| keep(&|at| at != one));
    let kept = (0..count).map(move |one| keep(&|at| at == one));
    ends.chain(prefixes).chain(lost).chain(kept)
}

/// Every damage to every effect, with all others kept and with only the earlier ones kept.
fn damages(options: &Options) -> impl Iterator<Item = Vec<Outcome>> {
    options.iter().enumerate().flat_map(move |(hit, outcomes)| {
        outcomes[2..].iter().flat_map(move |damage| {
            [Outcome::Whole, Outcome::Lost].map(|later| {
                let mut choice = vec![Outcome::Whole; options.len()];
                choice[hit] = *damage;
                choice[hit + 1..].fill(later);
                choice
            })
        })
    })
}

/// Every combination once. The stride, coprime to every number of outcomes, spreads what a budget cuts off.
fn combinations(options: Vec<&'static [Outcome]>) -> Choices<'static> {
    const STRIDE: usize = 1237;
    let count = count(&options);
    Box::new((0..count).map(move |index| {
        let mut rest = index * STRIDE % count;
        let mut digit = |outcomes: &&[Outcome]| {
            let outcome = outcomes[rest % outcomes.len()];
            rest /= outcomes.len();
            outcome
        };
        options.iter().map(&mut digit).collect()
    }))
}

fn count(options: &Options) -> usize {
    options.iter().fold(1, |count, outcomes| count.saturating_mul(outcomes.len()))
}

/// Endless and the same on every run; three of four effects are whole or lost.
fn random(options: &Options) -> impl Iterator<Item = Vec<Outcome>> {
    let mut state = 0x0a47_4111_u64;
    let mut below = move |limit: usize| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    };
    std::iter::repeat_with(move || {
        let mut pick = |outcomes: &&'static [Outcome]| {
            let limit = if below(4) == 0 { outcomes.len() } else { 2 };
            outcomes[below(limit)]
        };
        options.iter().map(&mut pick).collect()
    })
}
