//! What somebody means who types the beginning of an id, or mistypes it.

/// What a text may stand for among ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It is the id, or the beginning of only this one.
    One(String),
    /// The beginning of several.
    Several(Vec<String>),
    /// The beginning of none; some are spelt nearly alike.
    Nothing(Vec<String>),
}

/// How many ids are proposed for a typo.
const PROPOSED: usize = 3;

/// Finds what a text stands for. The exact id wins.
pub fn find(text: &str, ids: impl IntoIterator<Item = String>) -> Found {
    let (mut begun, mut near) = (Vec::new(), Vec::new());
    for id in ids {
        if id == text {
            return Found::One(id);
        }
        if !text.is_empty() && id.starts_with(text) {
            begun.push(id);
        } else if let Some(distance) = distance(text, &id) {
            near.push((distance, id));
        }
    }
    match begun.len() {
        0 => {
            near.sort();
            Found::Nothing(near.into_iter().take(PROPOSED).map(|(_, id)| id).collect())
        }
        1 => Found::One(begun.remove(0)),
        _ => {
            begun.sort();
            Found::Several(begun)
        }
    }
}

/// Returns how many letters differ, if that may be a typo: a third of them at most, or two that changed places.
fn distance(typed: &str, id: &str) -> Option<usize> {
    let most = (typed.len() / 3).clamp(1, 4);
    if typed.len().abs_diff(id.len()) > most {
        return None;
    }
    let (typed, id) = (typed.as_bytes(), id.as_bytes());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=id.len()).collect();
    for (row, letter) in typed.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in id.iter().enumerate() {
            let changed = last[column] + usize::from(letter != other);
            let mut least = changed.min(last[column + 1] + 1).min(next[column] + 1);
            let swapped = row > 0 && column > 0 && typed[row - 1] == *other && *letter == id[column - 1];
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Found {
        find(text, ["parser", "parser-tests", "model", "model-2", "docs"].map(str::to_owned))
    }

    #[test]
    fn an_exact_id_wins_and_the_beginning_of_one_is_enough() {
        assert_eq!(found("parser"), Found::One("parser".into()));
        assert_eq!(found("d"), Found::One("docs".into()));
        assert_eq!(found("parser-"), Found::One("parser-tests".into()));
        assert_eq!(found("mod"), Found::Several(vec!["model".into(), "model-2".into()]));
    }

    #[test]
    fn typos_are_near() {
        for typo in ["prser", "parsr", "paresr", "parzer", "parserr"] {
            assert_eq!(found(typo), Found::Nothing(vec!["parser".into()]), "{typo}");
        }
        assert_eq!(found("dcos"), Found::Nothing(vec!["docs".into()]));
        assert_eq!(found("something-else"), Found::Nothing(vec![]));
        assert_eq!(found(""), Found::Nothing(vec![]));
    }
}
