//! The one loop that takes samples: warm-up rounds, then rounds in schedule order, for any number
//! of subjects. It does not know what is compared with what.

use nbench::axis::OwnReading;
use nbench::{Iters, Sample, Subject, SubjectError};

use crate::calibrate::Calibration;
use crate::observe::{Event, Observer};
use crate::own::Tally;
use crate::schedule::Schedule;

/// One sample of every subject, taken next to each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Subjects in the order in which they ran.
    pub order: Vec<usize>,
    /// Nanoseconds per operation, by subject.
    pub per_operation: Vec<f64>,
    /// Process CPU nanoseconds per operation, by subject; `None` where the probe had no value.
    pub cpu: Vec<Option<f64>>,
}

/// Rounds of one launch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rounds {
    /// Rounds in the order in which they were taken.
    pub rounds: Vec<Round>,
    /// Nanoseconds spent on the launch, warm-up and set-up included.
    pub spent: f64,
    /// Quantities that each subject counted itself, per operation over all rounds.
    pub own: Vec<Vec<OwnReading>>,
}

/// Warms the subjects with the calibrated number of rounds and takes the rounds of one launch.
///
/// Warm-up alternates like measurement does, so that no subject starts measured rounds with warmer
/// caches than another. The schedule outlives launches: with one round a launch it still balances
/// leads across them.
pub fn collect(
    subjects: &mut [&mut dyn Subject],
    calibration: &Calibration,
    schedule: &mut Schedule,
    warm_schedule: &mut Schedule,
    name: &str,
    observer: &mut dyn Observer,
) -> Result<Rounds, SubjectError> {
    let mut launch = Rounds::default();
    let mut ignored = vec![Tally::default(); subjects.len()];
    for _ in 0..calibration.warmup_rounds {
        let order = warm_schedule.next_round();
        take_round(subjects, calibration, order, &mut launch.spent, &mut ignored)?;
    }
    let mut own = vec![Tally::default(); subjects.len()];
    for taken in 1..=calibration.rounds {
        let order = schedule.next_round();
        let round = take_round(subjects, calibration, order, &mut launch.spent, &mut own)?;
        launch.rounds.push(round);
        observer.on(&Event::Round { name, taken, of: calibration.rounds });
    }
    launch.own = own.into_iter().map(Tally::per_operation).collect();
    Ok(launch)
}

/// As [`collect`], but all rounds of one subject before those of the next. The rounds that come out
/// hold the n-th sample of each, which were not taken next to each other.
pub fn collect_sequentially(
    subjects: &mut [&mut dyn Subject],
    calibration: &Calibration,
    first: usize,
    name: &str,
    observer: &mut dyn Observer,
) -> Result<Rounds, SubjectError> {
    let count = subjects.len();
    let order: Vec<usize> = (0..count).map(|at| (first + at) % count.max(1)).collect();
    let blank =
        Round { order: order.clone(), per_operation: vec![0.0; count], cpu: vec![None; count] };
    let mut launch = Rounds {
        rounds: vec![blank; calibration.rounds],
        spent: 0.0,
        own: vec![Vec::new(); count],
    };
    for &index in &order {
        let iters = calibration.iters[index];
        for _ in 0..calibration.warmup_rounds {
            launch.spent += single(subjects[index], iters)?.spent.0 as f64;
        }
        let mut own = Tally::default();
        for taken in 0..calibration.rounds {
            let sample = single(subjects[index], iters)?;
            own.add(&sample.axes.own, iters as f64);
            launch.spent += sample.spent.0 as f64;
            let round = &mut launch.rounds[taken];
            round.per_operation[index] = sample.wall.0 as f64 / iters as f64;
            round.cpu[index] = sample.axes.cpu.value().map(|ns| ns / iters as f64);
            observer.on(&Event::Round { name, taken: taken + 1, of: calibration.rounds });
        }
        launch.own[index] = own.per_operation();
    }
    Ok(launch)
}

fn take_round(
    subjects: &mut [&mut dyn Subject],
    calibration: &Calibration,
    order: Vec<usize>,
    spent: &mut f64,
    own: &mut [Tally],
) -> Result<Round, SubjectError> {
    let mut per_operation = vec![0.0; subjects.len()];
    let mut cpu = vec![None; subjects.len()];
    for &index in &order {
        let iters = calibration.iters[index];
        let sample = single(subjects[index], iters)?;
        per_operation[index] = sample.wall.0 as f64 / iters as f64;
        cpu[index] = sample.axes.cpu.value().map(|ns| ns / iters as f64);
        own[index].add(&sample.axes.own, iters as f64);
        *spent += sample.spent.0 as f64;
    }
    Ok(Round { order, per_operation, cpu })
}

fn single(subject: &mut dyn Subject, iters: u64) -> Result<Sample, SubjectError> {
    subject
        .sample(Iters(iters), 1)?
        .pop()
        .ok_or_else(|| SubjectError::protocol("a batch of one sample was answered by none"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Silent;
    use crate::scripted::Scripted;

    fn counts(subjects: usize) -> Calibration {
        Calibration {
            iters: vec![10; subjects],
            warmup_rounds: 3,
            rounds: 8,
            per_operation: vec![1.0; subjects],
            round_spent: 1.0,
            slow: false,
            threads: None,
            implausible: None,
        }
    }

    #[test]
    fn every_subject_runs_equally_often_and_leads_equally_often() {
        let mut first = Scripted::constant(5.0);
        let mut second = Scripted::constant(7.0);
        let (mut schedule, mut warm) = (Schedule::new(2, 3), Schedule::new(2, 4));
        let launch = collect(
            &mut [&mut first, &mut second],
            &counts(2),
            &mut schedule,
            &mut warm,
            "x",
            &mut Silent,
        )
        .unwrap();
        assert_eq!(launch.rounds.len(), 8);
        assert_eq!(launch.rounds.iter().filter(|r| r.order[0] == 0).count(), 4);
        assert!(launch.rounds.iter().all(|r| r.per_operation == [5.0, 7.0]));
        assert_eq!(first.iterations(), 11 * 10);
        assert_eq!(second.iterations(), 11 * 10);
    }

    #[test]
    fn sequential_rounds_hold_each_subjects_nth_sample() {
        let mut first = Scripted::new((1..=11).map(f64::from).collect());
        let mut second = Scripted::new((101..=111).map(f64::from).collect());
        let launch =
            collect_sequentially(&mut [&mut first, &mut second], &counts(2), 1, "x", &mut Silent)
                .unwrap();
        // Three samples warm each subject up.
        assert_eq!(launch.rounds[0].per_operation, [4.0, 104.0]);
        assert_eq!(launch.rounds[7].per_operation, [11.0, 111.0]);
        assert!(launch.rounds.iter().all(|r| r.order == [1, 0]));
    }

    #[test]
    fn a_failure_ends_the_launch_with_its_message() {
        let mut failing = Scripted::failing("out of luck", 5);
        let (mut schedule, mut warm) = (Schedule::new(1, 3), Schedule::new(1, 4));
        let error =
            collect(&mut [&mut failing], &counts(1), &mut schedule, &mut warm, "x", &mut Silent)
                .unwrap_err();
        assert!(error.to_string().contains("out of luck"));
    }
}
