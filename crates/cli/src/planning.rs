//! What the planning commands have in common: whose plan, guarded how, and how a change is told.

use anthill_core::api::request::Amount;
use anthill_core::model::ids::ProjectId;
use anthill_core::model::shape::{Shape, Shaped};
use anthill_core::ops::planning::PlanChanged;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use crate::context::{Context, parse_id};
use crate::error::Result;
use crate::output::Format;

/// Whose plan.
#[derive(Debug, Clone, Args)]
pub struct ProjectArgs {
    /// The project [default: this one, or the configuration's default_project]
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
}

impl ProjectArgs {
    pub fn id(&self) -> Result<Option<ProjectId>> {
        self.project_id.as_deref().map(parse_id).transpose()
    }

    /// Returns a command to type next, about the same project.
    pub fn next(&self, command: &str) -> String {
        let project = self.project_id.iter().map(|project| format!(" --project-id {project}"));
        command.to_owned() + &project.collect::<String>()
    }
}

/// What must hold for a change.
#[derive(Debug, Clone, Args)]
pub struct ExpectArgs {
    /// Refuse (exit 3) unless the document that is changed is at this revision
    #[arg(long, value_name = "N")]
    pub expect_revision: Option<u64>,
}

/// Accepts the words of a closed set, as the type that they mean.
pub fn one_of<T: Shaped + Clone + Send + Sync + 'static>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words_of::<T>())
        .map(|word| serde_json::from_value(Value::String(word)).expect("the word is one of the set"))
}

/// Returns the words of a closed set.
pub fn words_of<T: Shaped>() -> &'static [&'static str] {
    match T::SHAPE {
        Shape::Words(words) => words,
        _ => unreachable!("BUG: statuses are words"),
    }
}

/// Reads a number of points or the like: 0 or more.
pub fn amount(text: &str) -> std::result::Result<Amount, String> {
    Ok(Amount::new(text.parse().unwrap_or(f64::NAN))?)
}

/// Tells what was done to a thing, whose id comes last, and what to type next.
pub fn report(context: &Context<'_>, done: &PlanChanged, (what, id): (&str, &str), next: &str) -> Result<()> {
    let what = if done.changed { what } else { "Unchanged" };
    context.output.said(&format!("{what}: {id}"))?;
    if !next.is_empty() {
        context.output.status(&format!("next: {next}"));
    }
    Ok(())
}

/// Shows items as a table; says what to do when there are none.
pub fn table(
    context: &Context<'_>,
    items: &[Value],
    rows: impl Fn(&[Value]) -> Value,
    none: &str,
) -> Result<()> {
    if items.is_empty() {
        context.output.status(none);
        return Ok(());
    }
    context.output.value(&rows(items), Format::Table)
}

/// Returns a text field of a thing, for a sentence.
pub fn text<'v>(item: &'v Value, field: &str) -> &'v str {
    item.get(field).and_then(Value::as_str).unwrap_or_default()
}
