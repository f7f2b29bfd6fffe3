//! The engine's words as result lines have them: one more word of either side fails to compile
//! here.

use nbench_engine::{Decision, Implausible, StopReason};
use nbench_templates::lines::{Note, Stop, Verdict};

/// Verdict of a line.
pub fn verdict(verdict: nbench_engine::Verdict) -> Verdict {
    match verdict {
        nbench_engine::Verdict::Faster => Verdict::Faster,
        nbench_engine::Verdict::Slower => Verdict::Slower,
        nbench_engine::Verdict::Equivalent => Verdict::Equivalent,
        nbench_engine::Verdict::Inconclusive => Verdict::Inconclusive,
    }
}

/// Reason why a trial ended, of a line.
pub fn stop(decision: Decision) -> Stop {
    match decision {
        Decision::Done(StopReason::Decided) => Stop::Decided,
        Decision::Done(StopReason::LastLook) => Stop::LastLook,
        Decision::Done(StopReason::PrecisionReached) => Stop::PrecisionReached,
        Decision::Done(StopReason::MaxLaunches) => Stop::MaxLaunches,
        Decision::Done(StopReason::Budget) => Stop::Budget,
        Decision::Done(StopReason::Interrupted) => Stop::Interrupted,
        Decision::More => Stop::Unfinished,
    }
}

/// Note on times that cannot be.
pub fn implausible(implausible: Implausible) -> Note {
    match implausible {
        Implausible::Nothing => Note::NoTime,
        Implausible::Constant => Note::ConstantTime,
        Implausible::TooShort => Note::TimeTooShort,
    }
}
