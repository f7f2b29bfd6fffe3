//! Settings that suites name. Most of them are criterion's own business and change nothing here.

use crate::wire;

/// How many inputs are prepared before the clock starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::manual_non_exhaustive, reason = "a suite may name whatever criterion has")]
pub enum BatchSize {
    /// A tenth of the iterations.
    SmallInput,
    /// A thousandth of the iterations.
    LargeInput,
    /// One.
    PerIteration,
    /// The iterations divided by this number.
    NumBatches(u64),
    /// This many.
    NumIterations(u64),
    #[doc(hidden)]
    __NonExhaustive,
}

impl BatchSize {
    /// The number of inputs for a sample of `iters` iterations.
    pub(crate) fn iters_per_batch(self, iters: u64) -> u64 {
        let size = match self {
            BatchSize::SmallInput | BatchSize::__NonExhaustive => iters.div_ceil(10),
            BatchSize::LargeInput => iters.div_ceil(1000),
            BatchSize::PerIteration => 1,
            BatchSize::NumBatches(0) => 0,
            BatchSize::NumBatches(batches) => iters.div_ceil(batches),
            BatchSize::NumIterations(size) => size,
        };
        assert!(size != 0, "Batch size must not be zero.");
        size
    }
}

/// How much one iteration processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Throughput {
    #[cfg(since_0_7)]
    /// Bits in each iteration.
    Bits(u64),
    /// Bytes in each iteration, shown with binary prefixes.
    Bytes(u64),
    #[cfg(since_0_4)]
    /// Bytes in each iteration, shown with decimal prefixes.
    BytesDecimal(u64),
    /// Elements in each iteration.
    Elements(u64),
    #[cfg(since_0_8)]
    /// Both in each iteration.
    ElementsAndBytes {
        /// Elements in each iteration.
        elements: u64,
        /// Bytes in each iteration.
        bytes: u64,
    },
}

impl Throughput {
    pub(crate) fn on_the_wire(&self) -> wire::Throughput {
        match *self {
            #[cfg(since_0_7)]
            Throughput::Bits(bits) => {
                wire::Throughput::Custom { amount: bits as f64, unit: "bit".to_owned() }
            }
            Throughput::Bytes(bytes) => wire::Throughput::Bytes(bytes),
            #[cfg(since_0_4)]
            Throughput::BytesDecimal(bytes) => wire::Throughput::Bytes(bytes),
            Throughput::Elements(elements) => wire::Throughput::Elements(elements),
            #[cfg(since_0_8)]
            Throughput::ElementsAndBytes { elements, .. } => wire::Throughput::Elements(elements),
        }
    }
}

/// How iterations are spread over samples. Whoever takes the samples decides that.
#[derive(Debug, Default, Clone, Copy)]
pub enum SamplingMode {
    /// Criterion's choice.
    #[default]
    Auto,
    /// More iterations in each sample.
    Linear,
    /// Equally many in all.
    Flat,
}

#[cfg(before_0_4)]
/// Use of an earlier result of criterion.
#[derive(Debug, Clone, Copy)]
pub enum Baseline {
    /// Compare with it.
    Compare,
    /// Replace it.
    Save,
}

#[cfg(since_0_4)]
/// Use of an earlier result of criterion.
#[derive(Debug, Clone, Copy)]
pub enum Baseline {
    /// Compare with it where it exists.
    CompareLenient,
    /// Compare with it.
    CompareStrict,
    /// Replace it.
    Save,
    /// Leave it alone.
    Discard,
}

/// Program that draws criterion's plots.
#[derive(Debug, Clone, Copy)]
pub enum PlottingBackend {
    /// The program of that name.
    Gnuplot,
    /// The crate of that name.
    Plotters,
    #[cfg(since_0_4)]
    /// Nothing.
    None,
}

/// The axes of criterion's summary plot.
#[derive(Debug, Default, Clone, Copy)]
pub enum AxisScale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal factors.
    Logarithmic,
}

/// How criterion's plots look.
#[derive(Debug, Default, Clone)]
pub struct PlotConfiguration {
    _private: (),
}

impl PlotConfiguration {
    /// Accepted and ignored.
    #[must_use]
    pub fn summary_scale(self, _scale: AxisScale) -> PlotConfiguration {
        self
    }
}

#[cfg(since_0_5)]
/// Which benchmarks are to run. Whoever walks the suite decides that.
#[derive(Clone, Debug)]
pub enum BenchmarkFilter {
    /// All.
    AcceptAll,
    /// The one with this id.
    Exact(String),
    /// None.
    RejectAll,
}
