use anthill_core::model::agent_loop::GivenBack;

/// Says that an item was taken from somebody who is gone.
pub fn sentence(given: &GivenBack) -> String {
    format!("Taken back from {}, who is gone: {}", given.by, given.id)
}
