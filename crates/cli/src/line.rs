//! A command line, sorted into words and options, without clap.

use crate::typed::seconds;

/// How many values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    One,
    /// One or none.
    Perhaps,
    Many,
}

/// An option: its name, its short name if it has one, and what follows it.
pub type Opt = (&'static str, &'static str, Takes);

pub const GLOBAL: &[Opt] = &[
    ("--root", "", Takes::One),
    ("--home", "", Takes::One),
    ("--store", "", Takes::One),
    ("--json", "", Takes::Nothing),
    ("--session-id", "", Takes::One),
    ("--lock-timeout", "", Takes::One),
    ("--color", "", Takes::One),
    ("--allow-network-fs", "", Takes::Nothing),
];

/// What `--wait` alone means, in seconds. Clap's default for it says the same.
const FOR_EVER: f64 = 86_400_000.0;

/// Returns the place of the first word after global options.
pub fn first_word(args: &[impl AsRef<str>]) -> Option<usize> {
    let mut at = 0;
    while let word = args.get(at)?.as_ref()
        && word.starts_with('-')
    {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let (.., takes) = GLOBAL.iter().find(|(known, ..)| *known == name)?;
        at += if *takes == Takes::Nothing || value.is_some() { 1 } else { 2 };
    }
    Some(at)
}

/// The same for a line with unknown options, which are taken to have no value.
pub fn likely_word(args: &[String]) -> Option<usize> {
    let mut at = 0;
    while args.get(at)?.starts_with('-') {
        let known = GLOBAL.iter().find(|(name, ..)| *name == args[at]);
        at += if known.is_some_and(|(.., takes)| *takes != Takes::Nothing) { 2 } else { 1 };
    }
    Some(at)
}

/// A command line, sorted into plain words and options with their values.
pub struct Words {
    plain: std::vec::IntoIter<String>,
    options: Vec<(&'static str, Vec<String>)>,
}

impl Words {
    pub fn sort(rest: &[String], own: &'static [Opt]) -> Option<Words> {
        // Clap treats empty words in its own way.
        if rest.iter().any(String::is_empty) {
            return None;
        }
        let (mut plain, mut options) = (Vec::new(), Vec::new());
        let mut rest = rest.iter().peekable();
        while let Some(word) = rest.next() {
            if !word.starts_with('-') {
                plain.push(word.clone());
                continue;
            }
            let known = GLOBAL.iter().chain(own).find(|(name, short, _)| word == name || word == short);
            let (name, _, takes) = *known?;
            let most = match takes {
                Takes::Nothing => 0,
                Takes::One | Takes::Perhaps => 1,
                Takes::Many => usize::MAX,
            };
            let mut values = Vec::new();
            while values.len() < most
                && let Some(value) = rest.next_if(|word| !word.starts_with('-'))
            {
                values.push(value.clone());
            }
            let missing = values.is_empty() && matches!(takes, Takes::One | Takes::Many);
            let again = takes != Takes::Many && options.iter().any(|(known, _)| *known == name);
            if missing || again {
                return None;
            }
            options.push((name, values));
        }
        Some(Words { plain: plain.into_iter(), options })
    }

    /// Returns the next word that is not an option.
    pub fn plain(&mut self) -> Option<String> {
        self.plain.next()
    }

    pub fn flag(&mut self, name: &str) -> bool {
        self.options.iter().any(|(known, _)| *known == name)
    }

    pub fn value(&mut self, name: &str) -> Option<String> {
        self.values(name).pop()
    }

    /// Returns the value of an option, parsed; `None` if it is not valid.
    pub fn parsed<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
        self.value(name).map_or(Some(None), |text| parse(&text).map(Some))
    }

    /// Returns how long to wait; `--wait` alone means for ever. `None` if it is not valid.
    pub fn wait(&mut self) -> Option<Option<f64>> {
        let told = self.parsed("--wait", |text| seconds(text).ok())?;
        Some(told.or(self.flag("--wait").then_some(FOR_EVER)))
    }

    /// Returns all values of an option, which may also be lists with commas.
    pub fn split(&mut self, name: &str) -> Vec<String> {
        self.values(name).iter().flat_map(|list| list.split(',')).map(str::to_owned).collect()
    }

    /// Returns all values of an option, which may be given several times.
    pub fn values(&mut self, name: &str) -> Vec<String> {
        let given = self.options.iter_mut().filter(|(known, _)| *known == name);
        given.flat_map(|(_, values)| std::mem::take(values)).collect()
    }
}
