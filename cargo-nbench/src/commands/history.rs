//! `cargo nbench history`: stored values by commit, in first-parent order, never joined across
//! hosts.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use nbench_config::Aliases;
use nbench_store::{Benchmark, ComparisonRow, MeasurementRow};
use nbench_templates::lines::{Stop, short};
use nbench_templates::number::{change as change_text, duration};
use nbench_templates::{HistoryView, HostSeries, HostView, PairedView, PointView, SeriesView};

use crate::build::cargo::Words;
use crate::cli::args::HistoryArgs;
use crate::cli::settings::{self, store_path};
use crate::commands::{BenchmarkKey, filter_of, key_of, open_store};
use crate::failure::{Exit, Failure};
use crate::measure::filter::Filter;
use crate::results::date::utc;
use crate::results::record::{now_ms, store_failure, stored_comparison};
use crate::results::stored_settings::differences;
use crate::revisions::revision::Repository;
use crate::term::{Format, Term, Text, Tone};

/// Reads the store and shows it on the terminal, as JSON lines or as a page.
///
/// # Errors
/// When there is no store, it cannot be read, or the page cannot be written.
pub fn history(term: &mut Term, args: &HistoryArgs) -> Result<Exit, Failure> {
    let filter = filter_of(&args.filters, &args.filter, &[])?;
    let words = Words::of_manifest(args.manifest_path.as_deref());
    let root = settings::workspace_root(args.manifest_path.as_deref())?;
    let settings = settings::load(&root, nbench_config::Layer::default())?;
    let path = store_path(&root, args.store.store.as_deref(), &settings);
    let store = open_store(&path, &words)?;
    // An old id must pass a filter that means the new one.
    let aliases = &settings.aliases;
    let mut measurements = store.measurements(None).map_err(|e| store_failure(&e))?;
    let mut comparisons = store.comparisons(None).map_err(|e| store_failure(&e))?;
    let mut ids = std::collections::BTreeSet::new();
    let mut wanted = |benchmark: &mut Benchmark| {
        rename(benchmark, aliases);
        ids.insert(benchmark.name.clone());
        let one_of = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        filter.matches(&benchmark.name)
            && one_of(&args.package, &benchmark.package)
            && one_of(&args.bench, &benchmark.target)
    };
    measurements.retain_mut(|row| wanted(&mut row.benchmark));
    comparisons.retain_mut(|row| wanted(&mut row.benchmark));
    let mut order = Order::of(&root, args.commits);
    for run in store.runs().map_err(|e| store_failure(&e))? {
        order.settings.insert(run.id.0, run.begun.settings.clone());
    }
    let view = view(&root, &path, &measurements, &comparisons, &order);
    if view.benchmarks.is_empty() {
        let ids: Vec<String> = ids.into_iter().collect();
        let is_narrowed = !(args.package.is_empty() && args.bench.is_empty());
        return Err(nothing_stored(&ids, is_narrowed, &filter, &words));
    }
    for remark in &order.remarks {
        term.warn(remark);
    }
    match &args.html {
        Some(file) => {
            let file = file.clone().unwrap_or_else(|| root.join(".nbench/history.html"));
            write_page(&view, &file)?;
            term.line(&format!("wrote {}", file.display()));
        }
        None if term.format() == Format::Json => json(term, &view),
        None => text(term, &view),
    }
    Ok(Exit::Done)
}

/// The failure of a store in which none of the `ids` is left to be shown.
fn nothing_stored(ids: &[String], is_narrowed: bool, filter: &Filter, words: &Words) -> Failure {
    let failure = Failure::new(Exit::NothingSelected, "the store has no matching results");
    match ids {
        [] => failure.hint(format!("`{}` measures the working tree", words.nbench("run"))),
        _ if is_narrowed => failure.hint("without a selection all benchmarks are shown"),
        ids => {
            let Failure { error, hint, .. } = filter.matches_nothing(ids, &words.nbench("history"));
            Failure { error: format!("{error} in the store"), hint, ..failure }
        }
    }
}

/// Positions of commits in first-parent order, oldest first.
struct Order {
    by_commit: HashMap<String, usize>,
    by_tree: HashMap<String, usize>,
    remarks: Vec<String>,
    /// How many commits were looked at, if the branch may have more.
    cut: Option<usize>,
    /// Settings that each run was measured by.
    settings: HashMap<i64, String>,
}

impl Order {
    fn of(root: &Path, commits: usize) -> Order {
        let mut order = Order {
            by_commit: HashMap::new(),
            by_tree: HashMap::new(),
            remarks: Vec::new(),
            cut: None,
            settings: HashMap::new(),
        };
        let walked = Repository::discover(root).and_then(|r| r.first_parent_order(commits));
        match walked {
            Ok(revisions) => {
                let count = revisions.len();
                order.cut = (count == commits).then_some(commits);
                for (age, revision) in revisions.into_iter().enumerate() {
                    let place = count - age;
                    order.by_commit.insert(revision.commit, place);
                    // The newest commit of a tree stands for it: a squash or rebase that keeps the
                    // tree keeps its results.
                    order.by_tree.entry(revision.tree).or_insert(place);
                }
            }
            Err(failure) => {
                order.remarks.push(format!(
                    "commits cannot be ordered ({}): results stand in the order of their runs",
                    failure.error
                ));
            }
        }
        order
    }

    /// Where a result stands: its commit, else a commit with the same tree, else in front of all
    /// (on another branch, or too old).
    fn place(&self, row: &MeasurementRow) -> usize {
        self.known_place(row).unwrap_or(0)
    }

    fn known_place(&self, row: &MeasurementRow) -> Option<usize> {
        let revision = &row.revision;
        let by_commit = self.by_commit.get(&revision.commit);
        by_commit.or_else(|| self.by_tree.get(&revision.tree)).copied()
    }

    /// Remark on a point that stands apart from the line of history.
    fn remark(&self, row: &MeasurementRow) -> Option<String> {
        let elsewhere = !self.by_commit.is_empty() && self.known_place(row).is_none();
        elsewhere.then(|| match self.cut {
            // What lies further back was not looked at, and may well be of this branch.
            Some(commits) => format!("not among the last {commits} commits"),
            None => "not on this branch".to_owned(),
        })
    }

    /// Settings by which two points were not measured alike.
    fn differences(&self, one: &MeasurementRow, other: &MeasurementRow) -> Vec<String> {
        let of = |row: &MeasurementRow| self.settings.get(&row.run.0).map_or("", String::as_str);
        differences(of(one), of(other))
    }

    /// Whether a point may serve as the predecessor of a later one. Dirty trees and commits of
    /// other branches never do.
    fn leads_on(&self, row: &MeasurementRow) -> bool {
        row.dirty_digest.is_none() && (self.by_commit.is_empty() || self.known_place(row).is_some())
    }
}

/// Gives a stored benchmark the id that it goes by now.
fn rename(benchmark: &mut Benchmark, aliases: &Aliases) {
    benchmark.name = aliases.current(&benchmark.package, &benchmark.target, &benchmark.name);
}

fn view(
    root: &Path,
    path: &Path,
    measurements: &[MeasurementRow],
    comparisons: &[ComparisonRow],
    order: &Order,
) -> HistoryView {
    let mut hosts: BTreeMap<&str, HostView> = BTreeMap::new();
    let mut series: BTreeMap<BenchmarkKey, SeriesView> = BTreeMap::new();
    let mut points: BTreeMap<(BenchmarkKey, &str), Vec<&MeasurementRow>> = BTreeMap::new();
    for row in measurements.iter().filter(|r| r.result.is_some()) {
        let identity = key_of(&row.benchmark);
        let host = hosts.entry(&row.host.key).or_insert_with(|| HostView {
            key: row.host.key.clone(),
            summary: row.host.summary.clone(),
            toolchains: Vec::new(),
        });
        if !host.toolchains.contains(&row.toolchain.summary) {
            host.toolchains.push(row.toolchain.summary.clone());
        }
        points.entry((identity.clone(), &row.host.key)).or_default().push(row);
        series.entry(identity.clone()).or_insert_with(|| empty_series(&identity, &row.unit));
    }
    for ((identity, host), mut rows) in points {
        rows.sort_by_key(|row| (order.place(row), row.started_at));
        let made = host_series(host, &rows, order);
        if let Some(series) = series.get_mut(&identity) {
            series.hosts.push(made);
        }
    }
    for row in comparisons {
        let Some(line) = stored_comparison(row) else { continue };
        let identity = key_of(&row.benchmark);
        let paired = PairedView { line, when: utc(row.started_at / 1000) };
        series
            .entry(identity.clone())
            .or_insert_with(|| empty_series(&identity, "ns"))
            .paired
            .push(paired);
    }
    let title = root.file_name().map_or("benchmarks".into(), |n| n.to_string_lossy().into_owned());
    HistoryView {
        title,
        generated_at: format!("{} UTC", utc(now_ms() / 1000)),
        store: path.display().to_string(),
        hosts: hosts.into_values().collect(),
        benchmarks: series.into_values().collect(),
    }
}

fn empty_series(identity: &BenchmarkKey, unit: &str) -> SeriesView {
    SeriesView {
        package: identity.0.clone(),
        target: identity.1.clone(),
        name: identity.2.clone(),
        unit: unit.to_owned(),
        hosts: Vec::new(),
        paired: Vec::new(),
    }
}

fn host_series(host: &str, rows: &[&MeasurementRow], order: &Order) -> HostSeries {
    let mut points: Vec<PointView> = Vec::new();
    let mut before: Option<&MeasurementRow> = None;
    for row in rows {
        let Some(result) = &row.result else { continue };
        let same_toolchain = before.is_none_or(|b| b.toolchain.key == row.toolchain.key);
        let other_settings = before.map(|b| order.differences(b, row)).unwrap_or_default();
        let change = before
            .filter(|_| same_toolchain)
            // Of other settings a change would be that of the settings.
            .filter(|_| other_settings.is_empty())
            .and_then(|b| b.result.as_ref())
            // A value without an interval is a glance; a change from it would look like a finding.
            .filter(|b| b.interval.is_some() && result.interval.is_some())
            .map(|b| result.estimate / b.estimate - 1.0)
            .filter(|c| c.is_finite());
        points.push(PointView {
            commit: row.revision.commit.clone(),
            short: short(&row.revision.commit).to_owned(),
            subject: row.revision.subject.clone(),
            author_time: utc(row.revision.author_time),
            dirty: row.dirty_digest.is_some(),
            value_ns: result.estimate,
            low: result.interval.map(|i| i.0),
            high: result.interval.map(|i| i.1),
            change_to_previous: change,
            same_toolchain,
            toolchain_summary: row.toolchain.summary.clone(),
            launches: result.launches,
            run: row.run.0,
            verdict_note: order
                .remark(row)
                .or_else(|| {
                    (!other_settings.is_empty())
                        .then(|| format!("settings: {}", other_settings.join(", ")))
                })
                .or_else(|| {
                    [Stop::Budget.word(), Stop::Interrupted.word()]
                        .contains(&result.stop.as_str())
                        .then(|| format!("stopped early: {}", result.stop))
                }),
        });
        if order.leads_on(row) {
            before = Some(row);
        }
    }
    HostSeries {
        host_key: host.to_owned(),
        host_summary: rows.first().map_or(String::new(), |r| r.host.summary.clone()),
        points,
    }
}

fn write_page(view: &HistoryView, file: &Path) -> Result<(), Failure> {
    let page = nbench_templates::history_page(view)
        .map_err(|error| Failure::new(Exit::Publish, format!("render the page: {error}")))?;
    crate::results::page::write_file(&page, file)
}

fn json(term: &mut Term, view: &HistoryView) {
    for series in &view.benchmarks {
        for host in &series.hosts {
            for point in &host.points {
                term.json(&serde_json::json!({
                    "type": "point",
                    "package": series.package,
                    "target": series.target,
                    "benchmark": series.name,
                    "unit": series.unit,
                    "host": host.host_key,
                    "commit": point.commit,
                    "dirty": point.dirty,
                    "estimate": point.value_ns,
                    "low": point.low,
                    "high": point.high,
                    "change_to_previous": point.change_to_previous,
                    "same_toolchain": point.same_toolchain,
                    "launches": point.launches,
                    "run": point.run,
                }));
            }
        }
        for PairedView { line, when } in &series.paired {
            term.json(&serde_json::json!({
                "type": "paired",
                "package": series.package,
                "target": series.target,
                "benchmark": series.name,
                "reference": line.reference.label(),
                "contender": line.contender.label(),
                "change": line.change,
                "low": line.low,
                "high": line.high,
                "verdict": line.verdict,
                "when": when,
            }));
        }
    }
}

fn text(term: &mut Term, view: &HistoryView) {
    for series in &view.benchmarks {
        let title = format!("{}/{}  {}", series.package, series.target, series.name);
        term.line(Text::toned(Tone::Strong, &title));
        for host in &series.hosts {
            if view.hosts.len() > 1 || series.hosts.len() > 1 {
                term.line(Text::toned(Tone::Faint, &format!("  on {}", host.host_summary)));
            }
            for point in &host.points {
                let interval = match (point.low, point.high) {
                    (Some(low), Some(high)) => format!("[{} .. {}]", duration(low), duration(high)),
                    _ => "no interval".to_owned(),
                };
                let change = match point.change_to_previous {
                    Some(change) => change_text(change),
                    None if !point.same_toolchain => "other toolchain".to_owned(),
                    None => String::new(),
                };
                let dirty = if point.dirty { "+dirty" } else { "" };
                let mut subject: String = point.subject.chars().take(48).collect();
                if let Some(note) = &point.verdict_note {
                    subject.push_str(&format!("  ({note})"));
                }
                term.line(&format!(
                    "  {:<16} {:<8} {:>9}  {:<24} {:>16}  {subject}",
                    format!("{}{dirty}", point.short),
                    format!("run {}", point.run),
                    duration(point.value_ns),
                    interval,
                    change,
                ));
            }
        }
        for PairedView { line, when } in &series.paired {
            let change = line.change.map_or(String::new(), |c| format!(" {}", change_text(c)));
            let (contender, reference) = (line.contender.label(), line.reference.label());
            let verdict = line.verdict;
            term.line(&format!(
                "  paired: {contender} against {reference}: {verdict}{change}, {when} UTC"
            ));
        }
    }
    let note = "changes between points are not paired: runs at different times differ by the machine too; `cargo nbench ab` compares, and `cargo nbench compare` does what can be done with two stored runs";
    term.note(note);
}
