//! Plain `cargo bench` without a driver: lists, tests or times the benchmarks of one target in this
//! process. It must not know the wire; it is one of the few places that write to stdout.

mod args;
mod table;

use std::io::{self, Write};

use args::{Args, Mode};

use crate::batch;
use crate::bencher::Bencher;
use crate::suite::Walk;
use crate::wire::Offer;

/// Exit code of libtest when a test fails, which cargo and other tools expect.
const FAILED: u8 = 101;

/// Says on stderr why nothing was done.
pub(crate) fn complain(message: &str) {
    say(&format!("error: {message}"));
}

/// A message that cannot be written has no other way to go.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// A walk of a suite as the arguments ask, with its output.
pub(crate) struct Standalone<W> {
    args: Args,
    out: W,
    met: usize,
    failed: usize,
    /// The first error; nothing is written or measured after it.
    written: io::Result<()>,
}

impl Standalone<io::Stdout> {
    /// A walk as the arguments of the process ask, on stdout.
    pub(crate) fn begin() -> Standalone<io::Stdout> {
        let args =
            Args::parse(std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()));
        if !args.unknown.is_empty() {
            let unknown = args.unknown.join(" ");
            say(&format!("note: ignored what this harness does not know: {unknown}"));
        }
        // Not locked: a thread of a benchmark that prints would wait for ever.
        Standalone::new(args, io::stdout())
    }
}

impl<W: Write> Walk for Standalone<W> {
    fn visit(&mut self, offer: Offer, run: &mut dyn FnMut(usize, &mut Bencher)) {
        if !self.args.selects(&offer.id) || self.written.is_err() {
            return;
        }
        self.met += 1;
        match self.args.mode {
            Mode::List { .. } => self.write(&format!("{}: benchmark\n", offer.id)),
            Mode::Test => self.test(&offer, run),
            Mode::Bench => self.measure(&offer, run),
        }
    }
}

impl<W: Write> Standalone<W> {
    fn new(args: Args, out: W) -> Standalone<W> {
        Standalone { args, out, met: 0, failed: 0, written: Ok(()) }
    }

    /// Notes that a suite function panicked outside any benchmark.
    pub(crate) fn broken(&mut self, name: &str, message: &str) {
        self.failed += 1;
        self.write(&format!(
            "suite function `{name}` panicked outside any benchmark, its rest is not reached: {message}\n"
        ));
    }

    /// Writes the end of the output and returns what the process is to exit with.
    pub(crate) fn finish(mut self) -> u8 {
        self.end();
        match self.written {
            Ok(()) if self.failed == 0 => 0,
            Ok(()) => FAILED,
            // The reader of a pipe may have seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Err(error) => {
                complain(&format!("failed to write the results: {error}"));
                1
            }
        }
    }

    fn write(&mut self, text: &str) {
        if self.written.is_ok() {
            self.written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        }
    }

    fn test(&mut self, offer: &Offer, run: &mut dyn FnMut(usize, &mut Bencher)) {
        let id = &offer.id;
        let mut cases = 0..offer.cases.len().max(1);
        let outcome =
            cases.try_for_each(|case| batch::run(id, 1, 1, &mut |b| run(case, b)).map(drop));
        match outcome {
            Ok(()) => self.write(&format!("test {id} ... ok\n")),
            Err(message) => {
                self.failed += 1;
                self.write(&format!("test {id} ... FAILED: {message}\n"));
            }
        }
    }

    fn measure(&mut self, offer: &Offer, run: &mut dyn FnMut(usize, &mut Bencher)) {
        if self.met == 1 {
            self.write(&table::heading());
        }
        for case in 0..offer.cases.len().max(1) {
            let name = match offer.cases.get(case) {
                Some(name) => format!("{}: {name}", offer.id),
                None => offer.id.clone(),
            };
            let measured =
                table::measure(&mut |iters| batch::run(&offer.id, iters, 1, &mut |b| run(case, b)));
            match measured {
                Ok(row) => self.write(&row.line(&name, offer.throughput.as_ref())),
                Err(message) => {
                    self.failed += 1;
                    self.write(&format!("{name}  failed: {message}\n"));
                }
            }
        }
    }

    fn end(&mut self) {
        let (met, failed) = (self.met, self.failed);
        match self.args.mode {
            Mode::List { terse: true } => {}
            Mode::List { terse: false } => self.write(&format!("\n0 tests, {met} benchmarks\n")),
            Mode::Test if failed == 0 => self.write(&format!("\ntest result: ok. {met} run once; 0 failed\n")),
            Mode::Test => self.write(&format!("\ntest result: FAILED. {met} run once; {failed} failed\n")),
            Mode::Bench if met == 0 => self.write("no benchmark was selected\n"),
            Mode::Bench => self.write(
                "\nOne launch of one process on a machine that may drift: `cargo nbench run` repeats and stores this, \
                 `cargo nbench ab` compares two revisions.\n",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::walk_all;
    use crate::suite::Suite;
    use crate::Entry;

    fn first(suite: &mut Suite<'_>) {
        suite.bench("alpha", || 1 + 1);
        suite.bench_fn("alphabet", |b| b.iter_custom(std::time::Duration::from_micros));
        suite.bench("bad", || -> u8 { panic!("no luck") });
        suite.compare("both").reference("old", || 1).contender("new", || 2).run();
    }

    fn second(suite: &mut Suite<'_>) {
        suite.bench("alpha", || 3);
        panic!("missing file");
    }

    const ENTRIES: &[Entry] =
        &[Entry { name: "first", run: first }, Entry { name: "second", run: second }];

    fn output(entries: &[Entry], args: &str) -> (usize, String) {
        let mut out = Vec::new();
        let args = Args::parse(args.split_whitespace().map(str::to_owned));
        let mut walk = Standalone::new(args, &mut out);
        walk_all(entries, &mut walk);
        walk.end();
        let failed = walk.failed;
        assert!(walk.written.is_ok());
        (failed, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_list_runs_nothing_and_names_everything() {
        let (_, text) = output(&ENTRIES[..1], "--list --bench");
        assert_eq!(
            text,
            "alpha: benchmark\nalphabet: benchmark\nbad: benchmark\nboth: benchmark\n\n0 tests, 4 benchmarks\n"
        );
        assert_eq!(
            output(ENTRIES, "--list --format terse --exact alpha#2").1.lines().next(),
            Some("alpha#2: benchmark")
        );
        assert_eq!(output(&ENTRIES[..1], "--list --format terse --ignored").1, "");
    }

    #[test]
    fn a_test_runs_each_once_and_counts_failures() {
        let (failed, text) = output(ENTRIES, "");
        assert_eq!(failed, 2);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "test alpha ... ok");
        assert_eq!(lines[1], "test alphabet ... ok");
        assert!(lines[2].starts_with("test bad ... FAILED: no luck, at "), "{text}");
        assert_eq!(lines[3], "test both ... ok");
        assert_eq!(lines[4], "test alpha#2 ... ok");
        assert!(lines[5].starts_with("suite function `second` panicked"), "{text}");
        assert!(lines[5].contains("missing file"));
        assert_eq!(lines[7], "test result: FAILED. 5 run once; 2 failed");
    }

    #[test]
    fn a_bench_prints_a_row_for_each_case_and_goes_on_after_a_failure() {
        let (failed, text) = output(&ENTRIES[..1], "--bench b");
        assert_eq!(failed, 1);
        let starts = ["alphabet", "bad  failed: no luck", "both: old", "both: new"];
        for (line, start) in text.lines().skip(1).zip(starts) {
            assert!(line.starts_with(start), "{text}");
        }
        assert!(text.lines().nth(1).unwrap().contains("1.000 µs"), "{text}");
        assert!(text.ends_with("compares two revisions.\n"), "{text}");
        assert_eq!(
            output(&ENTRIES[..1], "--bench nothing-like-this").1,
            "no benchmark was selected\n"
        );
    }

    #[test]
    fn a_closed_pipe_stops_the_walk() {
        struct Closed(usize);
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                self.0 += 1;
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut out = Closed(0);
        let mut walk = Standalone::new(Args::parse(["--list".to_owned()]), &mut out);
        walk_all(ENTRIES, &mut walk);
        assert_eq!(walk.finish(), 0);
        assert_eq!(out.0, 1);
    }
}
