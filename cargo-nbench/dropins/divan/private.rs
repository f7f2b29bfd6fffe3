//! What the code that the macro writes may name. It is not for suites.

pub use crate::arguments::{Arg, Arguments, Cases, Shown};
pub use crate::counter::{BytesCount, CharsCount, CounterSet, CyclesCount, ItemsCount};
pub use crate::options::{BenchOptions, IntoDuration, IntoThreads};
pub use crate::registry::{
    Benchmark, ConstValue, Group, Instance, List, Location, Meta, Node, Runner, TypeName,
    BENCHMARKS, GROUPS,
};

/// No counters.
#[must_use]
pub fn counters() -> CounterSet {
    CounterSet::default()
}
