//! The object that a suite registers its benchmarks with. It must not know who runs them.

use std::path::Path;
use std::time::Duration;

use super::bencher::Bencher;
#[cfg(since_0_5)]
use super::config::BenchmarkFilter;
use super::config::PlottingBackend;
use super::group::{BenchmarkGroup, BenchmarkId};
use super::measurement::{Measurement, WallTime};
use super::profiler::Profiler;
use crate::process;

/// Registers benchmarks, each of which is offered and run right away.
pub struct Criterion<M: Measurement = WallTime> {
    pub(crate) measurement: M,
}

impl Default for Criterion {
    fn default() -> Criterion {
        process::start();
        Criterion { measurement: WallTime }
    }
}

impl<M: Measurement> Criterion<M> {
    /// Measures with `measurement` beside wall time.
    pub fn with_measurement<M2: Measurement>(self, measurement: M2) -> Criterion<M2> {
        Criterion { measurement }
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn with_profiler<P: Profiler + 'static>(self, _profiler: P) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn plotting_backend(self, _backend: PlottingBackend) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn sample_size(self, _samples: usize) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn warm_up_time(self, _time: Duration) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn measurement_time(self, _time: Duration) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn nresamples(self, _resamples: usize) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn noise_threshold(self, _threshold: f64) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn confidence_level(self, _level: f64) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn significance_level(self, _level: f64) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn with_plots(self) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn without_plots(self) -> Criterion<M> {
        self
    }

    /// Always false.
    pub fn can_plot(&self) -> bool {
        false
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn save_baseline(self, _name: String) -> Criterion<M> {
        self
    }

    #[cfg(before_0_4)]
    /// Accepted and ignored.
    #[must_use]
    pub fn retain_baseline(self, _name: String) -> Criterion<M> {
        self
    }

    #[cfg(since_0_4)]
    /// Accepted and ignored.
    #[must_use]
    pub fn retain_baseline(self, _name: String, _strict: bool) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn with_filter<S: Into<String>>(self, _filter: S) -> Criterion<M> {
        self
    }

    #[cfg(since_0_5)]
    /// Accepted and ignored.
    #[must_use]
    pub fn with_benchmark_filter(self, _filter: BenchmarkFilter) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[must_use]
    pub fn with_output_color(self, _enabled: bool) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[doc(hidden)]
    #[must_use]
    pub fn output_directory(self, _path: &Path) -> Criterion<M> {
        self
    }

    /// Accepted and ignored.
    #[doc(hidden)]
    #[must_use]
    pub fn profile_time(self, _time: Option<Duration>) -> Criterion<M> {
        self
    }

    /// Ignores the arguments: whoever walks the suite reads them.
    #[must_use]
    pub fn configure_from_args(self) -> Criterion<M> {
        self
    }

    /// Does nothing: more benchmarks may follow.
    #[doc(hidden)]
    pub fn final_summary(&self) {}

    /// Opens a group, whose benchmarks are called `group/name`.
    pub fn benchmark_group<S: Into<String>>(&mut self, group_name: S) -> BenchmarkGroup<'_, M> {
        let name = group_name.into();
        assert!(!name.is_empty(), "Group name must not be empty.");
        BenchmarkGroup::new(self, name)
    }

    /// Registers a benchmark.
    pub fn bench_function<F>(&mut self, id: &str, f: F) -> &mut Criterion<M>
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        self.benchmark_group(id).bench_function(BenchmarkId::nameless(), f);
        self
    }

    /// Registers a benchmark of an input.
    pub fn bench_with_input<F, I>(&mut self, id: BenchmarkId, input: &I, f: F) -> &mut Criterion<M>
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
    {
        let (Some(name), parameter) = id.into_parts() else {
            panic!("`Criterion::bench_with_input` needs an id with a name: use `BenchmarkId::new`");
        };
        let id = BenchmarkId::from_parts(None, parameter);
        self.benchmark_group(name).bench_with_input(id, input, f);
        self
    }
}
