//! Plain rows, as they go into the store and come out of it.
//! Costs are nanoseconds per operation, ratios are fractions, JSON is text; it must not know SQL or
//! what a verdict means.

use std::fmt;

/// The row number of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub i64);

/// The row number of a benchmark's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BenchmarkId(pub i64);

/// The row number of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeasurementId(pub i64);

/// The row number of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComparisonId(pub i64);

/// Defines an enum that is stored as one of a few words.
macro_rules! words {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$inner])* $variant),+ }

        impl $name {
            /// The word that is stored.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of a stored word, or `None` for a word that this version does not know.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Which command made a run.
    RunCommand {
        /// Measurements of one revision.
        Run = "run",
        /// Paired comparisons of two revisions.
        Ab = "ab",
    }
}

words! {
    /// How far a run came.
    RunState {
        /// Its process is at work, or was killed and nobody has called [`crate::Store::recover`]
        /// since.
        Running = "running",
        /// It came to its end, whatever its benchmarks did.
        Finished = "finished",
        /// It was stopped or killed in the middle; its launches are kept.
        Interrupted = "interrupted",
        /// It ended with an error of its own, such as a failed build.
        Failed = "failed",
    }
}

words! {
    /// Whether a result is final.
    ResultState {
        /// Launches were stored but no result was computed from them.
        Partial = "partial",
        /// The result is final.
        Complete = "complete",
    }
}

/// A machine, identified by what decides its speed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Stable key made from the components that decide comparability.
    pub key: String,
    /// One line for people, such as the CPU's name and the number of cores.
    pub summary: String,
    /// Everything known about it, a JSON object.
    pub components: String,
}

/// A compiler with its settings, identified by what decides the code it makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// Stable key made from the components that decide comparability.
    pub key: String,
    /// One line for people, such as `rustc 1.89.0, release, lto=thin`.
    pub summary: String,
    /// Everything known about it, a JSON object.
    pub components: String,
}

/// A commit, or the snapshot commit of a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Full hash of the commit.
    pub commit: String,
    /// Full hash of its tree.
    pub tree: String,
    /// Full hashes of its parents, first parent first.
    pub parents: Vec<String>,
    /// Unix time in seconds.
    pub author_time: i64,
    /// Unix time in seconds.
    pub committer_time: i64,
    /// First line of the message.
    pub subject: String,
}

/// Facts of a run when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// Which command it is.
    pub command: RunCommand,
    /// Key of a host that was stored before.
    pub host: String,
    /// Key of a toolchain that was stored before.
    pub toolchain: String,
    /// Unix time in milliseconds.
    pub started_at: i64,
    /// Process that will finish it.
    pub pid: u32,
    /// Version of the measurement engine.
    pub engine_version: String,
    /// The settings in force, a JSON object.
    pub settings: String,
    /// Seed of all randomness in the run.
    pub seed: u64,
    /// Digest of the uncommitted changes of the working tree; `None` when it was clean or not
    /// involved.
    pub dirty_digest: Option<String>,
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its number; later runs have greater ones.
    pub id: RunId,
    /// Facts when it began.
    pub begun: NewRun,
    /// The machine.
    pub host: Host,
    /// The compiler.
    pub toolchain: Toolchain,
    /// Unix time in milliseconds; `None` while it runs.
    pub finished_at: Option<i64>,
    /// How far it came.
    pub state: RunState,
    /// Details that the writer added with [`crate::Store::set_run_details`], a JSON object.
    pub details: String,
}

/// Identity of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Benchmark {
    /// Cargo package.
    pub package: String,
    /// Bench target within the package.
    pub target: String,
    /// Full name within the target, groups and parameters included.
    pub name: String,
    /// A JSON array of strings.
    pub tags: String,
}

/// Facts of a measurement when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMeasurement {
    /// The run it belongs to.
    pub run: RunId,
    /// Benchmark that is measured.
    pub benchmark: BenchmarkId,
    /// Full hash of a revision that was stored before.
    pub commit: String,
    /// Digest of uncommitted changes; `None` for a clean checkout of the commit.
    pub dirty_digest: Option<String>,
    /// Unit of the estimate and the samples, `ns` per operation.
    pub unit: String,
    /// Throughput declared by the benchmark, a JSON object.
    pub throughput: Option<String>,
}

/// The samples of one launch of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasurementLaunch {
    /// Number of the launch, from 0.
    pub launch: u32,
    /// Iterations in each sample.
    pub iters: u64,
    /// Cost per operation of each sample, in the measurement's unit.
    pub samples: Vec<f64>,
    /// Everything the launch spent on this benchmark, in nanoseconds.
    pub spent: u64,
}

/// Result of a finished measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasurementResult {
    /// Cost per operation, in the measurement's unit.
    pub estimate: f64,
    /// Bounds of the interval; `None` when there is none, for the reason given in the details.
    pub interval: Option<(f64, f64)>,
    /// Confidence of the interval, a fraction.
    pub confidence: Option<f64>,
    /// Launches that the result rests on.
    pub launches: u32,
    /// Samples over all launches.
    pub samples: u64,
    /// Iterations in each sample.
    pub iters: u64,
    /// Why the measurement ended.
    pub stop: String,
    /// Anything else, a JSON object.
    pub details: String,
}

/// A stored measurement with what it is joined to.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasurementRow {
    /// Its number.
    pub id: MeasurementId,
    /// The run it belongs to.
    pub run: RunId,
    /// Unix time in milliseconds at which that run began.
    pub started_at: i64,
    /// How far that run came.
    pub run_state: RunState,
    /// The machine.
    pub host: Host,
    /// The compiler.
    pub toolchain: Toolchain,
    /// Benchmark that was measured.
    pub benchmark: Benchmark,
    /// The revision it was built from.
    pub revision: Revision,
    /// Digest of uncommitted changes; `None` for a clean checkout.
    pub dirty_digest: Option<String>,
    /// Unit of the estimate.
    pub unit: String,
    /// Throughput declared by the benchmark, a JSON object.
    pub throughput: Option<String>,
    /// Whether `result` is there.
    pub state: ResultState,
    /// Launches stored so far; they are there for partial measurements too.
    pub stored_launches: u32,
    /// The result; `None` while the measurement is partial.
    pub result: Option<MeasurementResult>,
}

/// Facts of a comparison when it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct NewComparison {
    /// The run it belongs to.
    pub run: RunId,
    /// Benchmark that is compared.
    pub benchmark: BenchmarkId,
    /// The side that the change is relative to.
    pub reference: Side,
    /// The side whose change is asked for.
    pub contender: Side,
    /// Smallest change that counts, a fraction.
    pub threshold: f64,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Full hash of a revision that was stored before.
    pub commit: String,
    /// Name as the user wrote it.
    pub label: String,
    /// Digest of uncommitted changes; `None` for a clean checkout. Always `None` for a reference.
    pub dirty_digest: Option<String>,
}

/// The pairs of one launch of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonLaunch {
    /// Number of the launch, from 0.
    pub launch: u32,
    /// Iterations in each slice, the same on both sides.
    pub iters: u64,
    /// One letter per pair: `R` when the reference ran first, `C` when the contender did.
    pub lead: String,
    /// Nanoseconds per operation of the reference, one per pair.
    pub reference: Vec<f64>,
    /// Nanoseconds per operation of the contender, one per pair.
    pub contender: Vec<f64>,
    /// The launch's estimate of `ln(contender / reference)`.
    pub estimate: f64,
}

/// Result of a finished comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonResult {
    /// `contender / reference - 1`; `None` when nothing was measured.
    pub change: Option<f64>,
    /// Bounds of the change; `None` when there is no interval, for the reason given in the
    /// details.
    pub interval: Option<(f64, f64)>,
    /// Confidence of the interval, a fraction.
    pub confidence: Option<f64>,
    /// The verdict's word.
    pub verdict: String,
    /// Launches that the result rests on.
    pub launches: u32,
    /// Pairs over all launches.
    pub pairs: u64,
    /// Smallest change that could have been called, a fraction.
    pub smallest: Option<f64>,
    /// Why the comparison ended.
    pub stop: String,
    /// Anything else, a JSON object.
    pub details: String,
}

/// A stored comparison with what it is joined to.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRow {
    /// Its number.
    pub id: ComparisonId,
    /// The run it belongs to.
    pub run: RunId,
    /// Unix time in milliseconds at which that run began.
    pub started_at: i64,
    /// The machine.
    pub host: Host,
    /// The compiler.
    pub toolchain: Toolchain,
    /// Benchmark that was compared.
    pub benchmark: Benchmark,
    /// The side that the change is relative to.
    pub reference: Side,
    /// The revision of the reference.
    pub reference_revision: Revision,
    /// The side whose change is asked for.
    pub contender: Side,
    /// The revision of the contender.
    pub contender_revision: Revision,
    /// Smallest change that counts, a fraction.
    pub threshold: f64,
    /// Whether `result` is there.
    pub state: ResultState,
    /// Launches stored so far; they are there for partial comparisons too.
    pub stored_launches: u32,
    /// The result; `None` while the comparison is partial.
    pub result: Option<ComparisonResult>,
}

/// A benchmark, or a whole target, that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Cargo package.
    pub package: String,
    /// Bench target within the package.
    pub target: String,
    /// Name within the target; `None` when the target as a whole failed.
    pub benchmark: Option<String>,
    /// Which side of a comparison failed; `None` in a run.
    pub side: Option<String>,
    /// Message.
    pub error: String,
    /// The end of what the worker wrote to stderr.
    pub stderr_tail: String,
}
