//! What the user owns stays as it is, whatever ends a command: its own end, Ctrl-C or a kill. Each
//! test waits for a state that can be seen from outside, never for a time.

use rustix::process::Signal;

use crate::support::{Fixture, Running};
use crate::{AB, RUN, with};

/// Takes longer than any test waits: a comparison without a difference, with the most looks.
const LONG_AB: [&str; 7] = ["ab", "--preset", "thorough", "--force", "--format", "json", "HEAD~1"];

const LAUNCHES: &str = "SELECT count(*) FROM comparison_launch";

/// A repository in the middle of somebody's work: changes staged and not, a stash, untracked and
/// ignored files.
fn at_work() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("NOTES.md", "Nothing yet.\n");
    fixture.commit("Notes");
    fixture.write("NOTES.md", "Put away.\n");
    fixture.git(&["stash"]);
    fixture.git(&["branch", "another"]);
    fixture.cargo(&["generate-lockfile"]).exits(0);
    // Cargo would write the file anew without this line.
    let lock = fixture.read("Cargo.lock");
    fixture.write("Cargo.lock", &format!("{lock}# kept by hand\n"));
    fixture.write("NOTES.md", "Staged.\n");
    fixture.git(&["add", "NOTES.md"]);
    fixture.write("NOTES.md", "Staged, and changed since.\n");
    fixture.write("subject/untracked file.txt", "?\n");
    fixture.edit("subject/src/lib.rs", "[3, 1, 4,", "[3, 1, 6,");
    fixture
}

#[track_caller]
fn assert_untouched(fixture: &Fixture, before: &crate::support::Snapshot) {
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
    assert_eq!(fixture.worktrees(), 1, "{}", fixture.git(&["worktree", "list"]));
}

#[track_caller]
fn assert_store_is_sound(fixture: &Fixture) {
    let store = fixture.database().expect("a store");
    let found: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}

/// Waits until more rows than `seen` answer `count`.
#[track_caller]
fn wait_for_rows(running: &mut Running, fixture: &Fixture, count: &str, seen: i64) {
    running.wait_until("a launch is in the store", || fixture.number(count) > seen);
}

#[test]
fn a_comparison_leaves_the_users_work_alone() {
    let fixture = at_work();
    let before = fixture.snapshot();
    let output = fixture.nbench(&with(&AB, &["HEAD~1"])).exits(0);
    assert_eq!(output.named("comparison"), ["spin", "table"]);
    assert_eq!(output.comparison("spin")["contender"]["dirty"], true);
    assert_untouched(&fixture, &before);
}

#[test]
fn no_lock_file_appears_where_there_was_none() {
    let fixture = Fixture::new();
    fixture.set_work(1200);
    let before = fixture.snapshot();
    fixture.nbench(&with(&AB, &["--filter", "spin"])).exits(0);
    assert_untouched(&fixture, &before);
}

#[test]
fn an_interrupted_comparison_ends_in_order() {
    let fixture = at_work();
    let before = fixture.snapshot();
    // First while it builds,
    let mut running = fixture.spawn(&LONG_AB);
    running.wait_until("an older revision is checked out", || !fixture.checkouts().is_empty());
    running.signal(Signal::INT);
    running.finish().exits(130);
    assert_untouched(&fixture, &before);
    // then while it measures.
    let mut running = fixture.spawn(&LONG_AB);
    wait_for_rows(&mut running, &fixture, LAUNCHES, 0);
    running.signal(Signal::INT);
    let output = running.finish().exits(130);
    output.lines();
    fixture.outlived_by_nothing();
    assert_untouched(&fixture, &before);
    assert_store_is_sound(&fixture);
    assert!(fixture.number(LAUNCHES) > 0);
    assert_eq!(fixture.number("SELECT count(*) FROM run WHERE state = 'running'"), 0);
}

#[test]
fn a_killed_comparison_is_cleared_up_by_the_next() {
    let fixture = at_work();
    let before = fixture.snapshot();
    let mut running = fixture.spawn(&LONG_AB);
    wait_for_rows(&mut running, &fixture, LAUNCHES, 0);
    let seen = fixture.number(LAUNCHES);
    running.signal(Signal::KILL);
    running.finish();
    fixture.outlived_by_nothing();
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
    assert!(fixture.number(LAUNCHES) >= seen);
    let output = fixture.nbench(&with(&AB, &["HEAD~1"])).exits(0);
    assert_eq!(output.named("comparison"), ["spin", "table"]);
    assert_untouched(&fixture, &before);
    assert_store_is_sound(&fixture);
    assert_eq!(fixture.number("SELECT count(*) FROM run WHERE state = 'running'"), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_benchmark_that_hangs_does_not_outlive_a_killed_run() {
    let fixture = Fixture::with(&["bad"]);
    let mut running = fixture.spawn(&with(&RUN, &["hangs"]));
    let begun = fixture.root().join("subject/hanging.txt");
    running.wait_until("it hangs", || begun.exists());
    assert_eq!(fixture.workers().len(), 1);
    running.signal(Signal::KILL);
    running.finish();
    fixture.outlived_by_nothing();
    assert_eq!(fixture.temporary_files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_killed_run_keeps_what_it_measured() {
    const SAVED: &str = "SELECT count(*) FROM measurement_launch";
    let fixture = Fixture::new();
    let mut running = fixture.spawn(&["run", "--preset", "thorough", "--format", "json"]);
    wait_for_rows(&mut running, &fixture, SAVED, 2);
    if cfg!(target_os = "linux") {
        running.wait_until("a worker runs", || !fixture.workers().is_empty());
    }
    let seen = fixture.number(SAVED);
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    fixture.outlived_by_nothing();
    let saved = fixture.number(SAVED);
    assert!(saved >= seen, "{saved} launches, {seen} were seen before the kill");
    assert_store_is_sound(&fixture);
    let output = fixture.nbench(&RUN).exits(0);
    assert_eq!(output.named("measurement"), ["spin", "table"]);
    assert!(fixture.number(SAVED) >= saved + 12, "six launches of two benchmarks more");
    assert_eq!(fixture.number("SELECT count(*) FROM run WHERE state = 'interrupted'"), 1);
    assert_eq!(fixture.number("SELECT count(*) FROM run WHERE state = 'running'"), 0);
}
