//! Measuring one subject: launch medians, their median and its distribution-free interval. It does
//! not compare; stored values of different runs are never subtracted here.

use nbench::axis::OwnReading;
use nbench::{Iters, Subject, SubjectError};

use crate::calibrate::{Calibration, calibrate};
use crate::observe::{Event, Observer};
use crate::own::{self, Tally};
use crate::plan::Plan;
use crate::stats;
use crate::stop::{Decision, StopReason};

/// The samples of one launch.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleLaunch {
    /// Nanoseconds per operation, in time order.
    pub samples: Vec<f64>,
    /// Nanoseconds spent, warm-up and set-up included.
    pub spent: f64,
    /// Quantities that the benchmark counted itself, per operation; empty for nearly all.
    pub own: Vec<OwnReading>,
}

/// Estimate of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Median of launch medians, nanoseconds per operation.
    pub nanos: f64,
    /// Bounds and coverage of the median over launches, or `None` with too few launches.
    pub interval: Option<(f64, f64, f64)>,
    /// Launches used.
    pub launches: usize,
    /// Samples used, all launches together.
    pub samples: usize,
    /// Median over launches of the relative interquartile range of a launch's samples.
    pub spread: Option<f64>,
    /// Fastest sample.
    pub min: f64,
    /// Arithmetic mean of launch means.
    pub mean: f64,
    /// Labels over all samples relative to their launch median.
    pub outliers: stats::TukeyCounts,
}

/// One benchmark measured over several launches.
#[derive(Debug)]
pub struct Measure {
    name: String,
    plan: Plan,
    calibration: Option<Calibration>,
    launches: Vec<SingleLaunch>,
    stopped: Option<StopReason>,
}

impl Measure {
    /// A measurement under `plan`.
    pub fn new(name: impl Into<String>, plan: Plan) -> Measure {
        Measure { name: name.into(), plan, calibration: None, launches: Vec::new(), stopped: None }
    }

    /// The pilot: calibrates; its samples are not kept.
    pub fn pilot(
        &mut self,
        subject: &mut dyn Subject,
        observer: &mut dyn Observer,
    ) -> Result<&Calibration, SubjectError> {
        let plan = Plan {
            launch_time: self.plan.sampling_time,
            max_rounds: self.plan.max_samples,
            // Meant for pairs; a launch of fewer samples than that is allowed.
            min_rounds: self.plan.min_rounds.min(self.plan.max_samples),
            ..self.plan.clone()
        };
        let target = plan.sample_time.as_nanos() as f64;
        let calibration = calibrate(&mut [subject], &plan, target, plan.seed)?;
        observer.on(&Event::Calibrated {
            name: &self.name,
            iters: &calibration.iters,
            rounds: calibration.rounds,
        });
        Ok(self.calibration.insert(calibration))
    }

    /// Takes one launch from a fresh subject, or calibrates first when no pilot has run.
    pub fn launch(
        &mut self,
        subject: &mut dyn Subject,
        observer: &mut dyn Observer,
    ) -> Result<&SingleLaunch, SubjectError> {
        if self.calibration.is_none() {
            self.pilot(subject, observer)?;
        }
        let Some(calibration) = &self.calibration else {
            return Err(SubjectError::protocol("a launch was asked for before its pilot"));
        };
        let iters = calibration.iters.first().copied().unwrap_or(1);
        let mut launch = SingleLaunch { samples: Vec::new(), spent: 0.0, own: Vec::new() };
        let mut own = Tally::default();
        // Warm-up and samples travel in windows: one round trip, consecutive samples. A window is
        // bounded so that an interrupt is seen soon.
        let window = window_size(calibration.round_spent);
        for (wanted, keep) in [(calibration.warmup_rounds, false), (calibration.rounds, true)] {
            let mut taken = 0;
            while taken < wanted {
                let count = window.min(wanted - taken);
                let samples = subject.sample(Iters(iters), count)?;
                if samples.is_empty() {
                    return Err(SubjectError::protocol("a batch was answered by no samples"));
                }
                taken += samples.len();
                if let Some(last) = samples.last().filter(|_| keep) {
                    // Readings of a benchmark's own cover the whole reply.
                    own.add(&last.axes.own, (iters * samples.len() as u64) as f64);
                }
                for sample in samples {
                    launch.spent += sample.spent.0 as f64;
                    if keep {
                        launch.samples.push(sample.wall.0 as f64 / iters as f64);
                    }
                }
                if keep {
                    observer.on(&Event::Round { name: &self.name, taken, of: wanted });
                }
            }
        }
        launch.own = own.per_operation();
        Ok(self.accept(launch, observer))
    }

    /// Adds a launch whose samples were taken elsewhere.
    pub fn accept(&mut self, launch: SingleLaunch, observer: &mut dyn Observer) -> &SingleLaunch {
        self.launches.push(launch);
        observer.on(&Event::Launch { name: &self.name, launches: self.launches.len() });
        let count = self.launches.len();
        if count >= self.plan.min_launches {
            let width = self.estimate().and_then(|e| {
                e.interval.map(|(low, high, _)| (high - low) / 2.0 / e.nanos.max(f64::MIN_POSITIVE))
            });
            if width.is_some_and(|w| w <= self.plan.precision) {
                self.stopped = Some(StopReason::PrecisionReached);
            } else if count >= self.plan.max_launches {
                self.stopped = Some(StopReason::MaxLaunches);
            }
        }
        &self.launches[count - 1]
    }

    /// Quantities that the benchmark counts itself, per operation: the median over launches.
    pub fn own(&self) -> Vec<OwnReading> {
        own::typical(self.launches.iter().map(|launch| launch.own.as_slice()))
    }

    /// Whether another launch is wanted.
    pub fn decide(&self) -> Decision {
        self.stopped.map_or(Decision::More, Decision::Done)
    }

    /// Ends the measurement outside its plan.
    pub fn stop(&mut self, reason: StopReason) {
        self.stopped.get_or_insert(reason);
    }

    /// The estimate so far; `None` without samples.
    pub fn estimate(&self) -> Option<Estimate> {
        let medians: Vec<f64> =
            self.launches.iter().filter_map(|l| stats::median(&l.samples)).collect();
        let means: Vec<f64> =
            self.launches.iter().filter_map(|l| stats::mean(&l.samples)).collect();
        let spreads: Vec<f64> = self
            .launches
            .iter()
            .filter_map(|l| {
                let middle = stats::median(&l.samples)?;
                let range =
                    stats::percentile(&l.samples, 0.75)? - stats::percentile(&l.samples, 0.25)?;
                (middle > 0.0).then(|| range / middle)
            })
            .collect();
        let relative: Vec<f64> = self
            .launches
            .iter()
            .filter_map(|l| Some((l, stats::median(&l.samples).filter(|m| *m > 0.0)?)))
            .flat_map(|(l, m)| l.samples.iter().map(move |s| s / m))
            .collect();
        Some(Estimate {
            nanos: stats::median(&medians)?,
            interval: stats::median_interval(&medians, self.plan.confidence),
            launches: medians.len(),
            samples: self.launches.iter().map(|l| l.samples.len()).sum(),
            spread: stats::median(&spreads),
            min: self
                .launches
                .iter()
                .flat_map(|l| &l.samples)
                .copied()
                .fold(f64::INFINITY, f64::min),
            mean: stats::mean(&means)?,
            outliers: stats::tukey_counts(&relative),
        })
    }

    /// Launches so far, the pilot not counted.
    pub fn launches(&self) -> &[SingleLaunch] {
        &self.launches
    }

    /// Counts chosen by the pilot.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// Reduces the samples of later launches to fit a budget; never below the plan's minimum.
    pub fn limit_rounds(&mut self, rounds: usize) {
        let least = self.plan.min_rounds.min(self.plan.max_samples);
        if let Some(calibration) = &mut self.calibration
            && !calibration.slow
        {
            calibration.rounds = rounds.clamp(least, calibration.rounds.max(least));
        }
    }

    /// Settings of this measurement.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// Samples per round trip so that a window lasts about 5 ms, within 1..=1000.
fn window_size(sample_spent: f64) -> usize {
    (5e6 / sample_spent.max(1.0)).clamp(1.0, 1000.0) as usize
}

/// Measures a subject that `fresh` makes anew for each launch, to the end of the plan.
pub fn measure<F>(
    name: &str,
    plan: Plan,
    mut fresh: F,
    observer: &mut dyn Observer,
) -> Result<Measure, SubjectError>
where
    F: FnMut(usize) -> Result<Box<dyn Subject>, SubjectError>,
{
    let mut trial = Measure::new(name, plan);
    for launch in 0.. {
        let mut subject = fresh(launch)?;
        if launch == 0 {
            trial.pilot(subject.as_mut(), observer)?;
        } else {
            trial.launch(subject.as_mut(), observer)?;
        }
        if let Decision::Done(_) = trial.decide() {
            break;
        }
    }
    Ok(trial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Silent;
    use crate::scripted::Scripted;

    #[test]
    fn steady_costs_stop_after_the_fewest_launches() {
        let trial =
            measure("x", Plan::default(), |_| Ok(Box::new(Scripted::constant(250.0))), &mut Silent)
                .unwrap();
        assert_eq!(trial.decide(), Decision::Done(StopReason::PrecisionReached));
        let got = trial.estimate().unwrap();
        assert_eq!((got.launches, got.nanos), (6, 250.0));
        let (low, high, coverage) = got.interval.unwrap();
        assert_eq!((low, high), (250.0, 250.0));
        assert!(coverage > 0.95);
    }

    #[test]
    fn launches_that_differ_widen_the_interval_and_run_to_the_cap() {
        let trial = measure(
            "x",
            Plan::default(),
            |launch| Ok(Box::new(Scripted::constant(100.0 + 20.0 * (launch % 4) as f64))),
            &mut Silent,
        )
        .unwrap();
        assert_eq!(trial.decide(), Decision::Done(StopReason::MaxLaunches));
        let (low, high, _) = trial.estimate().unwrap().interval.unwrap();
        assert!(low < high);
    }

    #[test]
    fn below_six_launches_there_is_no_interval() {
        let mut trial = Measure::new("x", Plan::default());
        for _ in 0..5 {
            trial.accept(
                SingleLaunch { samples: vec![1.0, 2.0], spent: 3.0, own: Vec::new() },
                &mut Silent,
            );
        }
        assert_eq!(trial.estimate().unwrap().interval, None);
        assert_eq!(trial.decide(), Decision::More);
    }
}
