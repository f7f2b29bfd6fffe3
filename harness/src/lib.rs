//! The part of nbench that a bench target depends on. It owns registration, timing and the worker end
//! of the wire; it must not know statistics, revisions or roles, and it has no dependency.

pub mod axis;
mod local;
pub mod subject;
pub mod wire;

pub use axis::{Axes, Axis, Reading};
pub use subject::{Iters, Local, Nanos, Sample, Subject, SubjectError, SubjectErrorKind};
pub use wire::Throughput;
