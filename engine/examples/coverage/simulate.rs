//! Simulated rounds with a known true change, played through the same comparison that measures. It
//! owns the kinds of noise; it sees neither files nor how results are shown.

use nbench_engine::{Compare, Decision, Judgement, Looks, Plan, Round, Schedule, Silent, Verdict};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Standard deviation of a launch's log-ratio: what a fresh process fixes for its life.
pub const LAUNCH_SPREAD: f64 = 0.003;

/// Standard deviation of the log-ratio of one pair within a launch.
pub const PAIR_SPREAD: f64 = 0.01;

/// Disturbance of the times of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Independent normal noise.
    Normal,
    /// Neighbouring samples of a side correlate by 0.6 within a launch.
    Correlated,
    /// Student's t with 2 degrees of freedom, within and between launches: no finite variance.
    HeavyTail,
    /// The machine slows down by half over the run, both sides alike.
    Drift,
    /// The machine becomes slower by a third in the middle of the run, both sides alike.
    Step,
    /// Each process is lucky or not: 1 % slower with probability 0.3.
    Bimodal,
}

impl Noise {
    /// Every kind, in the order of the tables.
    pub const ALL: [Noise; 6] = [
        Noise::Normal,
        Noise::Correlated,
        Noise::HeavyTail,
        Noise::Drift,
        Noise::Step,
        Noise::Bimodal,
    ];

    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            Noise::Normal => "normal, independent",
            Noise::Correlated => "correlated, AR(1) 0.6",
            Noise::HeavyTail => "heavy tail, t with 2 df",
            Noise::Drift => "drift of both sides",
            Noise::Step => "step of both sides",
            Noise::Bimodal => "bimodal processes",
        }
    }
}

/// Launch plans of the tables: one look after a fixed count, or the three looks of the default.
pub fn plans() -> Vec<(String, Looks)> {
    let mut plans: Vec<(String, Looks)> = [6, 10, 16, 24]
        .map(|launches| (launches.to_string(), Looks { at: vec![launches], alpha: vec![0.05] }))
        .into();
    plans.push(("10, 16, 24".to_owned(), Looks::standard()));
    plans
}

/// Log-ratio noise and common course of one whole run, reused at several true changes.
pub struct Run {
    launches: Vec<Vec<Round>>,
}

impl Run {
    /// `launches` launches of `pairs` pairs without any change between the sides.
    pub fn simulate(noise: Noise, launches: usize, pairs: usize, random: &mut StdRng) -> Run {
        let mut schedule = Schedule::new(2, random.random());
        let samples = (2 * launches * pairs) as f64;
        let mut taken = 0.0;
        let launches = (0..launches)
            .map(|_| {
                let luck = [launch_luck(noise, random), launch_luck(noise, random)];
                let mut state = [normal(random), normal(random)];
                (0..pairs)
                    .map(|_| {
                        let order = schedule.next_round();
                        let mut per_operation = vec![0.0; 2];
                        for &side in &order {
                            // Both sides share the course of time, but a pair's samples follow
                            // each other, so it does not cancel exactly.
                            let course = course(noise, taken / samples);
                            taken += 1.0;
                            let own = sample_noise(noise, &mut state[side], random);
                            per_operation[side] = 1e3 * course * (luck[side] + own).exp();
                        }
                        Round { order, per_operation, cpu: vec![None, None] }
                    })
                    .collect()
            })
            .collect();
        Run { launches }
    }

    /// The judgement of a comparison in which the contender takes `1 + change` times as long.
    pub fn judge(&self, looks: &Looks, change: f64, threshold: f64) -> Judgement {
        let plan = Plan { looks: looks.clone(), threshold, ..Plan::default() };
        let mut trial = Compare::new("simulated", 2, plan);
        for launch in &self.launches {
            let mut rounds = launch.clone();
            for round in &mut rounds {
                round.per_operation[1] *= 1.0 + change;
            }
            trial.accept(rounds, &mut Silent);
            if let Decision::Done(_) = trial.decide() {
                break;
            }
        }
        trial.judgement(1)
    }
}

fn launch_luck(noise: Noise, random: &mut StdRng) -> f64 {
    // The difference of two sides has the spread that is named, so each has its half of the
    // variance.
    let side = LAUNCH_SPREAD / 2f64.sqrt();
    match noise {
        Noise::HeavyTail => side * student2(random),
        Noise::Bimodal => {
            let unlucky = random.random::<f64>() < 0.3;
            side * normal(random) + if unlucky { 0.01 } else { 0.0 }
        }
        _ => side * normal(random),
    }
}

fn sample_noise(noise: Noise, state: &mut f64, random: &mut StdRng) -> f64 {
    let side = PAIR_SPREAD / 2f64.sqrt();
    match noise {
        Noise::HeavyTail => side * student2(random),
        Noise::Correlated => {
            // The innovation keeps the variance at 1.
            *state = 0.6 * *state + 0.8 * normal(random);
            side * *state
        }
        _ => side * normal(random),
    }
}

/// The factor by which the whole machine is slower at `time` (0..1) of the run.
fn course(noise: Noise, time: f64) -> f64 {
    match noise {
        Noise::Drift => 1.0 + 0.5 * time,
        Noise::Step if time > 0.5 => 4.0 / 3.0,
        _ => 1.0,
    }
}

fn normal(random: &mut StdRng) -> f64 {
    // Box and Muller; 1 - u is never zero.
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
}

/// Student's t with 2 degrees of freedom, scaled so that its quartiles are those of a normal
/// variable.
fn student2(random: &mut StdRng) -> f64 {
    // A squared sum of two normals over 2 is exponential, so t is a normal over its root.
    let exponential = -(1.0 - random.random::<f64>()).ln();
    let scale = 0.674_489_750_2 / 0.816_496_580_9;
    scale * normal(random) / exponential.sqrt().max(1e-12)
}

/// Counts of what many comparisons said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Comparisons.
    pub trials: usize,
    /// Intervals that held the true change.
    pub covered: usize,
    /// Verdicts `faster`.
    pub faster: usize,
    /// Verdicts `slower`.
    pub slower: usize,
    /// Verdicts `equivalent`.
    pub equivalent: usize,
    /// Verdicts `inconclusive`.
    pub inconclusive: usize,
    /// Launches, all comparisons together.
    pub launches: usize,
}

impl Tally {
    /// Counts one comparison whose true change was `truth`.
    pub fn count(&mut self, judgement: &Judgement, truth: f64) {
        self.trials += 1;
        self.launches += judgement.launches;
        // Rounding of exp and ln must not count as a miss where an interval has no width.
        let holds =
            |i: nbench_engine::ChangeInterval| i.low - 1e-12 <= truth && truth <= i.high + 1e-12;
        self.covered += usize::from(judgement.interval.is_some_and(holds));
        match judgement.verdict {
            Verdict::Faster => self.faster += 1,
            Verdict::Slower => self.slower += 1,
            Verdict::Equivalent => self.equivalent += 1,
            Verdict::Inconclusive => self.inconclusive += 1,
        }
    }

    /// `count` as a share of all comparisons.
    pub fn share(&self, count: usize) -> f64 {
        count as f64 / self.trials.max(1) as f64
    }
}

/// Tallies of one kind of noise: by plan, then by `(change, threshold)`.
pub fn tally(
    noise: Noise,
    cases: &[(f64, f64)],
    trials: usize,
    pairs: usize,
    seed: u64,
) -> Vec<Vec<Tally>> {
    let plans = plans();
    let mut tallies = vec![vec![Tally::default(); cases.len()]; plans.len()];
    let mut random = StdRng::seed_from_u64(seed ^ ((noise as u64) << 32));
    for _ in 0..trials {
        for ((_, looks), row) in plans.iter().zip(&mut tallies) {
            // A run of its own length, so that drift and step lie inside every plan.
            let run = Run::simulate(noise, looks.last(), pairs, &mut random);
            for ((change, threshold), tally) in cases.iter().zip(row) {
                tally.count(&run.judge(looks, *change, *threshold), *change);
            }
        }
    }
    tallies
}
