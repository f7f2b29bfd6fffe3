//! What an attribute or a builder can set, and what of it counts here: a driver decides how much is
//! measured, so that times and numbers of samples are only kept for their names.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeSet;
use std::time::Duration;

use crate::counter::CounterSet;

/// The options of a benchmark or a group. The macro writes its fields by name.
#[derive(Clone, Debug, Default)]
pub struct BenchOptions<'a> {
    /// Without effect.
    pub sample_count: Option<u32>,
    /// How many inputs are prepared at a time.
    pub sample_size: Option<u32>,
    /// How many threads run the benchmark; 0 stands for as many as the machine runs at once.
    pub threads: Option<Cow<'a, [usize]>>,
    /// How much one iteration processes.
    pub counters: CounterSet,
    /// Without effect.
    pub min_time: Option<Duration>,
    /// Without effect.
    pub max_time: Option<Duration>,
    /// Without effect.
    pub skip_ext_time: Option<bool>,
    /// Whether the benchmark is left out.
    pub ignore: Option<bool>,
}

impl BenchOptions<'static> {
    /// Settings of this one, and otherwise of the other one.
    pub(crate) fn or(&self, other: &BenchOptions<'static>) -> BenchOptions<'static> {
        BenchOptions {
            sample_count: self.sample_count.or(other.sample_count),
            sample_size: self.sample_size.or(other.sample_size),
            threads: self.threads.clone().or_else(|| other.threads.clone()),
            counters: self.counters.or(&other.counters),
            min_time: self.min_time.or(other.min_time),
            max_time: self.max_time.or(other.max_time),
            skip_ext_time: self.skip_ext_time.or(other.skip_ext_time),
            ignore: self.ignore.or(other.ignore),
        }
    }

    /// The numbers of threads, in ascending order, each once; and whether they are to be told apart
    /// in the id, which must not depend on how many the machine runs.
    pub(crate) fn thread_counts(&self) -> (Vec<usize>, bool) {
        let given = self.threads.as_deref().unwrap_or_default();
        let asked: BTreeSet<usize> = given.iter().copied().collect();
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let known: BTreeSet<usize> =
            asked.iter().map(|count| if *count == 0 { available() } else { *count }).collect();
        let counts = if known.is_empty() { vec![1] } else { known.into_iter().collect() };
        (counts, asked.len() > 1)
    }
}

/// Value of `threads = ..`: a number, whether to use all, or several numbers.
pub trait IntoThreads<const FORM: u32> {
    /// The numbers.
    fn into_threads(self) -> Cow<'static, [usize]>;
}

impl IntoThreads<0> for usize {
    fn into_threads(self) -> Cow<'static, [usize]> {
        Cow::Owned(vec![self])
    }
}

impl IntoThreads<0> for bool {
    fn into_threads(self) -> Cow<'static, [usize]> {
        Cow::Borrowed(if self { &[0] } else { &[1] })
    }
}

impl<I> IntoThreads<1> for I
where
    I: IntoIterator,
    I::Item: Borrow<usize>,
{
    fn into_threads(self) -> Cow<'static, [usize]> {
        self.into_iter().map(|count| *count.borrow()).collect()
    }
}

/// Value of a time: a duration or a number of seconds.
pub trait IntoDuration {
    /// The duration.
    fn into_duration(self) -> Duration;
}

impl IntoDuration for Duration {
    fn into_duration(self) -> Duration {
        self
    }
}

impl IntoDuration for u64 {
    fn into_duration(self) -> Duration {
        Duration::from_secs(self)
    }
}

impl IntoDuration for f64 {
    fn into_duration(self) -> Duration {
        Duration::try_from_secs_f64(self).unwrap_or_default()
    }
}
