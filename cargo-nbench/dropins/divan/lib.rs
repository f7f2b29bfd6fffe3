//! A stand-in for the crate of this name that keeps its interface and hands every benchmark to a
//! driver. It owns that interface; the harness, whose files stand beside it, owns timing and the
//! wire.

// The harness, as it is.
#[doc(hidden)]
pub mod axis;
#[doc(hidden)]
pub mod barrier;
#[doc(hidden)]
pub mod batch;
#[doc(hidden)]
pub mod bencher;
#[doc(hidden)]
pub mod connect;
#[doc(hidden)]
pub mod entry;
#[doc(hidden)]
pub mod local;
#[doc(hidden)]
pub mod probe;
#[doc(hidden)]
pub mod serve;
#[doc(hidden)]
pub mod session;
#[doc(hidden)]
pub mod standalone;
#[doc(hidden)]
pub mod subject;
#[doc(hidden)]
pub mod suite;
#[doc(hidden)]
pub mod wire;

mod arguments;
pub mod counter;
mod divan;
mod forms;
mod options;
mod order;
#[doc(hidden)]
pub mod private;
mod registry;
mod threaded;

#[doc(hidden)]
pub use private as __private;

// What the harness's own files expect at the root.
#[doc(hidden)]
pub use axis::{Axes, Axis, Reading};
#[doc(hidden)]
pub use barrier::clobber_memory;
#[doc(hidden)]
pub use entry::{start, Entry};
#[doc(hidden)]
pub use subject::{Iters, Nanos, Sample, Subject, SubjectError, SubjectErrorKind};
#[doc(hidden)]
pub use suite::Suite;
#[doc(hidden)]
pub use wire::Throughput;

pub use crate::divan::Divan;
pub use divan_macros::{bench, bench_group};
pub use forms::{Bencher, BencherConfig};
pub use probe::alloc::AllocProfiler;
pub use std::hint::black_box;

/// Everything that a suite usually imports.
pub mod prelude {
    pub use crate::{bench, bench_group, black_box, black_box_drop, AllocProfiler, Bencher, Divan};
}

/// Runs every registered benchmark.
pub fn main() {
    Divan::from_args().main();
}

/// Hides a value from the optimiser and drops it.
#[inline]
pub fn black_box_drop<T>(value: T) {
    drop(black_box(value));
}
