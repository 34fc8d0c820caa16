//! Results stay with their tasks when somebody goes back in time.

use serde_json::Value;

use crate::hint;
use crate::model::documents::queue::QueueTask;
use crate::model::key::Fields;
use crate::model::next::Next;
use crate::model::task::{Status, Task};
use crate::model::text_file::TextFile;
use crate::ops::{Error, Result};
use crate::store::{Engine, Kept, Transaction};
use crate::view::queue_texts;

/// Takes the result of a task back that has not ended then, and brings back one that has.
pub fn follow(
    engine: &dyn Engine,
    transaction: &mut dyn Transaction,
    now: Option<&Value>,
    then: Option<&Value>,
) -> Result<()> {
    let result = |task: Option<&Value>| {
        let task = Task::of(task?.clone());
        let is_over = matches!(task.status(), Status::Done | Status::Failed);
        is_over.then(|| queue_texts::result(task.value()))
    };
    let (was, is) = (result(now), result(then));
    let id = now.or(then).text(QueueTask::id);
    let Some(text_file) = id.and_then(|id| id.parse().ok()).map(TextFile::Result).filter(|_| was != is)
    else {
        return Ok(());
    };
    match (transaction.text_file(&text_file)?, was, is) {
        (Some(found), Some(was), _) if found != was => {
            Err(edited(&engine.called(Kept::TextFile(&text_file)).name, id.unwrap_or_default()))
        }
        (Some(_), Some(_), None) => Ok(transaction.remove_text_file(&text_file)?),
        (_, _, Some(text)) => Ok(transaction.write_text_file(&text_file, text)?),
        (_, _, None) => Ok(()),
    }
}

fn edited(file: &str, id: &str) -> Error {
    Error::refused(
        format!(
            "`{file}` is not what `{id}` was reported with: somebody changed it, and it would stay without its task"
        ),
        hint![
            format!("move {file} away and repeat this, or open the task again: "),
            Next::Reset { id: id.into(), force: true },
        ],
    )
}
