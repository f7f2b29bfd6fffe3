//! Tests of registration against a walk that writes down what it meets.

use std::time::Duration;

use super::*;
use crate::batch;
use crate::wire::Throughput;

/// Runs every case once and keeps the offers and what the runs said.
#[derive(Default)]
struct Recorder {
    offers: Vec<Offer>,
    failures: Vec<String>,
}

impl Walk for Recorder {
    fn visit(&mut self, offer: Offer, run: &mut dyn FnMut(usize, &mut Bencher)) {
        for case in 0..offer.cases.len().max(1) {
            let reply = batch::run(&offer.id, 1, 1, &mut |bencher| run(case, bencher));
            self.failures.extend(reply.err());
        }
        self.offers.push(offer);
    }
}

fn record(suite: impl FnOnce(&mut Suite)) -> Recorder {
    let mut recorder = Recorder::default();
    suite(&mut Suite::new(&mut recorder, &mut Names::default()));
    recorder
}

fn ids(recorder: &Recorder) -> Vec<&str> {
    recorder.offers.iter().map(|offer| offer.id.as_str()).collect()
}

#[test]
fn ids_are_made_of_groups_and_parameters() {
    let recorder = record(|suite| {
        suite.bench("plain", || 1);
        suite.bench(String::from("owned"), || 1);
        let mut group = suite.group("outer");
        group.bench_with(("parse", 1024), &[1, 2][..], |b, input| b.iter(|| input.len()));
        group.group("inner").bench_fn("leaf", |b| b.iter(|| 1));
        group.compare("cmp").reference("a", || 1).contender("b", || 2).run();
    });
    assert_eq!(
        ids(&recorder),
        ["plain", "owned", "outer/parse/1024", "outer/inner/leaf", "outer/cmp"]
    );
    assert_eq!(recorder.failures, [""; 0]);
}

#[test]
fn duplicates_get_numbers_and_never_collide() {
    let recorder = record(|suite| {
        for id in ["a", "a", "a#2", "a", "a#2"] {
            suite.bench(id, || 1);
        }
    });
    assert_eq!(ids(&recorder), ["a", "a#2", "a#2#2", "a#3", "a#2#3"]);
    let collision = record(|suite| {
        for id in ["x#2", "x", "x", "x"] {
            suite.bench(id, || 1);
        }
    });
    assert_eq!(ids(&collision), ["x#2", "x", "x#3", "x#4"]);
}

#[test]
fn settings_apply_to_what_follows_and_are_inherited() {
    let recorder = record(|suite| {
        let mut group = suite.group("g");
        group.bench("before", || 1);
        group
            .throughput(Throughput::Bytes(1024))
            .tag("fast")
            .tag("fast")
            .slice(Duration::from_millis(2))
            .slice(Duration::from_micros(3))
            .warmup(Duration::from_millis(50))
            .launches(12)
            .threshold(0.02)
            .threads(true);
        group.bench("after", || 1);
        group.group("inner").tag("deep").bench("leaf", || 1);
        group.bench("last", || 1);
        suite.bench("outside", || 1);
    });
    let settings = [
        ("slice_ns", "3000"),
        ("warmup_ns", "50000000"),
        ("launches", "12"),
        ("threshold", "0.02"),
        ("threads", "true"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let [before, after, leaf, last, outside] = recorder.offers.as_slice() else {
        panic!("five offers")
    };
    assert_eq!(before, &Offer { id: "g/before".into(), ..Offer::default() });
    assert_eq!(after.settings, settings);
    assert_eq!(after.tags, ["fast"]);
    assert_eq!(after.throughput, Some(Throughput::Bytes(1024)));
    assert_eq!(leaf.tags, ["fast", "deep"]);
    assert_eq!(leaf.settings, settings);
    assert_eq!(last.tags, ["fast"]);
    assert_eq!(outside, &Offer { id: "outside".into(), ..Offer::default() });
}

#[test]
fn a_comparison_is_one_offer_with_cases() {
    let (mut first, mut second) = (0, 0);
    let recorder = record(|suite| {
        suite
            .compare("search")
            .contender("linear", || first += 1)
            .reference("binary", || 2)
            .contender_with("custom", |b| b.iter(|| second += 1))
            .run();
    });
    assert_eq!(recorder.offers[0].cases, ["linear", "binary", "custom"]);
    assert_eq!(recorder.offers[0].reference, Some(1));
    assert_eq!((first, second), (1, 1));
}

#[test]
fn a_malformed_comparison_is_a_failure_of_its_own() {
    let recorder = record(|suite| {
        suite.compare("none").contender("x", || 1).run();
        suite.compare("two").reference("x", || 1).reference("y", || 1).run();
        suite.compare("alone").reference("x", || 1).run();
        suite.compare("same").reference("x", || 1).contender("x", || 1).run();
        suite.bench("next", || 1);
    });
    let mut failures = recorder.failures.clone();
    failures.dedup();
    assert_eq!(
        failures,
        [
            "comparison `none` has 0 references, it must have one",
            "comparison `two` has 2 references, it must have one",
            "comparison `alone` has no contender",
            "comparison `same` has two cases called `x`",
        ]
    );
    assert_eq!(recorder.offers.len(), 5);
}
