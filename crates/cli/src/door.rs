//! The command line as one of the doors: arguments become a request; the answer is told to a person or printed as JSON.

use std::mem::ManuallyDrop;

use anthill_core::api::{Answer, Caller, Effect, Request, Surroundings};
use anthill_core::model::ids::ProjectId;
use anthill_core::model::kind::Doc;
use anthill_core::ops::{self, Error};
use anthill_core::store::Finding;
use anthill_live::{obstacles, runner};
use jiff::tz::TimeZone;

use crate::args::Select;
use crate::context::Context;
use crate::env;
use crate::error::{CliError, Result};
use crate::git;

impl Context<'_> {
    pub fn caller(&self) -> Caller<'_> {
        Caller { engine: &*self.engine, actor: &self.actor, around: self }
    }

    /// Finds the document that the arguments mean.
    pub fn select(&self, select: &Select) -> Result<Doc> {
        select.of()?.find(&self.caller()).map_err(CliError::from)
    }

    /// Performs a request and prints the answer as JSON, or lets `tell` say what came of it.
    pub fn perform<R: Request>(&self, request: R, tell: impl FnOnce(&R::Answer) -> Result<()>) -> Result<()> {
        // Not dropped: the program ends next, and freeing thousands of values would take longer than some requests.
        let answer = ManuallyDrop::new(self.ask(request)?);
        self.answer::<R>(&answer, tell)
    }

    /// Performs a request and returns the answer.
    pub fn ask<R: Request>(&self, request: R) -> Result<R::Answer> {
        request.perform(&self.caller()).map_err(CliError::from)
    }

    /// Prints an answer as JSON, or lets `tell` say what came of it.
    pub fn answer<R: Request>(
        &self,
        answer: &R::Answer,
        tell: impl FnOnce(&R::Answer) -> Result<()>,
    ) -> Result<()> {
        self.told(answer, R::EFFECT, tell)
    }

    /// The same for an answer that was made of another one.
    pub fn told<A: Answer>(
        &self,
        answer: &A,
        effect: Effect,
        tell: impl FnOnce(&A) -> Result<()>,
    ) -> Result<()> {
        answer.warnings().iter().for_each(|warning| self.output.warning(warning));
        match self.output.json {
            true => self.output.answer(answer, effect),
            false => tell(answer),
        }
    }
}

impl Surroundings for Context<'_> {
    fn project(&self) -> Option<ProjectId> {
        self.own_project()
    }

    fn is_person(&self) -> bool {
        env::is_person()
    }

    fn is_agent(&self) -> bool {
        env::is_agent()
    }

    fn directory(&self) -> Option<String> {
        // `None` for one that is gone, or whose name is not UTF-8.
        std::env::current_dir().ok()?.to_str().map(str::to_owned)
    }

    fn branch(&self, directory: &str) -> Option<String> {
        git::branch(directory.as_ref())
    }

    fn below_root(&self, path: String) -> String {
        match Context::below_root(self, &path) {
            below if below.len() < path.len() => below.to_owned(),
            _ => path,
        }
    }

    fn shown(&self, path: &str) -> String {
        self.typed(path)
    }

    fn absolute(&self, path: &str) -> String {
        std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
    }

    fn obstacles(&self) -> ops::Result<Vec<Finding>> {
        let root = self.roots.project();
        let root = root.map_err(|error| Error::Input(format!("cannot look at hooks: {error}")))?;
        obstacles::find(&*self.engine, &root, self.actor.door)
    }

    fn zone(&self) -> TimeZone {
        runner::zone()
    }

    fn mark(&self) -> String {
        format!("{} {}", self.actor.user, std::process::id())
    }
}

#[cfg(test)]
mod tests {
    use anthill_core::api::registry::USE_CASES;
    use clap::CommandFactory;

    use crate::command_line::Cli;

    /// Commands that are no use case, and why.
    const OTHERS: &[(&str, &str)] = &[
        ("add", "another word for `leader add-task`"),
        ("bench", "measures this machine"),
        ("claim", "another word for `worker claim`"),
        ("complete-ids", "for the completion of shells"),
        ("completions", "for the shell of this machine"),
        ("demo", "a show in a directory of its own"),
        ("done", "another word for `worker complete`"),
        ("edit", "opens an editor on this machine, or is another word for `leader edit`"),
        ("hook", "speaks the language of a client"),
        ("hooks-run", "a process of this machine, started by commands"),
        ("init", "changes files of clients on this machine"),
        ("list-active", "another word for `session list --active`"),
        ("loop add-gate", "changes a file of this machine; a person adds gates"),
        ("loop run", "keeps running"),
        ("man", "writes files for the manual of this machine"),
        ("orchestrate", "keeps running"),
        ("pipeline simulate", "tries the rules out, without a store"),
        ("ready", "another word for `worker list`"),
        ("session list-active", "another word for `session list --active`"),
        ("show", "another word for `leader show`"),
        ("uninstall", "changes files of clients on this machine"),
        ("watch", "keeps running"),
        ("worker run", "keeps running"),
        ("worker watchdog", "a process of this machine, started by `worker run`"),
    ];

    /// Returns every command that can be typed, as its words, and what is said about it.
    fn typed(command: &clap::Command, words: &str) -> Vec<(String, String)> {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let verbs = command
            .get_subcommands()
            .flat_map(|verb| typed(verb, format!("{words} {}", verb.get_name()).trim_start()));
        let verbs: Vec<_> = verbs.collect();
        if verbs.is_empty() { vec![(words.to_owned(), about)] } else { verbs }
    }

    #[test]
    fn every_command_is_a_use_case_or_says_why_not() {
        let commands = typed(&Cli::command(), "");
        for case in USE_CASES.iter().filter(|case| !case.command.is_empty()) {
            let about = commands.iter().find(|(words, _)| words == case.command).map(|(_, about)| about);
            assert!(about.is_some_and(|about| !about.is_empty()), "`{}` has no help", case.command);
        }
        let is_other = |words: &str, other: &str| words == other || words.starts_with(&format!("{other} "));
        for (words, _) in &commands {
            let is_use_case = USE_CASES.iter().any(|case| case.command == words);
            let is_other = OTHERS.iter().any(|(other, _)| is_other(words, other));
            assert!(is_use_case != is_other, "`{words}` is a use case, or says why not");
        }
    }
}
