//! The newest runs of a store that `compare` takes. It must not know how two of them are compared.

use std::collections::BTreeSet;

use nbench_store::{RunCommand, RunRow, RunState, Store};

use crate::failure::{Exit, Failure};
use crate::results::date::utc;
use crate::results::record::store_failure;
use crate::results::stored_settings;
use crate::term::{Term, Text, Tone};

/// How many runs are listed.
const NEWEST: usize = 20;

/// Shows the newest runs, one line each, newest first.
///
/// # Errors
/// When there is none, or when the store cannot be read.
pub fn list(term: &mut Term, store: &Store) -> Result<Exit, Failure> {
    let runs = store.runs().map_err(|e| store_failure(&e))?;
    let of_run = |run: &&RunRow| run.begun.command == RunCommand::Run;
    let mut listed = 0;
    for run in runs.iter().rev().filter(of_run).take(NEWEST) {
        show(term, store, run)?;
        listed += 1;
    }
    if listed == 0 {
        return Err(Failure::new(Exit::NothingSelected, "the store holds no results of `run`")
            .hint("`cargo nbench run` measures the working tree"));
    }
    let total = runs.iter().filter(of_run).count();
    if total > listed {
        term.note(&format!("{} older runs are not listed", total - listed));
    }
    term.note("`cargo nbench compare A B` compares two of them");
    Ok(Exit::Done)
}

fn show(term: &mut Term, store: &Store, run: &RunRow) -> Result<(), Failure> {
    let rows = store.measurements_of_run(run.id).map_err(|e| store_failure(&e))?;
    let benchmarks = rows.iter().filter(|row| row.result.is_some()).count();
    let commits: BTreeSet<&str> = rows.iter().map(|row| row.revision.commit.as_str()).collect();
    // Runs of another preset differ by their settings.
    let preset = stored_settings::read(&run.begun.settings).remove("preset");
    let is_dirty = run.begun.dirty_digest.is_some();
    term.json(&serde_json::json!({
        "type": "stored_run",
        "run": run.id.0,
        "started_at_ms": run.begun.started_at,
        "state": run.state.as_str(),
        "commits": commits,
        "dirty": is_dirty,
        "benchmarks": benchmarks,
        "preset": preset,
        "host": run.host.summary,
        "toolchain": run.toolchain.summary,
    }));
    let short: Vec<&str> = commits.iter().map(|c| c.get(..12).unwrap_or(c)).collect();
    let mut text = Text::toned(Tone::Strong, &format!("run {:<5}", run.id.0));
    text.push(&format!(
        " {} UTC  {}{}  {benchmarks} benchmark{}",
        utc(run.begun.started_at / 1000),
        short.join(", "),
        if is_dirty { "+dirty" } else { "" },
        if benchmarks == 1 { "" } else { "s" },
    ));
    if let Some(preset) = &preset {
        text.push(&format!("  {preset}"));
    }
    if run.state != RunState::Finished {
        text.add(Tone::Doubt, &format!("  {}", run.state.as_str()));
    }
    term.line(text);
    Ok(())
}
