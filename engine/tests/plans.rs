//! Any plan that is called usable can be measured by, whatever stands in it and whatever the
//! subjects answer: the loop ends, nothing panics, intervals are in order.

use std::time::Duration;

use nbench_engine::{
    Batching, Looks, Measure, Plan, Scripted, Silent, StopReason, compare, measure,
};
use proptest::prelude::*;

/// Shares as people write them, and as they should not.
fn share() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => 0.0..1.0f64,
        1 => prop::sample::select(vec![
            0.0, -0.0, 0.49, 0.5, 1.0, -0.1, 5.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY,
            f64::MIN_POSITIVE, 0.999_999_999,
        ]),
    ]
}

fn time() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (1u64..50_000_000).prop_map(Duration::from_nanos),
        1 => prop::sample::select(vec![
            Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(86_400), Duration::MAX,
        ]),
    ]
}

fn count() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 1usize..40, 1 => prop::sample::select(vec![0, 1, usize::MAX])]
}

/// Looks that mostly ascend, with errors that mostly add up.
fn looks() -> impl Strategy<Value = (Looks, f64)> {
    let at = prop::collection::vec(prop_oneof![9 => 2usize..30, 1 => 0usize..2], 0..5);
    (at, share(), any::<u8>()).prop_map(|(mut at, spent, kind)| {
        if kind % 8 != 0 {
            at.sort_unstable();
            at.dedup();
        }
        let mut alpha = vec![spent / at.len().max(1) as f64; at.len()];
        if kind % 16 == 1 {
            alpha.push(spent);
        }
        (Looks { at, alpha }, 1.0 - spent)
    })
}

prop_compose! {
    fn plan()(
        (looks, confidence) in looks(),
        (threshold, trim, precision, half_width) in
            (share(), share(), share(), prop::option::of(share())),
        (slice, warmup, launch_time, slow_operation, spent_cap, sample_time, sampling_time) in
            (time(), time(), time(), time(), time(), time(), time()),
        (max_rounds, min_rounds, max_samples, min_launches, max_launches) in
            (count(), count(), count(), count(), count()),
        (equal, may_say_equivalent, seed) in (any::<bool>(), any::<bool>(), any::<u64>()),
    ) -> Plan {
        let batching = if equal { Batching::EqualTime } else { Batching::Shared };
        Plan {
            looks, confidence, threshold, trim: trim / 2.0, precision, half_width, slice, warmup,
            launch_time, slow_operation, spent_cap, sample_time, sampling_time, max_rounds,
            min_rounds, max_samples, min_launches, max_launches, batching, may_say_equivalent, seed,
            ..Plan::default()
        }
    }
}

fn costs() -> impl Strategy<Value = Vec<f64>> {
    let cost = prop_oneof![
        8 => 1.0..1e6f64,
        1 => prop::sample::select(vec![0.0, 0.2, 1e9, 1e12, 1e19]),
    ];
    prop::collection::vec(cost, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_global_rejects: 200_000, ..ProptestConfig::default() })]

    #[test]
    fn a_usable_plan_never_panics(plan in plan(), one in costs(), other in costs()) {
        prop_assume!(plan.validate().is_ok());
        let trial = compare(
            "x",
            2,
            plan.clone(),
            |_| Ok(vec![Box::new(Scripted::new(one.clone())), Box::new(Scripted::new(other.clone()))]),
            &mut Silent,
        )
        .unwrap();
        let judgement = trial.judgement(1);
        if let Some(interval) = judgement.interval {
            prop_assert!(interval.low <= interval.high, "{judgement:?}");
            prop_assert!((0.0..1.0).contains(&interval.level), "{judgement:?}");
        }
        let single =
            measure("x", plan.clone(), |_| Ok(Box::new(Scripted::new(one.clone()))), &mut Silent)
                .unwrap();
        let estimate = single.estimate().unwrap();
        prop_assert!(estimate.launches <= plan.max_launches);
        if let Some((low, high, _)) = estimate.interval {
            prop_assert!(low <= high);
        }
        let mut cut = Measure::new("x", plan);
        cut.pilot(&mut Scripted::new(one), &mut Silent).unwrap();
        cut.limit_rounds(0);
        cut.launch(&mut Scripted::new(other), &mut Silent).unwrap();
        cut.stop(StopReason::Budget);
    }
}

#[test]
fn what_cannot_be_measured_by_is_named() {
    let day = Duration::from_secs(86_400);
    let cases: Vec<(Plan, &[&str])> = vec![
        (Plan { threshold: f64::NAN, ..Plan::default() }, &["threshold"]),
        (Plan { trim: 0.5, ..Plan::default() }, &["trim"]),
        (Plan { confidence: 1.0, ..Plan::default() }, &["confidence"]),
        (Plan { precision: -0.1, ..Plan::default() }, &["precision"]),
        (Plan { half_width: Some(f64::INFINITY), ..Plan::default() }, &["precision"]),
        (Plan { slice: Duration::ZERO, ..Plan::default() }, &["slice"]),
        (Plan { warmup: day * 2, ..Plan::default() }, &["warmup"]),
        (Plan { sampling_time: Duration::MAX, ..Plan::default() }, &["sampling_time"]),
        (Plan { max_samples: 0, ..Plan::default() }, &["max_samples"]),
        (Plan { min_rounds: 0, ..Plan::default() }, &["min_rounds"]),
        (Plan { max_rounds: usize::MAX, ..Plan::default() }, &["max_rounds"]),
        (Plan { min_launches: 13, ..Plan::default() }, &["max_launches", "min_launches"]),
        (Plan { max_launches: 1001, ..Plan::default() }, &["max_launches"]),
    ];
    let looks = |at: &[usize], alpha: &[f64]| Plan {
        looks: Looks { at: at.to_vec(), alpha: alpha.to_vec() },
        ..Plan::default()
    };
    let looking: Vec<(Plan, &[&str])> = vec![
        (looks(&[], &[]), &["looks"]),
        (looks(&[0], &[0.05]), &["looks"]),
        (looks(&[1], &[0.05]), &["looks"]),
        (looks(&[10, 10], &[0.025, 0.025]), &["looks"]),
        (looks(&[10, 1_000_000], &[0.025, 0.025]), &["looks"]),
        (looks(&[10, 20], &[0.05]), &["looks", "look_errors"]),
        (looks(&[10, 16, 24], &[0.5, 0.5, 0.5]), &["look_errors", "confidence"]),
        (looks(&[10], &[5.0]), &["look_errors"]),
        (looks(&[10], &[f64::NAN]), &["look_errors"]),
        (looks(&[10, 20], &[0.1, -0.05]), &["look_errors"]),
        (looks(&[10, 20], &[0.05, 0.0]), &["look_errors"]),
    ];
    for (plan, named) in cases.into_iter().chain(looking) {
        let refused = plan.validate().unwrap_err();
        assert_eq!(refused.settings, named, "{}", refused.message);
        assert!(named.iter().all(|name| refused.message.contains(&format!("`{name}`"))));
    }
}
