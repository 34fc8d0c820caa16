//! What an index answers, or that it cannot.

/// Why the index cannot answer: the whole document has to.
#[derive(Debug)]
pub struct Lost;

pub type Answer<T> = std::result::Result<T, Lost>;

pub fn sure<T>(answer: Option<T>) -> Answer<T> {
    answer.ok_or(Lost)
}
