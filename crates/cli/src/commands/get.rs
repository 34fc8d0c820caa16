use anthill_core::api::documents::GetDocument;
use clap::{Args, ValueEnum};

use crate::args::Select;
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::output::Format;
use crate::typed::parse_path;

/// Print a document, or one field of it
///
/// Examples:
///   anthill get config
///   anthill get config --field features.enable_orchestration --format value
///   anthill get epics --project-id myapp --field 'epics[id=epic-001].stories[-1].title'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct GetArgs {
    #[command(flatten)]
    select: Select,
    /// Path of the field, such as `epics[0].status` or `epics[id=epic-001].status`
    #[arg(long, value_name = "PATH")]
    field: Option<String>,
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

impl Direct for GetArgs {
    const OPTIONS: &'static [Opt] = &[
        ("--field", "", Takes::One),
        ("--format", "", Takes::One),
        ("--project-id", "", Takes::One),
        ("--agent-id", "", Takes::One),
        ("--timestamp", "", Takes::One),
    ];

    fn read(words: &mut Words) -> Option<GetArgs> {
        let format = words.parsed("--format", |text| Format::from_str(text, false).ok())?;
        Some(GetArgs {
            select: Select::read(words)?,
            field: words.value("--field"),
            format: format.unwrap_or(Format::Json),
        })
    }
}

pub fn run(context: &Context<'_>, args: &GetArgs) -> Result<()> {
    let field = args.field.as_deref().map(parse_path).transpose()?;
    let request = GetDocument { document: args.select.of()?, field };
    context.perform(request, |found| context.output.value(&found.value, args.format))
}
