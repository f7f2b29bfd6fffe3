//! What somebody sees who is new here: a run told in lines that fit a screen, one filter in every
//! command, and answers that name what was meant.

use crate::support::{Fixture, Output};

const BENCHES: &str = "\
use nbench::Suite;

fn work(suite: &mut Suite) {
    for index in 0..7 {
        suite.bench(&format!(\"words/count/{index}\"), subject_lib::spin);
    }
    suite.bench(\"words/broken\", || panic!(\"out of range\"));
    suite.bench(\"Table\", || subject_lib::sum(&subject_lib::TABLE));
}

nbench::main!(work);
";

fn shown(output: &Output) -> Vec<&str> {
    output.stdout.lines().collect()
}

#[test]
fn a_run_is_a_line_for_each_benchmark_and_ends_with_names_and_the_reason_to_fail() {
    let fixture = Fixture::alone();
    fixture.write("subject/benches/work.rs", BENCHES);
    fixture.commit("Many benchmarks");
    fixture.set_work(2500);
    let output = fixture.nbench(&["ab", "--preset", "quick", "--gate"]).exits(4);
    let lines = shown(&output);
    assert!(lines.last().unwrap().starts_with("1 failed; gate: "), "{lines:#?}");
    assert!(lines.last().unwrap().ends_with(" slower: exit 4"), "{lines:#?}");
    assert!(!output.stdout.contains("launches,"), "{lines:#?}");
    let about = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert_eq!(about("words/count/3"), 2, "as it ends, and at the end: {lines:#?}");
    let failed = lines.iter().rposition(|line| line.starts_with("failed")).unwrap();
    assert!(lines[failed].contains("words/broken") && lines[failed].contains("out of range"));
    assert!(lines.len() - failed < 6, "{lines:#?}");
    for what in ["(1 of 2)", "(2 of 2)", "built in"] {
        assert!(output.stderr.contains(what), "a log says that it builds: {}", output.stderr);
    }

    // What was asked about is the same in every command, and stored results are no exception.
    let skip = ["ab", "--preset", "quick", "-f", "COUNT/3", "-f", "table", "--skip", "words/*"];
    let output = fixture.nbench(&[&skip[..], &["--gate", "--require-verdict"]].concat());
    assert!(output.stdout.contains("Table") && !output.stdout.contains("words/"));
    let listed = |words: &[&str]| -> Vec<String> {
        let output = fixture.nbench(&[&["list"], words].concat()).exits(0);
        output.stdout.lines().map(|line| line.replace("subject-lib/work  ", "")).collect()
    };
    assert_eq!(listed(&["TABLE", "*/5"]), ["words/count/5", "Table"]);
    assert_eq!(listed(&["Table", "--exact"]), ["Table"]);
    assert_eq!(listed(&["--skip", "count", "--skip", "broken"]), ["Table"]);
    let history = fixture.nbench(&["history", "words/*/4", "TABL"]).exits(0);
    assert!(history.stdout.contains("words/count/4") && history.stdout.contains("Table"));
    assert!(!history.stdout.contains("words/count/5"), "{}", history.stdout);

    for (words, code, hint) in [
        (["list", "cuont"], 5, "did you mean `words/count/0`"),
        (["ab", "mian"], 2, "did you mean `main`?"),
        (["ab", "words"], 2, "--filter words"),
        (["run", "--exact"], 2, "--filter"),
        (["history", "tabel"], 5, "did you mean `table`"),
    ] {
        let output = fixture.nbench(&words).exits(code).complains(&[hint]);
        assert!(!output.stderr.contains("fetch"), "there is no remote: {}", output.stderr);
    }
    // `table` is the id where it exists; case is no mistake.
    fixture.nbench(&["list", "tab?e"]).exits(0);
}
