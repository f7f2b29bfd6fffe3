//! The timing forms of a benchmark and the one loop that times a body. It must not know who asked
//! for the batch or where the result goes.

use std::future::Future;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::time::Duration;

use crate::axis::OwnReading;
use crate::barrier::{black_box, clobber_memory};
use crate::probe::rusage::CpuTimes;
use crate::probe::{alloc, clock};
use crate::subject::Nanos;

/// Runs one batch of a benchmark. A benchmark gets one and calls exactly one timing form on it,
/// once.
///
/// All forms consume results through [`black_box`], so that work is not optimised away.
#[derive(Debug)]
pub struct Bencher {
    pub(crate) iters: u64,
    pub(crate) calls: u32,
    pub(crate) wall: Option<Nanos>,
    pub(crate) region: Region,
    /// Quantities that a stand-in for another harness has counted.
    pub(crate) own: Vec<OwnReading>,
    misuse: Option<String>,
}

/// Which part of a call the CPU time of the timed region can be taken from.
#[derive(Debug)]
pub(crate) enum Region {
    /// The whole call: there is nothing but the timed region.
    Call,
    /// Only what was read around each timed part.
    Parts(CpuTimes),
    /// Nothing, since the benchmark times itself.
    Own,
}

/// The outcome of one call of a benchmark.
pub(crate) struct Timed {
    pub(crate) wall: Nanos,
    pub(crate) region: Region,
    pub(crate) own: Vec<OwnReading>,
}

/// The loop that times every body. It is never inlined and the only one, because copies of a timing
/// loop in different places were seen to differ by a constant of several percent on short bodies.
#[inline(never)]
pub(crate) fn time_batch<O>(iters: u64, body: &mut impl FnMut() -> O) -> Nanos {
    let allocated = alloc::of_this_thread();
    clobber_memory();
    let start = clock::now();
    for _ in 0..iters {
        black_box(body());
    }
    let wall = clock::since(start);
    clobber_memory();
    alloc::note_timed(alloc::of_this_thread().since(allocated));
    wall
}

/// The same for futures, each awaited to its end before the next.
pub(crate) async fn time_futures<R: Future>(iters: u64, body: &mut impl FnMut() -> R) -> Nanos {
    let allocated = alloc::of_this_thread();
    clobber_memory();
    let start = clock::now();
    for _ in 0..iters {
        black_box(body().await);
    }
    let wall = clock::since(start);
    clobber_memory();
    alloc::note_timed(alloc::of_this_thread().since(allocated));
    wall
}

/// How many values are prepared or kept at a time: up to 64, in at most 8 MiB, at least one.
fn default_chunk<T>() -> u64 {
    const MOST: usize = 64;
    const MEMORY: usize = 8 << 20;
    MEMORY.checked_div(size_of::<T>()).unwrap_or(MOST).clamp(1, MOST) as u64
}

impl Bencher {
    pub(crate) fn new(iters: u64) -> Bencher {
        Bencher { iters, calls: 0, wall: None, region: Region::Call, own: Vec::new(), misuse: None }
    }

    /// Marks the batch as failed for a reason that is not a panic.
    pub(crate) fn refuse(&mut self, reason: String) {
        self.misuse.get_or_insert(reason);
    }

    pub(crate) fn finish(self, id: &str) -> Result<Timed, String> {
        match (self.misuse, self.calls, self.wall) {
            (Some(reason), _, _) => Err(reason),
            (None, 0, _) => Err(format!("`{id}` never called `iter`")),
            (None, 1, Some(wall)) => Ok(Timed { wall, region: self.region, own: self.own }),
            (None, 1, None) => Err(format!("`{id}` ended without a time")),
            (None, calls, _) => {
                Err(format!("`{id}` called a timing form {calls} times, it must be once"))
            }
        }
    }

    /// Counts a call of a timing form and says whether it may run.
    fn begin(&mut self) -> bool {
        self.calls += 1;
        self.calls == 1
    }

    /// Times `body`. Its results are dropped within the timed region.
    pub fn iter<O>(&mut self, mut body: impl FnMut() -> O) {
        if self.begin() {
            self.wall = Some(time_batch(self.iters, &mut body));
        }
    }

    /// Times `body` and drops its results after the clock has stopped. Results are kept in chunks
    /// of up to 64 that take at most 8 MiB, not counting what they own elsewhere.
    pub fn iter_drop_outside<O>(&mut self, mut body: impl FnMut() -> O) {
        let chunk = default_chunk::<O>();
        let mut kept: Vec<O> = Vec::with_capacity(chunk.min(self.iters) as usize);
        self.parts(chunk, |iters| {
            let (wall, cpu) = time_part(iters, &mut || kept.push(black_box(body())));
            kept.clear();
            (wall, cpu)
        });
    }

    /// Prepares an input for each iteration outside the timed region.
    ///
    /// ```
    /// # fn bench(b: &mut nbench::Bencher) {
    /// let unsorted = vec![3, 1, 2];
    /// b.with_setup(|| unsorted.clone()).iter(|mut data| {
    ///     data.sort();
    ///     data
    /// });
    /// # }
    /// ```
    pub fn with_setup<I, S: FnMut() -> I>(&mut self, setup: S) -> WithSetup<'_, I, S> {
        WithSetup { bencher: self, setup, chunk: None }
    }

    /// Lets the benchmark time itself: `body` gets the number of iterations and returns how long
    /// they took together. CPU times are unavailable then, since the region is not known.
    pub fn iter_custom(&mut self, body: impl FnOnce(u64) -> Duration) {
        if self.begin() {
            self.region = Region::Own;
            let wall = body(self.iters).as_nanos();
            self.wall = Some(Nanos(u64::try_from(wall).unwrap_or(u64::MAX)));
        }
    }

    /// Times futures that `body` makes, each awaited to its end before the next, on any executor.
    /// The executor is entered once for the batch and the clock is read inside, so that
    /// entering it is not part of the time.
    ///
    /// ```
    /// # fn bench(b: &mut nbench::Bencher) {
    /// # struct Runtime; impl Runtime { fn block_on<T>(&self, _: impl std::future::Future<Output = T>) {} }
    /// # let runtime = Runtime;
    /// b.iter_async(|future| runtime.block_on(future), || async { 40 + 2 });
    /// # }
    /// ```
    pub fn iter_async<B, F, R>(&mut self, mut block_on: B, mut body: F)
    where
        B: FnMut(Pin<Box<dyn Future<Output = ()> + '_>>),
        F: FnMut() -> R,
        R: Future,
    {
        if !self.begin() {
            return;
        }
        let iters = self.iters;
        let mut wall = None;
        block_on(Box::pin(async {
            wall = Some(time_futures(iters, &mut body).await);
        }));
        self.wall = wall;
        if wall.is_none() {
            self.refuse("`block_on` returned before the future was finished".to_owned());
        }
    }

    /// Splits the batch into chunks and adds up their times.
    pub(crate) fn parts(&mut self, chunk: u64, mut part: impl FnMut(u64) -> (Nanos, CpuTimes)) {
        if !self.begin() {
            return;
        }
        let mut wall = 0_u64;
        let mut cpu = CpuTimes::zero();
        let mut left = self.iters;
        while left > 0 {
            let iters = left.min(chunk);
            let (part_wall, part_cpu) = part(iters);
            wall = wall.saturating_add(part_wall.0);
            cpu = cpu.plus(&part_cpu);
            left -= iters;
        }
        self.wall = Some(Nanos(wall));
        self.region = Region::Parts(cpu);
    }
}

/// One chunk of a batch, with the CPU time of the timed region alone.
pub(crate) fn time_part<O>(iters: u64, body: &mut impl FnMut() -> O) -> (Nanos, CpuTimes) {
    let start = CpuTimes::now();
    let wall = time_batch(iters, body);
    (wall, CpuTimes::since(&start))
}

/// A benchmark whose inputs are prepared outside the timed region; see [`Bencher::with_setup`].
#[must_use = "nothing is timed before `iter` or `iter_ref` is called"]
pub struct WithSetup<'b, I, S: FnMut() -> I> {
    bencher: &'b mut Bencher,
    setup: S,
    chunk: Option<u64>,
}

impl<'b, I, S: FnMut() -> I> WithSetup<'b, I, S> {
    /// How many inputs are prepared before the clock starts; at least 1. The default is 64, fewer
    /// where they or the outputs would take more than 8 MiB, not counting what they own elsewhere.
    pub fn chunk(mut self, inputs: u64) -> Self {
        self.chunk = Some(inputs.max(1));
        self
    }

    /// Runs `teardown` outside the timed region: for each output after
    /// [`iter`](WithTeardown::iter), for each input after [`iter_ref`](WithTeardown::iter_ref).
    /// When the routine panics it still runs for all of them that exist, and then the panic
    /// goes on.
    pub fn teardown<V, T: FnMut(V)>(self, teardown: T) -> WithTeardown<'b, I, S, T> {
        WithTeardown { bencher: self.bencher, setup: self.setup, chunk: self.chunk, teardown }
    }

    /// Times `routine`, which takes each input by value. Outputs are dropped outside the timed
    /// region.
    pub fn iter<O>(self, routine: impl FnMut(I) -> O) {
        self.teardown(drop).iter(routine);
    }

    /// As [`iter_ref`](WithSetup::iter_ref), and what the routine returns is dropped outside as
    /// well.
    pub fn iter_ref_drop_outside<O>(self, routine: impl FnMut(&mut I) -> O) {
        self.teardown(drop).iter_ref_drop_outside(routine);
    }

    /// Times `routine`, which borrows each input. Inputs are dropped outside the timed region; what
    /// the routine returns is dropped inside.
    pub fn iter_ref<O>(self, routine: impl FnMut(&mut I) -> O) {
        self.teardown(drop).iter_ref(routine);
    }
}

/// A benchmark with set-up and teardown outside the timed region; see [`WithSetup::teardown`].
#[must_use = "nothing is timed before `iter` or `iter_ref` is called"]
pub struct WithTeardown<'b, I, S: FnMut() -> I, T> {
    bencher: &'b mut Bencher,
    setup: S,
    chunk: Option<u64>,
    teardown: T,
}

impl<I, S: FnMut() -> I, T> WithTeardown<'_, I, S, T> {
    /// Times `routine`, which takes each input by value; teardown gets its outputs.
    pub fn iter<O>(self, mut routine: impl FnMut(I) -> O)
    where
        T: FnMut(O),
    {
        let WithTeardown { bencher, mut setup, chunk, mut teardown } = self;
        let chunk = chunk.unwrap_or_else(|| default_chunk::<I>().min(default_chunk::<O>()));
        let room = chunk.min(bencher.iters) as usize;
        let mut inputs: Vec<I> = Vec::with_capacity(room);
        let mut outputs: Vec<O> = Vec::with_capacity(room);
        bencher.parts(chunk, |iters| {
            let timed = catch_unwind(AssertUnwindSafe(|| {
                inputs.extend((0..iters).map(|_| setup()));
                // There are exactly as many inputs as iterations.
                let mut prepared = inputs.drain(..);
                time_part(iters, &mut || {
                    if let Some(input) = prepared.next() {
                        outputs.push(black_box(routine(black_box(input))));
                    }
                })
            }));
            tear_down(&mut outputs, &mut teardown, timed)
        });
    }

    /// As [`iter_ref`](WithTeardown::iter_ref), and what the routine returns is dropped after the
    /// clock has stopped, before the inputs are torn down.
    pub fn iter_ref_drop_outside<O>(self, mut routine: impl FnMut(&mut I) -> O)
    where
        T: FnMut(I),
    {
        let WithTeardown { bencher, mut setup, chunk, mut teardown } = self;
        let chunk = chunk.unwrap_or_else(|| default_chunk::<I>().min(default_chunk::<O>()));
        let room = chunk.min(bencher.iters) as usize;
        let mut inputs: Vec<I> = Vec::with_capacity(room);
        let mut outputs: Vec<O> = Vec::with_capacity(room);
        bencher.parts(chunk, |iters| {
            let timed = catch_unwind(AssertUnwindSafe(|| {
                for _ in 0..iters {
                    inputs.push(setup());
                }
                let mut prepared = inputs.iter_mut();
                let part = time_part(iters, &mut || {
                    if let Some(input) = prepared.next() {
                        outputs.push(black_box(routine(black_box(input))));
                    }
                });
                outputs.clear();
                part
            }));
            tear_down(&mut inputs, &mut teardown, timed)
        });
    }

    /// Times `routine`, which borrows each input; teardown gets the inputs.
    pub fn iter_ref<O>(self, mut routine: impl FnMut(&mut I) -> O)
    where
        T: FnMut(I),
    {
        let WithTeardown { bencher, mut setup, chunk, mut teardown } = self;
        let chunk = chunk.unwrap_or_else(default_chunk::<I>);
        let mut inputs: Vec<I> = Vec::with_capacity(chunk.min(bencher.iters) as usize);
        bencher.parts(chunk, |iters| {
            let timed = catch_unwind(AssertUnwindSafe(|| {
                for _ in 0..iters {
                    inputs.push(setup());
                }
                let mut prepared = inputs.iter_mut();
                time_part(iters, &mut || prepared.next().map(|input| routine(black_box(input))))
            }));
            tear_down(&mut inputs, &mut teardown, timed)
        });
    }
}

/// Tears down every value, in order, and only then lets a panic of the timed part go on.
fn tear_down<V, R>(
    values: &mut Vec<V>,
    teardown: &mut impl FnMut(V),
    timed: std::thread::Result<R>,
) -> R {
    match timed {
        Ok(result) => {
            values.drain(..).for_each(teardown);
            result
        }
        Err(panic) => {
            for value in values.drain(..) {
                // The first panic is the one to report.
                let _second = catch_unwind(AssertUnwindSafe(|| teardown(value)));
            }
            resume_unwind(panic)
        }
    }
}

#[cfg(test)]
mod tests;
