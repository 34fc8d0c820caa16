//! Seats of the file engine: one holder at a time, whoever shares the seat included.

use std::time::Duration;

use anthill_core::model::room::Room;
use anthill_core::store::Engine;

use crate::stores::{NORMAL, hasty, real, temp_dir};

#[test]
fn a_shared_seat_is_taken_until_everybody_has_left() {
    let dir = temp_dir();
    let engine = real(dir.path(), hasty(NORMAL));
    let take = || engine.seat(&Room::Pipeline, "orchestrate", Duration::ZERO).unwrap();
    let seat = take().expect("it is free");
    assert!(take().is_none(), "it is taken");
    let shared = seat.share().expect("files can be shared");
    drop(seat);
    assert!(take().is_none(), "somebody still has it");
    drop(shared);
    assert!(take().is_some(), "everybody has left");
}
