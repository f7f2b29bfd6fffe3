//! What `ab` cannot do: each reason has its own words, exit code and a hint, and leaves nothing
//! behind.

use crate::support::Fixture;
use crate::{AB, with};

#[test]
fn an_unknown_revision_is_named() {
    let fixture = Fixture::new();
    let before = fixture.snapshot();
    let output = fixture.nbench(&with(&AB, &["no-such-rev"])).exits(2);
    let output = output.complains(&["no-such-rev", "hint:"]);
    let lines = output.lines();
    assert_eq!(lines.len(), 1, "{}", output.stdout);
    assert_eq!((&lines[0]["type"], &lines[0]["exit"]), (&"error".into(), &2.into()));
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
    // The only commit has nothing before it to be compared with.
    fixture.nbench(&AB).exits(2).complains(&["hint:"]);
}

#[test]
fn a_shallow_clone_tells_how_to_deepen_it() {
    let fixture = Fixture::new();
    fixture.set_work(1200);
    fixture.commit("More work");
    let clone = fixture.shallow_clone();
    clone.nbench(&with(&AB, &["HEAD~1"])).exits(2).complains(&["shallow", "hint:", "git fetch"]);
}

#[test]
fn a_side_that_does_not_build_is_named() {
    let fixture = Fixture::new();
    fixture.edit("subject/src/lib.rs", "wrapping_mul(", "no_such_method(");
    fixture.commit("Break it");
    let before = fixture.snapshot();
    let output = fixture.nbench(&with(&AB, &["HEAD~1", "HEAD"])).exits(3);
    let output = output.complains(&["no_such_method", "HEAD", "hint:"]);
    assert!(!output.stderr.contains("built in"), "{}", output.stderr);
    assert_eq!(before.differences(&fixture.snapshot()), Vec::<String>::new());
    fixture.edit("subject/src/lib.rs", "no_such_method(", "wrapping_mul(");
    fixture.commit("Mend it");
    fixture.nbench(&with(&AB, &["HEAD~1"])).exits(3).complains(&["no_such_method", "HEAD~1"]);
    assert_eq!(fixture.worktrees(), 1);
}

#[test]
fn sides_without_a_common_benchmark_cannot_be_compared() {
    let fixture = Fixture::new();
    fixture.edit("subject/benches/work.rs", "\"spin\"", "\"turn\"");
    fixture.edit("subject/benches/work.rs", "\"table\"", "\"board\"");
    fixture.commit("Rename everything");
    let output = fixture.nbench(&with(&AB, &["HEAD~1"])).exits(5);
    let output = output.complains(&["common", "hint:"]);
    assert_eq!(output.named("unmatched"), ["board", "spin", "table", "turn"]);
}

#[test]
fn mistakes_on_the_command_line_are_usage_errors() {
    let fixture = Fixture::new();
    fixture.nbench(&["ab", "--no-such-flag"]).exits(2).complains(&["--no-such-flag"]);
    fixture.nbench(&["ab", "--threshold", "2"]).exits(2).complains(&["did you mean `2%`"]);
    for (words, code, told) in [
        (&["run", "--quick"][..], 2, "use `--preset quick`"),
        (&["rnu"], 2, "'run'"),
        (&["ab", "--gate", "closed"], 2, "did you mean `--gate=closed`?"),
        (&["list", "subject-lib/work"], 5, "`-p subject-lib --bench work`"),
    ] {
        fixture.nbench(words).exits(code).complains(&[told]);
    }
    let help = fixture.nbench(&["nbench", "--help"]).exits(0);
    for word in ["run", "ab", "history", "comment", "130 interrupted"] {
        assert!(help.stdout.contains(word), "{word} in {}", help.stdout);
    }
}

#[test]
fn a_name_that_nothing_has_is_told_once_with_what_was_meant() {
    let fixture = Fixture::with(&["work", "varied"]);
    let manifest = fixture.read("subject/Cargo.toml") + "\n[features]\nfast = []\n";
    fixture.write("subject/Cargo.toml", &manifest);
    let root = fixture.read("Cargo.toml") + "\n[profile.tuned]\ninherits = \"release\"\n";
    fixture.write("Cargo.toml", &root);
    fixture.commit("A feature and a profile");
    fixture.set_work(1200);
    fixture.commit("More work");
    let cases = [
        ("-p", "subject-lob", "did you mean `subject-lib`?", 5),
        ("-p", "elsewhere", "there is `subject-lib`", 5),
        ("--bench", "wrok", "did you mean `work`?", 5),
        ("--bench", "speed", "there is `varied`, `work`", 5),
        ("--features", "fats", "did you mean `fast`?", 3),
        ("--features", "subject-lib/small", "there is `fast`", 3),
        ("--profile", "tunde", "did you mean `tuned`?", 3),
        ("--profile", "fastest", "there is `bench`, `dev`, `release`, `test`, `tuned`", 3),
    ];
    for (flag, name, hint, code) in cases {
        for command in [&["list"][..], &["ab", "HEAD~1", "HEAD", "--preset", "quick"]] {
            let output = fixture.nbench(&with(command, &[flag, name])).exits(code);
            let output = output.complains(&[name, hint]);
            assert_eq!(output.stderr.matches("error:").count(), 1, "{}", output.stderr);
            assert!(!output.stderr.contains("building"), "{}", output.stderr);
        }
    }
    // Configuration may define a profile as well, and a pattern may name several targets.
    fixture.write(".cargo/config.toml", "[profile.elsewhere]\ninherits = \"dev\"\n");
    for (flag, name) in [("--profile", "elsewhere"), ("--bench", "w*"), ("--features", "fast")] {
        fixture.nbench(&["list", flag, name]).exits(0);
    }
}

#[test]
fn settings_that_fit_nothing_or_are_not_understood_say_what_was_meant() {
    let fixture = Fixture::with(&["work", "varied"]);
    let run = ["run", "--preset", "quick", "-f", "table"];
    let text = "[[benchmark]]\nmatch = \"spni\"\nthreshold = 0.1\n[aliases]\n\"old\" = \"tabel\"\n";
    fixture.write("nbench.toml", text);
    let told = ["fits no benchmark: did you mean `spin`?", "or `tabel`: did you mean `table`?"];
    let output = fixture.nbench(&run).exits(0).complains(&told);
    assert_eq!(output.stderr.matches("did you mean").count(), 2, "{}", output.stderr);
    // What is not listed may be what they fit; and nothing that is listed depends on them.
    for quiet in [with(&run, &["--bench", "work"]), vec!["list"]] {
        let output = fixture.nbench(&quiet).exits(0);
        assert!(!output.stderr.contains("did you mean"), "{}", output.stderr);
    }
    fixture.write("nbench.toml", "seed = 1\nlaunches = 3\n");
    for command in [&["list"][..], &["run"]] {
        let told = ["it belongs below `[[benchmark]]`", "hint: change line 2 of `"];
        fixture.nbench(command).exits(2).complains(&told);
    }
}

#[test]
fn a_benchmark_that_was_renamed_is_named_with_the_line_that_pairs_it() {
    let fixture = Fixture::new();
    fixture.edit("subject/benches/work.rs", "\"spin\"", "\"turn\"");
    let pair = "`\"spin\" = \"turn\"` below `[aliases]` in `nbench.toml`";
    let one = fixture.nbench(&["ab", "--preset", "quick", "-f", "spin"]).exits(5);
    one.complains(&["no benchmark in common", pair]);
    fixture.nbench(&["ab", "--preset", "quick", "--force"]).exits(0).complains(&[pair]);
    // The line does what is said of it.
    fixture.write("nbench.toml", "[aliases]\n\"spin\" = \"turn\"\n");
    fixture.nbench(&["ab", "--preset", "quick", "--force", "-f", "turn"]).exits(0);
}

#[test]
fn a_lock_file_that_must_stay_as_it_is_has_to_be_there() {
    let fixture = Fixture::new();
    assert!(!fixture.root().join("Cargo.lock").exists());
    fixture.nbench(&["list", "--offline"]).exits(0);
    for flag in ["--locked", "--frozen"] {
        fixture.nbench(&["list", flag]).exits(3).complains(&["lock file", flag]);
    }
    assert!(!fixture.root().join("Cargo.lock").exists());
    fixture.cargo(&["generate-lockfile", "--offline"]).exits(0);
    fixture.nbench(&["list", "--locked"]).exits(0);
}
