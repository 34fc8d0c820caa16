use anthill_core::api::documents::ShowSchema;
use anthill_core::model::kind::Kind;
use clap::Args;

use crate::error::Result;
use crate::output::{Format, Output};
use crate::typed::kind_parser;

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
        None => output.value(&ShowSchema { kind: None }.answer().value, Format::Table),
    }
}
