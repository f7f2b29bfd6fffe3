//! Layout bias of a comparison: whether its launches had fresh link layouts, whether a second trial
//! must confirm a call or explain its spread, and what a verdict is worth without. It must not know
//! linkers, and it writes no result.

mod supply;

use nbench_config::Layouts as When;
use nbench_engine::stats::{VarianceShare, variance_share};
use nbench_engine::{Compare, Decision, StopReason, Verdict};
use nbench_templates::lines::{Comparison, LayoutShare, LayoutState, Note};
pub use supply::{Drawn, Draws, LayoutSource, Supply, target_seed};

use crate::measure::words;

/// Size (fraction) below which a call may be due to layout alone: the same source linked in another
/// order differed by up to 4.6 %.
pub const LAYOUT_BIAS: f64 = 0.05;

/// Launches of a trial that fixes one layout, to see what of the spread is left then.
const FIXED_LAUNCHES: usize = 6;

/// Confidence of a layout's share in the variance (fraction).
const SHARE_CONFIDENCE: f64 = 0.9;

/// Control of layout bias in one comparison, from its first launch to its result.
#[derive(Debug)]
pub struct LayoutControl {
    when: When,
    /// Why layouts could not be varied at all, or in some launches.
    reason: Option<String>,
    /// Launches with fresh layouts.
    fresh: usize,
    /// Launches that kept the layouts of the builds.
    kept: usize,
    /// Whether the layout's share is wanted where a comparison stays inconclusive.
    explain: bool,
    phase: Phase,
}

/// Trial that a comparison is at, or has come to its end with.
#[derive(Debug, Default)]
enum Phase {
    /// The first trial, which is evidence.
    #[default]
    First,
    /// The first trial is over and a second one is wanted. It waits for the first trials of its
    /// whole target, because they share their processes and so have the same layouts.
    Due(SecondTrial),
    /// The second trial draws fresh layouts; the first kept those of the builds.
    Confirming { first: Box<Compare> },
    /// Both trials are over.
    Confirmed { first: Box<Compare> },
    /// The second trial fixes one layout; the first stays the only evidence.
    Explaining { first: Box<Compare> },
    /// The layout's share in the variance between launches, by contender; `None` where it could not
    /// be found out.
    Explained { shares: Vec<Option<VarianceShare>> },
}

/// Purpose of a second trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondTrial {
    /// Confirms a small call with fresh layouts.
    Confirm,
    /// Explains the spread of an inconclusive one with a layout that stays the same.
    Explain,
}

/// Findings on the layouts of one contender.
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutFindings {
    /// Whether layouts were varied.
    pub state: LayoutState,
    /// Their share in the variance between launches.
    pub share: Option<LayoutShare>,
    /// Doubts that follow.
    pub notes: Vec<Note>,
}

impl LayoutControl {
    /// Before the first launch.
    pub fn new(when: When, supply: &Supply) -> LayoutControl {
        let reason = match supply {
            Supply::Unavailable(reason) => Some(reason.clone()),
            Supply::Kept | Supply::Ready(_) => None,
        };
        LayoutControl { when, reason, fresh: 0, kept: 0, explain: false, phase: Phase::First }
    }

    /// The same, and where fresh layouts leave a comparison inconclusive some more launches tell
    /// how much of its spread is layout.
    #[must_use]
    pub fn explaining(self) -> LayoutControl {
        LayoutControl { explain: true, ..self }
    }

    /// Counts a launch: with fresh layouts, or with those of the builds for the reason given.
    pub fn count(&mut self, launch: Result<(), &str>) {
        match launch {
            Ok(()) => self.fresh += 1,
            Err(reason) => {
                self.kept += 1;
                self.reason.get_or_insert_with(|| reason.to_owned());
            }
        }
    }

    /// Takes note that `trial` is over, and returns whether a second one is due. Of a trial that
    /// only explained another one its findings are kept, and `trial` is that other one again.
    pub fn finish(&mut self, trial: &mut Compare) -> bool {
        self.phase = match std::mem::take(&mut self.phase) {
            Phase::First if self.needs_confirmation(trial) => Phase::Due(SecondTrial::Confirm),
            Phase::First if self.needs_explanation(trial) => Phase::Due(SecondTrial::Explain),
            Phase::Confirming { first } => Phase::Confirmed { first },
            Phase::Explaining { first } => {
                let fixed = std::mem::replace(trial, *first);
                let share = |contender| {
                    let (all, within) = (trial.estimates(contender), fixed.estimates(contender));
                    variance_share(&all, &within, SHARE_CONFIDENCE)
                };
                Phase::Explained { shares: (1..trial.subjects()).map(share).collect() }
            }
            phase => phase,
        };
        matches!(self.phase, Phase::Due(_))
    }

    /// Whether a finished first trial says something that a second one must confirm.
    fn needs_confirmation(&self, trial: &Compare) -> bool {
        self.when == When::Confirm
            && self.reason.is_none()
            && (1..trial.subjects()).any(|contender| may_be_layout(trial, contender))
    }

    /// Whether a finished first trial leaves a spread that is worth some launches to be explained.
    fn needs_explanation(&self, trial: &Compare) -> bool {
        self.explain
            && self.when == When::Fresh
            && self.reason.is_none()
            && trial.decide() == Decision::Done(StopReason::LastLook)
            && trial.launches().len() > FIXED_LAUNCHES
            && (1..trial.subjects())
                .any(|contender| trial.judgement(contender).verdict == Verdict::Inconclusive)
    }

    /// Puts the second trial in the place of `trial`, if one is due.
    pub fn begin_second(&mut self, trial: &mut Compare) -> Option<SecondTrial> {
        let Phase::Due(purpose) = self.phase else { return None };
        let launches = match purpose {
            SecondTrial::Confirm => trial.launches().len(),
            SecondTrial::Explain => FIXED_LAUNCHES,
        };
        let again = trial.again(launches);
        let first = Box::new(std::mem::replace(trial, again));
        self.phase = match purpose {
            SecondTrial::Confirm => Phase::Confirming { first },
            SecondTrial::Explain => Phase::Explaining { first },
        };
        Some(purpose)
    }

    /// Gives up a second trial that is due or running, for the reason given. A call that it should
    /// have confirmed stays unconfirmed; a spread that it should have explained stays
    /// unexplained.
    pub fn give_up(&mut self, trial: &mut Compare, reason: &str) {
        let purpose = match std::mem::take(&mut self.phase) {
            Phase::Due(purpose) => purpose,
            Phase::Confirming { first } => {
                *trial = *first;
                SecondTrial::Confirm
            }
            Phase::Explaining { first } => {
                *trial = *first;
                SecondTrial::Explain
            }
            phase @ (Phase::First | Phase::Confirmed { .. } | Phase::Explained { .. }) => {
                self.phase = phase;
                return;
            }
        };
        match purpose {
            SecondTrial::Confirm => {
                self.kept = trial.launches().len();
                self.reason = Some(reason.to_owned());
            }
            // The first trial had all it needed for its verdict.
            SecondTrial::Explain => {
                self.phase = Phase::Explained { shares: vec![None; trial.subjects() - 1] };
            }
        }
    }

    /// Whether the trial at hand fixes a layout: its launches explain, they are no evidence.
    pub fn is_explaining(&self) -> bool {
        matches!(self.phase, Phase::Explaining { .. })
    }

    /// Launches of the first trial, while or after a second one runs.
    pub fn launches_before(&self) -> usize {
        match &self.phase {
            Phase::Confirming { first }
            | Phase::Confirmed { first }
            | Phase::Explaining { first } => first.launches().len(),
            Phase::First | Phase::Due(_) | Phase::Explained { .. } => 0,
        }
    }

    /// The trial that is evidence: the one at hand, unless it only explains another one.
    pub fn evidence<'t>(&'t self, trial: &'t Compare) -> &'t Compare {
        match &self.phase {
            Phase::Explaining { first } => first,
            _ => trial,
        }
    }

    /// The trial whose word counts for a contender: the second one where it had to confirm a call
    /// of the first, else the first.
    pub fn deciding<'t>(&'t self, trial: &'t Compare, contender: usize) -> &'t Compare {
        match self.first_of_two() {
            Some(first) if !may_be_layout(first, contender) => first,
            _ => trial,
        }
    }

    /// The first trial of two that are both evidence.
    fn first_of_two(&self) -> Option<&Compare> {
        match &self.phase {
            Phase::Confirming { first } | Phase::Confirmed { first } => Some(first),
            _ => None,
        }
    }

    /// Findings on the layouts behind `line`, the result of the deciding trial.
    pub fn findings(&self, line: &Comparison, contender: usize) -> LayoutFindings {
        let confirmed = self.first_of_two().filter(|first| may_be_layout(first, contender));
        let state = match &self.reason {
            _ if self.when == When::Off => LayoutState::Off,
            Some(_) => LayoutState::Unconfirmed,
            None if self.when == When::Fresh || confirmed.is_some() => LayoutState::Fresh,
            None => LayoutState::Off,
        };
        let share = match &self.phase {
            Phase::Explained { shares } => shares.get(contender.wrapping_sub(1)).copied().flatten(),
            _ => None,
        };
        let second = confirmed.map(|first| {
            let judgement = first.judgement(contender);
            Note::SecondTrial { first: words::verdict(judgement.verdict), change: judgement.change }
        });
        LayoutFindings {
            state,
            share: share.map(|s| LayoutShare { share: s.share, low: s.low, high: s.high }),
            notes: second.into_iter().chain(self.doubt(state, line)).collect(),
        }
    }

    /// Doubt that layouts which were kept cast on a result.
    fn doubt(&self, state: LayoutState, line: &Comparison) -> Option<Note> {
        let is_small = line.change.is_some_and(|change| change.abs() < LAYOUT_BIAS);
        let reason =
            self.reason.as_deref().unwrap_or("both sides kept the link layout of their build");
        if state != LayoutState::Fresh && line.verdict.is_call() && is_small {
            return Some(Note::MayBeLayout(reason.to_owned()));
        }
        (state == LayoutState::Unconfirmed && self.fresh > 0).then(|| Note::LayoutsKept {
            kept: self.kept,
            launches: self.kept + self.fresh,
            reason: reason.to_owned(),
        })
    }
}

impl Default for LayoutControl {
    fn default() -> LayoutControl {
        LayoutControl::new(When::Off, &Supply::Kept)
    }
}

/// Whether a contender was called faster or slower by less than layout alone can do.
fn may_be_layout(trial: &Compare, contender: usize) -> bool {
    let judgement = trial.judgement(contender);
    matches!(judgement.verdict, Verdict::Faster | Verdict::Slower)
        && judgement.change.is_some_and(|change| change.abs() < LAYOUT_BIAS)
}

#[cfg(test)]
mod tests;
