use std::path::PathBuf;

use clap::Args;

use crate::error::{Result, io_error};
use crate::output::Output;

/// Write a manual page for every command into a directory
///
/// The pages say what --help says. The directory is made if there is none.
///
/// Examples:
///   anthill man ~/.local/share/man/man1        # then: man anthill-worker-claim
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ManArgs {
    /// Where the pages go
    dir: PathBuf,
}

pub fn run(output: &Output, args: &ManArgs, program: clap::Command) -> Result<()> {
    let dir = args.dir.display();
    let write = || {
        std::fs::create_dir_all(&args.dir)?;
        clap_mangen::generate_to(program, &args.dir)?;
        std::fs::read_dir(&args.dir).map(Iterator::count)
    };
    let files = write().map_err(|error| io_error(&format!("write manual pages to `{dir}`"), &error))?;
    output.print(&format!("Wrote the manual pages, {files} files: {dir}"))
}
