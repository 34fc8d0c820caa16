//! How thorough a run of the tests is. Long sweeps go through every point only where `ANTHILL_FULL` is set, as by
//! `./test --full`; otherwise through a part of them, always the same one.

/// The variable that asks for everything.
const FULL: &str = "ANTHILL_FULL";

/// Whether every point is to be tried, however long it takes.
#[expect(clippy::disallowed_methods, reason = "the tester's environment")]
pub fn is_full() -> bool {
    std::env::var_os(FULL).is_some_and(|value| !value.is_empty())
}

/// Returns the points of a sweep that are tried: all of them in a full run, else one in `part`. The name decides where
/// they begin, so that sweeps that are alike try different places.
pub fn sample<T>(name: &str, part: usize, points: impl IntoIterator<Item = T>) -> Vec<T> {
    let points: Vec<T> = points.into_iter().collect();
    if is_full() || points.is_empty() {
        return points;
    }
    one_in(part, seed(name), points)
}

/// Returns how often something random is repeated.
pub fn rounds(full: usize, part: usize) -> usize {
    if is_full() { full } else { full.div_ceil(part) }
}

fn one_in<T>(part: usize, seed: usize, points: Vec<T>) -> Vec<T> {
    let begin = seed % part.min(points.len());
    points.into_iter().skip(begin).step_by(part).collect()
}

/// FNV-1a: the same everywhere and for ever, unlike std's hashes.
fn seed(name: &str) -> usize {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, mix) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_never_empty_and_always_the_same() {
        for (length, part) in [(1, 8), (7, 8), (8, 8), (100, 8), (100, 1)] {
            for name in ["claim", "handoff", ""] {
                let points = || (0..length).collect::<Vec<usize>>();
                let taken = one_in(part, seed(name), points());
                assert!(
                    !taken.is_empty() && taken.len() >= length / part,
                    "{length} {part} {name}: {taken:?}"
                );
                assert_eq!(taken, one_in(part, seed(name), points()));
            }
        }
        let begins = |name| one_in(8, seed(name), (0..80).collect::<Vec<_>>())[0];
        assert_ne!(begins("claim"), begins("handoff"), "sweeps that are alike begin at different places");
    }
}
