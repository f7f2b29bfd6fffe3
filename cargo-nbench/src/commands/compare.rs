//! `cargo nbench compare`: two stored runs of one host, told apart by what they measured then. It
//! measures nothing and says of every result that it is not paired.

mod runs;

use std::collections::BTreeMap;
use std::path::Path;

use nbench_config::Aliases;
use nbench_engine::Verdict;
use nbench_engine::independent::{DESIGN, Independent, Method, Settings, compare_stored};
use nbench_engine::stats::Shift;
use nbench_store::{MeasurementRow, RunCommand, RunId, RunRow, Store};
use nbench_templates::lines::{Line, Stop, Unmatched};
use nbench_templates::number::{change as change_text, duration};

use crate::build::cargo::Words;
use crate::cli::args::{CompareArgs, MethodArg};
use crate::cli::settings::{self, store_path};
use crate::commands::run::standing_on;
use crate::commands::{BenchmarkKey, filter_of, key_of, open_store};
use crate::failure::{Exit, Failure};
use crate::measure::filter::Filter;
use crate::measure::words;
use crate::results::date::utc;
use crate::results::record::store_failure;
use crate::results::stored_settings;
use crate::revisions::revision::{Repository, Revision};
use crate::term::{Term, Text, Tone};

/// The sentence that stands by every result, for people and in JSON.
const NOT_PAIRED: &str = "not paired: includes whatever the machine did in between";

/// Reads two runs, refuses what cannot be compared, and shows one line per benchmark; without two
/// names it lists the runs that there are.
///
/// # Errors
/// When a run cannot be found, when host, toolchain or settings differ, when nothing is common, or
/// when the store cannot be read.
pub fn compare(term: &mut Term, args: &CompareArgs) -> Result<Exit, Failure> {
    let filter = filter_of(&args.filters, &args.filter, &[])?;
    let root = settings::workspace_root(args.manifest_path.as_deref())?;
    let flags =
        nbench_config::Layer { threshold: args.threshold, ..nbench_config::Layer::default() };
    let settings = settings::load(&root, flags)?;
    let path = store_path(&root, args.store.store.as_deref(), &settings);
    let words = Words::of_manifest(args.manifest_path.as_deref());
    let store = open_store(&path, &words)?;
    let (Some(saved), Some(current)) = (&args.saved, &args.current) else {
        return runs::list(term, &store);
    };
    let saved = find(&store, &root, saved)?;
    let current = find(&store, &root, current)?;
    comparable(&saved, &current)?;

    let old = results(&store, saved.id, &filter, &settings.aliases)?;
    let mut new = results(&store, current.id, &filter, &settings.aliases)?;
    let rules = Settings {
        confidence: settings.plan.confidence,
        threshold: settings.plan.threshold,
        seed: settings.plan.seed,
        ..Settings::default()
    };
    let frame = Frame { saved: &saved, current: &current, method: method(args.method), rules };
    let common = old.keys().filter(|key| new.contains_key(*key)).count();
    if common == 0 {
        return Err(nothing_common(&saved, &current, filter.is_given()));
    }
    frame.introduce(term);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, before) in &old {
        let Some(after) = new.remove(key) else {
            only_in(term, before, &saved);
            continue;
        };
        let outcome = compare_stored(
            &launches(&store, before)?,
            &launches(&store, &after)?,
            frame.method,
            &frame.rules,
        );
        let word = outcome.as_ref().map_or("not comparable", |o| words::verdict(o.verdict).word());
        *counts.entry(word).or_default() += 1;
        frame.show(term, before, &after, &outcome);
    }
    for row in new.values() {
        only_in(term, row, &current);
    }
    let counts: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
    term.line(&format!("independent: {}; {NOT_PAIRED}", counts.join(", ")));
    Ok(Exit::Done)
}

fn method(argument: MethodArg) -> Method {
    match argument {
        MethodArg::Medians => Method::Medians,
        MethodArg::TwoGate => Method::TwoGate,
        MethodArg::Blocks => Method::Blocks,
    }
}

/// The run that `text` names: its number, or the latest run of a revision.
fn find(store: &Store, root: &Path, text: &str) -> Result<RunRow, Failure> {
    let number: Option<i64> = text.strip_prefix('#').unwrap_or(text).parse().ok();
    if let Some(number) = number {
        match store.run(RunId(number)).map_err(|e| store_failure(&e))? {
            Some(run) if run.begun.command == RunCommand::Run => return Ok(run),
            Some(_) => {
                return Err(Failure::new(
                    Exit::Usage,
                    format!("run {number} is a paired comparison already"),
                )
                .hint("`cargo nbench history` shows it; `compare` takes results of `run`"));
            }
            // It may be an abbreviated hash all the same.
            None if text.starts_with('#') => return Err(no_such_run(store, text)),
            None => {}
        }
    }
    let revision = match resolve(root, text) {
        Err(_) if number.is_some() => return Err(no_such_run(store, text)),
        other => other?,
    };
    let rows = store.measurements(None).map_err(|e| store_failure(&e))?;
    let of_revision = |row: &&MeasurementRow| {
        row.result.is_some()
            && (row.revision.commit == revision.commit || row.revision.tree == revision.tree)
    };
    let latest = |any_state: bool| {
        rows.iter()
            .filter(of_revision)
            .filter(|row| any_state || row.dirty_digest == revision.dirty)
            .map(|row| row.run)
            .max()
    };
    if let Some(id) = latest(false) {
        let run = store.run(id).map_err(|e| store_failure(&e))?;
        return run.ok_or_else(|| no_such_run(store, text));
    }
    let failure = |error: String| Failure::new(Exit::Usage, error);
    Err(match latest(true) {
        Some(RunId(other)) => {
            failure(format!("`{text}` has stored results with other uncommitted changes only"))
                .hint(format!("its latest run is {other}: name that number to use it"))
        }
        None => failure(format!("`{text}` has no stored results of `run`")).hint(format!(
            "check it out and run `cargo nbench run`, or let `cargo nbench ab {text}` measure both sides now"
        )),
    })
}

fn no_such_run(store: &Store, text: &str) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("there is no run `{text}` in the store"));
    let runs = match store.runs() {
        Ok(runs) => runs,
        Err(error) => return store_failure(&error),
    };
    let of_run = runs.iter().rev().filter(|run| run.begun.command == RunCommand::Run);
    let newest: Vec<String> = of_run
        .take(8)
        .map(|run| format!("{} ({})", run.id.0, utc(run.begun.started_at / 1000)))
        .collect();
    if newest.is_empty() {
        failure.hint("`cargo nbench run` measures the working tree and makes one")
    } else {
        failure.hint(format!(
            "the newest are {}; `cargo nbench compare` lists them",
            newest.join(", ")
        ))
    }
}

fn resolve(root: &Path, text: &str) -> Result<Revision, Failure> {
    let repository = Repository::discover(root)?;
    if text == "@tree" {
        let tree = repository.working_tree()?;
        standing_on(&repository, &tree)
    } else {
        repository.resolve(text)
    }
}

/// Refuses runs that differ in anything but the code.
fn comparable(saved: &RunRow, current: &RunRow) -> Result<(), Failure> {
    if saved.id == current.id {
        return Err(Failure::new(Exit::Usage, format!("both sides are run {}", saved.id.0))
            .hint("name another run or revision"));
    }
    let mut differences = Vec::new();
    if saved.host.key != current.host.key {
        differences.push(format!("host: {} against {}", saved.host.summary, current.host.summary));
    }
    if saved.toolchain.key != current.toolchain.key {
        let found = facts(&saved.toolchain.components, &current.toolchain.components);
        differences.extend(found.into_iter().map(|fact| format!("toolchain: {fact}")));
    }
    let (one, other) = (&saved.begun, &current.begun);
    let found = stored_settings::differences(&one.settings, &other.settings);
    differences.extend(found.into_iter().map(|fact| format!("settings: {fact}")));
    if one.engine_version != other.engine_version {
        differences
            .push(format!("nbench: {} against {}", one.engine_version, other.engine_version));
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Usage,
        format!(
            "runs {} and {} differ in more than the code\n{}",
            saved.id.0,
            current.id.0,
            differences.join("\n")
        ),
    )
    .hint("`cargo nbench ab` measures both revisions here and now, under equal conditions"))
}

/// Facts that differ between two JSON objects of texts. The lock file is part of the code.
fn facts(one: &str, other: &str) -> Vec<String> {
    let read = |text: &str| -> BTreeMap<String, serde_json::Value> {
        serde_json::from_str(text).unwrap_or_default()
    };
    let (one, other) = (read(one), read(other));
    let names: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let shown = |value: Option<&serde_json::Value>| match value {
        Some(serde_json::Value::String(text)) => text.lines().next().unwrap_or_default().to_owned(),
        Some(other) => other.to_string(),
        None => "unknown".to_owned(),
    };
    let found: Vec<String> = names
        .into_iter()
        .filter(|name| *name != "cargo_lock" && one.get(*name) != other.get(*name))
        .map(|name| format!("{name}: {} against {}", shown(one.get(name)), shown(other.get(name))))
        .collect();
    if found.is_empty() { vec!["its key".to_owned()] } else { found }
}

/// Finished measurements of a run that pass the filter.
fn results(
    store: &Store,
    run: RunId,
    filter: &Filter,
    aliases: &Aliases,
) -> Result<BTreeMap<BenchmarkKey, MeasurementRow>, Failure> {
    let mut rows = store.measurements_of_run(run).map_err(|e| store_failure(&e))?;
    for row in &mut rows {
        let b = &mut row.benchmark;
        b.name = aliases.current(&b.package, &b.target, &b.name);
    }
    Ok(rows
        .into_iter()
        .filter(|row| row.result.is_some() && filter.matches(&row.benchmark.name))
        .map(|row| (key_of(&row.benchmark), row))
        .collect())
}

fn launches(store: &Store, row: &MeasurementRow) -> Result<Vec<Vec<f64>>, Failure> {
    let launches = store.measurement_launches(row.id).map_err(|e| store_failure(&e))?;
    Ok(launches.into_iter().map(|launch| launch.samples).collect())
}

fn nothing_common(saved: &RunRow, current: &RunRow, filtered: bool) -> Failure {
    let error =
        format!("runs {} and {} have no finished benchmark in common", saved.id.0, current.id.0);
    let failure = Failure::new(Exit::NothingSelected, error);
    if filtered {
        failure.hint("without a filter all benchmarks are compared")
    } else {
        failure.hint("`cargo nbench history` shows which benchmarks are stored")
    }
}

fn only_in(term: &mut Term, row: &MeasurementRow, run: &RunRow) {
    let line = Line::Unmatched(Unmatched {
        package: row.benchmark.package.clone(),
        target: row.benchmark.target.clone(),
        benchmark: Some(row.benchmark.name.clone()),
        side: format!("run {}", run.id.0),
    });
    crate::results::report::print(term, &line);
}

/// Context that all results of one invocation share.
struct Frame<'a> {
    saved: &'a RunRow,
    current: &'a RunRow,
    method: Method,
    rules: Settings,
}

impl Frame<'_> {
    fn introduce(&self, term: &mut Term) {
        let when = |run: &RunRow| utc(run.begun.started_at / 1000);
        let text = format!(
            "independent comparison of run {} ({} UTC) with run {} ({} UTC), method {}",
            self.current.id.0,
            when(self.current),
            self.saved.id.0,
            when(self.saved),
            self.method.word(),
        );
        term.line(Text::toned(Tone::Strong, &text));
        term.line(&format!("{NOT_PAIRED}; `cargo nbench ab` compares in pairs"));
    }

    fn show(
        &self,
        term: &mut Term,
        before: &MeasurementRow,
        after: &MeasurementRow,
        outcome: &Result<Independent, String>,
    ) {
        term.json(&self.json(before, after, outcome));
        term.line(self.text(before, after, outcome));
    }

    fn json(
        &self,
        before: &MeasurementRow,
        after: &MeasurementRow,
        outcome: &Result<Independent, String>,
    ) -> serde_json::Value {
        let side = |run: &RunRow, row: &MeasurementRow| {
            serde_json::json!({
                "run": run.id.0,
                "started_at_ms": run.begun.started_at,
                "commit": row.revision.commit,
                "dirty": row.dirty_digest.is_some(),
                "estimate": row.result.as_ref().map(|r| r.estimate),
                "launches": row.stored_launches,
            })
        };
        let known = outcome.as_ref().ok();
        let relative = known.filter(|o| o.change.shift == Shift::Relative).map(|o| o.change);
        let absolute = known.filter(|o| o.change.shift == Shift::Absolute).map(|o| o.change);
        serde_json::json!({
            "type": "independent_comparison",
            "design": DESIGN,
            "method": self.method.word(),
            "package": before.benchmark.package,
            "target": before.benchmark.target,
            "benchmark": before.benchmark.name,
            "reference": side(self.saved, before),
            "contender": side(self.current, after),
            "unit": before.unit,
            "change": relative.map(|c| c.estimate),
            "low": relative.map(|c| c.low),
            "high": relative.map(|c| c.high),
            "difference": absolute.map(|c| [c.low, c.estimate, c.high]),
            "confidence": self.rules.confidence,
            "threshold": self.rules.threshold,
            "verdict": known.map(|o| words::verdict(o.verdict).word()),
            "p": known.and_then(|o| o.p),
            "message": known.and_then(|o| o.message).map(|m| m.text()),
            "resamples": known.map(|o| o.resamples),
            "seed": self.rules.seed,
            "reason": outcome.as_ref().err(),
            "note": NOT_PAIRED,
        })
    }

    fn text(
        &self,
        before: &MeasurementRow,
        after: &MeasurementRow,
        outcome: &Result<Independent, String>,
    ) -> Text {
        let b = &before.benchmark;
        let title = format!("{}/{}  {}", b.package, b.target, b.name);
        let got = match outcome {
            Ok(got) => got,
            Err(reason) => {
                let mut text = Text::toned(Tone::Doubt, "not comparable");
                text.push("  ").add(Tone::Strong, &title).line(2).push(reason);
                return text;
            }
        };
        let tone = match got.verdict {
            Verdict::Slower => Tone::Bad,
            Verdict::Faster => Tone::Good,
            Verdict::Inconclusive => Tone::Doubt,
            Verdict::Equivalent => Tone::Plain,
        };
        // The word never stands alone: a verdict without "independent" is a paired one.
        let mut text =
            Text::toned(tone, &format!("independent: {:<12}", words::verdict(got.verdict)));
        text.push(" ").add(Tone::Strong, &title);
        let c = got.change;
        let change = match c.shift {
            Shift::Relative => {
                format!(
                    "{}  [{} .. {}]",
                    change_text(c.estimate),
                    change_text(c.low),
                    change_text(c.high)
                )
            }
            Shift::Absolute => format!("{} ns  [{} .. {} ns]", c.estimate, c.low, c.high),
        };
        let estimate = |row: &MeasurementRow| {
            row.result.as_ref().map_or("unknown".to_owned(), |r| duration(r.estimate))
        };
        text.line(2).push(&format!(
            "{change} at {:.0} %  {} -> {}",
            100.0 * self.rules.confidence,
            estimate(before),
            estimate(after)
        ));
        text.line(2).add(Tone::Faint, &detail(got, [before, after]));
        text
    }
}

/// Basis of an independent comparison, in words.
fn detail(got: &Independent, rows: [&MeasurementRow; 2]) -> String {
    let mut detail = format!("{} and {} launches", got.launches.0, got.launches.1);
    if let Some(p) = got.p {
        let least = 1.0 / got.resamples as f64;
        let p = if p < least { format!("p < {least}") } else { format!("p = {p:.5}") };
        detail.push_str(&format!(", {p}"));
    }
    if let Some(message) = got.message {
        detail.push_str(&format!(", {}", message.text()));
    }
    for row in rows {
        let stop = row.result.as_ref().map_or("", |r| r.stop.as_str());
        if [Stop::Budget.word(), Stop::Interrupted.word()].contains(&stop) {
            detail.push_str(&format!("; run {} stopped early: {stop}", row.run.0));
        }
    }
    detail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_facts_are_named_with_both_values() {
        let found = facts(
            r#"{"rustc":"rustc 1.90\nhost: x","lto":"off","cargo_lock":"1"}"#,
            r#"{"rustc":"rustc 1.91\nhost: x","lto":"off","cargo_lock":"2"}"#,
        );
        assert_eq!(found, ["rustc: rustc 1.90 against rustc 1.91"]);
        assert_eq!(facts("nonsense", "{}"), ["its key"]);
    }
}
