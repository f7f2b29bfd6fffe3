//! Tests of the bridge without criterion: arithmetic, and programs that are no benchmarks.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;

use super::*;

#[test]
fn the_typical_iteration_counts_and_not_the_typical_sample() {
    // 5, 4, 6 and 100 ns each.
    assert_eq!(median_of(&[1.0, 2.0, 3.0, 4.0], &[5.0, 8.0, 18.0, 400.0]), Some(5.5));
    assert_eq!(median_of(&[2.0], &[0.0]), Some(0.0));
    for (iters, times) in [(0.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, f64::NAN), (f64::NAN, 1.0)] {
        assert_eq!(median_of(&[1.0, iters], &[1.0, times]), None, "{times} / {iters}");
    }
}

#[test]
fn a_batch_is_answered_in_its_own_size() {
    let FromWorker::Samples { iters, wall, spent, cpu, .. } = samples(0.25, 1_000_000, 2, 9) else {
        panic!("no samples")
    };
    assert_eq!((iters, wall, spent), (1_000_000, vec![250_000, 250_000], vec![4, 4]));
    assert!(cpu.is_err());
}

#[test]
fn other_words_are_no_business_of_the_bridge() {
    for words in [&["cargo-nbench"][..], &["cargo-nbench", "run", SUBCOMMAND]] {
        assert!(maybe_run(words.iter().map(OsString::from)).is_none());
    }
}

/// What a driver hears that says `commands` at once.
fn heard(executable: &str, commands: &str) -> Vec<String> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (&ours).write_all(commands.as_bytes()).unwrap();
    let driver = DriverSocket::over(theirs).unwrap();
    let served = std::thread::spawn({
        let suite = Suite { executable: executable.into(), runner: Vec::new() };
        move || serve(driver, &suite)
    });
    let lines = BufReader::new(&ours).lines().map_while(Result::ok);
    let mut heard = Vec::new();
    for line in lines {
        let last = line == "done";
        heard.push(line);
        if last {
            break;
        }
    }
    drop(ours);
    served.join().unwrap();
    heard
}

#[test]
fn a_program_that_has_no_runner_is_told_and_nothing_is_offered() {
    // A shell that is given a word it does not know.
    let heard = heard("/bin/sh", "");
    assert!(heard[0].starts_with("hello protocol=1 "), "{heard:?}");
    assert!(heard[1].starts_with("broken message=the%20worker%20exited"), "{heard:?}");
    assert!(heard[1].contains("0.3.3") && heard[2] == "done" && heard.len() == 3, "{heard:?}");
}

#[test]
fn a_driver_that_leaves_ends_what_is_running() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let driver = DriverSocket::over(theirs).unwrap();
    drop(ours);
    // It would never connect, and is not waited for.
    let is_gone = || driver.is_gone();
    let words = ["-f", "/dev/null"].map(str::to_owned);
    let suite = Suite { executable: "tail".into(), runner: Vec::new() };
    let run = CriterionRun::start(&suite, &words, &is_gone);
    assert!(matches!(run.err(), Some(BridgeError::Gone)));
}
