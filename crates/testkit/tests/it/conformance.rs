//! Every engine keeps the contract.

mod memory {
    use std::time::Duration;

    use anthill_core::store::Engine;
    use anthill_core::store::memory::MemoryEngine;

    fn make() -> Box<dyn Engine> {
        Box::new(MemoryEngine::with_patience(Duration::from_secs(2)))
    }

    anthill_testkit::conformance!(make);
}

mod file {
    use crate::stores::{NORMAL, on_disk};

    anthill_testkit::conformance!(on_disk(NORMAL));
}

mod file_that_rotates_all_the_time {
    use crate::stores::{TINY, on_disk};

    anthill_testkit::conformance!(on_disk(TINY));
}

mod file_simulated {
    use crate::stores::in_simulation;

    anthill_testkit::conformance!(in_simulation(true));
}

mod file_without_exchange {
    use crate::stores::in_simulation;

    anthill_testkit::conformance!(in_simulation(false));
}
