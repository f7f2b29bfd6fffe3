//! The timing forms for futures: each sample enters the executor once and awaits its futures one by
//! one. It must not know the executor.

use std::cell::RefCell;
use std::future::Future;

use super::async_executor::AsyncExecutor;
use super::bencher::{chunks, Bencher, Part};
use super::config::BatchSize;
use super::measurement::{Measurement, WallTime};
use crate::barrier::black_box;
use crate::bencher::{time_futures, Region};
use crate::probe::clock;

/// Takes one sample of a benchmark of futures; see [`Bencher::to_async`].
pub struct AsyncBencher<'a, 'b, A: AsyncExecutor, M: Measurement = WallTime> {
    pub(crate) bencher: &'b mut Bencher<'a, M>,
    pub(crate) runner: A,
}

impl<A: AsyncExecutor, M: Measurement> AsyncBencher<'_, '_, A, M> {
    /// Times the futures of `routine`; what they return is dropped within the timed region.
    pub fn iter<O, R, F>(&mut self, mut routine: R)
    where
        R: FnMut() -> F,
        F: Future<Output = O>,
    {
        let (iters, measurement) = (self.bencher.iters(), self.bencher.measurement);
        let (wall, value) = self.runner.block_on(async {
            let start = measurement.start();
            let wall = time_futures(iters, &mut routine).await;
            (wall, measurement.end(start))
        });
        self.bencher.record(wall, Region::Call, &value);
    }

    /// Lets the future measure that many iterations itself.
    pub fn iter_custom<R, F>(&mut self, mut routine: R)
    where
        R: FnMut(u64) -> F,
        F: Future<Output = M::Value>,
    {
        let iters = self.bencher.iters();
        let (around, value) = self.runner.block_on(async {
            let start = clock::now();
            let value = routine(iters).await;
            (clock::since(start), value)
        });
        self.bencher.record_custom(around, &value);
    }

    /// [`iter_batched`](AsyncBencher::iter_batched) with one input at a time.
    #[doc(hidden)]
    pub fn iter_with_setup<I, O, S, R, F>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> F,
        F: Future<Output = O>,
    {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    /// Times the futures of `routine`; what they return is dropped outside the timed region.
    pub fn iter_with_large_drop<O, R, F>(&mut self, mut routine: R)
    where
        R: FnMut() -> F,
        F: Future<Output = O>,
    {
        self.iter_batched(|| (), |()| routine(), BatchSize::SmallInput);
    }

    /// [`iter_batched`](AsyncBencher::iter_batched) with all inputs at once.
    #[doc(hidden)]
    pub fn iter_with_large_setup<I, O, S, R, F>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> F,
        F: Future<Output = O>,
    {
        self.iter_batched(setup, routine, BatchSize::NumBatches(1));
    }

    /// Times futures of inputs that are prepared outside the timed region, where results are
    /// dropped too.
    pub fn iter_batched<I, O, S, R, F>(&mut self, mut setup: S, mut routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> F,
        F: Future<Output = O>,
    {
        let (iters, measurement) = (self.bencher.iters(), self.bencher.measurement);
        let chunk = size.iters_per_batch(iters);
        let part = self.runner.block_on(async {
            let mut part = Part::new(measurement);
            for iters in chunks(iters, chunk) {
                let inputs: Vec<I> = (0..iters).map(|_| setup()).collect();
                let mut prepared = black_box(inputs).into_iter();
                time_chunk(&mut part, iters, || prepared.next().map(&mut routine)).await;
            }
            part
        });
        self.bencher.record_parts(part);
    }

    /// The same for a routine that borrows its input, which is dropped outside the timed region.
    pub fn iter_batched_ref<I, O, S, R, F>(&mut self, mut setup: S, mut routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(&mut I) -> F,
        F: Future<Output = O>,
    {
        let (iters, measurement) = (self.bencher.iters(), self.bencher.measurement);
        let chunk = size.iters_per_batch(iters);
        let part = self.runner.block_on(async {
            let mut part = Part::new(measurement);
            for iters in chunks(iters, chunk) {
                let mut inputs: Vec<I> = (0..iters).map(|_| setup()).collect();
                let mut prepared = black_box(&mut inputs).iter_mut();
                time_chunk(&mut part, iters, || prepared.next().map(&mut routine)).await;
            }
            part
        });
        self.bencher.record_parts(part);
    }
}

/// Times as many futures of `next` as there are iterations; results are dropped afterwards.
async fn time_chunk<M: Measurement, F: Future>(
    part: &mut Part<'_, M>,
    iters: u64,
    mut next: impl FnMut() -> Option<F>,
) {
    let outputs = RefCell::new(Vec::with_capacity(iters as usize));
    let opened = part.open();
    let wall = time_futures(iters, &mut || {
        let (future, outputs) = (next(), &outputs);
        async move {
            // There are exactly as many inputs as iterations.
            if let Some(future) = future {
                let output = black_box(future.await);
                outputs.borrow_mut().push(output);
            }
        }
    })
    .await;
    part.close(opened, wall);
}
