//! The pilot: chooses how many iterations make a batch, how many batches warm a launch and how many
//! rounds it holds. Later launches repeat these counts exactly, whatever the clock says.
//!
//! It sees subjects by index only and does not know what distinguishes them.

use nbench::{Iters, Sample, Subject, SubjectError};

use crate::plan::{Batching, Plan};
use crate::schedule::Schedule;

/// Counts that every launch repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Iterations of one batch, per subject; all equal under [`Batching::Shared`].
    pub iters: Vec<u64>,
    /// Untimed rounds before the first one that counts.
    pub warmup_rounds: usize,
    /// Rounds of one launch.
    pub rounds: usize,
    /// Nanoseconds per operation of each subject, as the pilot saw them.
    pub per_operation: Vec<f64>,
    /// Nanoseconds of wall time that one round of all subjects takes, set-up included.
    pub round_spent: f64,
    /// Whether an operation is so long that a launch holds a single round.
    pub slow: bool,
    /// Whether a subject used CPU time outside the benchmark's own thread, or has several threads;
    /// `None` where the probes could not tell.
    pub threads: Option<bool>,
    /// Reason why its times cannot be, for a benchmark that times itself.
    pub implausible: Option<Implausible>,
}

/// Cost of one subject as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    wall: f64,
    spent: f64,
}

/// Runs every subject with growing, equal counts until the fastest fills a quarter of `target`
/// nanoseconds, warms them for the planned time, then sizes batches from the median of five rounds.
///
/// All subjects execute the same counts in alternating order, so that none is more used than
/// another when measuring starts. `target` is the slice of one subject.
pub fn calibrate(
    subjects: &mut [&mut dyn Subject],
    plan: &Plan,
    target: f64,
    seed: u64,
) -> Result<Calibration, SubjectError> {
    let mut schedule = Schedule::new(subjects.len(), seed);
    let mut threads = ThreadEvidence::default();
    if plan.blocks {
        let costs = run_round(subjects, &mut schedule, BLOCK_ITERS, &mut threads)?;
        return Ok(Calibration {
            iters: vec![BLOCK_ITERS; subjects.len()],
            // Every run warms itself.
            warmup_rounds: 0,
            rounds: 1,
            per_operation: costs.iter().map(|c| c.wall / BLOCK_ITERS as f64).collect(),
            round_spent: costs.iter().map(|c| c.spent).sum(),
            slow: true,
            threads: threads.verdict(),
            implausible: None,
        });
    }
    let (iters, costs, implausible) = grow(subjects, plan, target, &mut schedule, &mut threads)?;
    let slow_limit = plan.slow_operation.as_nanos() as f64;
    let slow = iters == 1 && costs.iter().any(|c| c.spent > slow_limit);
    if slow {
        // The single operation each subject has just run was its warm-up.
        return Ok(Calibration {
            iters: vec![1; subjects.len()],
            warmup_rounds: 1,
            rounds: 1,
            per_operation: costs.iter().map(|c| c.wall).collect(),
            round_spent: costs.iter().map(|c| c.spent).sum(),
            slow,
            threads: threads.verdict(),
            implausible: None,
        });
    }

    let (mut wall, mut spent) = probe(subjects, plan, iters, &mut schedule, &mut threads)?;
    if implausible == Some(Implausible::Constant) {
        // What it takes is what one call takes, so it is asked for one.
        for cost in wall.iter_mut().chain(&mut spent) {
            *cost *= iters as f64;
        }
        let sized = size(plan, target, &wall, &spent, threads.verdict());
        return Ok(Calibration {
            iters: vec![1; subjects.len()],
            round_spent: spent.iter().sum(),
            implausible,
            ..sized
        });
    }
    let sized = size(plan, target, &wall, &spent, threads.verdict());
    Ok(Calibration { implausible, ..sized })
}

/// Raises the count until the fastest subject fills a quarter of `target` nanoseconds. Returns the
/// count, what its last round cost, and what the times cannot be.
fn grow(
    subjects: &mut [&mut dyn Subject],
    plan: &Plan,
    target: f64,
    schedule: &mut Schedule,
    threads: &mut ThreadEvidence,
) -> Result<(u64, Vec<Cost>, Option<Implausible>), SubjectError> {
    let cap = plan.spent_cap.as_nanos() as f64;
    let mut iters = 1u64;
    let mut costs = run_round(subjects, schedule, iters, threads)?;
    let mut growth = Growth::default();
    growth.see(iters, &costs);
    loop {
        let fastest = costs.iter().map(|c| c.wall).fold(f64::INFINITY, f64::min);
        let slowest = costs.iter().map(|c| c.spent).fold(0.0, f64::max);
        if fastest >= target / 4.0 || slowest * 2.0 > cap || iters >= MAX_ITERS {
            return Ok((iters, costs, growth.verdict()));
        }
        // A first call is cold, so growth stays bounded however short it looked.
        let wish = if fastest > 0.0 { (target / fastest).clamp(2.0, 8.0) } else { 8.0 };
        let room = (cap / slowest.max(1.0)).max(1.0);
        iters = ((iters as f64 * wish.min(room)).ceil() as u64).clamp(iters + 1, MAX_ITERS);
        costs = run_round(subjects, schedule, iters, threads)?;
        growth.see(iters, &costs);
    }
}

/// Warms the subjects for the planned time and returns, by subject, the median nanoseconds per
/// operation of the rounds that follow: timed, and with set-up.
fn probe(
    subjects: &mut [&mut dyn Subject],
    plan: &Plan,
    iters: u64,
    schedule: &mut Schedule,
    threads: &mut ThreadEvidence,
) -> Result<(Vec<f64>, Vec<f64>), SubjectError> {
    let warm_target = plan.warmup.as_nanos() as f64;
    let mut warmed = 0.0;
    // A benchmark that times itself may claim to take no time at all.
    for _ in 0..MAX_WARMUP_ROUNDS {
        if warmed >= warm_target {
            break;
        }
        let round = run_round(subjects, schedule, iters, threads)?;
        warmed += round.iter().map(|c| c.spent).sum::<f64>() / subjects.len() as f64;
    }
    let mut probes = vec![Vec::with_capacity(PROBES); subjects.len()];
    for _ in 0..PROBES {
        for (seen, cost) in probes.iter_mut().zip(run_round(subjects, schedule, iters, threads)?) {
            seen.push(cost);
        }
    }
    let typical = |pick: fn(&Cost) -> f64| -> Vec<f64> {
        probes
            .iter()
            .map(|seen| {
                let values: Vec<f64> = seen.iter().map(|c| pick(c) / iters as f64).collect();
                crate::stats::median(&values).unwrap_or(0.0)
            })
            .collect()
    };
    Ok((typical(|c| c.wall), typical(|c| c.spent)))
}

/// As [`calibrate`], one subject after the other: the process of one ends before that of the next
/// begins. Each is used as often as its own pilot takes; launches repeat equal counts all the same.
pub fn calibrate_apart(
    subjects: &mut [&mut dyn Subject],
    plan: &Plan,
    target: f64,
    seed: u64,
) -> Result<Calibration, SubjectError> {
    let mut each = Vec::with_capacity(subjects.len());
    for subject in subjects.iter_mut() {
        each.push(calibrate(&mut [&mut **subject], plan, target, seed)?);
    }
    let wall: Vec<f64> = each.iter().flat_map(|c| c.per_operation.iter().copied()).collect();
    let spent: Vec<f64> =
        each.iter().map(|c| c.round_spent / c.iters.iter().sum::<u64>().max(1) as f64).collect();
    let implausible = each.iter().find_map(|c| c.implausible);
    let threads: Option<bool> =
        each.iter().filter_map(|c| c.threads).reduce(|one, other| one || other);
    if plan.blocks || each.iter().any(|c| c.slow) {
        let iters = if plan.blocks { BLOCK_ITERS } else { 1 };
        return Ok(Calibration {
            iters: vec![iters; subjects.len()],
            warmup_rounds: usize::from(!plan.blocks),
            rounds: 1,
            per_operation: wall,
            round_spent: spent.iter().sum::<f64>() * iters as f64,
            slow: true,
            threads,
            implausible,
        });
    }
    Ok(Calibration { implausible, ..size(plan, target, &wall, &spent, threads) })
}

/// Iterations beyond which a batch does not grow: an operation that costs nothing measurable would
/// otherwise never end.
const MAX_ITERS: u64 = 1 << 32;
const PROBES: usize = 5;
/// Iterations that one run of a subject's own length is expressed in. Samples are whole
/// nanoseconds, so this many resolve a millionth of one per operation.
const BLOCK_ITERS: u64 = 1_000_000;
/// Warm-up rounds beyond which none is added: 30 ms of the shortest samples (10 us) are 3000.
const MAX_WARMUP_ROUNDS: usize = 10_000;

/// Counts from nanoseconds per operation (`wall` timed, `spent` with set-up).
fn size(
    plan: &Plan,
    target: f64,
    wall: &[f64],
    spent: &[f64],
    threads: Option<bool>,
) -> Calibration {
    let cap = plan.spent_cap.as_nanos() as f64;
    let fitting = |wall: f64, spent: f64| {
        let wanted = (target / wall.max(1e-3)).ceil();
        let allowed = (cap / spent.max(1e-3)).floor();
        (wanted.min(allowed).max(1.0) as u64).min(MAX_ITERS)
    };
    let iters: Vec<u64> = match plan.batching {
        Batching::Shared => {
            let fastest = wall.iter().copied().fold(f64::INFINITY, f64::min);
            let slowest = spent.iter().copied().fold(0.0, f64::max);
            let fits = fitting(fastest, slowest);
            vec![fits.min(for_enough_rounds(plan, target, fastest, spent)); wall.len()]
        }
        Batching::EqualTime => wall.iter().zip(spent).map(|(w, s)| fitting(*w, *s)).collect(),
    };
    let round_spent: f64 = iters.iter().zip(spent).map(|(k, s)| *k as f64 * s).sum();
    let per_subject = (round_spent / wall.len().max(1) as f64).max(1.0);
    let warmup_rounds = (plan.warmup.as_nanos() as f64 / per_subject).ceil();
    let warmup_rounds = (warmup_rounds.max(1.0) as usize).min(MAX_WARMUP_ROUNDS);
    let affordable = (plan.launch_time.as_nanos() as f64 / round_spent.max(1.0)).floor() as usize;
    let rounds = affordable.clamp(plan.min_rounds, plan.max_rounds);
    // Whole blocks of the schedule, so that every subject leads equally often in each launch.
    let block = Schedule::new(wall.len(), 0).block_length();
    let rounds = if rounds > block { rounds - rounds % block } else { rounds };
    Calibration {
        iters,
        warmup_rounds,
        rounds,
        per_operation: wall.to_vec(),
        round_spent,
        slow: false,
        threads,
        implausible: None,
    }
}

/// Most iterations that leave a launch enough rounds. Sides of equal speed are not bound by it;
/// where one takes many times as long as another, the other's slices become shorter than planned
/// instead of the pairs few.
fn for_enough_rounds(plan: &Plan, target: f64, fastest: f64, spent: &[f64]) -> u64 {
    let launch = plan.launch_time.as_nanos() as f64;
    let if_equal = launch / (target * spent.len().max(1) as f64);
    let wanted = if_equal.clamp(1.0, ENOUGH_ROUNDS);
    let each: f64 = spent.iter().sum::<f64>().max(1e-3);
    let for_rounds = (launch / (wanted * each)).floor();
    let shortest = (target / SHORTEST_SLICE / fastest.max(1e-3)).ceil();
    (for_rounds.max(shortest).max(1.0) as u64).min(MAX_ITERS)
}

/// Rounds that a launch should hold: ten trim well, and some more are worth shorter slices.
const ENOUGH_ROUNDS: f64 = 16.0;

/// Part of the planned slice below which none is shortened for the sake of rounds.
const SHORTEST_SLICE: f64 = 20.0;

fn run_round(
    subjects: &mut [&mut dyn Subject],
    schedule: &mut Schedule,
    iters: u64,
    threads: &mut ThreadEvidence,
) -> Result<Vec<Cost>, SubjectError> {
    let mut costs = vec![Cost::default(); subjects.len()];
    for index in schedule.next_round() {
        let samples = subjects[index].sample(Iters(iters), 1)?;
        let Some(sample) = samples.last() else {
            return Err(SubjectError::protocol("a batch of one sample was answered by none"));
        };
        threads.see(sample);
        costs[index] = Cost { wall: sample.wall.0 as f64, spent: sample.spent.0 as f64 };
    }
    Ok(costs)
}

/// Gathers whether work happens outside the benchmark's own thread. A single sample proves nothing:
/// a thread that set-up left, or the allocator's, may work for a moment.
#[derive(Debug, Default)]
struct ThreadEvidence {
    known: bool,
    /// Samples long enough to tell, and those of them that show it.
    telling: usize,
    several: usize,
    /// Whether one showed that other threads do most of the work.
    mostly: bool,
}

/// Samples shorter than this are too short to tell (nanoseconds).
const TELLING: f64 = 200_000.0;

impl ThreadEvidence {
    fn see(&mut self, sample: &Sample) {
        let (Some(process), Some(own)) = (sample.axes.cpu.value(), sample.axes.thread_cpu.value())
        else {
            return;
        };
        self.known = true;
        let spent = sample.spent.0 as f64;
        if spent < TELLING {
            return;
        }
        // Clock granularity and the harness itself stay well below this share.
        let elsewhere = process - own;
        self.telling += 1;
        self.several += usize::from(elsewhere > 50_000.0 && elsewhere > 0.05 * spent);
        self.mostly |= elsewhere > 0.25 * spent;
    }

    /// More than half of all samples must show it; where there are only one or two, because an
    /// operation takes long, it must also be much.
    fn verdict(&self) -> Option<bool> {
        let most = 2 * self.several > self.telling;
        self.known.then_some(most && (self.telling > 2 || self.mostly))
    }
}

/// Claim of a benchmark that times itself and that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implausible {
    /// No time at all, however many iterations were asked for.
    Nothing,
    /// The same time, however many iterations were asked for.
    Constant,
    /// Less time for an iteration than a processor takes for anything.
    TooShort,
}

/// The shortest time of an operation that anybody may claim (nanoseconds): a tenth of a cycle.
const SHORTEST: f64 = 0.02;

/// How much more iterations two batches must have for their times to be compared, and how much
/// longer the larger one must at least take.
const MORE: (f64, f64) = (16.0, 2.0);

/// Times of batches of growing size, by subject. The first batch is cold and tells nothing.
#[derive(Debug, Default)]
struct Growth(Vec<(u64, Vec<f64>)>);

impl Growth {
    fn see(&mut self, iters: u64, costs: &[Cost]) {
        self.0.push((iters, costs.iter().map(|cost| cost.wall).collect()));
    }

    /// Objection of the times of any subject.
    fn verdict(&self) -> Option<Implausible> {
        let subjects = self.0.last().map_or(0, |(_, walls)| walls.len());
        (0..subjects).find_map(|subject| {
            let of: Vec<(u64, f64)> =
                self.0.iter().map(|(n, walls)| (*n, walls[subject])).collect();
            implausible(&of)
        })
    }
}

fn implausible(seen: &[(u64, f64)]) -> Option<Implausible> {
    let (iters, wall) = *seen.last()?;
    if seen.len() > 2 && seen.iter().all(|(_, wall)| *wall == 0.0) {
        return Some(Implausible::Nothing);
    }
    // The least of them, since any may have been disturbed.
    let fewer = seen.iter().skip(1).filter(|(few, _)| iters as f64 >= MORE.0 * *few as f64);
    let least = fewer.map(|(_, wall)| *wall).filter(|wall| *wall > 0.0).reduce(f64::min);
    if least.is_some_and(|least| wall < MORE.1 * least) {
        return Some(Implausible::Constant);
    }
    (iters > 1_000 && wall / iters as f64 <= SHORTEST).then_some(Implausible::TooShort)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::Scripted;

    const SLICE: f64 = 1e6;

    #[test]
    fn shared_counts_fit_the_faster_subject() {
        let mut fast = Scripted::constant(100.0);
        let mut slow = Scripted::constant(200.0);
        let plan = Plan::default();
        let got = calibrate(&mut [&mut fast, &mut slow], &plan, SLICE, 1).unwrap();
        assert_eq!(got.iters, vec![10_000, 10_000]);
        // A round costs 1 + 2 ms, so 160 ms hold 53 rounds, 52 of them balanced.
        assert_eq!(got.rounds, 52);
        assert_eq!(fast.iterations(), slow.iterations());
    }

    #[test]
    fn subjects_apart_get_equal_counts_that_fit_the_faster() {
        let mut fast = Scripted::constant(100.0);
        let mut slow = Scripted::constant(200.0);
        let plan = Plan { order: crate::plan::Order::Apart, ..Plan::default() };
        let got = calibrate_apart(&mut [&mut fast, &mut slow], &plan, SLICE, 1).unwrap();
        assert_eq!((got.iters, got.rounds, got.slow), (vec![10_000, 10_000], 52, false));
        let mut long = Scripted::constant(80e6);
        let got = calibrate_apart(&mut [&mut fast, &mut long], &plan, SLICE, 1).unwrap();
        assert_eq!((got.iters, got.rounds, got.slow), (vec![1, 1], 1, true));
    }

    #[test]
    fn a_contender_many_times_faster_leaves_enough_rounds() {
        for factor in [1.0, 3.0, 12.0, 40.0] {
            let mut fast = Scripted::constant(1000.0);
            let mut slow = Scripted::constant(1000.0 * factor);
            let got = calibrate(&mut [&mut fast, &mut slow], &Plan::default(), SLICE, 1).unwrap();
            assert!(got.rounds >= 14, "{factor}: {got:?}");
            assert_eq!(got.iters[0], got.iters[1]);
            // No slice is too short to be told from the clock.
            assert!(got.iters[0] >= 50, "{factor}: {got:?}");
        }
    }

    #[test]
    fn times_that_cannot_be_are_noticed() {
        /// A benchmark that reports `of(iterations)` nanoseconds.
        struct Claims(fn(u64) -> u64);
        impl Subject for Claims {
            fn sample(&mut self, iters: Iters, _: usize) -> Result<Vec<Sample>, SubjectError> {
                let wall = nbench::Nanos((self.0)(iters.0));
                let axes = nbench::Axes::unavailable("a claim");
                Ok(vec![Sample { iters, wall, spent: wall, axes }])
            }
        }
        type Case = (fn(u64) -> u64, Option<Implausible>);
        let cases: [Case; 7] = [
            (|_| 50_000, Some(Implausible::Constant)),
            (|_| 3_000, Some(Implausible::Constant)),
            (|_| 0, Some(Implausible::Nothing)),
            (|iters| 100 + iters / 1_000, Some(Implausible::TooShort)),
            (|iters| iters / 1_000, Some(Implausible::TooShort)),
            (|iters| 20 * iters, None),
            // One cold call, and a clock that costs more than the work.
            (|iters| if iters == 1 { 900_000 } else { 40 + iters }, None),
        ];
        for (index, (claim, wanted)) in cases.into_iter().enumerate() {
            let got = calibrate(&mut [&mut Claims(claim)], &Plan::default(), SLICE, 1).unwrap();
            assert_eq!(got.implausible, wanted, "case {index}");
            if wanted == Some(Implausible::Constant) {
                assert_eq!(got.iters, [1]);
                assert_eq!(got.per_operation[0], claim(1) as f64);
            }
        }
    }

    #[test]
    fn one_noisy_sample_does_not_show_threads() {
        let verdict = |samples: &[(u64, f64)]| {
            let mut evidence = ThreadEvidence::default();
            for (spent, elsewhere) in samples {
                evidence.see(&Sample {
                    iters: Iters(1),
                    wall: nbench::Nanos(*spent),
                    spent: nbench::Nanos(*spent),
                    axes: nbench::Axes {
                        cpu: nbench::Reading::Value(*spent as f64 + elsewhere),
                        thread_cpu: nbench::Reading::Value(*spent as f64),
                        ..nbench::Axes::unavailable("not read")
                    },
                });
            }
            evidence.verdict()
        };
        let (quiet, busy) = ((1_000_000, 0.0), (1_000_000, 900_000.0));
        assert_eq!(verdict(&[]), None);
        assert_eq!(verdict(&[quiet, busy, quiet, quiet]), Some(false));
        assert_eq!(verdict(&[busy, busy, quiet]), Some(true));
        assert_eq!(verdict(&[(90_000, 80_000.0); 5]), Some(false), "too short to tell");
        // A long operation is sampled once or twice: then it must be much.
        assert_eq!(verdict(&[busy]), Some(true));
        assert_eq!(verdict(&[(1_000_000, 90_000.0)]), Some(false));
        assert_eq!(verdict(&[busy, quiet]), Some(false));
    }

    #[test]
    fn equal_time_gives_each_its_own_count() {
        let mut fast = Scripted::constant(100.0);
        let mut slow = Scripted::constant(1000.0);
        let plan = Plan { batching: Batching::EqualTime, ..Plan::default() };
        let got = calibrate(&mut [&mut fast, &mut slow], &plan, SLICE, 1).unwrap();
        assert_eq!(got.iters, vec![10_000, 1_000]);
        assert_eq!(got.rounds, 80);
    }

    #[test]
    fn a_long_operation_gets_one_round() {
        let mut subject = Scripted::constant(80e6);
        let got = calibrate(&mut [&mut subject], &Plan::default(), SLICE, 1).unwrap();
        assert!(got.slow);
        assert_eq!((got.rounds, got.iters.as_slice()), (1, [1].as_slice()));
        assert_eq!(subject.iterations(), 1);
    }

    #[test]
    fn runs_of_their_own_length_are_paired_one_by_one_and_resolve_short_operations() {
        let mut fast = Scripted::constant(0.25);
        let mut slow = Scripted::constant(3.5);
        let plan = Plan { blocks: true, ..Plan::default() };
        let got = calibrate(&mut [&mut fast, &mut slow], &plan, SLICE, 1).unwrap();
        assert_eq!((got.rounds, got.warmup_rounds, got.slow), (1, 0, true));
        assert_eq!(got.per_operation, [0.25, 3.5]);
        assert_eq!((fast.samples(), slow.samples()), (1, 1));
    }

    #[test]
    fn set_up_time_caps_a_batch() {
        // 1 us of work behind 1 ms of set-up: 20 operations fill the cap of 20 ms.
        let mut subject = Scripted::constant(1e3).with_setup(1e6);
        let got = calibrate(&mut [&mut subject], &Plan::default(), SLICE, 1).unwrap();
        assert!(got.iters[0] <= 20, "{got:?}");
        assert!(!got.slow);
        assert!(got.rounds >= 4);
    }

    #[test]
    fn claiming_to_take_no_time_ends_calibration_soon() {
        let mut subject = Scripted::constant(0.0);
        let got = calibrate(&mut [&mut subject], &Plan::default(), SLICE, 1).unwrap();
        assert!(got.warmup_rounds <= MAX_WARMUP_ROUNDS);
        assert!(subject.samples() < 2 * MAX_WARMUP_ROUNDS);
    }

    #[test]
    fn an_operation_that_costs_nothing_ends_calibration() {
        let mut subject = Scripted::constant(1e-4);
        let got = calibrate(&mut [&mut subject], &Plan::default(), SLICE, 1).unwrap();
        assert!(got.iters[0] <= MAX_ITERS);
    }
}
