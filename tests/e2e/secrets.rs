//! What others' code sees and decides: credentials reach no build and no benchmark, and a change
//! that is judged by a gate does not choose how.

use crate::support::Fixture;
use crate::{AB, RUN, with};

/// Credentials of several services, and one variable that is none.
const GIVEN: [(&str, &str); 6] = [
    ("GITHUB_TOKEN", "secret-1"),
    ("GH_TOKEN", "secret-2"),
    ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "secret-3"),
    ("CARGO_REGISTRIES_OURS_TOKEN", "secret-4"),
    ("CI_JOB_TOKEN", "secret-5"),
    ("PLAIN_SETTING", "not-a-secret"),
];

#[test]
fn credentials_reach_neither_build_scripts_nor_benchmarks() {
    let fixture = Fixture::new();
    let seen = fixture.beside("seen");
    let write = format!(
        "let all: Vec<String> = std::env::vars().map(|(n, v)| format!(\"{{n}}={{v}}\")).collect();\n\
         std::fs::write(concat!({seen:?}, \"-PLACE\"), all.join(\"\\n\")).unwrap();\n"
    );
    let script = write.replace("PLACE", "script");
    fixture.write("subject/build.rs", &format!("fn main() {{ {script} }}\n"));
    let bench = fixture.read("subject/benches/work.rs");
    let bench = bench.replacen(") {\n", &format!(") {{\n{}", write.replace("PLACE", "bench")), 1);
    fixture.write("subject/benches/work.rs", &bench);
    fixture.nbench_with(&GIVEN, &with(&RUN, &["spin"])).exits(0);
    for place in ["script", "bench"] {
        let text = std::fs::read_to_string(format!("{}-{place}", seen.display())).unwrap();
        assert!(text.contains("not-a-secret"), "{place} has its environment");
        assert!(!text.contains("secret-"), "{place}: {text}");
    }
}

#[test]
fn with_a_gate_the_reference_decides_and_says_what_would_change() {
    let fixture = Fixture::alone();
    let main = fixture.git(&["rev-parse", "HEAD"]);
    // Four times the work, and all that would let it pass.
    fixture.set_work(4000);
    fixture.write(
        "nbench.toml",
        "threshold = 0.99\nlooks = [2]\nlook_errors = [0.05]\n\
         [[benchmark]]\nmatch = \"*\"\nthreshold = 0.98\n[aliases]\n\"spin\" = \"x\"\n",
    );
    fixture.commit("Slower, and nobody will know");
    let words = with(&AB, &["--filter", "spin", &main, "HEAD"]);
    let judged = fixture.nbench(&with(&words, &["--gate"])).exits(1);
    assert_eq!(judged.comparison("spin")["threshold"], 0.005);
    judged.complains(&[
        "has no `nbench.toml`, so defaults decide",
        "`threshold` to 0.99",
        "`benchmark`",
        "`aliases`",
        "`looks`",
    ]);
    // A flag wins; and without a gate the file at hand decides, as ever.
    let flag = fixture.nbench(&with(&words, &["--gate=closed", "--threshold", "0.02"])).exits(1);
    assert_eq!(flag.comparison("spin")["threshold"], 0.02);
    let free = fixture.nbench(&with(&AB, &["--filter", "x", &main, "HEAD"])).exits(0);
    assert_eq!(free.comparison("x")["threshold"], 0.98);
    assert!(!free.stderr.contains("nbench.toml"), "{}", free.stderr);
}

#[test]
fn a_comparison_that_fails_says_so_in_the_comment() {
    let fixture = Fixture::new();
    fixture.set_work(1200);
    fixture.nbench(&with(&AB, &["--filter", "spin"])).exits(0);
    let good = fixture.nbench(&["comment"]).exits(0);
    let good = good.complains(&["this is run 1 of "]);
    // A run that was killed before it had any result.
    let long = ["ab", "--preset", "thorough", "--filter", "spin", "HEAD"];
    let mut running = fixture.spawn(&long);
    let runs = || fixture.number("SELECT count(*) FROM run");
    running.wait_until("it is stored", || runs() > 1);
    running.signal(rustix::process::Signal::KILL);
    running.finish();
    let passed_over = fixture.nbench(&["comment"]).exits(0).complains(&["has no results", "run 1"]);
    assert_eq!(passed_over.stdout, good.stdout);
    // A build that fails leaves one line.
    fixture.write("subject/src/lib.rs", "compile_error!(\"half done\");\n");
    let failed = fixture.nbench(&AB).exits(3);
    let lines = failed.lines();
    let line = lines.last().expect("a line");
    assert_eq!((&line["type"], &line["exit"]), (&"error".into(), &3.into()), "{line}");
    let file = fixture.beside("ab.json");
    std::fs::write(&file, &failed.stdout).unwrap();
    let file = file.display().to_string();
    let comment = fixture.nbench(&["comment", "--from", &file]).exits(0);
    for part in ["**the comparison failed**", "half done"] {
        assert!(comment.stdout.contains(part), "{part} in {}", comment.stdout);
    }
}
