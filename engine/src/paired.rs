//! Comparing: pairs against the first subject, launch by launch, and the verdict that several
//! launches allow. Subject 0 is the reference, the others are contenders; where they come from is
//! not known here.

use nbench::axis::OwnReading;
use nbench::{Subject, SubjectError};

use crate::calibrate::{Calibration, calibrate, calibrate_apart};
use crate::collect::{Round, collect, collect_sequentially};
use crate::observe::{Event, Observer};
use crate::own::{self, OwnChange};
use crate::plan::{IntervalMethod, Looks, Order, Plan};
use crate::schedule::Schedule;
use crate::stats;
use crate::stop::{Decision, StopReason, planned_alpha};

/// Judgement of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The contender takes less time, by more than the threshold.
    Faster,
    /// The contender takes more time, by more than the threshold.
    Slower,
    /// The whole interval lies inside the threshold.
    Equivalent,
    /// None of these could be shown.
    Inconclusive,
}

/// The judgement of one contender against the reference. Changes are `contender / reference - 1`:
/// positive is slower.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Estimated change; `None` without launches.
    pub change: Option<f64>,
    /// Interval of the change with its exact error for this look; `None` when this many launches
    /// have none.
    pub interval: Option<ChangeInterval>,
    /// Verdict by the rule of this module.
    pub verdict: Verdict,
    /// Launches used.
    pub launches: usize,
    /// Pairs used, all launches together.
    pub pairs: usize,
    /// The smallest change this run could have called; `None` without an interval.
    pub smallest: Option<f64>,
}

/// Bounds of a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeInterval {
    /// Lower bound (fraction).
    pub low: f64,
    /// Upper bound (fraction).
    pub high: f64,
    /// Exact two-sided error of this look.
    pub level: f64,
}

/// Judges launch estimates (log-ratios) at two-sided error `alpha`.
///
/// Estimate: Hodges-Lehmann over launches. Interval: exact signed rank. Faster or slower: the
/// interval excludes zero and the estimate exceeds `threshold`. Equivalent: the interval lies
/// inside the threshold. Everything else is inconclusive.
pub fn judge(
    estimates: &[f64],
    pairs: usize,
    alpha: f64,
    threshold: f64,
    may_say_equivalent: bool,
) -> Judgement {
    let centre = stats::hodges_lehmann(estimates);
    let ranked = stats::signed_rank_interval(estimates, alpha);
    let change = centre.map(f64::exp_m1);
    let interval = ranked.map(|i| ChangeInterval {
        low: i.low.exp_m1(),
        high: i.high.exp_m1(),
        level: i.level,
    });
    let verdict = verdict_of(change, interval, threshold, may_say_equivalent);
    // A change is called once it clears the threshold and the interval around it clears zero.
    let smallest = ranked.map(|i| ((i.high - i.low) / 2.0).exp_m1().max(threshold));
    Judgement { change, interval, verdict, launches: estimates.len(), pairs, smallest }
}

/// The verdict of an estimate and its interval; inconclusive without either.
fn verdict_of(
    change: Option<f64>,
    interval: Option<ChangeInterval>,
    threshold: f64,
    may_say_equivalent: bool,
) -> Verdict {
    let (Some(change), Some(ChangeInterval { low, high, .. })) = (change, interval) else {
        return Verdict::Inconclusive;
    };
    if low > 0.0 && change > threshold {
        Verdict::Slower
    } else if high < 0.0 && change < -threshold {
        Verdict::Faster
    } else if may_say_equivalent && low >= -threshold && high <= threshold {
        Verdict::Equivalent
    } else {
        Verdict::Inconclusive
    }
}

/// The estimate of one launch: the trimmed mean of `ln(contender / reference)`, taken separately
/// over pairs led by either side and averaged, so that an order effect cancels instead of widening
/// what is trimmed. With too few pairs of either lead it is the trimmed mean of all.
pub fn launch_estimate(rounds: &[Round], contender: usize, trim: f64) -> Option<f64> {
    estimate_between(rounds, 0, contender, trim)
}

/// [`launch_estimate`] of any two subjects.
fn estimate_between(
    rounds: &[Round],
    reference: usize,
    contender: usize,
    trim: f64,
) -> Option<f64> {
    let mut led = [Vec::new(), Vec::new()];
    for round in rounds {
        let ratio = round.per_operation[contender] / round.per_operation[reference];
        if ratio.is_finite() && ratio > 0.0 {
            let reference_first = round.order.iter().position(|s| *s == reference)
                < round.order.iter().position(|s| *s == contender);
            led[usize::from(reference_first)].push(ratio.ln());
        }
    }
    lead_averaged(&led[0], &led[1], trim)
}

/// The rule of `launch_estimate` on log-ratios already split by lead.
pub fn lead_averaged(one: &[f64], other: &[f64], trim: f64) -> Option<f64> {
    const ENOUGH: usize = 5;
    if one.len() >= ENOUGH && other.len() >= ENOUGH {
        Some((stats::trimmed_mean(one, trim)? + stats::trimmed_mean(other, trim)?) / 2.0)
    } else {
        let all: Vec<f64> = one.iter().chain(other).copied().collect();
        stats::trimmed_mean(&all, trim)
    }
}

/// The pairs of one launch.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedLaunch {
    /// Rounds in time order.
    pub rounds: Vec<Round>,
    /// Log-ratio estimate of each contender (index 0 is contender 1); `None` when no pair of the
    /// launch had two positive times.
    pub estimates: Vec<Option<f64>>,
    /// Quantities that each subject counted itself, per operation; empty for nearly all
    /// benchmarks.
    pub own: Vec<Vec<OwnReading>>,
}

/// One benchmark compared across subjects over several launches.
#[derive(Debug)]
pub struct Compare {
    name: String,
    plan: Plan,
    looks: Looks,
    subjects: usize,
    calibration: Option<Calibration>,
    schedule: Schedule,
    warm_schedule: Schedule,
    launches: Vec<PairedLaunch>,
    decided: Vec<Option<Judgement>>,
    stopped: Option<StopReason>,
}

impl Compare {
    /// A comparison of `subjects` (at least two) under `plan`.
    pub fn new(name: impl Into<String>, subjects: usize, plan: Plan) -> Compare {
        let name = name.into();
        let seed = plan.seed ^ name_seed(&name);
        Compare {
            looks: plan.looks.clone(),
            subjects,
            calibration: None,
            schedule: Schedule::new(subjects, seed),
            warm_schedule: Schedule::new(subjects, seed.rotate_left(17) ^ 0x5bd1_e995),
            launches: Vec::new(),
            decided: vec![None; subjects.saturating_sub(1)],
            stopped: None,
            name,
            plan,
        }
    }

    /// A second comparison of the same subjects with the same counts: it has no launches yet, and
    /// one look with the whole error after `launches` of them.
    pub fn again(&self, launches: usize) -> Compare {
        let alpha = 1.0 - self.looks.confidence();
        let looks = Looks { at: vec![launches.max(1)], alpha: vec![alpha] };
        let plan = Plan { looks: looks.clone(), ..self.plan.clone() };
        let mut again = Compare::new(format!("{} again", self.name), self.subjects, plan);
        again.looks = looks;
        again.calibration = self.calibration.clone();
        again
    }

    /// The pilot: calibrates; its samples are not kept.
    pub fn pilot(
        &mut self,
        subjects: &mut [&mut dyn Subject],
        observer: &mut dyn Observer,
    ) -> Result<&Calibration, SubjectError> {
        let target = self.plan.slice.as_nanos() as f64;
        let calibration = match self.plan.order {
            Order::Rounds | Order::Sequential => {
                calibrate(subjects, &self.plan, target, self.plan.seed)?
            }
            Order::Apart => calibrate_apart(subjects, &self.plan, target, self.plan.seed)?,
        };
        if calibration.slow {
            self.looks = self.plan.looks.slow();
        }
        observer.on(&Event::Calibrated {
            name: &self.name,
            iters: &calibration.iters,
            rounds: calibration.rounds,
        });
        Ok(self.calibration.insert(calibration))
    }

    /// Takes one launch from fresh subjects, or calibrates first when no pilot has run.
    pub fn launch(
        &mut self,
        subjects: &mut [&mut dyn Subject],
        observer: &mut dyn Observer,
    ) -> Result<&PairedLaunch, SubjectError> {
        if self.calibration.is_none() {
            self.pilot(subjects, observer)?;
        }
        let Some(calibration) = &self.calibration else {
            return Err(SubjectError::protocol("a launch was asked for before its pilot"));
        };
        let taken = match self.plan.order {
            Order::Rounds => collect(
                subjects,
                calibration,
                &mut self.schedule,
                &mut self.warm_schedule,
                &self.name,
                observer,
            )?,
            // Who comes first changes with the launch.
            Order::Sequential | Order::Apart => {
                let first = self.launches.len() % self.subjects.max(1);
                collect_sequentially(subjects, calibration, first, &self.name, observer)?
            }
        };
        Ok(self.take(taken.rounds, taken.own, observer))
    }

    /// Adds a launch whose rounds were taken elsewhere, for instance read back from a record.
    pub fn accept(&mut self, rounds: Vec<Round>, observer: &mut dyn Observer) -> &PairedLaunch {
        self.take(rounds, Vec::new(), observer)
    }

    fn take(
        &mut self,
        rounds: Vec<Round>,
        own: Vec<Vec<OwnReading>>,
        observer: &mut dyn Observer,
    ) -> &PairedLaunch {
        let estimates = (1..self.subjects)
            .map(|contender| launch_estimate(&rounds, contender, self.plan.trim))
            .collect();
        self.launches.push(PairedLaunch { rounds, estimates, own });
        observer.on(&Event::Launch { name: &self.name, launches: self.launches.len() });
        self.look();
        &self.launches[self.launches.len() - 1]
    }

    /// Looks, if this launch count is a planned one. A contender keeps its first verdict.
    fn look(&mut self) {
        let Some(alpha) = planned_alpha(&self.looks, self.launches.len()) else { return };
        let last = self.launches.len() >= self.looks.last();
        for contender in 1..self.subjects {
            if self.decided[contender - 1].is_some() {
                continue;
            }
            let judgement = self.judge_now(contender, alpha);
            // Asked for a size, a narrow interval ends the comparison whatever its verdict.
            let done = match self.plan.half_width {
                Some(wanted) => {
                    judgement.interval.is_some_and(|i| (i.high - i.low) / 2.0 <= wanted)
                }
                None => judgement.verdict != Verdict::Inconclusive,
            };
            if done || last {
                self.decided[contender - 1] = Some(judgement);
            }
        }
        if self.decided.iter().all(Option::is_some) {
            let every = self.decided.iter().flatten().all(|j| j.verdict != Verdict::Inconclusive);
            self.stopped = Some(if every { StopReason::Decided } else { StopReason::LastLook });
        } else if last {
            self.stopped = Some(StopReason::LastLook);
        }
    }

    fn judge_now(&self, contender: usize, alpha: f64) -> Judgement {
        let plan = &self.plan;
        match plan.interval {
            IntervalMethod::SignedRank => judge(
                &self.estimates(contender),
                self.pairs(),
                alpha,
                plan.threshold,
                plan.may_say_equivalent,
            ),
            IntervalMethod::BlockBootstrap => self.judge_pooled(contender, alpha),
        }
    }

    /// As [`judge`], with the block bootstrap over all pairs in time order.
    fn judge_pooled(&self, contender: usize, alpha: f64) -> Judgement {
        const RESAMPLES: usize = 2000;
        let ratios: Vec<f64> = self
            .launches
            .iter()
            .flat_map(|l| &l.rounds)
            .map(|r| (r.per_operation[contender] / r.per_operation[0]).ln())
            .filter(|ratio| ratio.is_finite())
            .collect();
        let pooled =
            stats::circular_block_interval(&ratios, 1.0 - alpha, RESAMPLES, self.plan.seed);
        let interval = pooled.map(|i| ChangeInterval {
            low: i.low.exp_m1(),
            high: i.high.exp_m1(),
            level: alpha,
        });
        let change = pooled.map(|i| i.mean.exp_m1());
        Judgement {
            change,
            interval,
            verdict: verdict_of(
                change,
                interval,
                self.plan.threshold,
                self.plan.may_say_equivalent,
            ),
            launches: self.launches.len(),
            pairs: self.pairs(),
            smallest: pooled.map(|i| ((i.high - i.low) / 2.0).exp_m1().max(self.plan.threshold)),
        }
    }

    /// The comparison of any two subjects (`contender` against `reference`) by the launches at
    /// hand, at the error of the look they ended at, or with what is left where they were cut
    /// off.
    pub fn between(&self, reference: usize, contender: usize) -> Judgement {
        let count = self.launches.len();
        let alpha =
            planned_alpha(&self.looks, count).unwrap_or_else(|| self.looks.left_after(count));
        let estimates: Vec<f64> = self
            .launches
            .iter()
            .filter_map(|l| estimate_between(&l.rounds, reference, contender, self.plan.trim))
            .collect();
        let plan = &self.plan;
        judge(&estimates, self.pairs(), alpha, plan.threshold, plan.may_say_equivalent)
    }

    /// Takes further launches in another order.
    pub fn set_order(&mut self, order: Order) {
        self.plan.order = order;
    }

    /// Whether another launch is wanted.
    pub fn decide(&self) -> Decision {
        self.stopped.map_or(Decision::More, Decision::Done)
    }

    /// Ends the comparison outside its plan (budget, interrupt): undecided contenders are judged
    /// with all error that is left.
    pub fn stop(&mut self, reason: StopReason) {
        if self.stopped.is_some() {
            return;
        }
        let alpha = self.looks.left_after(self.launches.len());
        for contender in 1..self.subjects {
            if self.decided[contender - 1].is_none() {
                self.decided[contender - 1] = Some(self.judge_now(contender, alpha));
            }
        }
        self.stopped = Some(reason);
    }

    /// Takes back the call of `contender` (1-based), which did not survive beside other
    /// comparisons: more launches follow if the plan has any left, otherwise the verdict
    /// becomes inconclusive.
    pub fn withdraw(&mut self, contender: usize) {
        let more = self.launches.len() < self.looks.last()
            && matches!(self.stopped, None | Some(StopReason::Decided));
        let Some(slot) = self.decided.get_mut(contender.wrapping_sub(1)) else { return };
        if more {
            *slot = None;
            self.stopped = None;
        } else if let Some(judgement) = slot {
            judgement.verdict = Verdict::Inconclusive;
            if self.stopped == Some(StopReason::Decided) {
                self.stopped = Some(StopReason::LastLook);
            }
        }
    }

    /// The judgement of `contender` (1-based subject index); before the end it is what would be
    /// said if the run stopped now.
    pub fn judgement(&self, contender: usize) -> Judgement {
        match self.decided.get(contender.wrapping_sub(1)) {
            Some(Some(judgement)) => judgement.clone(),
            _ => self.judge_now(contender, self.looks.left_after(self.launches.len())),
        }
    }

    /// Launch estimates (log-ratios) of a contender, in launch order.
    pub fn estimates(&self, contender: usize) -> Vec<f64> {
        self.launches
            .iter()
            .filter_map(|l| l.estimates.get(contender.wrapping_sub(1)).copied().flatten())
            .collect()
    }

    /// Median nanoseconds per operation of a subject over launches (median of launch medians).
    pub fn typical(&self, subject: usize) -> Option<f64> {
        let medians: Vec<f64> = self
            .launches
            .iter()
            .filter_map(|l| {
                let times: Vec<f64> = l.rounds.iter().map(|r| r.per_operation[subject]).collect();
                stats::median(&times)
            })
            .collect();
        stats::median(&medians)
    }

    /// Describes pairs and launches beyond the verdict.
    pub fn diagnostics(&self, contender: usize) -> crate::diagnose::Diagnostics {
        crate::diagnose::diagnose(&self.launches, contender, self.plan.trim)
    }

    /// Changes of quantities that both the reference and a contender counted themselves, at the
    /// error of the judgement.
    pub fn own_changes(&self, contender: usize) -> Vec<OwnChange> {
        let judgement = self.judgement(contender);
        let alpha = judgement.interval.map_or(1.0 - self.looks.confidence(), |i| i.level);
        own::changes(&self.launches, contender, alpha)
    }

    /// Pairs so far, all launches together.
    pub fn pairs(&self) -> usize {
        self.launches.iter().map(|l| l.rounds.len()).sum()
    }

    /// Launches so far, the pilot not counted.
    pub fn launches(&self) -> &[PairedLaunch] {
        &self.launches
    }

    /// Counts chosen by the pilot.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// Reduces the rounds of later launches to fit a budget; never below the plan's minimum.
    pub fn limit_rounds(&mut self, rounds: usize) {
        let least = self.plan.min_rounds;
        let block = self.schedule.block_length();
        if let Some(calibration) = self.calibration.as_mut().filter(|c| !c.slow) {
            let rounds = rounds.clamp(least, calibration.rounds.max(least));
            calibration.rounds = if rounds > block { rounds - rounds % block } else { rounds };
        }
    }

    /// Looks of this comparison, after the pilot may have chosen those of slow operations.
    pub fn looks(&self) -> &Looks {
        &self.looks
    }

    /// How many subjects are compared, the reference included.
    pub fn subjects(&self) -> usize {
        self.subjects
    }

    /// Settings of this comparison.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// A seed that differs by name but not by run.
pub(crate) fn name_seed(name: &str) -> u64 {
    // FNV-1a: tiny and stable across platforms and releases.
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Compares subjects that `fresh` makes anew for each launch, to the end of the plan.
///
/// The thin loop for comparisons inside a program or a test; the driver of several benchmarks runs
/// the same steps itself to walk them together.
pub fn compare<F>(
    name: &str,
    subjects: usize,
    plan: Plan,
    mut fresh: F,
    observer: &mut dyn Observer,
) -> Result<Compare, SubjectError>
where
    F: FnMut(usize) -> Result<Vec<Box<dyn Subject>>, SubjectError>,
{
    let mut trial = Compare::new(name, subjects, plan);
    for launch in 0.. {
        let mut owned = fresh(launch)?;
        let mut borrowed: Vec<&mut dyn Subject> =
            owned.iter_mut().map(|s| s.as_mut() as &mut dyn Subject).collect();
        if launch == 0 {
            trial.pilot(&mut borrowed, observer)?;
        } else {
            trial.launch(&mut borrowed, observer)?;
        }
        if let Decision::Done(_) = trial.decide() {
            break;
        }
    }
    Ok(trial)
}

#[cfg(test)]
mod tests;
