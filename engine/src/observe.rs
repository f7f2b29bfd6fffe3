//! What the engine tells while it works. Observers are called between batches, never inside a timed
//! region, and cannot change what is measured. Commands pass [`Silent`]; others wait for the
//! adaptive loop, whose steps are to be shown and tested one by one.

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// The pilot chose counts for a benchmark.
    Calibrated {
        /// Name as offered, with its case where there are several.
        name: &'a str,
        /// Iterations of each subject's batch.
        iters: &'a [u64],
        /// Rounds per launch.
        rounds: usize,
    },
    /// A round was taken.
    Round {
        /// Name as offered.
        name: &'a str,
        /// Rounds taken in this launch.
        taken: usize,
        /// Rounds this launch will have.
        of: usize,
    },
    /// A launch was completed.
    Launch {
        /// Name as offered.
        name: &'a str,
        /// Launches completed, the pilot not counted.
        launches: usize,
    },
}

/// Receives events.
pub trait Observer {
    /// Called once per event, on the measuring thread; must return at once.
    fn on(&mut self, event: &Event<'_>);
}

/// An observer that ignores everything.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {
    fn on(&mut self, _event: &Event<'_>) {}
}
