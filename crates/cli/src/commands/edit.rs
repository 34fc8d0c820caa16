use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anthill_core::api::documents::{Edited, SetField};
use anthill_core::error::Code;
use anthill_core::model::json;
use anthill_core::model::kind::{Doc, Kind};
use anthill_core::model::merge::Side;
use anthill_core::ops::{self, merge, read};
use anthill_core::store::Kept;
use anthill_core::store::edits::clash_in_words;
use clap::Args;
use serde_json::Value;

use super::leader;
use super::leader::edit::Changes;
use super::revisions::{change_line, tell_revision};
use crate::args::{ScopeArgs, Select};
use crate::context::Context;
use crate::env;
use crate::error::{CliError, Result, io_error};
use crate::named::or_kind;

/// Change a task, or edit a document in $EDITOR
///
/// With the id of a task it is short for `leader edit`, and takes its options. A kind's name wins
/// over a task's id.
///
/// Of a document a copy is opened. When it is saved and closed, only what you changed is applied,
/// whatever others committed meanwhile. A copy that is not valid is opened again with the reason on
/// top; what cannot be joined is told (exit 3), and the copy stays.
///
/// Examples:
///   anthill edit parser --priority 1 --label nightly
///   anthill edit queue
///   EDITOR=nano anthill edit config
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct EditArgs {
    /// A task, by its id or the beginning of it; or a document kind (`anthill schema` lists them)
    #[arg(value_name = "ID|KIND")]
    name: String,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    changes: Changes,
    /// Where others changed the same, take your side
    #[arg(long)]
    theirs: bool,
}

pub fn run(context: &Context<'_>, args: &EditArgs) -> Result<()> {
    match Kind::find(&args.name) {
        None => {
            args.scope.none(&args.name)?;
            let edited = leader::edit::edit(context, &args.name, &args.changes);
            edited.map_err(|error| or_kind(&args.name, error))
        }
        Some(kind) if args.changes != Changes::default() => {
            Err(CliError::invalid(format!("`{}` is a document kind: these options are for tasks", kind.name))
                .hinted(format!("a task of this name: anthill leader edit {}", kind.name)))
        }
        Some(_) => document(context, args),
    }
}

fn document(context: &Context<'_>, args: &EditArgs) -> Result<()> {
    let doc = context.select(&Select { kind: args.name.clone(), scope: args.scope.clone() })?;
    let before = read::stored(&*context.engine, &doc)?.value;
    let copy = Copy::make(&context.engine.called(Kept::Document(&doc)).name, &before)?;
    let wins = if args.theirs { Side::Theirs } else { Side::Ours };
    let apply = |typed: Value| match typed == before {
        true => Ok(None),
        false => merge::apply(&*context.engine, &doc, typed, wins, "edit", &context.actor).map(Some),
    };
    let Some((changed, edits)) = copy.ask(context, &doc, apply)? else {
        copy.remove();
        context.output.status(&format!("Nothing changed in {}", doc.kind.name));
        return Ok(());
    };
    let edited = Edited { kind: doc.kind.name, changed };
    let tell = || {
        let what = format!("Edited {}", edited.kind);
        context.answer::<SetField>(&edited, |edited| tell_revision(context, &what, edited))
    };
    let is_news = |line: &&String| !line.starts_with("    revision:");
    edits
        .changes
        .iter()
        .map(|change| change_line(change, &edits.names))
        .filter(|line| is_news(&line))
        .for_each(|line| context.output.status(&line));
    if edits.clashes.is_empty() {
        copy.remove();
        return tell();
    }
    tell()?;
    let places: Vec<_> = edits.clashes.iter().map(clash_in_words).collect();
    let message = format!("others changed the same meanwhile, and their side stays: {}", places.join("; "));
    Err(CliError::new(Code::Conflict, message).hinted(format!(
        "{}; to take your side: anthill edit {} --theirs",
        copy.kept(),
        doc.kind.name
    )))
}

/// A copy of a document that somebody types in.
struct Copy {
    dir: PathBuf,
    file: PathBuf,
}

impl Copy {
    fn make(name: &str, value: &Value) -> Result<Copy> {
        let name = name.rsplit('/').next().unwrap_or("document.json");
        let failed = |error: std::io::Error| io_error("make a copy to edit", &error);
        for number in 0..1000 {
            let dir = std::env::temp_dir().join(format!("anthill-edit-{}-{number}", std::process::id()));
            match private_dir(&dir) {
                Ok(()) => {
                    let file = dir.join(name);
                    write(&file, &json::render(value)).map_err(failed)?;
                    return Ok(Copy { dir, file });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(std::io::ErrorKind::AlreadyExists.into()))
    }

    /// Opens the editor again until the text can be applied, or is not changed any more.
    fn ask<T>(&self, context: &Context<'_>, doc: &Doc, apply: impl Fn(Value) -> ops::Result<T>) -> Result<T> {
        let shown = self.file.display().to_string();
        let mut last = None;
        loop {
            self.open()?;
            let bytes =
                std::fs::read(&self.file).map_err(|error| io_error(&format!("read `{shown}`"), &error))?;
            let error = match merge::typed(&*context.engine, doc, &bytes).and_then(&apply) {
                Ok(applied) => return Ok(applied),
                Err(error) => error,
            };
            let text = String::from_utf8_lossy(&bytes);
            let rest: String =
                text.split_inclusive('\n').skip_while(|line| line.starts_with("// ")).collect();
            if error.code() != Code::Invalid || last.as_ref() == Some(&rest) {
                return Err(CliError::from(error).hinted(self.kept()));
            }
            context.output.warning(&error.to_string());
            let told = format!(
                "// {}\n// mend it and save, or leave without a change to give up\n{rest}",
                one_line(&error.to_string())
            );
            write(&self.file, told.as_bytes())
                .map_err(|error| io_error(&format!("write `{shown}`"), &error))?;
            last = Some(rest);
        }
    }

    fn open(&self) -> Result<()> {
        let editor = env::text(env::VISUAL).or_else(|| env::text(env::EDITOR)).unwrap_or_else(|| "vi".into());
        // The editor is a line of shell, as for git; the file is its argument.
        let line = format!("{editor} \"$@\"");
        let ended = Command::new("sh").args(["-c", &line, "sh"]).arg(&self.file).status();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(CliError::invalid(format!("the editor `{editor}` ended with {status}"))
                .hinted(format!("set EDITOR; {}", self.kept()))),
            Err(error) => Err(io_error(&format!("start the editor `{editor}`"), &error).hinted(self.kept())),
        }
    }

    fn kept(&self) -> String {
        format!("what you typed is in `{}`", self.file.display())
    }

    fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn private_dir(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(dir)
}

fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(file)?;
    file.write_all(bytes)
}
