//! The `Bencher` of a suite: its forms run each sample through the harness's timing loop. It must
//! not know who asks for samples.

use std::fmt;
use std::mem::needs_drop;

use crate::bencher;
use crate::counter::{AsCountUInt, BytesCount, CharsCount, Counter, CounterSet, CyclesCount};
use crate::counter::{IntoCounter, ItemsCount, Kind};
use crate::threaded;

/// Handle that a benchmark function measures with; it calls one form, once.
#[must_use = "a benchmark function must be registered"]
pub struct Bencher<'a, 'b, C = BencherConfig> {
    context: &'a mut Context<'b>,
    config: C,
}

/// How inputs are made.
pub struct BencherConfig<GenI = NoInput> {
    gen_input: GenI,
}

/// No inputs: a type that no suite can make a function of.
#[non_exhaustive]
pub struct NoInput;

/// Runs its argument for every sample that is asked for.
pub(crate) type Serve<'s> = dyn FnMut(&mut dyn FnMut(&mut bencher::Bencher)) + 's;

/// One benchmark while it is measured.
pub(crate) struct Context<'b> {
    /// Takes every sample that is asked for.
    pub(crate) serve: &'b mut Serve<'b>,
    /// Told of what one iteration processes.
    pub(crate) counters: CounterSet,
    /// How many threads run it, unless the form is a local one.
    pub(crate) threads: usize,
    /// How many inputs are prepared at a time, where the suite says so.
    pub(crate) chunk: Option<u64>,
}

impl<C> fmt::Debug for Bencher<'_, '_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bencher").finish_non_exhaustive()
    }
}

impl<'a, 'b> Bencher<'a, 'b> {
    pub(crate) fn new(context: &'a mut Context<'b>) -> Bencher<'a, 'b> {
        Bencher { context, config: BencherConfig { gen_input: NoInput } }
    }

    /// Times `benched`, on several threads at once where the options say so. Results are dropped
    /// after the clock has stopped.
    pub fn bench<O, B>(self, benched: B)
    where
        B: Fn() -> O + Sync,
    {
        if self.context.threads == 1 {
            return self.bench_local(benched);
        }
        self.with_inputs(|| ()).bench_values(|()| benched());
    }

    /// Times `benched` on this thread. Results are dropped after the clock has stopped.
    pub fn bench_local<O, B>(self, mut benched: B)
    where
        B: FnMut() -> O,
    {
        (self.context.serve)(&mut |sample| {
            if needs_drop::<O>() {
                sample.iter_drop_outside(&mut benched);
            } else {
                sample.iter(&mut benched);
            }
        });
    }

    /// Makes an input for each iteration outside the timed region.
    pub fn with_inputs<G>(self, gen_input: G) -> Bencher<'a, 'b, BencherConfig<G>> {
        Bencher { context: self.context, config: BencherConfig { gen_input } }
    }
}

impl<GenI> Bencher<'_, '_, BencherConfig<GenI>> {
    /// Says what one iteration processes.
    pub fn counter<C: IntoCounter>(self, counter: C) -> Self {
        self.context.counters.insert(counter);
        self
    }
}

impl<I, GenI> Bencher<'_, '_, BencherConfig<GenI>>
where
    GenI: FnMut() -> I,
{
    /// Says what an iteration processes, by its input.
    pub fn input_counter<C, F>(self, make_counter: F) -> Self
    where
        F: Fn(&I) -> C + Sync + 'static,
        C: IntoCounter,
    {
        // The driver is told of a benchmark before there is an input.
        drop(make_counter);
        self
    }

    /// Takes each input itself for what an iteration processes.
    pub fn count_inputs_as<C>(self) -> Self
    where
        C: Counter,
        I: AsCountUInt,
    {
        match Kind::of::<C>() {
            Kind::Bytes => self.input_counter(|input| BytesCount::from(input)),
            Kind::Chars => self.input_counter(|input| CharsCount::from(input)),
            Kind::Cycles => self.input_counter(|input| CyclesCount::from(input)),
            Kind::Items => self.input_counter(|input| ItemsCount::from(input)),
        }
    }

    /// Times `benched`, which takes each input by value, on several threads at once where the
    /// options say so.
    pub fn bench_values<O, B>(self, benched: B)
    where
        B: Fn(I) -> O + Sync,
        GenI: Fn() -> I + Sync,
    {
        let threads = self.context.threads;
        if threads == 1 {
            return self.bench_local_values(benched);
        }
        let (gen_input, chunk) = (self.config.gen_input, chunk::<I>(self.context.chunk));
        (self.context.serve)(&mut |sample| {
            threaded::sample(sample, threads, chunk, &gen_input, &|inputs: &mut Vec<I>| {
                threaded::values(inputs, &benched)
            });
        });
    }

    /// Times `benched`, which takes each input by value, on this thread.
    pub fn bench_local_values<O, B>(self, mut benched: B)
    where
        B: FnMut(I) -> O,
    {
        let (mut gen_input, chunk) = (self.config.gen_input, chunk::<I>(self.context.chunk));
        (self.context.serve)(&mut |sample| {
            sample.with_setup(&mut gen_input).chunk(chunk).iter(&mut benched);
        });
    }

    /// Times `benched`, which borrows each input, on several threads at once where the options say
    /// so.
    pub fn bench_refs<O, B>(self, benched: B)
    where
        B: Fn(&mut I) -> O + Sync,
        GenI: Fn() -> I + Sync,
    {
        let threads = self.context.threads;
        if threads == 1 {
            return self.bench_local_refs(benched);
        }
        let (gen_input, chunk) = (self.config.gen_input, chunk::<I>(self.context.chunk));
        (self.context.serve)(&mut |sample| {
            threaded::sample(sample, threads, chunk, &gen_input, &|inputs: &mut Vec<I>| {
                threaded::refs(inputs, &benched)
            });
        });
    }

    /// Times `benched`, which borrows each input, on this thread.
    pub fn bench_local_refs<O, B>(self, mut benched: B)
    where
        B: FnMut(&mut I) -> O,
    {
        let (mut gen_input, chunk) = (self.config.gen_input, chunk::<I>(self.context.chunk));
        (self.context.serve)(&mut |sample| {
            let with_setup = sample.with_setup(&mut gen_input).chunk(chunk);
            if needs_drop::<O>() {
                with_setup.iter_ref_drop_outside(&mut benched);
            } else {
                with_setup.iter_ref(&mut benched);
            }
        });
    }
}

/// How many inputs are prepared before the clock starts. They should be in the cache as they are
/// where few iterations make a sample, and yet hide what reading the clock costs. The number
/// follows from the type alone, so that two builds of one suite agree: inputs that own memory
/// elsewhere are taken to be large, the others are as large as they look.
pub(crate) fn chunk<I>(given: Option<u64>) -> u64 {
    const OWNING: u64 = 8;
    const MOST: usize = 1024;
    const MEMORY: usize = 16 << 10;
    given.unwrap_or_else(|| match size_of::<I>() {
        _ if needs_drop::<I>() => OWNING,
        0 => MOST as u64,
        size => (MEMORY / size).clamp(1, MOST) as u64,
    })
}
