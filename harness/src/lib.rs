//! The part of nbench that a bench target depends on. It owns registration, timing and the worker
//! end of the wire; it must not know statistics, revisions or roles, and it has no dependency.
//!
//! A bench target is a program whose `main` comes from [`main!`] and names suite functions. In
//! `Cargo.toml`:
//!
//! ```toml
//! [dev-dependencies]
//! nbench = "0.1"
//!
//! [[bench]]
//! name = "words"
//! harness = false
//! ```
//!
//! In `benches/words.rs`:
//!
//! ```
//! use nbench::{Suite, Throughput};
//!
//! fn counting(suite: &mut Suite) {
//!     // Benchmarks may borrow what the suite function owns.
//!     let text = "the quick brown fox ".repeat(50);
//!     suite.bench("split", || text.split(' ').count());
//!
//!     let mut group = suite.group("sized");
//!     for length in [100, 1000] {
//!         let part = &text[..length];
//!         group.throughput(Throughput::Bytes(length as u64));
//!         group.bench_with(("lines", length), part, |b, part| b.iter(|| part.lines().count()));
//!     }
//! }
//!
//! fn sorting(suite: &mut Suite) {
//!     let words: Vec<String> = ["pear", "fig", "apple"].map(String::from).to_vec();
//!     // The clone is not timed.
//!     suite.bench_fn("stable", |b| {
//!         b.with_setup(|| words.clone()).iter(|mut words| {
//!             words.sort();
//!             words
//!         });
//!     });
//!     suite
//!         .compare("find")
//!         .reference("position", || words.iter().position(|word| word == "fig"))
//!         .contender("contains", || words.contains(&"fig".to_owned()))
//!         .run();
//! }
//!
//! nbench::main!(counting, sorting);
//! ```
//!
//! `cargo bench` prints a small table from one process. `cargo nbench run` stores results of
//! several processes, and `cargo nbench ab` compares two revisions.
//!
//! A benchmark may print, spawn threads, bring its own global allocator and panic: a panic fails
//! that benchmark only. A panic outside any benchmark ends its suite function, and the next one
//! goes on.

pub mod axis;
mod barrier;
mod batch;
mod bencher;
mod connect;
mod entry;
mod local;
pub mod probe;
pub mod serve;
mod session;
#[cfg(feature = "sources")]
#[doc(hidden)]
pub mod sources;
mod standalone;
pub mod subject;
pub mod suite;
pub mod wire;

pub use axis::{Axes, Axis, OwnReading, Reading};
pub use barrier::{black_box, clobber_memory};
pub use bencher::{Bencher, WithSetup, WithTeardown};
pub use connect::{seed, DEFAULT_SEED, MARKER, SEED_VARIABLE, SOCKET_VARIABLE};
pub use entry::{start, Entry};
pub use subject::{Iters, Local, Nanos, Sample, Subject, SubjectError, SubjectErrorKind};
pub use suite::{Compare, Group, Id, Suite};
pub use wire::Throughput;
