//! A sample on several threads: each runs all the iterations, in chunks that all begin at a
//! barrier, and the slowest one is the time. It must not know who asked for the sample.

use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::Barrier;
use std::time::Duration;

use crate::bencher::{self, time_batch, Region};
use crate::black_box;
use crate::probe::alloc;
use crate::probe::rusage::CpuTimes;
use crate::subject::Nanos;

type Panic = Box<dyn Any + Send>;

/// Takes one sample. `part` times the inputs that a thread has prepared.
pub(crate) fn sample<I>(
    sample: &mut bencher::Bencher,
    threads: usize,
    chunk: u64,
    gen_input: &(impl Fn() -> I + Sync),
    part: &(impl Fn(&mut Vec<I>) -> Nanos + Sync),
) {
    let chunk = chunk.max(1);
    let barrier = &Barrier::new(threads);
    sample.iter_custom(|iters| {
        let run = || run(iters, chunk, barrier, gen_input, part);
        let times = std::thread::scope(|scope| {
            let other = || (run(), alloc::timed());
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(other)).collect();
            let own = run();
            let others = others.into_iter().map(|other| {
                let (time, allocations) = other.join()?;
                alloc::note_timed(allocations.unwrap_or_default());
                time
            });
            std::iter::once(own).chain(others).collect::<Result<Vec<Nanos>, Panic>>()
        });
        match times {
            Ok(times) => Duration::from_nanos(times.iter().map(|time| time.0).max().unwrap_or(0)),
            Err(panic) => resume_unwind(panic),
        }
    });
    sample.region = Region::Parts(CpuTimes::unavailable("the benchmark runs on several threads"));
}

/// Work of one thread. After a panic it still comes to every barrier, where the others wait for
/// it.
fn run<I>(
    iters: u64,
    chunk: u64,
    barrier: &Barrier,
    gen_input: &impl Fn() -> I,
    part: &impl Fn(&mut Vec<I>) -> Nanos,
) -> Result<Nanos, Panic> {
    let mut inputs: Vec<I> = Vec::with_capacity(chunk.min(iters) as usize);
    let mut total = Ok(Nanos(0));
    let mut left = iters;
    while left > 0 {
        let now = left.min(chunk);
        left -= now;
        total = total.and_then(|total| {
            let fill = || inputs.extend((0..now).map(|_| gen_input()));
            catch_unwind(AssertUnwindSafe(fill)).map(|()| total)
        });
        barrier.wait();
        total = total.and_then(|total: Nanos| {
            let time = catch_unwind(AssertUnwindSafe(|| part(&mut inputs)))?;
            catch_unwind(AssertUnwindSafe(|| inputs.clear()))?;
            Ok(Nanos(total.0.saturating_add(time.0)))
        });
    }
    total
}

/// Times a routine that takes inputs by value; results are dropped after the clock has stopped.
pub(crate) fn values<I, O>(inputs: &mut Vec<I>, benched: &impl Fn(I) -> O) -> Nanos {
    let mut outputs: Vec<O> = Vec::with_capacity(inputs.len());
    let iters = inputs.len() as u64;
    let mut prepared = inputs.drain(..);
    time_batch(iters, &mut || {
        if let Some(input) = prepared.next() {
            outputs.push(black_box(benched(black_box(input))));
        }
    })
}

/// Times a routine that borrows inputs; results are dropped after the clock has stopped.
pub(crate) fn refs<I, O>(inputs: &mut [I], benched: &impl Fn(&mut I) -> O) -> Nanos {
    let mut outputs: Vec<O> = Vec::with_capacity(inputs.len());
    let iters = inputs.len() as u64;
    let mut prepared = inputs.iter_mut();
    time_batch(iters, &mut || {
        if let Some(input) = prepared.next() {
            outputs.push(black_box(benched(black_box(input))));
        }
    })
}
