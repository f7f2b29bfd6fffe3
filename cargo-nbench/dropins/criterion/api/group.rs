//! Benchmarks that share a prefix and settings, and their ids. It must not know who runs them.

use std::fmt::Display;
use std::time::Duration;

use super::bencher::Bencher;
use super::config::{PlotConfiguration, SamplingMode, Throughput};
use super::criterion::Criterion;
use super::measurement::{Measurement, WallTime};
use crate::process;
use crate::wire::Offer;

/// A group of benchmarks; see [`Criterion::benchmark_group`].
pub struct BenchmarkGroup<'a, M: Measurement = WallTime> {
    criterion: &'a mut Criterion<M>,
    name: String,
    throughput: Option<Throughput>,
}

impl<'a, M: Measurement> BenchmarkGroup<'a, M> {
    pub(crate) fn new(criterion: &'a mut Criterion<M>, name: String) -> BenchmarkGroup<'a, M> {
        BenchmarkGroup { criterion, name, throughput: None }
    }

    /// Accepted and ignored.
    pub fn sample_size(&mut self, _samples: usize) -> &mut Self {
        self
    }

    /// Accepted and ignored.
    pub fn warm_up_time(&mut self, _time: Duration) -> &mut Self {
        self
    }

    /// Accepted and ignored.
    pub fn measurement_time(&mut self, _time: Duration) -> &mut Self {
        self
    }

    /// Accepted and ignored.
    pub fn nresamples(&mut self, _resamples: usize) -> &mut Self {
        self
    }

    /// Accepted and ignored.
    pub fn noise_threshold(&mut self, _threshold: f64) -> &mut Self {
        self
    }

    /// Accepted and ignored.
    pub fn confidence_level(&mut self, _level: f64) -> &mut Self {
        self
    }

    /// Accepted and ignored.
    pub fn significance_level(&mut self, _level: f64) -> &mut Self {
        self
    }

    /// Accepted and ignored.
    pub fn plot_config(&mut self, _config: PlotConfiguration) -> &mut Self {
        self
    }

    /// Accepted and ignored.
    pub fn sampling_mode(&mut self, _mode: SamplingMode) -> &mut Self {
        self
    }

    /// How much one iteration of the benchmarks that follow processes.
    pub fn throughput(&mut self, throughput: Throughput) -> &mut Self {
        self.throughput = Some(throughput);
        self
    }

    /// Registers a benchmark.
    pub fn bench_function<ID: IntoBenchmarkId, F>(&mut self, id: ID, mut f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        self.visit(id.into_benchmark_id(), &mut |bencher| f(bencher));
        self
    }

    /// Registers a benchmark of an input.
    pub fn bench_with_input<ID: IntoBenchmarkId, F, I>(
        &mut self,
        id: ID,
        input: &I,
        mut f: F,
    ) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
        I: ?Sized,
    {
        self.visit(id.into_benchmark_id(), &mut |bencher| f(bencher, input));
        self
    }

    /// Nothing is left to do at the end of a group.
    pub fn finish(self) {}

    fn visit(&mut self, id: BenchmarkId, f: &mut dyn FnMut(&mut Bencher<'_, M>)) {
        let measurement = &self.criterion.measurement;
        let offer = Offer {
            id: id.full(&self.name),
            throughput: self.throughput.as_ref().map(Throughput::on_the_wire),
            ..Offer::default()
        };
        process::visit(offer, &mut |sample| f(&mut Bencher::new(sample, measurement)));
    }
}

/// The name of a benchmark within its group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BenchmarkId {
    function: Option<String>,
    parameter: Option<String>,
}

impl BenchmarkId {
    /// A name and a parameter.
    pub fn new<S: Into<String>, P: Display>(function_name: S, parameter: P) -> BenchmarkId {
        BenchmarkId::from_parts(Some(function_name.into()), Some(parameter.to_string()))
    }

    /// A parameter alone.
    pub fn from_parameter<P: Display>(parameter: P) -> BenchmarkId {
        BenchmarkId::from_parts(None, Some(parameter.to_string()))
    }

    /// The group itself.
    pub(crate) fn nameless() -> BenchmarkId {
        BenchmarkId::from_parts(None, None)
    }

    pub(crate) fn from_parts(function: Option<String>, parameter: Option<String>) -> BenchmarkId {
        BenchmarkId { function, parameter }
    }

    pub(crate) fn into_parts(self) -> (Option<String>, Option<String>) {
        (self.function, self.parameter)
    }

    fn full(&self, group: &str) -> String {
        let parts = [Some(group), self.function.as_deref(), self.parameter.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("/")
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::BenchmarkId {}
    impl<S: Into<String>> Sealed for S {}
}

/// Name of a benchmark of a group.
pub trait IntoBenchmarkId: private::Sealed {
    /// The id.
    fn into_benchmark_id(self) -> BenchmarkId;
}

impl IntoBenchmarkId for BenchmarkId {
    fn into_benchmark_id(self) -> BenchmarkId {
        self
    }
}

impl<S: Into<String>> IntoBenchmarkId for S {
    fn into_benchmark_id(self) -> BenchmarkId {
        let name = self.into();
        assert!(!name.is_empty(), "Function name must not be empty.");
        BenchmarkId::from_parts(Some(name), None)
    }
}
