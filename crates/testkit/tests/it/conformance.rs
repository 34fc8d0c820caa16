//! Every engine keeps the contract.

mod memory {
    use std::time::Duration;

    use anthill_core::store::Engine;
    use anthill_core::store::memory::MemoryEngine;

    fn make(patience: Duration) -> Box<dyn Engine> {
        Box::new(MemoryEngine::with_patience(patience))
    }

    anthill_testkit::conformance!(make);
}

mod file {
    use crate::stores::{NORMAL, on_disk};

    anthill_testkit::conformance!(on_disk(NORMAL));
}

mod file_observed {
    use std::time::Duration;

    use anthill_core::store::observed::{Changed, Observed, Observer};
    use anthill_core::store::{Engine, Entry};

    use crate::stores::{NORMAL, on_disk};

    struct Nobody;

    impl Observer for Nobody {
        fn committed(&self, _: &dyn Engine, changes: &[Changed<'_>], _: &Entry) -> Vec<String> {
            assert!(!changes.is_empty(), "nothing is no change");
            Vec::new()
        }
    }

    fn observed() -> impl Fn(Duration) -> Box<dyn Engine> {
        let on_disk = on_disk(NORMAL);
        move |patience| Box::new(Observed::new(on_disk(patience), Box::new(Nobody)))
    }

    anthill_testkit::conformance!(observed());
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
