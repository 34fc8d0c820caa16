use clap::Args;
use clap_complete::Shell;

use crate::error::Result;
use crate::output::Output;

/// Print a completion script for a shell
///
/// Example:
///   anthill completions bash > ~/.local/share/bash-completion/completions/anthill
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionsArgs {
    shell: Shell,
}

pub fn run(output: &Output, args: &CompletionsArgs, mut program: clap::Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "anthill", &mut script);
    output.data(String::from_utf8_lossy(&script).trim_end())
}
