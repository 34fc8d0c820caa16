//! Keeps an agent from editing what another worker's task holds. Off unless the configuration says
//! `features.enable_edit_guard: true`.

use super::{Turn, life};
use crate::model::files;
use crate::model::kind::Doc;
use crate::model::listing::Among;
use crate::model::session::Session;
use crate::model::task::Task;
use crate::ops::Result;
use crate::ops::settings::Settings;
use crate::store::engine::find_in;

pub fn check(turn: &mut Turn<'_>) -> Result<()> {
    let files = turn.event.edited_files();
    if files.is_empty() || !Settings::read(turn.engine)?.guards_edits() {
        return Ok(());
    }
    let session = &turn.event.session;
    if life::is_over(turn)? {
        turn.reply.deny = Some(format!(
            "anthill: session {session} has expired or ended, and its tasks were given to others: it may not edit files. \
             To work again: anthill session start {session}, then claim a task."
        ));
        return Ok(());
    }
    let files: Vec<_> = files.iter().map(|file| turn.world.below_root(file)).collect();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let (held, lost) = holders(turn, &names)?;
    let deny = held.map(|(task, file)| {
        let (id, owner) = (task.id(), task.owner().unwrap_or("somebody"));
        let what: String = task.value()["description"].as_str().unwrap_or_default().chars().take(120).collect();
        format!(
            "anthill: `{file}` belongs to task {id} ({what}), which worker {owner} has. Leave it to them, or ask: \
             anthill leader explain {id}"
        )
    });
    turn.reply.deny = deny.or_else(|| {
        let (id, file) = lost?;
        Some(format!(
            "anthill: task {id} with `{file}` was taken from this session when its lease ran out. Claim it again \
             before you edit its files."
        ))
    });
    Ok(())
}

/// Returns the task of another worker that holds one of these files; and one that this session has lost.
#[expect(clippy::type_complexity, reason = "two answers of one look")]
fn holders(turn: &Turn<'_>, names: &[&str]) -> Result<(Option<(Task, String)>, Option<(String, String)>)> {
    let queue = Doc::queue();
    if !turn.engine.may_exist(&queue) {
        return Ok((None, None));
    }
    let active = match turn.engine.browse(&queue.room)? {
        Some(mut look) => {
            let keys = files::asked_for(names);
            if keys.is_some_and(|keys| matches!(look.may_be_occupied(&queue, &keys), Ok(false))) {
                Vec::new()
            } else {
                look.find(&queue, Among::Active)?
            }
        }
        None => turn
            .engine
            .read(&queue)?
            .map(|read| find_in(&queue, &read.value, Among::Active))
            .unwrap_or_default(),
    };
    let meets = |task: &Task| files::overlap(names, &task.files()).map(|(file, _)| file.to_owned());
    let mut lost = None;
    for task in active.into_iter().map(Task::of) {
        if Session::has(&turn.event.session, &task) {
            continue;
        }
        if let Some(file) = meets(&task) {
            if task.was_taken_from(turn.session()) {
                lost = Some((task.id().to_owned(), file));
                continue;
            }
            return Ok((Some((task, file)), None));
        }
    }
    Ok((None, lost))
}
