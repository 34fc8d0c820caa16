use anthill_core::api::documents::SetField;
use clap::Args;

use super::revisions::tell_revision;
use crate::args::Select;
use crate::context::Context;
use crate::direct::Direct;
use crate::error::Result;
use crate::line::{Opt, Takes, Words};
use crate::typed::{parse_path, parse_value};

/// Set a field of a document
///
/// A document that does not exist yet starts from its kind's default. Missing objects on the way are
/// made.
///
/// Examples:
///   anthill set epics 'epics[0].status' '"completed"' --project-id myapp
///   anthill set epics 'epics[id=epic-001].status' '"completed"' --expect-revision 4
///   anthill set config . - < config.json       # replace the whole document
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct SetArgs {
    #[command(flatten)]
    select: Select,
    /// Where: `epics[0].status`, `epics[id=epic-001].status`, `.` for the whole document
    path: String,
    /// The JSON value, or `-` to read it from stdin
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Refuse (exit 3) unless the document is at this revision
    #[arg(long, value_name = "N")]
    expect_revision: Option<u64>,
}

impl Direct for SetArgs {
    const OPTIONS: &'static [Opt] = &[
        ("--expect-revision", "", Takes::One),
        ("--project-id", "", Takes::One),
        ("--agent-id", "", Takes::One),
        ("--timestamp", "", Takes::One),
    ];

    fn read(words: &mut Words) -> Option<SetArgs> {
        Some(SetArgs {
            select: Select::read(words)?,
            path: words.plain()?,
            value: words.plain()?,
            expect_revision: words.parsed("--expect-revision", |text| text.parse().ok())?,
        })
    }
}

pub fn run(context: &Context<'_>, args: &SetArgs) -> Result<()> {
    let (path, value) = (parse_path(&args.path)?, parse_value(&args.value)?);
    let (document, expect_revision) = (args.select.of()?, args.expect_revision);
    let request = SetField { document, path: path.clone(), value, expect_revision };
    let kind = &args.select.kind;
    context.perform(request, |edited| tell_revision(context, &format!("Set {path} in {kind}"), edited))
}
