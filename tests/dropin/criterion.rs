//! Suites of criterion: what is offered, what a batch gives, and how a walk ends.

use std::process::Command;

use nbench::{OwnReading, Throughput};
use nbench_engine::remote::Reached;

use crate::worker::Worker;
use crate::{Package, told};

const MACROS: &str = include_str!("../fixtures/criterion/macros.rs");
const BY_HAND: &str = include_str!("../fixtures/criterion/by_hand.rs");
const ROUTINES: &str = include_str!("../fixtures/criterion/routines.rs");

/// In the order of the code.
const IDS: [&str; 36] = [
    "words",
    "words#2",
    "lines/7",
    "group/10",
    "group/20",
    "group/a/b",
    "group/no finish",
    "batched/small",
    "batched/small by reference",
    "batched/large",
    "batched/large by reference",
    "batched/each",
    "batched/each by reference",
    "batched/batches",
    "batched/batches by reference",
    "batched/iterations",
    "batched/iterations by reference",
    "batched/setup",
    "batched/drop",
    "batched/custom",
    "batched/custom past drop",
    "futures/iter",
    "futures/batched",
    "futures/batched by reference",
    "futures/drop",
    "futures/custom",
    "steps/iter",
    "steps/batched",
    "steps/custom",
    "steps/futures",
    "panics",
    "idle",
    "twice",
    "empty batch",
    "!`failing` panicked",
    "last",
];

fn macros() -> Package {
    let dependency = "measure = { package = \"criterion\", path = \"PATH\" }";
    Package::new("criterion", "0.8.2", dependency, &[("macros", MACROS)])
}

#[test]
fn a_suite_is_walked_in_the_order_of_its_code_and_every_form_is_timed() {
    let package = macros();
    let executable = package.executable();
    let mut listing = Worker::start(&executable, &[]);
    let met = listing.list();
    assert_eq!(met.len(), IDS.len(), "{met:?}");
    for (met, expected) in met.iter().zip(IDS) {
        assert!(
            *met == expected || expected.starts_with('!') && met.starts_with(expected),
            "{met}"
        );
    }
    assert_eq!(listing.quit(), Some(0));

    let mut worker = Worker::start(&executable, &[]);
    let mut failed = Vec::new();
    loop {
        let id = match worker.reach() {
            Reached::Offer(offer) => offer.id,
            Reached::Broken(_) => continue,
            Reached::Done => break,
        };
        match worker.batch(100, 2) {
            Err(message) => failed.push((id, message)),
            Ok(samples) => {
                assert_eq!(samples.len(), 2, "{id}");
                let wall: Vec<u64> = samples.iter().map(|sample| sample.wall.0).collect();
                match id.as_str() {
                    "batched/custom" => assert_eq!(wall, [300, 300]),
                    "futures/custom" => assert_eq!(wall, [400, 400]),
                    "twice" => assert_eq!(wall, [2, 2]),
                    _ => assert!(samples.iter().all(|s| s.wall <= s.spent), "{id}: {samples:?}"),
                }
            }
        }
        worker.proceed();
    }
    let [panics, idle, empty] = &failed[..] else { panic!("{failed:?}") };
    assert!(panics.0 == "panics" && panics.1.starts_with("no luck, at "), "{panics:?}");
    assert_eq!(idle, &("idle".to_owned(), "`idle` never called `iter`".to_owned()));
    assert!(empty.1.contains("Batch size must not be zero"), "{empty:?}");
    assert_eq!(worker.quit(), Some(0));
}

#[test]
fn throughput_and_own_measurements_are_told() {
    let package = macros();
    let mut worker = Worker::start(&package.executable(), &[]);
    let mut own = Vec::new();
    let mut throughput = Vec::new();
    loop {
        let offer = match worker.reach() {
            Reached::Offer(offer) => offer,
            Reached::Broken(_) => continue,
            Reached::Done => break,
        };
        if offer.id.starts_with("group/") {
            throughput.push(offer.throughput);
        }
        if offer.id.starts_with("steps/") || offer.id == "words" {
            let samples = worker.batch(200, 3).unwrap();
            let [first, _, last] = &samples[..] else { panic!("{samples:?}") };
            assert!(first.axes.own.is_empty() && last.wall.0 > 0, "{samples:?}");
            own.push((offer.id, last.axes.own.clone()));
        }
        worker.proceed();
    }
    let bits = Throughput::Custom { amount: 9.0, unit: "bit".to_owned() };
    let told = [Throughput::Bytes(10), Throughput::Bytes(20), Throughput::Elements(3), bits];
    assert_eq!(throughput, told.map(Some));
    // 200 iterations in each of 3 samples, in thousands.
    let steps = |id: &str, each: f64| {
        let value = each * 200.0 * 3.0 / 1000.0;
        let unit = "kilosteps".to_owned();
        (id.to_owned(), vec![OwnReading { name: "Steps".to_owned(), unit, value }])
    };
    let words = ("words".to_owned(), Vec::new());
    let mut found = own.into_iter();
    for expected in [
        words,
        steps("steps/iter", 2.0),
        steps("steps/batched", 1.0),
        steps("steps/custom", 5.0),
        steps("steps/futures", 1.0),
    ] {
        let (id, mut own) = found.next().unwrap();
        // Sums of parts of thousands are not exact.
        own.iter_mut().for_each(|reading| reading.value = (reading.value * 1e9).round() / 1e9);
        assert_eq!((id, own), expected);
    }
    assert_eq!(found.next(), None);
}

#[test]
fn a_main_of_its_own_is_followed_to_its_end() {
    let dependency = "criterion = { path = \"PATH\" }";
    let package = Package::new("criterion", "0.5.1", dependency, &[("by_hand", BY_HAND)]);
    let executable = package.executable();
    assert_eq!(Worker::start(&executable, &[]).list(), ["first", "second"]);

    let broken = Worker::start(&executable, &[("FIXTURE_PANICS", "1")]).list();
    assert_eq!((broken.len(), broken[0].as_str()), (2, "first"), "{broken:?}");
    assert!(broken[1].starts_with('!') && broken[1].contains("main failed"), "{broken:?}");

    let mut measured = Worker::start(&executable, &[]);
    assert_eq!(measured.offer().id, "first");
    assert!(measured.batch(10, 1).is_ok());
    assert_eq!(measured.quit(), Some(0));

    let alone = Command::new(&executable).output().unwrap();
    let shown = String::from_utf8_lossy(&alone.stdout);
    assert!(shown.contains("test first ... ok\ntest second ... ok\n"), "{shown}");
    assert!(shown.contains("2 run once; 0 failed"), "{shown}");
}

#[test]
fn the_forms_of_0_3_are_registered_as_criterion_names_them() {
    let dependency = "criterion = { path = \"PATH\" }";
    let package = Package::new("criterion", "0.3.6", dependency, &[("routines", ROUTINES)]);
    let mut worker = Worker::start(&package.executable(), &[]);
    let listed = worker.list();
    assert_eq!(
        listed,
        [
            "inputs/1",
            "inputs/2",
            "functions/one",
            "functions/two",
            "whole/a",
            "whole/b",
            "alone",
            "values/x/\"p\"",
            "values/x/\"q\""
        ]
    );
}

#[test]
fn variants_have_the_names_of_their_libraries() {
    let suite = "//! Names only.\n\nuse codspeed_criterion_compat as compat;\n\n\
                 fn one(c: &mut compat::Criterion) {\n    let _ = compat::IterManualOptions::new().rounds(3);\n    \
                 c.bench_function(\"one\", |b| b.iter_with_setup_wrapper(|runner| runner.run(|| ())));\n}\n\n\
                 compat::criterion_group!(all, one);\ncompat::criterion_main!(all);\n";
    let dependency =
        "codspeed-criterion-compat = { path = \"PATH\", features = [\"html_reports\"] }";
    let package =
        Package::new("codspeed-criterion-compat", "4.7.0", dependency, &[("names", suite)]);
    let mut worker = Worker::start(&package.executable(), &[]);
    assert_eq!(worker.offer().id, "one");
    assert_eq!(worker.batch(5, 2).unwrap().len(), 2);

    let suite = suite.replace("codspeed_criterion_compat", "criterion");
    let suite = suite.replace("let _ = compat::IterManualOptions::new().rounds(3);", "");
    let dependency = "criterion2 = { path = \"PATH\", default-features = false }";
    let package = Package::new("criterion2", "3.0.5", dependency, &[("names", &suite)]);
    assert_eq!(Worker::start(&package.executable(), &[]).list(), ["one"]);
}

#[test]
fn without_a_driver_a_failure_is_the_exit_code() {
    let package = macros();
    let executable = package.executable();
    let output = Command::new(&executable).arg("--test").output().unwrap();
    assert_eq!(output.status.code(), Some(101), "{}", told(&output));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("test panics ... FAILED: no luck"), "{shown}");
    assert!(shown.contains("suite function `failing` panicked outside any benchmark"), "{shown}");
    assert!(shown.contains("test last ... ok"), "{shown}");
}
