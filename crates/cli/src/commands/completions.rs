use clap::Args;
use clap_complete::Shell;

use crate::error::Result;
use crate::output::Output;

/// Print a completion script for a shell
///
/// In bash, zsh and fish it also completes the ids of tasks, workers and sessions.
///
/// Examples:
///   anthill completions bash > ~/.local/share/bash-completion/completions/anthill
///   anthill completions fish | source
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionsArgs {
    shell: Shell,
}

pub fn run(output: &Output, args: &CompletionsArgs, mut program: clap::Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "anthill", &mut script);
    let script = String::from_utf8_lossy(&script);
    output.data(&with_ids(args.shell, script.trim_end()))
}

/// Returns a script that asks the program for ids besides.
fn with_ids(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{script}\n{BASH}"),
        Shell::Fish => format!("{script}\n{FISH}"),
        // The last lines of the script say which function completes.
        Shell::Zsh => match script.rfind("if [ \"$funcstack[1]\"") {
            Some(end) => format!("{}{ZSH}", &script[..end]),
            None => script.to_owned(),
        },
        _ => script.to_owned(),
    }
}

const BASH: &str = r#"
_anthill_ids() {
    _anthill "$@"
    local ids
    ids=$(anthill complete-ids -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
    [[ -z $ids ]] || COMPREPLY=($(compgen -W "$ids" -- "${COMP_WORDS[COMP_CWORD]}"))
    return 0
}

complete -F _anthill_ids -o bashdefault -o default anthill"#;

const ZSH: &str = r#"_anthill_ids() {
    local -a ids
    ids=(${(f)"$(anthill complete-ids -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#ids )); then compadd -a ids; else _anthill "$@"; fi
}

if [ "$funcstack[1]" = "_anthill" ]; then
    compdef _anthill_ids anthill
    _anthill_ids "$@"
else
    compdef _anthill_ids anthill
fi"#;

const FISH: &str = r#"
function __anthill_ids
    set -l words (commandline -opc) (commandline -ct)
    set -l ids (anthill complete-ids -- $words[2..-1] 2>/dev/null)
    test (count $ids) -gt 0; and printf '%s\n' $ids
end

complete -c anthill -f -n '__anthill_ids >/dev/null' -a '(__anthill_ids)'"#;
