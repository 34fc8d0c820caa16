//! All output: data to stdout, messages to stderr, colours only on terminals.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use anthill_core::api::{Answer, Effect};
use anthill_core::error::Code;
use anthill_core::view::board::{Line, Tone};
use anthill_core::view::table::{Table, cell};
use anthill_core::view::text::{escape, escape_with};
use clap::error::ContextValue;
use clap::{ColorChoice, ValueEnum};
use serde_json::Value;

use crate::error::{CliError, REPEATED, Result, bounded, cut, io_error};
use crate::process::{self, ExitCode};
use crate::sentence::shorten;
use crate::words::Words;

/// How a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Pretty JSON
    Json,
    /// The bare value: text without quotes
    Value,
    /// Columns
    Table,
    /// A Markdown table
    Md,
}

#[derive(Debug)]
pub struct Output {
    pub json: bool,
    color: ColorChoice,
}

impl Output {
    pub fn new(json: bool, color: ColorChoice) -> Output {
        Output { json, color }
    }

    /// Prints a value in the wanted format; `--json` wins.
    pub fn value(&self, value: &Value, format: Format) -> Result<()> {
        let format = if self.json { Format::Json } else { format };
        match format {
            Format::Json => self.data(&pretty(value)),
            Format::Value if io::stdout().is_terminal() => self.data(&escape(&bare(value))),
            Format::Value => self.data(&bare(value)),
            Format::Table => self.data(&escape(&table(&Table::of(value)))),
            Format::Md => self.data(&escape(Table::of(value).markdown().trim_end())),
        }
    }

    /// Prints JSON that is formatted already.
    pub fn json_text(&self, text: String) -> Result<()> {
        self.data(&safe_json(text))
    }

    /// Prints a line (or several) of data.
    pub fn data(&self, text: &str) -> Result<()> {
        self.whole(&format!("{text}\n"))
    }

    /// Prints data that ends with a new line.
    pub fn whole(&self, text: &str) -> Result<()> {
        let mut stdout = io::stdout().lock();
        // In one write: after a failure, nothing is left in the buffer that would mix with the error.
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        match written {
            // The reader has seen enough and closed the pipe.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => process::end(ExitCode::SUCCESS),
            other => other.map_err(|error| io_error("write to stdout", &error)),
        }
    }

    /// Prints the result of a change. The change has happened: an error that hid this would make a script repeat it.
    pub fn changed(&self, value: &Value, format: Format) -> Result<()> {
        self.value(value, format).map_err(|error| CliError { indeterminate: true, ..error })
    }

    /// Prints an answer. A change has happened by now, see [`changed`](Output::changed).
    pub fn answer(&self, answer: &impl Answer, effect: Effect) -> Result<()> {
        let indeterminate = effect != Effect::Reads;
        self.json_text(answer.text()).map_err(|error| CliError { indeterminate, ..error })
    }

    /// Prints what was done or found, for a person.
    pub fn print(&self, text: &str) -> Result<()> {
        self.data(&escape(text))
    }

    /// Tells what was done, and what to type next.
    pub fn print_with_next(&self, text: &str, next: &str) -> Result<()> {
        self.print(text)?;
        if !next.is_empty() {
            self.status(&format!("next: {next}"));
        }
        Ok(())
    }

    /// Shows items as a table; says what to do when there are none.
    pub fn table(&self, items: &[Value], rows: impl Fn(&[Value]) -> Value, none: &str) -> Result<()> {
        if items.is_empty() {
            self.status(none);
            return Ok(());
        }
        self.value(&rows(items), Format::Table)
    }

    /// Prints lines in the colours of their tones.
    pub fn lines(&self, lines: &[Line]) -> Result<()> {
        self.data(&self.painted(lines))
    }

    /// Prints the status line of a client, in colour only if that was asked for: not every client understands it.
    pub fn status_line(&self, line: &Line) -> Result<()> {
        let tone = if self.color == ColorChoice::Always { line.tone } else { Tone::Plain };
        self.lines(&[Line { tone, text: line.text.clone() }])
    }

    /// Replaces the contents of the terminal with these lines, as many as fit.
    pub fn redraw(&self, lines: &[Line]) -> Result<()> {
        let lines = &lines[..lines.len().min(self.height() - 1)];
        let cleared = self.painted(lines).replace('\n', "\x1b[K\n");
        self.data(&format!("\x1b[H{cleared}\x1b[J"))
    }

    /// Draws these lines over the last `drawn` ones, as many as fit; returns how many.
    pub fn redraw_over(&self, lines: &[Line], drawn: usize) -> Result<usize> {
        let lines = &lines[..lines.len().min(self.height() - 1)];
        let up = if drawn > 0 { format!("\x1b[{drawn}A\r") } else { String::new() };
        let cleared = self.painted(lines).replace('\n', "\x1b[K\n");
        self.data(&format!("{up}{cleared}\x1b[K\x1b[J"))?;
        Ok(lines.len())
    }

    fn painted(&self, lines: &[Line]) -> String {
        let colors = match self.color {
            ColorChoice::Auto => anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
            choice => choice == ColorChoice::Always,
        };
        let paint = |line: &Line| {
            let (text, style) = (escape(&line.text), style(line.tone));
            if colors { format!("{style}{text}{style:#}") } else { text.into_owned() }
        };
        lines.iter().map(paint).collect::<Vec<_>>().join("\n")
    }

    /// Returns how wide the terminal is.
    pub fn width(&self) -> usize {
        terminal().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(100)
    }

    fn height(&self) -> usize {
        terminal().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 1).unwrap_or(24)
    }

    /// Says what was done.
    pub fn status(&self, text: &str) {
        if !self.json {
            self.talk("", Style::new(), text);
        }
    }

    /// Reports progress to a person at a terminal.
    pub fn progress(&self, text: &str) {
        if io::stderr().is_terminal() {
            self.status(text);
        }
    }

    pub fn warning(&self, text: &(impl Words + ?Sized)) {
        self.talk("warning: ", AnsiColor::Yellow.on_default().bold(), &bounded(text.words()));
    }

    /// Reports a failure and returns its exit code.
    pub fn failure(&self, error: &CliError) -> ExitCode {
        if self.json {
            let text = pretty(&error.json());
            if self.data(&text).is_err() {
                // Stdout has failed: better in the wrong place than not at all.
                self.talk("", Style::new(), &text);
            }
        } else {
            self.talk("error: ", AnsiColor::Red.on_default().bold(), &shorten(&error.message, 2000));
            for hint in &error.hints {
                self.talk("hint: ", AnsiColor::Cyan.on_default().bold(), hint);
            }
        }
        ExitCode::from(error.code.facts().exit)
    }

    fn talk(&self, label: &str, style: Style, text: &str) {
        let choice = match self.color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        let mut stderr = anstream::AutoStream::new(io::stderr(), choice);
        // In one write, so that the lines of several processes do not mix. If stderr is closed, nobody listens.
        let _ = stderr.write_all(format!("{style}{label}{style:#}{}\n", escape(text)).as_bytes());
    }
}

fn terminal() -> Option<rustix::termios::Winsize> {
    rustix::termios::tcgetwinsize(io::stdout()).ok()
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Title => Style::new().bold(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Busy => AnsiColor::Cyan.on_default(),
        Tone::Warn => AnsiColor::Yellow.on_default(),
        Tone::Bad => AnsiColor::Red.on_default(),
        Tone::Dim => Style::new().dimmed(),
    }
}

/// Reports wrong usage in clap's words; help and version are not errors.
pub fn usage(mut error: clap::Error, json: bool) -> ExitCode {
    shorten_typed(&mut error);
    if !error.use_stderr() || !json {
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { Code::Invalid.facts().exit } else { 0 });
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    // What is wrong, then tips, the usage and where to read more.
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let error = CliError::invalid(message);
    let hints = rest.split("\n\n").map(str::trim).filter(|hint| !hint.is_empty());
    Output::new(true, ColorChoice::Never).failure(&hints.fold(error, CliError::hinted))
}

/// Shortens what clap repeats of what was typed.
fn shorten_typed(error: &mut clap::Error) {
    let shorter = |value: &ContextValue| match value {
        ContextValue::String(text) => Some(ContextValue::String(cut(text))),
        ContextValue::StyledStrs(texts) => Some(ContextValue::StyledStrs(
            texts.iter().map(|text| bounded(text.to_string()).into()).collect(),
        )),
        _ => None,
    };
    let is_long = |value: &ContextValue| value.to_string().len() > REPEATED;
    let long = error.context().filter(|(_, value)| is_long(value));
    let cut: Vec<_> = long.filter_map(|(kind, value)| Some((kind, shorter(value)?))).collect();
    cut.into_iter().for_each(|(kind, value)| drop(error.insert(kind, value)));
}

/// Renders JSON for people and scripts. What could steer a terminal is written as a JSON escape.
pub fn pretty(value: &Value) -> String {
    safe_json(serde_json::to_string_pretty(value).unwrap_or_default())
}

pub fn compact(value: &Value) -> String {
    safe_json(serde_json::to_string(value).unwrap_or_default())
}

/// Writes what could steer a terminal, or hide, as JSON escapes.
pub fn safe_json(text: String) -> String {
    let write = |safe: &mut String, character: char| {
        character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}")));
    };
    match escape_with(&text, write) {
        Cow::Borrowed(_) => text,
        Cow::Owned(safe) => safe,
    }
}

fn bare(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
        scalar => cell(scalar),
    }
}

fn table(table: &Table) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(comfy_table::presets::NOTHING);
    drawn.set_header(table.header.iter().map(|name| name.to_uppercase()));
    drawn.add_rows(table.rows.iter().map(|row| row.iter().map(|cell| shorten(cell, 80))));
    drawn.trim_fmt()
}
