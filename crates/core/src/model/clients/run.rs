//! How a client is run when nobody sits before it.

use serde_json::Value;

use crate::model::ailment::Ailment;

#[derive(Debug)]
pub struct Run {
    /// A line for the shell, which takes the prompt on stdin and prints what happens as lines of JSON.
    pub line: &'static str,
    /// The line that goes on with the conversation `$ANTHILL_CONVERSATION`.
    pub resume: &'static str,
    pub wants: Wants,
    /// What a person does to log in.
    pub login: &'static str,
    /// What a person does about a directory in which it does not work.
    pub place: &'static str,
    /// What its exit codes say, whatever its words.
    pub codes: &'static [(i32, Ailment)],
}

/// What a client wants of the place in which it works.
#[derive(Debug)]
pub enum Wants {
    Nothing,
    /// A git repository.
    Repository,
    /// A folder that a person has trusted.
    Trust(Trust),
}

/// What a client goes by when it decides whether to trust a folder.
#[derive(Debug)]
pub struct Trust {
    /// Variables that decide by a word, the strongest first.
    pub decided: &'static [(&'static str, &'static str, bool)],
    /// The variable that is set where somebody else is asked.
    pub asks: &'static str,
    /// The variable of the directory that is used instead of the user's home.
    pub home: &'static str,
    /// Where in it the client's files are.
    pub dir: &'static str,
    /// Its settings, there.
    pub settings: &'static str,
    /// Variables with the paths of settings of the whole machine, and what they are unless set.
    pub system: &'static [(&'static str, &'static str)],
    /// Whether settings say that every folder is trusted.
    pub trusts_all: fn(&Value) -> bool,
    /// The variable with the path of the rules for folders, and what it is called in `dir` unless set.
    pub rules: (&'static str, &'static str),
    /// Words of rules that trust a folder, and those that trust the one above it.
    pub trusted: (&'static str, &'static str),
}
