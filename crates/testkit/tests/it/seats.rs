//! Seats of the file engine: one holder at a time, whoever shares the seat included.

use std::process::{Command, Stdio};
use std::time::Duration;

use anthill_core::model::room::Room;
use anthill_core::store::Engine;

use crate::stores::{NORMAL, hasty, real, temp_dir};

#[test]
fn a_seat_is_taken_until_the_last_process_that_shares_it_has_ended() {
    let dir = temp_dir();
    let engine = real(dir.path(), hasty(NORMAL));
    let take = || engine.seat(&Room::Pipeline, "orchestrate", Duration::ZERO).unwrap();
    let seat = take().expect("it is free");
    assert!(take().is_none(), "it is taken");
    // It ends when its input does.
    let mut child =
        Command::new("cat").stdin(Stdio::piped()).stdout(seat.for_child()).spawn().expect("cat can be run");
    drop(seat);
    assert!(take().is_none(), "somebody still has it");
    assert!(child.wait().unwrap().success());
    assert!(take().is_some(), "everybody has left");
}
