//! The timing forms that a benchmark calls. Each runs through the one timing loop of the harness,
//! with the suite's own measurement around it; it must not know who asked for the sample.

use super::async_bencher::AsyncBencher;
use super::async_executor::AsyncExecutor;
use super::config::BatchSize;
use super::measurement::{name_of, Measurement, WallTime};
use crate::axis::OwnReading;
use crate::barrier::black_box;
use crate::bencher::{time_batch, Region};
use crate::probe::clock;
use crate::probe::rusage::CpuTimes;
use crate::subject::Nanos;

/// Takes one sample of a benchmark. When several forms are called the last one counts.
pub struct Bencher<'a, M: Measurement = WallTime> {
    pub(crate) sample: &'a mut crate::bencher::Bencher,
    pub(crate) measurement: &'a M,
}

impl<'a, M: Measurement> Bencher<'a, M> {
    pub(crate) fn new(
        sample: &'a mut crate::bencher::Bencher,
        measurement: &'a M,
    ) -> Bencher<'a, M> {
        Bencher { sample, measurement }
    }

    pub(crate) fn iters(&self) -> u64 {
        self.sample.iters
    }

    /// Times `routine`; what it returns is dropped within the timed region.
    pub fn iter<O, R>(&mut self, mut routine: R)
    where
        R: FnMut() -> O,
    {
        let start = self.measurement.start();
        let wall = time_batch(self.iters(), &mut routine);
        let value = self.measurement.end(start);
        self.record(wall, Region::Call, &value);
    }

    /// Lets `routine` measure that many iterations itself.
    pub fn iter_custom<R>(&mut self, mut routine: R)
    where
        R: FnMut(u64) -> M::Value,
    {
        let start = clock::now();
        let value = routine(self.iters());
        let around = clock::since(start);
        self.record_custom(around, &value);
    }

    /// [`iter_batched`](Bencher::iter_batched) with one input at a time.
    #[doc(hidden)]
    pub fn iter_with_setup<I, O, S, R>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> O,
    {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    /// Times `routine`; what it returns is dropped outside the timed region.
    pub fn iter_with_large_drop<O, R>(&mut self, mut routine: R)
    where
        R: FnMut() -> O,
    {
        self.iter_batched(|| (), |()| routine(), BatchSize::SmallInput);
    }

    /// [`iter_batched`](Bencher::iter_batched) with all inputs at once.
    #[doc(hidden)]
    pub fn iter_with_large_setup<I, O, S, R>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> O,
    {
        self.iter_batched(setup, routine, BatchSize::NumBatches(1));
    }

    /// Times `routine` on inputs that are prepared outside the timed region, where its results are
    /// dropped too.
    pub fn iter_batched<I, O, S, R>(&mut self, mut setup: S, mut routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> O,
    {
        let chunk = size.iters_per_batch(self.iters());
        let room = chunk.min(self.iters()) as usize;
        let mut inputs: Vec<I> = Vec::with_capacity(room);
        let mut outputs: Vec<O> = Vec::with_capacity(room);
        self.parts(chunk, |iters, part| {
            inputs.extend((0..iters).map(|_| setup()));
            let mut prepared = inputs.drain(..);
            part.time(iters, &mut || {
                // There are exactly as many inputs as iterations.
                if let Some(input) = prepared.next() {
                    outputs.push(black_box(routine(black_box(input))));
                }
            });
            drop(prepared);
            outputs.clear();
        });
    }

    /// The same for a routine that borrows its input, which is dropped outside the timed region.
    pub fn iter_batched_ref<I, O, S, R>(&mut self, mut setup: S, mut routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(&mut I) -> O,
    {
        let chunk = size.iters_per_batch(self.iters());
        let room = chunk.min(self.iters()) as usize;
        let mut inputs: Vec<I> = Vec::with_capacity(room);
        let mut outputs: Vec<O> = Vec::with_capacity(room);
        self.parts(chunk, |iters, part| {
            inputs.extend((0..iters).map(|_| setup()));
            let mut prepared = inputs.iter_mut();
            part.time(iters, &mut || {
                if let Some(input) = prepared.next() {
                    outputs.push(black_box(routine(black_box(input))));
                }
            });
            outputs.clear();
            inputs.clear();
        });
    }

    /// Times what `setup` passes to the runner it is given, once for each iteration.
    #[doc(hidden)]
    pub fn iter_with_setup_wrapper<S>(&mut self, mut setup: S)
    where
        S: FnMut(&mut WrapperRunner<'_, '_, M>),
    {
        self.parts(1, |_, part| {
            let mut runner = WrapperRunner { part, has_run: false };
            setup(&mut runner);
            assert!(runner.has_run, "the setup function must call `WrapperRunner::run`");
        });
    }

    /// Runs futures on `runner`.
    pub fn to_async<'b, A: AsyncExecutor>(&'b mut self, runner: A) -> AsyncBencher<'a, 'b, A, M> {
        AsyncBencher { bencher: self, runner }
    }

    /// Splits the sample into chunks and adds up what their timed regions took.
    fn parts(&mut self, chunk: u64, mut one: impl FnMut(u64, &mut Part<'_, M>)) {
        let mut part = Part::new(self.measurement);
        for iters in chunks(self.iters(), chunk) {
            one(iters, &mut part);
        }
        self.record_parts(part);
    }

    pub(crate) fn record_parts(&mut self, part: Part<'_, M>) {
        self.record(Nanos(part.wall), Region::Parts(part.cpu), &part.value);
    }

    pub(crate) fn record_custom(&mut self, around: Nanos, value: &M::Value) {
        let own = self.measurement.__wall(value);
        let wall =
            own.map_or(around, |wall| Nanos(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX)));
        self.record(wall, Region::Own, value);
    }

    pub(crate) fn record(&mut self, wall: Nanos, region: Region, value: &M::Value) {
        let again = self.sample.calls > 0;
        self.sample.calls = 1;
        self.sample.wall = Some(wall);
        // The CPU time of the call covers what earlier forms did.
        self.sample.region = match region {
            Region::Call if again => Region::Own,
            region => region,
        };
        self.sample.own.clear();
        if self.measurement.__wall(value).is_none() {
            let mut number = [self.measurement.to_f64(value)];
            let unit = self.measurement.formatter().scale_for_machines(&mut number);
            self.sample.own.push(OwnReading {
                name: name_of::<M>(),
                unit: unit.to_owned(),
                value: number[0],
            });
        }
    }
}

/// The sizes of the chunks of `iters` iterations: `chunk` each, and the rest.
pub(crate) fn chunks(iters: u64, chunk: u64) -> impl Iterator<Item = u64> {
    let rest = iters % chunk;
    (0..iters / chunk).map(move |_| chunk).chain((rest > 0).then_some(rest))
}

/// The timed regions of one sample so far.
pub(crate) struct Part<'m, M: Measurement> {
    measurement: &'m M,
    wall: u64,
    cpu: CpuTimes,
    value: M::Value,
}

impl<'m, M: Measurement> Part<'m, M> {
    pub(crate) fn new(measurement: &'m M) -> Part<'m, M> {
        Part { measurement, wall: 0, cpu: CpuTimes::zero(), value: measurement.zero() }
    }

    pub(crate) fn time<O>(&mut self, iters: u64, body: &mut impl FnMut() -> O) {
        let opened = self.open();
        let wall = time_batch(iters, body);
        self.close(opened, wall);
    }

    /// Reads everything but the clock, which is to be read after it.
    pub(crate) fn open(&self) -> (CpuTimes, M::Intermediate) {
        (CpuTimes::now(), self.measurement.start())
    }

    /// Adds what passed since `open`.
    pub(crate) fn close(&mut self, (cpu, start): (CpuTimes, M::Intermediate), wall: Nanos) {
        let value = self.measurement.end(start);
        let cpu = CpuTimes::since(&cpu);
        self.wall = self.wall.saturating_add(wall.0);
        self.cpu = std::mem::replace(&mut self.cpu, CpuTimes::zero()).plus(&cpu);
        self.value = self.measurement.add(&self.value, &value);
    }
}

/// Times one routine in the middle of a set-up function; see [`Bencher::iter_with_setup_wrapper`].
pub struct WrapperRunner<'a, 'b, M: Measurement> {
    part: &'b mut Part<'a, M>,
    has_run: bool,
}

impl<M: Measurement> WrapperRunner<'_, '_, M> {
    /// Times `routine`, which must happen exactly once.
    pub fn run<O, R: FnOnce() -> O>(&mut self, routine: R) -> O {
        assert!(!self.has_run, "the setup function must call `WrapperRunner::run` only once");
        self.has_run = true;
        let mut routine = Some(routine);
        let mut output = None;
        self.part.time(1, &mut || {
            if let Some(routine) = routine.take() {
                output = Some(routine());
            }
        });
        match output {
            Some(output) => black_box(output),
            None => unreachable!("the routine has run"),
        }
    }
}
