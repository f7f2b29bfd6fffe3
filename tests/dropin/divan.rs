//! What a suite may write, what it is called, and what its benchmarks do, seen from the other end
//! of the wire. It must not expect a certain time.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use cargo_nbench::foreign::dropin::materialise;
use nbench::{Reading, Throughput};

use crate::worker::Worker;

const SUITE: &str = include_str!("../fixtures/divan/suite.rs");
const WRONG: &str = include_str!("../fixtures/divan/wrong.rs");

/// Builds one target of a package that depends on `package`, which goes by the name of divan there.
fn build(root: &Path, package: &str, version: &str, bench: &str, text: &str) -> Output {
    let stand_ins = root.join("stand-ins");
    let macros = match package {
        "divan" => "divan-macros",
        _ => "codspeed-divan-compat-macros",
    };
    let paths: Vec<String> = [package, macros]
        .iter()
        .map(|name| {
            let path = materialise(&stand_ins, name, version).unwrap();
            format!("{name} = {{ path = \"{}\" }}", path.display())
        })
        .collect();
    std::fs::create_dir_all(root.join("benches")).unwrap();
    std::fs::write(root.join("benches").join(bench).with_extension("rs"), text).unwrap();
    let manifest = format!(
        "[package]\nname = \"benched\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dev-dependencies.divan]\npackage = \"{package}\"\nversion = \"{version}\"\n\n\
         [lib]\npath = \"lib.rs\"\n\n[[bench]]\nname = \"{bench}\"\nharness = false\n\n\
         [workspace]\n\n[patch.crates-io]\n{}\n",
        paths.join("\n")
    );
    std::fs::write(root.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(root.join("lib.rs"), "").unwrap();
    Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--bench", bench, "--target-dir", "target"])
        .env("RUSTFLAGS", "-Dwarnings")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET_DIR")
        .current_dir(root)
        .output()
        .unwrap()
}

fn executable(root: &Path, bench: &str) -> PathBuf {
    let found = std::fs::read_dir(root.join("target/debug/deps")).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name()?.to_str()?;
        (name.starts_with(&format!("{bench}-")) && path.extension().is_none()).then_some(path)
    });
    found.expect("the suite is built")
}

fn suite() -> Worker {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_dir, executable) = BUILT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let output = build(dir.path(), "divan", "0.1.21", "suite", SUITE);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let executable = executable(dir.path(), "suite");
        (dir, executable)
    });
    Worker::start(executable, &[])
}

#[test]
fn every_benchmark_has_its_id_and_its_place() {
    let ids = suite().list();
    let expected = [
        "allocates",
        "foreign",
        "given a name",
        "lifetime",
        "never_measures",
        "outputs_are_kept",
        "panics",
        "plain",
        "set_up",
        "try",
        "arguments::computed/3",
        "arguments::computed/6",
        "arguments::floats/0.5",
        "arguments::floats/2.5",
        "arguments::kinds/Fast",
        "arguments::kinds/Slow",
        "arguments::numbers/30",
        "arguments::numbers/4",
        "arguments::numbers/-5",
        "arguments::strings/owned",
        "arguments::texts/b9",
        "arguments::texts/b10",
        "arguments::unmade",
        "forms::chunked",
        "forms::counted_inputs",
        "forms::local_refs",
        "forms::refs",
        "forms::values",
        "generic::both/&str/2",
        "generic::both/&str/10",
        "generic::both/u8/2",
        "generic::both/u8/10",
        "generic::consts/1",
        "generic::consts/3",
        "generic::consts/20",
        "generic::types/BTreeMap<i32, u8>",
        "generic::types/BTreeSet<i32>",
        "generic::types/Vec<i32>",
        "generic::with_args/i64/2",
        "generic::with_args/i64/1",
        "generic::with_args/u8/2",
        "generic::with_args/u8/1",
        "made_first/u8/1",
        "made_first/u8/2",
        "made_second/Vec<u8>/3",
        "renamed::inside",
        "with options::alone",
        "with options::meet",
        "with options::one_panics",
        "with options::together/t=1",
        "with options::together/t=2",
    ];
    assert_eq!(ids, expected, "{ids:#?}");
}

#[test]
fn offers_carry_counters_and_threads() {
    let offers = suite().offers();
    let offer = |id: &str| offers.iter().find(|offer| offer.id == id).unwrap();
    assert_eq!(offer("given a name").throughput, Some(Throughput::Elements(3)));
    assert_eq!(offer("panics").throughput, Some(Throughput::Elements(12)));
    assert_eq!(offer("plain").throughput, None);
    assert_eq!(offer("with options::alone").throughput, Some(Throughput::Bytes(64)));
    assert_eq!(offer("with options::meet").throughput, Some(Throughput::Bytes(4)));
    let threads = [("threads".to_owned(), "true".to_owned())];
    assert_eq!(offer("with options::together/t=1").settings, threads);
    assert_eq!(offer("plain").settings, []);
}

#[test]
fn set_up_runs_once_for_all_samples_and_not_for_a_list() {
    let mut worker = suite();
    worker.list();
    assert_eq!(worker.noted(), "");
    let mut worker = suite();
    worker.go_to("set_up");
    assert_eq!(worker.noted(), "");
    assert!(worker.batch(2, 1).is_ok());
    assert_eq!(worker.noted(), "set-up run run");
    assert!(worker.batch(1, 3).is_ok());
    assert_eq!(worker.noted(), "run run run");
    worker.proceed();
    worker.go_to("try");
    assert_eq!(worker.noted(), "end");
}

#[test]
fn inputs_are_made_before_and_outputs_dropped_after() {
    let mut worker = suite();
    for (id, expected) in [
        ("outputs_are_kept", "run run drop drop"),
        ("forms::chunked", "make make run run"),
        ("forms::refs", "make make run run drop-output drop-output drop-input drop-input"),
        ("forms::values", "make make run drop-input run drop-input drop-output drop-output"),
    ] {
        worker.go_to(id);
        worker.noted();
        assert!(worker.batch(2, 1).is_ok(), "{id}");
        assert_eq!(worker.noted(), expected, "{id}");
        if id == "forms::chunked" {
            assert!(worker.batch(3, 1).is_ok());
            assert_eq!(worker.noted(), "make make run run make run");
        }
        worker.proceed();
    }
}

#[test]
fn a_failure_is_told_and_the_next_benchmark_goes_on() {
    let mut worker = suite();
    for (id, expected) in [
        ("never_measures", "never called"),
        ("panics", "no luck, at benches/suite.rs:"),
        ("arguments::unmade", "its arguments panicked: no arguments today"),
        ("with options::one_panics", "not here"),
    ] {
        worker.go_to(id);
        let message = worker.batch(1, 1).err().unwrap_or_default();
        assert!(message.contains(expected), "{id}: {message}");
        worker.proceed();
    }
    worker.go_to("with options::together/t=1");
    assert!(worker.batch(1, 1).is_ok());
}

#[test]
fn threads_run_at_once_and_each_does_all_iterations() {
    let mut worker = suite();
    worker.go_to("with options::meet");
    let samples = worker.batch(100, 2).unwrap();
    assert!(samples.iter().all(|sample| sample.wall.0 > 0));
    assert_eq!(samples[1].axes.cpu, Reading::unavailable("the benchmark runs on several threads"));
    let allocations = samples[1].axes.own.iter().find(|own| own.name == "allocations").unwrap();
    assert_eq!(allocations.value, 400.0);
    worker.proceed();
    worker.go_to("with options::together/t=1");
    assert!(worker.batch(3, 1).unwrap()[0].axes.cpu.value().is_some());
    assert_eq!(worker.noted(), "main main main");
    worker.proceed();
    worker.go_to("with options::together/t=2");
    assert!(worker.batch(3, 1).is_ok());
    let mut noted: Vec<String> = worker.noted().split(' ').map(str::to_owned).collect();
    noted.sort();
    assert_eq!(noted, ["main", "main", "main", "other", "other", "other"]);
}

#[test]
fn allocations_of_the_timed_region_are_axes() {
    let mut worker = suite();
    worker.go_to("allocates");
    let samples = worker.batch(10, 3).unwrap();
    // Readings of a reply stand on its last sample.
    let own: Vec<(String, String, f64)> = samples[2]
        .axes
        .own
        .iter()
        .map(|own| (own.name.clone(), own.unit.clone(), own.value))
        .collect();
    let expected = [("allocations", "allocs", 30.0), ("allocated", "B", 3000.0)]
        .map(|(name, unit, value)| (name.to_owned(), unit.to_owned(), value));
    assert_eq!(own, expected);
    worker.proceed();
    worker.go_to("forms::local_refs");
    let own = &worker.batch(5, 1).unwrap()[0].axes.own;
    assert!(own.iter().all(|own| own.value == 0.0), "inputs are not timed: {own:?}");
}

#[test]
fn the_suite_builds_under_the_compatibility_crate_too() {
    let dir = tempfile::tempdir().unwrap();
    let output = build(dir.path(), "codspeed-divan-compat", "4.7.0", "suite", SUITE);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut worker = Worker::start(&executable(dir.path(), "suite"), &[]);
    worker.go_to("plain");
    assert!(worker.batch(10, 2).is_ok());
}

#[test]
fn mistakes_are_reported_where_they_stand() {
    let dir = tempfile::tempdir().unwrap();
    let output = build(dir.path(), "divan", "0.1.21", "wrong", WRONG);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    let line_of = |code: &str| WRONG.lines().position(|line| line.contains(code)).unwrap() + 1;
    for (code, message) in [
        ("sampel_count", "has no field named `sampel_count`"),
        ("r#sample_count", "field `sample_count` specified more than once"),
        ("r#name", "repeated 'bench' option 'name'"),
        ("types = [u8]", "generic type required for 'bench' option 'types'"),
        ("fn missing", "expected 'args' option containing 'usize'"),
        ("\"soon\"", "`&str: divan::private::IntoDuration` is not satisfied"),
    ] {
        let place = format!("benches/wrong.rs:{}:", line_of(code));
        let reported =
            errors.split("\nerror").any(|error| error.contains(message) && error.contains(&place));
        assert!(reported, "`{message}` at {place} in {errors}");
    }
}
