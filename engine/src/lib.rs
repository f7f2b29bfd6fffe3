//! The measurement core of `cargo nbench`.
//!
//! # Words
//!
//! - A **subject** runs a batch of iterations and reports what it cost: a closure in this process,
//!   a benchmark in a worker process, a script in a test.
//! - A **round** is one sample of every subject, taken next to each other; a round of two is a
//!   **pair**.
//! - A **launch** is a series of rounds taken from freshly started processes. What a process fixes
//!   for its life (address layout, hash seeds, heap luck) is the same for all its rounds, so the
//!   launch, not the round, is the unit of observation.
//! - A **look** is a launch count at which a verdict may be given; each look spends part of the
//!   error, so that stopping early does not inflate it.
//!
//! # What holds
//!
//! - `collect` sees subjects by index. Which one is older is known to the caller alone.
//! - All subjects of a comparison across builds execute the same iteration counts from the start of
//!   their process, calibration and warm-up included.
//! - No statistic is adjusted for what the host did meanwhile.
//! - A value that is absent is `None` or carries its reason; it is never zero.
//!
//! # Reading order
//!
//! `plan` (every setting), `schedule`, `calibrate`, `collect`, `paired` and `single`,
//! `summary` (many benchmarks at once), [`independent`] (stored runs), then [`stats`]; [`remote`]
//! is the only module that knows another process exists.

mod calibrate;
mod collect;
mod diagnose;
pub mod independent;
mod observe;
mod own;
mod paired;
mod patience;
mod plan;
pub mod remote;
mod schedule;
mod scripted;
mod single;
pub mod stats;
mod stop;
mod summary;

pub use calibrate::{Calibration, Implausible};
pub use collect::Round;
pub use diagnose::Diagnostics;
pub use nbench::{
    Axes, Iters, Local, Nanos, Reading, Sample, Subject, SubjectError, SubjectErrorKind,
};
pub use observe::Silent;
pub use own::OwnChange;
pub use paired::{
    ChangeInterval, Compare, Judgement, PairedLaunch, Verdict, compare, judge, lead_averaged,
};
pub use plan::{Batching, IntervalMethod, Looks, Order, Plan, Unusable};
pub use schedule::Schedule;
pub use scripted::Scripted;
pub use single::{Estimate, Measure, SingleLaunch, measure};
pub use stop::{Decision, StopReason};
pub use summary::{adjusted_by_discovery_rate, contender_p, geometric_mean, launch_estimates};
