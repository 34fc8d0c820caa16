use anthill_core::model::kind::{Items, KINDS, Kind, Scope};
use anthill_core::store::file::addresses::KindFiles;
use clap::Args;
use serde_json::{Value, json};

use crate::args::kind_parser;
use crate::error::Result;
use crate::output::{Format, Output};

/// Print a kind's JSON Schema, or list all kinds
///
/// Examples:
///   anthill schema
///   anthill schema epics
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct SchemaArgs {
    #[arg(value_parser = kind_parser(&[]))]
    kind: Option<String>,
}

pub fn run(output: &Output, args: &SchemaArgs) -> Result<()> {
    match args.kind.as_deref().and_then(Kind::find) {
        Some(kind) => output.data(kind.schema.trim_end()),
        None => output.value(&KINDS.iter().map(summary).collect(), Format::Table),
    }
}

fn summary(kind: &Kind) -> Value {
    let option = match kind.scope {
        Scope::Project => "--project-id",
        Scope::Session | Scope::Mailbox => "--session-id",
        Scope::Agent => "--agent-id",
        Scope::Moment => "--timestamp",
        Scope::Shared | Scope::Queue | Scope::Pipeline | Scope::State => "",
    };
    let list = match kind.items {
        Items::None => String::new(),
        Items::Field(field) => field.into(),
        Items::Nested(outer, field) => format!("{outer}.{field}"),
        Items::Document => "(entries)".into(),
    };
    json!({"kind": kind.name, "what": kind.about, "file": kind.pattern(), "option": option, "list": list})
}
