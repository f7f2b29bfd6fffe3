//! Stands in for the crate `criterion`: the same names and types for a suite, which is then walked
//! and timed as any suite of this harness is. It owns no measurement of its own and must not print.

#[expect(dead_code, reason = "the sources of the harness serve other suites too")]
mod axis;
mod barrier;
mod batch;
#[expect(dead_code, reason = "the sources of the harness serve other suites too")]
mod bencher;
mod connect;
#[expect(dead_code, reason = "the sources of the harness serve other suites too")]
mod local;
#[expect(dead_code, reason = "the sources of the harness serve other suites too")]
mod probe;
#[expect(dead_code, reason = "the sources of the harness serve other suites too")]
mod session;
mod standalone;
#[expect(dead_code, unused_imports, reason = "the sources of the harness serve other suites too")]
mod subject;
#[expect(dead_code, reason = "the sources of the harness serve other suites too")]
mod suite;
#[expect(dead_code, reason = "the sources of the harness serve other suites too")]
mod wire;

mod api;
mod process;

pub use crate::api::async_executor;
pub use crate::api::measurement;
pub use crate::api::profiler;

pub use crate::api::async_bencher::AsyncBencher;
pub use crate::api::bencher::Bencher;
#[cfg(since_0_5)]
pub use crate::api::config::BenchmarkFilter;
pub use crate::api::config::{
    AxisScale, Baseline, BatchSize, PlotConfiguration, PlottingBackend, SamplingMode, Throughput,
};
pub use crate::api::criterion::Criterion;
pub use crate::api::group::{BenchmarkGroup, BenchmarkId};
pub use crate::api::main::{__begin, __end, __guard, runner};
pub use crate::barrier::black_box;

#[cfg(is_codspeed)]
pub use crate::api::rounds::IterManualOptions;
#[cfg(before_0_4)]
pub use crate::api::routines::{Benchmark, BenchmarkDefinition, Fun, ParameterizedBenchmark};
