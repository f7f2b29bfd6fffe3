//! The `Divan` of a suite's `main`: its settings, and the walk over every registered benchmark. It
//! must not know the wire.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use crate::batch;
use crate::counter::{BytesCount, BytesFormat, CharsCount, CyclesCount, IntoCounter, ItemsCount};
use crate::entry::Entry;
use crate::forms::{Bencher, Context};
use crate::options::BenchOptions;
use crate::order::{self, Leaf};
use crate::registry::{Runner, BENCHMARKS, GROUPS};
use crate::suite::Suite;
use crate::wire::Offer;

/// Runs the benchmarks of a suite.
#[derive(Clone, Default)]
pub struct Divan {
    options: BenchOptions<'static>,
    ignored: Ignored,
    skipped: Vec<Pattern>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Ignored {
    #[default]
    LeftOut,
    Included,
    Only,
}

#[derive(Clone)]
enum Pattern {
    /// The whole path.
    Exact(String),
    /// A part of it.
    Part(String),
}

impl fmt::Debug for Divan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Divan").finish_non_exhaustive()
    }
}

thread_local! {
    /// A suite function cannot capture what it is configured with.
    static WALKED: RefCell<Option<Divan>> = const { RefCell::new(None) };
}

impl Divan {
    /// With the arguments of the process, of which the harness reads those that count.
    pub fn from_args() -> Divan {
        Divan::default()
    }

    /// The same, on top of what is set.
    #[must_use]
    pub fn config_with_args(self) -> Divan {
        self
    }

    /// Runs the benchmarks as the driver or the arguments ask.
    pub fn main(&self) {
        WALKED.with(|walked| walked.replace(Some(self.clone())));
        let code = crate::entry::start(&[Entry { name: "main", run: walk }]);
        if code != ExitCode::SUCCESS {
            std::process::exit(1);
        }
    }

    /// Runs the benchmarks.
    pub fn run_benches(&self) {
        self.main();
    }

    /// Runs the benchmarks.
    pub fn test_benches(&self) {
        self.main();
    }

    /// Runs the benchmarks.
    pub fn list_benches(&self) {
        self.main();
    }

    /// Without effect.
    #[must_use]
    pub fn color(self, yes: impl Into<Option<bool>>) -> Divan {
        let _without_effect: Option<bool> = yes.into();
        self
    }

    /// Runs what is marked to be ignored as well.
    #[must_use]
    pub fn run_ignored(mut self) -> Divan {
        self.ignored = Ignored::Included;
        self
    }

    /// Runs nothing but what is marked to be ignored.
    #[must_use]
    pub fn run_only_ignored(mut self) -> Divan {
        self.ignored = Ignored::Only;
        self
    }

    /// Leaves out benchmarks whose path contains the pattern. One with characters that mean
    /// something in regular expressions is without effect.
    #[must_use]
    pub fn skip_regex(mut self, filter: impl AsRef<str>) -> Divan {
        let filter = filter.as_ref();
        if !filter.contains(|c: char| r"\.+*?()|[]{}^$".contains(c)) {
            self.skipped.push(Pattern::Part(filter.to_owned()));
        }
        self
    }

    /// Leaves out the benchmark of this path, which begins with the crate.
    #[must_use]
    pub fn skip_exact(mut self, filter: impl Into<String>) -> Divan {
        self.skipped.push(Pattern::Exact(filter.into()));
        self
    }

    /// Without effect.
    #[must_use]
    pub fn sample_count(mut self, count: u32) -> Divan {
        self.options.sample_count = Some(count);
        self
    }

    /// How many inputs are prepared at a time.
    #[must_use]
    pub fn sample_size(mut self, count: u32) -> Divan {
        self.options.sample_size = Some(count);
        self
    }

    /// How many threads run each benchmark.
    #[must_use]
    pub fn threads<T: IntoIterator<Item = usize>>(mut self, threads: T) -> Divan {
        self.options.threads = Some(Cow::Owned(threads.into_iter().collect()));
        self
    }

    /// Without effect.
    #[must_use]
    pub fn min_time(mut self, time: Duration) -> Divan {
        self.options.min_time = Some(time);
        self
    }

    /// Without effect.
    #[must_use]
    pub fn max_time(mut self, time: Duration) -> Divan {
        self.options.max_time = Some(time);
        self
    }

    /// Without effect.
    #[must_use]
    pub fn skip_ext_time(mut self, skip: bool) -> Divan {
        self.options.skip_ext_time = Some(skip);
        self
    }

    /// Amount that one iteration processes.
    #[must_use]
    pub fn counter<C: IntoCounter>(mut self, counter: C) -> Divan {
        self.options.counters.insert(counter);
        self
    }

    /// How many items one iteration processes.
    #[must_use]
    pub fn items_count<C: Into<ItemsCount>>(self, count: C) -> Divan {
        self.counter(count.into())
    }

    /// How many bytes one iteration processes.
    #[must_use]
    pub fn bytes_count<C: Into<BytesCount>>(self, count: C) -> Divan {
        self.counter(count.into())
    }

    /// Without effect.
    #[must_use]
    pub fn bytes_format(self, _format: BytesFormat) -> Divan {
        self
    }

    /// How many characters one iteration processes.
    #[must_use]
    pub fn chars_count<C: Into<CharsCount>>(self, count: C) -> Divan {
        self.counter(count.into())
    }

    /// How many cycles one iteration processes.
    #[must_use]
    pub fn cycles_count<C: Into<CyclesCount>>(self, count: C) -> Divan {
        self.counter(count.into())
    }

    fn leaves_out(&self, id: &str, options: &BenchOptions<'_>) -> bool {
        let ignored = options.ignore.unwrap_or_default();
        let path = id.replace('/', "::");
        let hit = |pattern: &Pattern| match pattern {
            Pattern::Exact(whole) => {
                whole.split_once("::").is_some_and(|(_crate, below)| below == path)
            }
            Pattern::Part(part) => path.contains(part.as_str()),
        };
        (match self.ignored {
            Ignored::LeftOut => ignored,
            Ignored::Included => false,
            Ignored::Only => !ignored,
        }) || self.skipped.iter().any(hit)
    }
}

fn walk(suite: &mut Suite<'_>) {
    let Some(divan) = WALKED.with(|walked| walked.borrow_mut().take()) else { return };
    // The builder comes before what stands at a benchmark.
    let nothing = BenchOptions::default();
    for mut leaf in order::leaves(&BENCHMARKS.values(), &GROUPS.values(), &nothing) {
        leaf.options = divan.options.or(&leaf.options);
        match leaf.run {
            Runner::Plain(run) => visit(suite, &divan, &leaf, &leaf.id, &|bencher| run(bencher)),
            Runner::Args(make) => {
                if divan.leaves_out(&leaf.id, &leaf.options) && leaf.options.ignore == Some(true) {
                    continue;
                }
                // Arguments are made by code of the suite, which may panic.
                match batch::catch(make) {
                    Ok(cases) => {
                        for at in order::arguments(cases.names()) {
                            let id = format!("{}/{}", leaf.id, cases.names()[at]);
                            visit(suite, &divan, &leaf, &id, &|bencher| cases.run(bencher, at));
                        }
                    }
                    Err(message) => {
                        let offer = Offer { id: leaf.id.clone(), ..Offer::default() };
                        suite.bench_within(offer, |_serve| {
                            std::panic::panic_any(format!("its arguments panicked: {message}"));
                        });
                    }
                }
            }
        }
    }
}

/// Offers one benchmark for each number of threads.
fn visit(
    suite: &mut Suite<'_>,
    divan: &Divan,
    leaf: &Leaf,
    id: &str,
    run: &dyn Fn(Bencher<'_, '_>),
) {
    if divan.leaves_out(id, &leaf.options) {
        return;
    }
    let (counts, told_apart) = leaf.options.thread_counts();
    for threads in counts {
        let id = if told_apart { format!("{id}/t={threads}") } else { id.to_owned() };
        let mut settings = Vec::new();
        if leaf.options.threads.is_some() {
            settings.push(("threads".to_owned(), "true".to_owned()));
        }
        let throughput = leaf.options.counters.throughput();
        let offer = Offer { id, throughput, settings, ..Offer::default() };
        suite.bench_within(offer, |serve| {
            let mut context = Context {
                serve,
                counters: leaf.options.counters.clone(),
                threads,
                chunk: leaf.options.sample_size.map(u64::from),
            };
            run(Bencher::new(&mut context));
        });
    }
}
