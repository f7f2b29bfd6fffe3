//! Kills at random moments, of the driver and of whatever it has started: what the user owns is as
//! it was, what was told is stored, and the next run works. `NBENCH_TEST_KILLS` asks for more of
//! them than a test run has time for, and `NBENCH_TEST_SEED` for others.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Fixture, Output, Snapshot};
use crate::{AB, RUN, with};

const CRITERION: &str = "criterion = \"0.5\"";

const SEVERAL: &str = "criterion = \"0.5\"\nolder = { package = \"criterion\", version = \"0.3\" }";

const WORK: &str = r#"use criterion::{criterion_group, criterion_main, Criterion};

fn work(c: &mut Criterion) {
    c.bench_function("spin", |b| b.iter(|| subject_lib::spin()));
}

criterion_group!(benches, work);
criterion_main!(benches);
"#;

/// Results that were printed, and launches that are stored, of comparisons and measurements.
const STORED: &str = "SELECT (SELECT count(*) FROM comparison_launch) \
                      + (SELECT count(*) FROM measurement_launch)";

/// Numbers that look random and can be had again.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % end
    }
}

fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is `{text}`")),
        Err(_) => default,
    }
}

/// Processes that `ancestor` has started and what those have started, with their names.
fn descendants(ancestor: i32) -> Vec<(i32, String)> {
    let status = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (start, end) = (text.find('(')?, text.rfind(')')?);
        let parent: i32 = text[end + 1..].split_whitespace().nth(1)?.parse().ok()?;
        Some((pid, parent, text[start + 1..end].to_owned()))
    };
    let all: Vec<_> =
        fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(status).collect();
    let mut found: Vec<(i32, String)> = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        for (pid, _, name) in all.iter().filter(|(_, of, _)| *of == parent) {
            parents.push(*pid);
            found.push((*pid, name.clone()));
        }
    }
    found
}

/// Two commits of a suite of criterion.
fn fixture(dependencies: &str) -> Fixture {
    let older = WORK.replace("criterion::{", "older::{").replace("\"spin\"", "\"turn\"");
    let mut targets = vec![("work", WORK)];
    if dependencies == SEVERAL {
        targets.push(("older", older.as_str()));
    }
    let fixture = Fixture::existing(dependencies, &targets);
    fixture.edit("src/lib.rs", "WORK: u64 = 1000;", "WORK: u64 = 1300;");
    fixture.commit("More work");
    fixture.write("untracked.txt", "?\n");
    fixture.edit("README.md", "What it is.", "What it was.");
    fixture.git(&["stash"]);
    fixture.edit("src/lib.rs", "WORK: u64 = 1300;", "WORK: u64 = 1400;");
    fixture
}

/// Starts a command and ends it, or something that it has started, at some moment.
fn kill_once(fixture: &Fixture, draws: &mut Draws) -> (String, Output) {
    let long = ["run", "--preset", "thorough", "--format", "json"];
    let ab = ["ab", "--preset", "thorough", "--force", "--format", "json", "HEAD~1"];
    let mut running = fixture.spawn(if draws.below(2) == 0 { &long } else { &ab });
    // Mostly while it builds, which takes longest.
    let longest = if draws.below(3) == 0 { 1200 } else { 400 };
    let ticks = draws.below(longest);
    running.read_for(usize::try_from(ticks).expect("it is small"));
    let driver = running.id();
    let mut others = descendants(driver);
    others.sort();
    let victim = match draws.below(6) {
        0 | 1 => {
            running.try_signal(Signal::KILL);
            "the driver, killed".to_owned()
        }
        2 => {
            // The second one ends it at once, without any clearing up.
            running.try_signal(Signal::INT);
            running.try_signal(Signal::INT);
            "the driver, interrupted twice".to_owned()
        }
        _ if others.is_empty() => {
            running.try_signal(Signal::KILL);
            "the driver, killed".to_owned()
        }
        _ => {
            let at = draws.below(others.len() as u64) as usize;
            let (pid, name) = others[at].clone();
            // It may have ended by itself.
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
            running.read_for(50);
            running.try_signal(Signal::INT);
            format!("`{name}`, killed")
        }
    };
    (format!("{victim} after {ticks} ticks"), running.finish())
}

#[track_caller]
fn assert_untouched(fixture: &Fixture, before: &Snapshot, what: &str) {
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new(), "{what}");
}

fn kills(dependencies: &str, count: u64) {
    let fixture = fixture(dependencies);
    let before = fixture.snapshot();
    let mut draws = Draws(number("NBENCH_TEST_SEED", 1));
    for kill in 0..count {
        let stored = fixture.number(STORED);
        let (what, output) = kill_once(&fixture, &mut draws);
        let what = format!("kill {kill}: {what}");
        // Not only after the next run: a lock file is never changed.
        assert_untouched(&fixture, &before, &what);
        assert_ne!(output.code, Some(101), "{what}: {}", output.stderr);
        fixture.outlived_by_nothing();
        let told: i64 = ["comparison", "measurement"]
            .iter()
            .flat_map(|kind| output.whole_lines(kind))
            .filter_map(|line| line["launches"].as_i64())
            .sum();
        let more = fixture.number(STORED) - stored;
        assert!(more >= told, "{what}: {told} launches were told, {more} are stored");
        let next = if kill % 2 == 0 {
            fixture.nbench(&with(&AB, &["--filter", "spin", "HEAD~1"]))
        } else {
            fixture.nbench(&with(&RUN, &["spin"]))
        };
        assert_eq!(next.code, Some(0), "after {what}: {}", next.stderr);
        assert_untouched(&fixture, &before, &format!("the next after {what}"));
        let unfinished = fixture.number("SELECT count(*) FROM run WHERE state = 'running'");
        assert_eq!(unfinished, 0, "{what}");
    }
    // A killed checkout is cleared up by the next comparison.
    fixture.nbench(&with(&AB, &["--filter", "spin", "HEAD~1"])).exits(0);
    assert_eq!(fixture.worktrees(), 1);
    let store = fixture.database().expect("a store");
    let found: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}

#[cfg(target_os = "linux")]
#[test]
fn random_kills_with_stand_ins_by_path() {
    kills(CRITERION, number("NBENCH_TEST_KILLS", 2).div_ceil(2));
}

#[cfg(target_os = "linux")]
#[test]
fn random_kills_with_patched_stand_ins() {
    kills(SEVERAL, number("NBENCH_TEST_KILLS", 2) / 2);
}

#[test]
fn five_at_once_share_no_lock_file() {
    let fixture = fixture(SEVERAL);
    // With a lock file and without one; what is ignored is looked at all the same.
    for has_lock in [true, false] {
        if !has_lock {
            fs::remove_file(fixture.root().join("Cargo.lock")).unwrap();
        }
        let before = fixture.snapshot();
        let list = ["list", "--format", "json"];
        let running: Vec<_> = (0..5).map(|_| fixture.spawn(&list)).collect();
        for one in running {
            assert_eq!(one.finish().exits(0).named("benchmark"), ["spin", "turn"]);
        }
        assert_untouched(&fixture, &before, "five at once");
        assert_eq!(fixture.root().join("Cargo.lock").exists(), has_lock);
    }
}
