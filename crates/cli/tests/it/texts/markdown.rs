//! What is to be typed, found in Markdown: fenced blocks by section, and command lines within sentences.

/// The blocks between one heading and the next.
#[derive(Debug, Default)]
pub struct Section {
    pub heading: String,
    pub blocks: Vec<Block>,
}

#[derive(Debug)]
pub struct Block {
    /// The line of its fence.
    pub line: usize,
    pub language: String,
    pub text: String,
    /// Why it is not run, by the comment before it: `<!-- not run: why -->`.
    pub excuse: Option<String>,
}

/// Splits a document at its headings.
pub fn sections(document: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut open: Option<(usize, Block)> = None;
    let mut excuse = None;
    for (number, line) in (1..).zip(document.lines()) {
        let here = sections.last_mut().expect("there is always one");
        let fence = line.trim_start().strip_prefix("```");
        open = match (open.take(), fence) {
            (Some((_, block)), Some(_)) => {
                here.blocks.push(block);
                None
            }
            (Some((indent, mut block)), None) => {
                block.text += &format!("{}\n", line.get(indent..).unwrap_or_default());
                Some((indent, block))
            }
            (None, Some(language)) => {
                let indent = line.len() - line.trim_start().len();
                let (language, text) = (language.trim().to_owned(), String::new());
                Some((indent, Block { line: number, language, text, excuse: excuse.take() }))
            }
            (None, None) => {
                if let Some(heading) = line.strip_prefix('#') {
                    let heading = heading.trim_start_matches('#').trim().to_owned();
                    sections.push(Section { heading, blocks: Vec::new() });
                }
                let told =
                    line.trim().strip_prefix("<!-- not run: ").and_then(|rest| rest.strip_suffix(" -->"));
                excuse = told.map(str::to_owned);
                None
            }
        };
    }
    sections
}

/// Returns the code within sentences, each piece in one line.
pub fn spans(text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2);
    let pieces = prose.flat_map(|part| part.split('`').skip(1).step_by(2));
    pieces.map(|piece| piece.split('\n').map(str::trim).collect::<Vec<_>>().join(" ")).collect()
}

/// A command of a block and what is printed below it.
#[derive(Debug, PartialEq)]
pub struct Step {
    pub command: String,
    pub shown: Vec<String>,
}

/// Reads a dialogue: commands behind `$ `, then what they print.
pub fn dialogue(text: &str) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), shown: Vec::new() }),
            (None, Some(step)) if step.command.ends_with('\\') => step.command += &format!("\n{line}"),
            (None, Some(step)) => step.shown.push(line.to_owned()),
            (None, None) => return Err(format!("`{line}` comes before any command")),
        }
    }
    Ok(steps)
}

#[test]
fn blocks_are_found_with_their_headings_and_excuses() {
    let page = "# Title\n```sh\na\n  b\n```\n\n## Next\n- x\n  ```console\n  $ c\n  d\n  ```\n<!-- not run: why -->\n```sh\ne\n```\ntext\n```\nf\n```\n";
    let told: Vec<_> = sections(page)
        .into_iter()
        .flat_map(|section| {
            let block = move |block: Block| {
                (section.heading.clone(), block.line, block.language, block.text, block.excuse)
            };
            section.blocks.into_iter().map(block)
        })
        .collect();
    let block = |heading: &str, line, language: &str, text: &str, excuse: Option<&str>| {
        (heading.to_owned(), line, language.to_owned(), text.to_owned(), excuse.map(str::to_owned))
    };
    let expected = [
        block("Title", 2, "sh", "a\n  b\n", None),
        block("Next", 9, "console", "$ c\nd\n", None),
        block("Next", 14, "sh", "e\n", Some("why")),
        block("Next", 18, "", "f\n", None),
    ];
    assert_eq!(told, expected);
}

#[test]
fn commands_and_what_they_print_are_told_apart() {
    let step = |command: &str, shown: &[&str]| Step {
        command: command.into(),
        shown: shown.iter().map(ToString::to_string).collect(),
    };
    let text = "$ a \\\n  b\nsaid\n$ c # why\n";
    assert_eq!(dialogue(text), Ok(vec![step("a \\\n  b", &["said"]), step("c # why", &[])]));
    assert!(dialogue("# as root\n").is_err());
    assert_eq!(spans("a `b\n   c` d ```\n`e`\n``` `f`"), ["b c", "f"]);
}
