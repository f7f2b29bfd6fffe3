//! When a comparison or a measurement has enough launches. Pure: it sees counts, intervals and the
//! plan, never a subject or a clock.

use crate::plan::Looks;

/// Why a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// A planned look had a verdict.
    Decided,
    /// The last planned look passed without a verdict.
    LastLook,
    /// The interval of a single measurement became narrow enough.
    PrecisionReached,
    /// The most launches a single measurement may take.
    MaxLaunches,
    /// The time budget ran out.
    Budget,
    /// The user interrupted.
    Interrupted,
}

/// Whether more launches are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Take another launch.
    More,
    /// Stop for this reason.
    Done(StopReason),
}

/// The error that a look after `launches` launches may spend: the planned share at a planned look,
/// nothing between looks.
pub fn planned_alpha(looks: &Looks, launches: usize) -> Option<f64> {
    looks.at.iter().position(|at| *at == launches).map(|index| looks.alpha[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_planned_counts_are_looks() {
        let looks = Looks::standard();
        assert_eq!(planned_alpha(&looks, 10), Some(0.010));
        assert_eq!(planned_alpha(&looks, 11), None);
        assert_eq!(planned_alpha(&looks, 24), Some(0.025));
    }
}
