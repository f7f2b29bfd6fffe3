//! The real binary, end to end, in throw-away repositories with real bench targets. It knows the
//! command line, the JSON lines, exit codes and tables of the store, and no inside of any crate.

mod support;

#[path = "e2e/building.rs"]
mod building;
#[path = "e2e/checkouts.rs"]
mod checkouts;
#[path = "e2e/compare.rs"]
mod compare;
#[path = "e2e/existing.rs"]
mod existing;
#[path = "e2e/first_minute.rs"]
mod first_minute;
#[path = "e2e/fixture.rs"]
mod fixture;
#[path = "e2e/inputs.rs"]
mod inputs;
#[path = "e2e/interrupt.rs"]
mod interrupt;
#[path = "e2e/kills.rs"]
mod kills;
#[path = "e2e/layout.rs"]
mod layout;
#[path = "e2e/measure.rs"]
mod measure;
#[path = "e2e/own_runner.rs"]
mod own_runner;
#[path = "e2e/page.rs"]
mod page;
#[path = "e2e/refusal.rs"]
mod refusal;
#[path = "e2e/results.rs"]
mod results;
#[path = "e2e/secrets.rs"]
mod secrets;
#[path = "e2e/stored.rs"]
mod stored;
#[path = "e2e/unsteady.rs"]
mod unsteady;
#[path = "e2e/workflows.rs"]
mod workflows;

/// A comparison that says as much as one early look can.
const AB: [&str; 5] = ["ab", "--preset", "quick", "--format", "json"];

/// A measurement of the least launches.
const RUN: [&str; 5] = ["run", "--preset", "quick", "--format", "json"];

/// Words of a command followed by more.
fn with<'a>(words: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [words, more].concat()
}
