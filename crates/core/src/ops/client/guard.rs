//! Keeps an agent from editing what another worker's task holds. Off unless the configuration says
//! `features.enable_edit_guard: true`.

use super::life;
use super::turn::Turn;
use crate::hint;
use crate::model::documents::queue::QueueTask;
use crate::model::files;
use crate::model::key::Fields;
use crate::model::kind::Doc;
use crate::model::listing::Among;
use crate::model::next::{Next, See};
use crate::model::session::Session;
use crate::model::task::Task;
use crate::ops::Result;
use crate::ops::settings::Settings;
use crate::store::engine::find_in;

pub fn check(turn: &mut Turn<'_>) -> Result<()> {
    let files = turn.edited_files();
    if files.is_empty() || !Settings::read(turn.engine)?.guards_edits() {
        return Ok(());
    }
    let session = &turn.event.session;
    if life::is_over(turn, session)? {
        let told = format!(
            "anthill: session {session} has expired or ended, and its tasks were given to others: it may not edit files. \
             To work again: "
        );
        let start = Next::StartSession(session.to_string());
        turn.reply.deny = Some(turn.actor.door.tell(&hint![told, start, ", then claim a task."]));
        return Ok(());
    }
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    turn.reply.deny = holder(turn, &names)?.map(|(task, file)| {
        let (id, owner) = (task.id(), task.owner().unwrap_or("somebody"));
        let what: String = task.value().text(QueueTask::description).unwrap_or_default().chars().take(120).collect();
        let told = format!(
            "anthill: `{file}` belongs to task {id} ({what}), which worker {owner} has. Leave it to them, or ask: "
        );
        turn.actor.door.tell(&hint![told, See::Task(id.into())])
    });
    Ok(())
}

/// Returns the task of another worker that holds one of these files, and the file.
fn holder(turn: &Turn<'_>, names: &[&str]) -> Result<Option<(Task, String)>> {
    let queue = Doc::queue();
    if turn.engine.is_absent(&queue) {
        return Ok(None);
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
    let charge = turn.world.charge();
    let is_own = |task: &Task| {
        Session::has(&turn.event.session, task) || charge.as_ref().is_some_and(|charge| charge.holds(task))
    };
    let mut of_others = active.into_iter().map(Task::of).filter(|task| !is_own(task));
    let meets = |task: Task| {
        let file = files::overlap(names, &task.files())?.0.to_owned();
        Some((task, file))
    };
    Ok(of_others.find_map(meets))
}
