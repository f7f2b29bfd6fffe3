//! A form of the CodSpeed variant that asks for its own number of iterations. Here the driver
//! decides that, as for all others.

use std::future::Future;

use super::async_bencher::AsyncBencher;
use super::async_executor::AsyncExecutor;
use super::bencher::Bencher;
use super::measurement::Measurement;

/// How often a routine is to run.
#[derive(Debug, Clone, Copy, Default)]
pub struct IterManualOptions {
    _private: (),
}

impl IterManualOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn rounds(self, _rounds: u64) -> Self {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn iters(self, _iters: u64) -> Self {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn warmup(self, _rounds: u64) -> Self {
        self
    }
}

impl<M: Measurement> Bencher<'_, M> {
    /// Times `routine` as [`iter`](Bencher::iter) does.
    pub fn iter_manual_unstable<O, R>(&mut self, _options: IterManualOptions, routine: R)
    where
        R: FnMut() -> O,
    {
        self.iter(routine);
    }
}

impl<A: AsyncExecutor, M: Measurement> AsyncBencher<'_, '_, A, M> {
    /// Times `routine` as [`iter`](AsyncBencher::iter) does.
    pub fn iter_manual_unstable<O, R, F>(&mut self, _options: IterManualOptions, routine: R)
    where
        R: FnMut() -> F,
        F: Future<Output = O>,
    {
        self.iter(routine);
    }
}
