//! Do the files of two tasks overlap? Patterns as in gitignore, decided pattern against pattern.
//!
//! A pattern is relative to the project root and covers all beneath what it names; `.` is the whole project.
//! `*`, `?` and `[...]` stay within a name, `**` as a whole name stands for any number of directories, and a
//! backslash takes the next character as it is. A wildcard without a slash (`*.rs`) applies at any depth, a
//! plain name (`Makefile`) at the root.
//!
//! The answer is exact but for classes: `[...]` counts as any one character. Two tasks may thus be kept
//! apart without need, never brought together by mistake. No file is looked at: any name may be a directory,
//! so `*.rs` meets `docs`; only a wildcard with a dot (`*.rs`) is taken for files, which have nothing beneath.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Returns the first pair of patterns, as written, that may name a common path.
pub fn overlap<'a, 'b>(one: &[&'a str], other: &[&'b str]) -> Option<(&'a str, &'b str)> {
    let other: Vec<_> = other.iter().map(|text| (*text, pattern(text))).collect();
    one.iter().find_map(|text| {
        let parts = pattern(text);
        let (met, _) = other.iter().find(|(_, theirs)| patterns_meet(&parts, theirs))?;
        Some((*text, *met))
    })
}

/// Returns keys of which tasks with plain paths share one if their files overlap: what the first task occupies is
/// asked for by the second. `None` if a pattern is no plain path; then only [`overlap`] can tell.
pub fn occupied(files: &[&str]) -> Option<Vec<u64>> {
    are_plain(files).then(|| surely_occupied(files))
}

/// The other side of [`occupied`].
pub fn asked_for(files: &[&str]) -> Option<Vec<u64>> {
    are_plain(files).then(|| sorted(surely_asked_for(files)))
}

/// Returns those keys of any patterns that are sure: tasks that share one overlap, and others may.
pub fn surely_occupied(files: &[&str]) -> Vec<u64> {
    let mut keys = Vec::new();
    for file in files.iter().map(|file| known(file)) {
        let depth = file.depth();
        keys.extend(file.plain.then(|| key(ITSELF, file.above(depth))));
        let above = if file.plain { depth } else { depth + 1 };
        keys.extend((0..above).map(|depth| key(BENEATH, file.above(depth))));
    }
    sorted(keys)
}

/// The other side of [`surely_occupied`]: the nearer to the root, the earlier.
pub fn surely_asked_for(files: &[&str]) -> Vec<u64> {
    let files: Vec<_> = files.iter().map(|file| known(file)).collect();
    let Some(deepest) = files.iter().map(Known::depth).max() else { return Vec::new() };
    let mut keys = Vec::new();
    for depth in 0..=deepest {
        for file in files.iter().filter(|file| file.depth() >= depth) {
            keys.push(key(ITSELF, file.above(depth)));
            keys.extend((file.plain && file.depth() == depth).then(|| key(BENEATH, file.above(depth))));
        }
    }
    keys
}

fn sorted(mut keys: Vec<u64>) -> Vec<u64> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the key that a task occupies for whoever has it: it tells who has any.
pub fn holder(name: &str) -> u64 {
    key(HOLDER, name)
}

/// A path itself, something beneath it, or no path but whoever works on it.
const ITSELF: u64 = 1;
const BENEATH: u64 = 2;
const HOLDER: u64 = 3;

/// What is known of a pattern: the names that it begins with, and whether it is a plain path of them.
struct Known {
    path: String,
    /// Where each name ends.
    ends: Vec<usize>,
    plain: bool,
}

impl Known {
    fn of(names: &[&str], plain: bool) -> Known {
        let mut end = 0;
        let ends = names.iter().map(|name| {
            end += name.len() + 1;
            end - 1
        });
        Known { ends: ends.collect(), path: names.join("/"), plain }
    }

    fn depth(&self) -> usize {
        self.ends.len()
    }

    /// Returns the first so many names.
    fn above(&self, depth: usize) -> &str {
        &self.path[..depth.checked_sub(1).map_or(0, |last| self.ends[last])]
    }
}

const SPECIAL: [char; 4] = ['*', '?', '[', '\\'];

fn are_plain(files: &[&str]) -> bool {
    files.iter().all(|file| !above_all(file).contains(SPECIAL))
}

/// Leaves away what says that everything beneath is meant, as it is anyway.
fn above_all(file: &str) -> &str {
    match file.trim_end_matches('/') {
        "**" => "",
        path => path.strip_suffix("/**").unwrap_or(path),
    }
}

fn known(file: &str) -> Known {
    let path = above_all(file);
    let Some(special) = path.find(SPECIAL) else { return Known::of(&names(path), true) };
    let (plain, rest) = path.split_at(path[..special].rfind('/').map_or(0, |slash| slash + 1));
    // What goes up again may leave nothing of what it began with.
    let names = if rest.contains("..") { Vec::new() } else { names(plain) };
    Known::of(&names, false)
}

fn names(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names
}

fn key(what: u64, text: &str) -> u64 {
    // 0 stands for no key where keys are kept.
    xxh3_64_with_seed(text.as_bytes(), what).max(1)
}

/// One step of a pattern: names of a path, and again characters of a name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step<T> {
    One(T),
    /// Any number, also none.
    Many,
}

/// A character of a name; `None` is any one.
type Glyph = Step<Option<char>>;

/// Names one below the other.
type Pattern = Vec<Step<Vec<Glyph>>>;

const SLASH: Glyph = Step::One(Some('/'));
const DOT: Glyph = Step::One(Some('.'));

fn pattern(text: &str) -> Pattern {
    let glyphs = glyphs(text);
    let mut parts = Vec::new();
    if is_at_any_depth(&glyphs) {
        parts.push(Step::Many);
    }
    for name in glyphs.split(|glyph| *glyph == SLASH) {
        match name {
            [] | [DOT] => {}
            [DOT, DOT] => drop(parts.pop()),
            [Step::Many, Step::Many] => parts.push(Step::Many),
            name => parts.push(Step::One(name.to_vec())),
        }
    }
    if !parts.last().is_some_and(looks_like_files) {
        // What is named may be a directory.
        parts.push(Step::Many);
    }
    parts
}

/// Whether a name is a kind of file (`*.rs`, `test_*.py`) and not a directory.
fn looks_like_files(last: &Step<Vec<Glyph>>) -> bool {
    let Step::One(name) = last else { return false };
    name.contains(&DOT) && name.iter().any(is_wild)
}

fn is_wild(glyph: &Glyph) -> bool {
    matches!(glyph, Step::Many | Step::One(None))
}

/// Whether there is a wildcard and no slash but at the end.
fn is_at_any_depth(glyphs: &[Glyph]) -> bool {
    let end = glyphs.iter().rposition(|glyph| *glyph != SLASH).map_or(0, |last| last + 1);
    !glyphs[..end].contains(&SLASH) && glyphs.iter().any(is_wild)
}

fn glyphs(text: &str) -> Vec<Glyph> {
    let mut glyphs = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let class_end = if char == '[' { after_class(chars.as_str()) } else { None };
        glyphs.push(match char {
            '*' => Step::Many,
            '?' => Step::One(None),
            '[' if class_end.is_some() => Step::One(None),
            '\\' => Step::One(Some(chars.next().unwrap_or('\\'))),
            char => Step::One(Some(char)),
        });
        chars = class_end.map_or(chars, str::chars);
    }
    glyphs
}

/// Returns what follows the `]` of the class whose `[` stands before `text`, if it is closed.
fn after_class(text: &str) -> Option<&str> {
    let text = text.strip_prefix(['!', '^']).unwrap_or(text);
    // A `]` in the first place is a member.
    let mut chars = text.strip_prefix(']').unwrap_or(text).chars();
    loop {
        match chars.next()? {
            ']' => return Some(chars.as_str()),
            '\\' => drop(chars.next()),
            '[' => chars = after_class_name(chars.as_str()).unwrap_or(chars.as_str()).chars(),
            _ => {}
        }
    }
}

/// Returns what follows `:alpha:]`, or another such name, at the start of `text`.
fn after_class_name(text: &str) -> Option<&str> {
    let (name, rest) = text.strip_prefix(':')?.split_once(']')?;
    name.ends_with(':').then_some(rest)
}

fn patterns_meet(one: &Pattern, other: &Pattern) -> bool {
    meet(one, other, |one, other| names_meet(one, other))
}

fn names_meet(one: &[Glyph], other: &[Glyph]) -> bool {
    meet(one, other, |one, other| one.is_none() || other.is_none() || one == other)
}

/// Whether some sequence fits both patterns.
fn meet<T>(mut one: &[Step<T>], mut other: &[Step<T>], fit: fn(&T, &T) -> bool) -> bool {
    // Plain paths are decided here, without the table.
    while let ([Step::One(left), ones @ ..], [Step::One(right), others @ ..]) = (one, other) {
        if !fit(left, right) {
            return false;
        }
        (one, other) = (ones, others);
    }
    meet_by_table(one, other, fit)
}

/// Decides every pair of places in the two patterns once, so that no input takes more than their product.
fn meet_by_table<T>(one: &[Step<T>], other: &[Step<T>], fit: fn(&T, &T) -> bool) -> bool {
    // Whether some sequence leads to the current place in `one` and to this place in `other`.
    let mut reached = vec![false; other.len() + 1];
    reached[0] = true;
    for left in one.iter().map(Some).chain([None]) {
        let mut next = vec![false; other.len() + 1];
        for place in 0..=other.len() {
            if !reached[place] {
                continue;
            }
            match (left, other.get(place)) {
                (None, None) => return true,
                (Some(Step::One(left)), Some(Step::One(right))) => next[place + 1] |= fit(left, right),
                (Some(Step::One(_)), None) | (None, Some(Step::One(_))) => {}
                // `Many` ends here, or takes in what the other pattern has at its place.
                (left, right) => {
                    next[place] |= left.is_some();
                    if right.is_some() {
                        reached[place + 1] = true;
                    }
                }
            }
        }
        reached = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_never_miss_an_overlap(one in vec("(\\./|\\.\\./)?[ab*]{1,2}(/[ab.]{1,2}){0,3}/?(/\\*\\*)?", 0..3), other in vec("[ab]{1,2}(/[ab.]{1,2}){0,3}|\\.", 0..3)) {
            let (one, other): (Vec<_>, Vec<_>) = (one.iter().map(String::as_str).collect(), other.iter().map(String::as_str).collect());
            for (one, other) in [(&one, &other), (&other, &one)] {
                if let (Some(occupied), Some(asked)) = (occupied(one), asked_for(other)) {
                    let shared = asked.iter().any(|key| occupied.contains(key));
                    prop_assert_eq!(shared, overlap(one, other).is_some());
                }
            }
        }

        #[test]
        fn sure_keys_tell_no_overlap_that_is_none(one in vec(odd(), 0..3), other in vec(odd(), 0..3)) {
            let (one, other): (Vec<_>, Vec<_>) = (one.iter().map(String::as_str).collect(), other.iter().map(String::as_str).collect());
            let occupied = surely_occupied(&one);
            if surely_asked_for(&other).iter().any(|key| occupied.contains(key)) {
                prop_assert!(overlap(&one, &other).is_some());
            }
        }
    }

    /// Names, wildcards, classes with anything in them, and ways up.
    fn odd() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec!["a", "b", "/", "/", "..", ".", "*", "**", "?", "[", "]", "\\"]);
        vec(part, 0..9).prop_map(|parts| parts.concat())
    }

    #[test]
    fn patterns_are_sure_as_far_as_they_are_plain() {
        let shares = |one: &str, other: &str| {
            let occupied = surely_occupied(&[one]);
            surely_asked_for(&[other]).iter().any(|key| occupied.contains(key))
        };
        for (held, asked) in [
            ("src", "src/*.rs"),
            ("src/**", "src/deep/*"),
            ("src/*.rs", "src"),
            (".", "**/a"),
            ("*.rs", "."),
            ("**", "x"),
        ] {
            assert!(shares(held, asked), "`{held}` keeps off `{asked}`");
        }
        for (held, asked) in [("src/*.rs", "src/a.rs"), ("src/[a/../b]c", "b]c"), ("src/*/../../a", "src/b")]
        {
            assert!(!shares(held, asked), "`{held}` may keep off `{asked}` or not");
        }
        assert_eq!(occupied(&["src/**/"]), occupied(&["src"]));
        assert_eq!(asked_for(&["src/*"]), None);
    }

    fn meets(one: &str, other: &str) -> bool {
        let (there, back) = (overlap(&[one], &[other]), overlap(&[other], &[one]));
        assert_eq!(there.is_some(), back.is_some(), "`{one}` and `{other}` in both orders");
        there.is_some()
    }

    fn check(one: &str, other: &str, expected: bool) {
        assert_eq!(meets(one, other), expected, "`{one}` and `{other}`");
    }

    #[test]
    fn plain_paths_cover_what_lies_beneath() {
        check("src/a.rs", "src/a.rs", true);
        check("src/a.rs", "src/b.rs", false);
        check("src", "src/a.rs", true);
        check("src/", "src/deep/er/a.rs", true);
        check("src", "src2/a.rs", false);
        check("src/a", "src/a.rs", false);
        check("Makefile", "Makefile", true);
        check("Makefile", "makefile", false);
        check("Makefile", "sub/Makefile", false);
        check("ä/ö", "ä/ö/ü", true);
    }

    #[test]
    fn paths_are_normalised() {
        check("./src/a.rs", "/src//a.rs", true);
        check("src/../docs", "docs/x.md", true);
        check("src/./a", "src/a/", true);
        check("../../a", "a", true);
        for whole in [".", "", "/", "./", "a/..", "**", "*", "\\."] {
            check(whole, "src/a.rs", true);
            check(whole, "*.md", true);
            check(whole, ".", true);
        }
    }

    #[test]
    fn wildcards() {
        check("src/*.rs", "src/a*", true);
        check("src/*.rs", "src/*.md", false);
        check("src/*.rs", "src/a.md", false);
        check("src/*.rs", "src/deep/a.rs", false);
        check("src/a*", "src/ab/c.rs", true);
        check("src/?.rs", "src/ab.rs", false);
        check("src/?.rs", "src/a.rs", true);
        check("src/?", "src/a/b", true);
        check("a?c", "ab?", true);
        check("/*a", "/*b", false);
        check("a*b*c", "*c*b*", true);
        check("/a*a", "a", false);
    }

    #[test]
    fn two_stars_stand_for_directories() {
        check("**/a.rs", "src/deep/a.rs", true);
        check("src/**/a.rs", "src/a.rs", true);
        check("src/**/a.rs", "docs/a.rs", false);
        check("src/**", "src", true);
        check("src/**/x/*.rs", "**/x/a.*", true);
        check("src/a**", "src/abc/d", true);
        check("src/**.rs", "src/deep/a.rs", false);
        check("src/**.rs", "src/a.rs", true);
        check("a/**/b", "a/c", true);
        check("a/*/b", "a/c/d", false);
    }

    #[test]
    fn a_wildcard_without_a_slash_applies_at_any_depth() {
        check("*.rs", "src/deep/a.rs", true);
        check("/*.rs", "src/a.rs", false);
        check("./*.rs", "src/a.rs", false);
        check("test_?/", "src/test_1/a.rs", true);
        check("[ab]", "src/a", true);
    }

    #[test]
    fn any_name_may_be_a_directory_but_a_kind_of_file() {
        check("*.rs", "docs", true);
        check("*.rs", "src/a.md", true);
        check("*.rs", "*.md", false);
        check("src/**/*.rs", "src/**/*.md", false);
        check("src/*.rs", "src/a.rs/b", false);
    }

    #[test]
    fn escapes_and_classes() {
        check(r"src/\*.rs", "src/a.rs", false);
        check(r"src/\*.rs", "src/*.rs", true);
        check(r"src\/a", "src/a", true);
        check(r"a\", r"a\\", true);
        check("src/[ab].rs", "src/c.rs", true);
        check("src/[ab].rs", "src/cc.rs", false);
        check("src/[]a].rs", "src/].rs", true);
        check("src/[!]a]x", "src/bx", true);
        check(r"src/[\]a]x", "src/bx", true);
        check("src/[[:alpha:]]x", "src/bx", true);
        check("src/[[:]x", "src/bx", true);
        check("src/[a/b]x", "src/bx", true);
        check("src/[ab", "src/[ab", true);
        check("src/[ab", "src/ab", false);
    }

    #[test]
    fn the_first_pair_is_returned_as_written() {
        let found = overlap(&["docs", "./src/"], &["lib", "src/*.rs", "src/a"]);
        assert_eq!(found, Some(("./src/", "src/*.rs")));
        assert_eq!(overlap(&[], &["."]), None);
    }

    #[test]
    fn many_stars_take_no_time() {
        let stars = |end: &str| "*a".repeat(300) + end;
        check(&format!("/{}", stars("b")), &format!("/{}", stars("c")), false);
        let depths = |end: &str| "**/a/".repeat(100) + end;
        check(&depths("b"), &depths("c"), true);
        check(&"[".repeat(500), "x", false);
    }

    /// Whether `path` is covered, told by trying everything.
    fn covers(pattern: &str, path: &[String]) -> bool {
        let mut names = Vec::new();
        for name in pattern.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop()),
                name => names.push(name),
            }
        }
        let floats = !pattern.trim_end_matches('/').contains('/') && pattern.contains(['*', '?', '[']);
        let starts = if floats { 0..=path.len() } else { 0..=0 };
        starts.into_iter().any(|start| covers_names(&names, &path[start..]))
    }

    fn covers_names(pattern: &[&str], path: &[String]) -> bool {
        match pattern {
            [] => true,
            ["**", rest @ ..] => (0..=path.len()).any(|skipped| covers_names(rest, &path[skipped..])),
            [name, rest @ ..] => {
                !path.is_empty()
                    && fits(name.as_bytes(), path[0].as_bytes())
                    && covers_names(rest, &path[1..])
            }
        }
    }

    fn fits(pattern: &[u8], name: &[u8]) -> bool {
        match pattern {
            [] => name.is_empty(),
            [b'*', rest @ ..] => (0..=name.len()).any(|taken| fits(rest, &name[taken..])),
            [b'?', rest @ ..] | [b'[', _, _, b']', rest @ ..] => !name.is_empty() && fits(rest, &name[1..]),
            [b'\\', char, rest @ ..] | [char, rest @ ..] => {
                name.first() == Some(char) && fits(rest, &name[1..])
            }
        }
    }

    /// Returns all sequences of one to `longest` of the items.
    fn sequences<T: Clone>(items: &[T], longest: usize) -> Vec<Vec<T>> {
        let mut all: Vec<Vec<T>> = vec![vec![]];
        for length in 0..longest {
            let shorter: Vec<_> = all.iter().filter(|sequence| sequence.len() == length).cloned().collect();
            let longer = |sequence: &Vec<T>| {
                let sequence = sequence.clone();
                items.iter().map(move |item| [sequence.as_slice(), std::slice::from_ref(item)].concat())
            };
            let longer: Vec<_> = shorter.iter().flat_map(longer).collect();
            all.extend(longer);
        }
        all.split_off(1)
    }

    fn names(tokens: usize) -> impl Strategy<Value = String> {
        let token = prop::sample::select(vec!["a", "b", "c", "*", "?", "[ab]", "\\a"]);
        vec(token, 1..=tokens).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        /// Six characters show all there is: only a `*` reaches beyond the other three of its name.
        #[test]
        fn names_meet_where_some_name_fits_both(one in names(4), other in names(4)) {
            let fits_both = |name: &Vec<char>| {
                let name: String = name.iter().collect();
                fits(one.as_bytes(), name.as_bytes()) && fits(other.as_bytes(), name.as_bytes())
            };
            let expected = sequences(&['a', 'b', 'c'], 6).iter().any(fits_both);
            prop_assert_eq!(meets(&format!("/{one}"), &format!("/{other}")), expected);
        }

        #[test]
        fn paths_meet_where_some_path_fits_both(one in paths(names(1)), other in paths(names(1))) {
            let all = sequences(&["a", "b", "c"].map(str::to_owned), 6);
            let expected = all.iter().any(|path| covers(&one, path) && covers(&other, path));
            prop_assert_eq!(meets(&one, &other), expected);
        }

        #[test]
        fn no_common_path_is_missed(
            one in paths(names(3)),
            other in paths(names(3)),
            path in vec("[abc]{1,4}", 1..4),
        ) {
            prop_assert!(meets(&one, &other) || !(covers(&one, &path) && covers(&other, &path)));
        }

        #[test]
        fn any_text_meets_itself(text in "[]a.\\[\\\\/*?!:^-]{0,12}") {
            check(&text, &text, true);
        }
    }

    fn paths(name: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec!["**", "**", "", ".", ".."]).prop_map(str::to_owned);
        vec(prop_oneof![4 => name, 2 => odd], 1..=3).prop_map(|names| names.join("/"))
    }
}
