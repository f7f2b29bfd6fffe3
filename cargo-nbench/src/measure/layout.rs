//! When the compared executables get another link layout, and what a verdict is worth where they do
//! not. It knows neither linkers nor what is measured; lucky placement must not read as a change.

use std::path::PathBuf;

use nbench_config::Layouts as When;
use nbench_engine::stats::{VarianceShare, variance_share};
use nbench_engine::{Compare, Decision, StopReason, Verdict};

use crate::build::relink::Layouts;
use crate::lines::{Comparison, LayoutShare};
use crate::measure::launch::Program;

/// Calls of smaller changes than this (fraction) may be due to layout alone: the same source linked in
/// another order differed by up to 4.6 %.
pub const LUCK: f64 = 0.05;

/// Launches whose layout is held, to see what of the spread is left then.
const HELD: usize = 6;

/// Where the executables of one bench target get their layouts from.
#[derive(Debug, Clone)]
pub enum Supply {
    /// Nobody asked.
    Kept,
    /// Somebody asked, but they cannot be varied, for the reason given.
    Unavailable(String),
    /// One source per side.
    Ready(Vec<Source>),
}

/// One side's executable, to be linked again.
#[derive(Debug, Clone)]
pub struct Source {
    /// How it is linked.
    pub layouts: Layouts,
    /// Which stream of seeds orders it. Sides of one stream that have the same functions get the same
    /// order, so that luck cancels in their pairs.
    pub stream: usize,
    /// Where to. Names of all sides have the same length, so that nothing but the layout differs.
    pub to: PathBuf,
}

impl Supply {
    /// Seconds that drawing a layout for every side takes.
    pub fn seconds(&self) -> f64 {
        match self {
            Supply::Ready(sources) => sources.iter().map(|s| s.layouts.seconds()).sum(),
            Supply::Kept | Supply::Unavailable(_) => 0.0,
        }
    }

    /// Links every side in a new order for one launch; nothing when layouts are not varied.
    ///
    /// # Errors
    /// Why, when one side cannot be linked: then no side has another layout.
    pub fn draw(&self, seed: u64, launch: usize) -> Option<Result<Drawn, String>> {
        let Supply::Ready(sources) = self else { return None };
        let mut drawn = Drawn { paths: Vec::new() };
        for source in sources {
            let order = order(seed, launch, source.stream);
            if let Err(reason) = source.layouts.relink(order, &source.to) {
                return Some(Err(reason));
            }
            drawn.paths.push(source.to.clone());
        }
        Some(Ok(drawn))
    }
}

/// The seed of an order: unrelated to that of any other stream or launch.
fn order(seed: u64, launch: usize, stream: usize) -> u64 {
    let mut state = seed;
    for part in [launch as u64, stream as u64] {
        state = mix(state ^ mix(part.wrapping_add(0x9e37_79b9_7f4a_7c15)));
    }
    state
}

/// The finaliser of SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The seed of all layouts of one bench target: targets of equal seeds must not share their luck.
pub fn target_seed(seed: u64, package: &str, target: &str) -> u64 {
    let bytes = package.bytes().chain([0]).chain(target.bytes());
    bytes.fold(seed, |state, byte| mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ u64::from(byte)))
}

/// How the orders of several sides relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draws {
    /// One order for all: where sides have the same functions they get the same layout, and its luck
    /// cancels (common random numbers); where functions came or went orders differ, and the luck is
    /// part of the interval. Either way the change is an average over layouts.
    Shared,
    /// One order for each: for a comparison with itself that shall be as noisy as one of builds that
    /// share no layout.
    PerSide,
}

/// Executables of one launch; dropping them deletes them.
#[derive(Debug)]
pub struct Drawn {
    paths: Vec<PathBuf>,
}

impl Drawn {
    /// The program of a side with its executable of this launch.
    pub fn program(&self, side: usize, built: &Program) -> Program {
        let path = self.paths.get(side).unwrap_or(&built.path).clone();
        Program { path, ..built.clone() }
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What one comparison had of layouts.
#[derive(Debug)]
pub struct Standing {
    when: When,
    /// Why layouts could not be varied at all, or in some launches.
    reason: Option<String>,
    fresh: usize,
    kept: usize,
    /// The trial that kept the layouts of the builds, once another one confirms it, or the one that
    /// drew them, while another one holds a layout.
    first: Option<Box<Compare>>,
    /// Whether a confirmation, or a trial that holds a layout, is due or running.
    pub pending: bool,
    /// Whether the second trial holds a layout.
    holding: bool,
    /// Whether the layout's share is wanted where a comparison stays inconclusive.
    explain: bool,
    /// The layout's share in the variance between launches, by contender.
    shares: Vec<Option<VarianceShare>>,
}

impl Standing {
    /// Before the first launch.
    pub fn new(when: When, supply: &Supply) -> Standing {
        let reason = match supply {
            Supply::Unavailable(reason) => Some(reason.clone()),
            Supply::Kept | Supply::Ready(_) => None,
        };
        Standing {
            when,
            reason,
            fresh: 0,
            kept: 0,
            first: None,
            pending: false,
            holding: false,
            explain: false,
            shares: Vec::new(),
        }
    }

    /// The same, and where fresh layouts leave a comparison inconclusive some more launches tell how
    /// much of its spread is layout.
    #[must_use]
    pub fn explaining(self) -> Standing {
        Standing { explain: true, ..self }
    }

    /// Whether a finished `trial` is followed by one that holds a layout.
    pub fn needs_held_layout(&self, trial: &Compare) -> bool {
        self.explain
            && self.when == When::Fresh
            && self.reason.is_none()
            && self.first.is_none()
            && self.shares.is_empty()
            && trial.decide() == Decision::Done(StopReason::LastLook)
            && trial.launches().len() > HELD
            && (1..trial.subjects())
                .any(|contender| trial.judgement(contender).verdict == Verdict::Inconclusive)
    }

    /// Puts a trial that holds a layout in the place of `trial`.
    pub fn hold(&mut self, trial: &mut Compare) {
        let again = trial.again(HELD);
        self.first = Some(Box::new(std::mem::replace(trial, again)));
        self.holding = true;
    }

    /// Whether the trial at hand holds a layout: its launches explain, they are no evidence.
    pub fn is_holding(&self) -> bool {
        self.holding
    }

    /// Takes the first trial back, and from the one that held a layout what it tells about it.
    pub fn release(&mut self, trial: &mut Compare) {
        let Some(first) = self.first.take().filter(|_| self.holding) else { return };
        let held = std::mem::replace(trial, *first);
        self.shares = (1..trial.subjects())
            .map(|contender| {
                variance_share(&trial.estimates(contender), &held.estimates(contender), 0.9)
            })
            .collect();
        self.holding = false;
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

    /// Whether a finished `trial` says something that a second one must confirm.
    pub fn needs_confirmation(&self, trial: &Compare) -> bool {
        self.when == When::Confirm
            && self.reason.is_none()
            && self.first.is_none()
            && (1..trial.subjects()).any(|contender| may_be_luck(trial, contender))
    }

    /// Puts a second trial in the place of `trial`.
    pub fn confirm(&mut self, trial: &mut Compare) {
        let again = trial.again(trial.launches().len());
        self.first = Some(Box::new(std::mem::replace(trial, again)));
    }

    /// Gives up a second trial that is due or running, for the reason given.
    pub fn give_up(&mut self, trial: &mut Compare, reason: &str) {
        if let Some(first) = self.first.take() {
            *trial = *first;
        }
        self.pending = false;
        if std::mem::take(&mut self.holding) || self.when == When::Fresh {
            // The first trial had all it needed for its verdict.
            self.shares = vec![None; trial.subjects() - 1];
            return;
        }
        self.kept = trial.launches().len();
        self.reason = Some(reason.to_owned());
    }

    /// Launches of the first trial, while or after a second one confirms it.
    pub fn launches_before(&self) -> usize {
        self.first.as_ref().map_or(0, |first| first.launches().len())
    }

    /// The trial that is evidence: the one at hand, unless it only explains another one.
    pub fn evidence<'t>(&'t self, trial: &'t Compare) -> &'t Compare {
        self.first.as_deref().filter(|_| self.holding).unwrap_or(trial)
    }

    /// The trial whose word counts for a contender.
    pub fn deciding<'t>(&'t self, trial: &'t Compare, contender: usize) -> &'t Compare {
        match &self.first {
            Some(first) if !may_be_luck(first, contender) => first,
            _ => trial,
        }
    }

    /// Says in `line`, the result of the deciding trial, what layouts it had.
    pub fn annotate(&self, line: &mut Comparison, contender: usize) {
        let called =
            line.verdict == Verdict::Faster.word() || line.verdict == Verdict::Slower.word();
        let small = called && line.change.is_some_and(|change| change.abs() < LUCK);
        let confirmed = self.first.as_ref().filter(|first| may_be_luck(first, contender));
        let varied = self.when == When::Fresh || confirmed.is_some();
        let word = match &self.reason {
            _ if self.when == When::Off => "off",
            Some(_) => "unconfirmed",
            None if varied => "fresh",
            None => "off",
        };
        word.clone_into(&mut line.layout);
        line.layout_share = self
            .shares
            .get(contender.wrapping_sub(1))
            .copied()
            .flatten()
            .map(|share| LayoutShare { share: share.share, low: share.low, high: share.high });
        if let Some(first) = confirmed {
            let told = first.judgement(contender);
            let change = told.change.map_or_else(String::new, |c| format!(" {:+.2} %", 100.0 * c));
            line.notes.push(format!(
                "a second trial with fresh layouts decides: with the layouts of the builds it read {}{change}",
                told.verdict.word()
            ));
        }
        let reason =
            self.reason.as_deref().unwrap_or("both sides kept the link layout of their build");
        if word != "fresh" && small {
            line.notes.push(format!("may be layout: {reason}"));
        } else if word == "unconfirmed" && self.fresh > 0 {
            line.notes.push(format!(
                "{} of {} launches kept the link layouts of the builds: {reason}",
                self.kept,
                self.kept + self.fresh
            ));
        }
    }
}

impl Default for Standing {
    fn default() -> Standing {
        Standing::new(When::Off, &Supply::Kept)
    }
}

/// Whether a contender was called faster or slower by less than layout alone can do.
fn may_be_luck(trial: &Compare, contender: usize) -> bool {
    let judgement = trial.judgement(contender);
    matches!(judgement.verdict, Verdict::Faster | Verdict::Slower)
        && judgement.change.is_some_and(|change| change.abs() < LUCK)
}

#[cfg(test)]
mod tests;
