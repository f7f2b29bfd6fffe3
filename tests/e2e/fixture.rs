//! The ground that the other tests stand on: without these a failure of theirs might be the
//! fixture's. Nothing here runs `cargo-nbench`.

use crate::support::Fixture;

#[test]
fn every_target_builds_and_the_good_ones_run_under_plain_cargo() {
    let fixture = Fixture::with(&["work", "varied", "plain", "bad"]);
    fixture.cargo(&["bench", "--quiet", "--no-run", "--bench", "bad"]).exits(0);
    let good = ["--bench", "work", "--bench", "varied", "--bench", "plain"];
    let output = fixture.cargo(&[&["bench"][..], &good, &["--", "--test"]].concat()).exits(0);
    for name in ["spin", "table", "data/manifest", "data/cwd", "threads", "sorts", "search"] {
        assert!(output.stdout.contains(name), "{name} in {}", output.stdout);
    }
}

#[test]
fn a_snapshot_sees_every_kind_of_change() {
    let fixture = Fixture::new();
    fixture.write("Cargo.lock", "ignored\n");
    let before = fixture.snapshot();
    let differs = |what: &str| {
        let found = before.differences(&fixture.snapshot());
        assert!(found.iter().any(|name| name.contains(what)), "{what} in {found:?}");
    };
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
    fixture.write("Cargo.lock", "ignored\n");
    differs("file Cargo.lock");
    fixture.write("untracked", "");
    differs("git status");
    fixture.git(&["add", "untracked"]);
    differs("git index");
    fixture.git(&["stash"]);
    differs("stash");
    fixture.git(&["branch", "another"]);
    differs("for-each-ref");
    fixture.git(&["switch", "--quiet", "another"]);
    differs("git HEAD");
    fixture.write("target/built", "");
    fixture.write(".nbench/store.sqlite", "");
    let found = before.differences(&fixture.snapshot());
    assert!(!found.iter().any(|n| n.contains("target") || n.contains("nbench")), "{found:?}");
}
