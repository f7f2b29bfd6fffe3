//! The one interface between what can be measured and who measures it: a subject runs a batch of
//! iterations and says what it cost. It must not know processes, roles or statistics.

use std::fmt;

use crate::axis::Axes;
pub use crate::local::Local;

/// A span of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The span as a floating-point number of nanoseconds.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

/// How often the body runs in one sample; at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Iters(pub u64);

/// Cost of one batch of iterations.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// How often the body ran.
    pub iters: Iters,
    /// The timed region of the whole batch.
    pub wall: Nanos,
    /// Everything the batch took, set-up and teardown included; never less than `wall` unless the
    /// benchmark does its own timing.
    pub spent: Nanos,
    /// Readings beside the wall time. Axes are read once for a reply: the last of its samples
    /// carries the sum over all of them, the others say so.
    pub axes: Axes,
}

/// Failure of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubjectErrorKind {
    /// The benchmark itself panicked or used the API wrongly; other benchmarks can go on.
    Failed,
    /// The peer that ran the benchmark died, hung or sent garbage; it cannot be used again.
    Lost,
    /// The two ends do not understand each other.
    Protocol,
}

/// Why a subject gave no samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectError {
    /// Message.
    pub kind: SubjectErrorKind,
    /// A lower-case fragment with the details.
    pub message: String,
}

impl SubjectError {
    /// The benchmark itself failed.
    pub fn failed(message: impl Into<String>) -> SubjectError {
        SubjectError { kind: SubjectErrorKind::Failed, message: message.into() }
    }

    /// The peer is gone.
    pub fn lost(message: impl Into<String>) -> SubjectError {
        SubjectError { kind: SubjectErrorKind::Lost, message: message.into() }
    }

    /// The peer cannot be understood.
    pub fn protocol(message: impl Into<String>) -> SubjectError {
        SubjectError { kind: SubjectErrorKind::Protocol, message: message.into() }
    }
}

impl fmt::Display for SubjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SubjectError {}

/// Something that can run a batch of iterations and report what it cost: a closure in this process,
/// a benchmark in another process, or a script of numbers in a test.
pub trait Subject {
    /// Takes `count` consecutive samples of `iters` iterations each.
    ///
    /// # Errors
    /// When no complete reply could be had; nothing is returned for the samples that were taken.
    fn sample(&mut self, iters: Iters, count: usize) -> Result<Vec<Sample>, SubjectError>;
}

impl<S: Subject + ?Sized> Subject for &mut S {
    fn sample(&mut self, iters: Iters, count: usize) -> Result<Vec<Sample>, SubjectError> {
        (**self).sample(iters, count)
    }
}

impl<S: Subject + ?Sized> Subject for Box<S> {
    fn sample(&mut self, iters: Iters, count: usize) -> Result<Vec<Sample>, SubjectError> {
        (**self).sample(iters, count)
    }
}
