//! The pull-request comment: which rows it shows, in which order, and what goes when it grows too long.
//! It must not know how a comment is posted or where its numbers come from.

use std::cmp::Ordering;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error};
use serde::Serialize;

use crate::markdown::{clip, escape_markdown};
use crate::number::{change, duration, percent, percent_interval};

/// Longest comment in bytes of UTF-8; forges refuse one of 65 536.
pub const COMMENT_LIMIT: usize = 65_000;

/// Longest name, label or message in characters, so that no single one can fill the comment.
const NAME_LIMIT: usize = 160;
/// Longest line of prose in characters.
const LINE_LIMIT: usize = 600;
/// Room in bytes kept for the sentences that say what was left out.
const NOTES: usize = 1_000;

/// All that the comment shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommentView {
    /// Tells the comment of one job from that of another on the same pull request.
    pub marker_id: String,
    /// What the change is relative to.
    pub reference: CommentSide,
    /// What is judged.
    pub contender: CommentSide,
    /// Why there is no more than this, when the comparison did not get to its end.
    pub failed: Option<String>,
    /// How many benchmarks got which verdict.
    pub counts: Counts,
    /// One row per compared benchmark, in any order.
    pub rows: Vec<CommentRow>,
    /// Benchmarks or targets that failed.
    pub failures: Vec<CommentFailure>,
    /// Benchmarks that exist on one side only.
    pub unmatched: Vec<Unmatched>,
    /// One line about the machine.
    pub host: String,
    /// One line about how it was measured: launches, pairs, confidence, threshold.
    pub method: String,
    /// What the changes come to together, a sentence for each contender; none when there is none to give.
    pub together: Vec<String>,
    /// The command that repeats the comparison.
    pub command: String,
}

/// One of the two revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommentSide {
    /// What the user called it.
    pub label: String,
    /// Abbreviated hash of its commit.
    pub short: String,
    /// Whether uncommitted changes were part of it.
    pub dirty: bool,
}

/// How many benchmarks got which verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The contender takes longer.
    pub slower: usize,
    /// The contender takes less time.
    pub faster: usize,
    /// The same within the threshold.
    pub equivalent: usize,
    /// Not decided.
    pub inconclusive: usize,
    /// The same executable, so nothing was measured.
    pub identical: usize,
    /// Failed on at least one side.
    pub failed: usize,
    /// On one side only, or skipped.
    pub not_measured: usize,
}

/// One compared benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommentRow {
    /// Cargo package.
    pub package: String,
    /// Bench target within the package.
    pub target: String,
    /// Name within the target.
    pub name: String,
    /// The verdict's word: `slower`, `faster`, `equivalent`, `inconclusive` or `identical`.
    pub verdict: String,
    /// `contender / reference - 1`; `None` when nothing was measured.
    pub change: Option<f64>,
    /// Lower bound of the change, a fraction.
    pub low: Option<f64>,
    /// Upper bound of the change, a fraction.
    pub high: Option<f64>,
    /// Nanoseconds per operation of the reference.
    pub reference_ns: Option<f64>,
    /// Nanoseconds per operation of the contender.
    pub contender_ns: Option<f64>,
    /// Smallest change that could have been called, a fraction.
    pub smallest: Option<f64>,
    /// A remark, such as that the change may be due to code layout.
    pub note: Option<String>,
}

/// A benchmark or target that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommentFailure {
    /// Cargo package.
    pub package: String,
    /// Bench target within the package.
    pub target: String,
    /// Name within the target; `None` when the whole target failed.
    pub name: Option<String>,
    /// `reference` or `contender`; `None` when both or unknown.
    pub side: Option<String>,
    /// What happened.
    pub error: String,
}

/// A benchmark that exists on one side only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// Cargo package.
    pub package: String,
    /// Bench target within the package.
    pub target: String,
    /// Name within the target.
    pub name: String,
    /// The side that has it: `reference` or `contender`.
    pub side: String,
}

/// What the template sees.
#[derive(Debug, Serialize)]
struct Page<'a> {
    marker: String,
    headline: String,
    view: &'a CommentView,
    changed: &'a Section,
    undecided: &'a Section,
    unchanged: &'a Section,
    failures: &'a Section,
    unmatched: &'a Section,
}

/// A table or list whose rows can be left out from the end.
#[derive(Debug, Default, Serialize)]
struct Section {
    rows: Vec<String>,
    hidden: usize,
}

/// The first line of a comment, by which a later job finds it again.
///
/// Characters that could end the line or the HTML comment are replaced by `_`.
pub fn marker(id: &str) -> String {
    let keep = |character: char| {
        if character.is_ascii_alphanumeric() || "._-".contains(character) { character } else { '_' }
    };
    let id: String = id.chars().take(NAME_LIMIT).map(keep).collect();
    format!("<!-- cargo-nbench:{id} -->")
}

/// Renders the comment as Markdown of at most [`COMMENT_LIMIT`] bytes.
///
/// A comment that would be longer loses unchanged rows first, then undecided ones, then the benchmarks of one side,
/// then the smallest changes, and says how many.
///
/// # Errors
/// Only when the template itself is at fault.
pub fn comment(view: &CommentView) -> Result<String, Error> {
    let with_target = {
        let mut places: Vec<_> = view.rows.iter().map(|row| (&row.package, &row.target)).collect();
        places.dedup();
        places.len() > 1
    };
    let mut rows: Vec<&CommentRow> = view.rows.iter().collect();
    rows.sort_by(|left, right| by_weight(left, right));
    let table =
        |wanted: &dyn Fn(&str) -> bool, line: &dyn Fn(&CommentRow, bool) -> String| Section {
            rows: rows
                .iter()
                .filter(|row| wanted(&row.verdict))
                .map(|row| line(row, with_target))
                .collect(),
            hidden: 0,
        };
    let mut changed = table(&|verdict| matches!(verdict, "slower" | "faster"), &changed_line);
    let mut unchanged =
        table(&|verdict| matches!(verdict, "equivalent" | "identical"), &unchanged_line);
    let mut undecided = table(
        &|verdict| !matches!(verdict, "slower" | "faster" | "equivalent" | "identical"),
        &undecided_line,
    );
    let mut failures =
        Section { rows: view.failures.iter().map(failure_line).collect(), hidden: 0 };
    let mut unmatched =
        Section { rows: view.unmatched.iter().map(unmatched_line).collect(), hidden: 0 };

    let skeleton = render(
        view,
        [&changed, &undecided, &unchanged, &failures, &unmatched].map(Section::emptied).each_ref(),
    )?;
    let mut room = COMMENT_LIMIT.saturating_sub(skeleton.len() + NOTES);
    for section in [&mut changed, &mut failures, &mut unmatched, &mut undecided, &mut unchanged] {
        room -= section.fit(room);
    }
    render(view, [&changed, &undecided, &unchanged, &failures, &unmatched])
}

impl Section {
    /// Keeps the leading rows that fit into `room` bytes and returns what they take.
    fn fit(&mut self, room: usize) -> usize {
        let mut taken = 0;
        let kept = self.rows.iter().take_while(|row| {
            let fits = taken + row.len() < room;
            if fits {
                taken += row.len() + 1;
            }
            fits
        });
        let kept = kept.count();
        self.hidden = self.rows.len() - kept;
        self.rows.truncate(kept);
        taken
    }

    /// The section with one empty row for all of its own, to learn how much is written around them.
    fn emptied(&self) -> Self {
        Self { rows: self.rows.first().map(|_| String::new()).into_iter().collect(), hidden: 0 }
    }
}

fn render(view: &CommentView, sections: [&Section; 5]) -> Result<String, Error> {
    let [changed, undecided, unchanged, failures, unmatched] = sections;
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("name", |text: &str| escape_markdown(&clip(text, NAME_LIMIT)));
    environment.add_filter("line", |text: &str| escape_markdown(&clip(text, LINE_LIMIT)));
    environment.add_template("comment.md", include_str!("comment.md"))?;
    environment.get_template("comment.md")?.render(Serde(Page {
        marker: marker(&view.marker_id),
        headline: headline(view.failed.is_some(), &view.counts),
        view,
        changed,
        undecided,
        unchanged,
        failures,
        unmatched,
    }))
}

/// The counts in words, worst first: `**1 slower**, 2 faster, 14 unchanged`.
fn headline(failed: bool, counts: &Counts) -> String {
    if failed {
        return "**the comparison failed**".to_owned();
    }
    let parts = [
        (counts.slower, "slower", true),
        (counts.failed, "failed", true),
        (counts.faster, "faster", false),
        (counts.equivalent, "unchanged", false),
        (counts.identical, "identical", false),
        (counts.inconclusive, "inconclusive", false),
        (counts.not_measured, "not measured", false),
    ];
    let words: Vec<String> = parts
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(
            |(count, word, strong)| {
                if strong { format!("**{count} {word}**") } else { format!("{count} {word}") }
            },
        )
        .collect();
    if words.is_empty() { "No benchmark was compared".to_owned() } else { words.join(", ") }
}

/// Slower before faster before the rest, each by size, largest first; names decide between equals.
fn by_weight(left: &CommentRow, right: &CommentRow) -> Ordering {
    let class = |row: &CommentRow| match row.verdict.as_str() {
        "slower" => 0,
        "faster" => 1,
        _ => 2,
    };
    // Ratios, not differences: half the time is as large a change as twice the time.
    let size = |row: &CommentRow| row.change.map_or(-1.0, |change| (1.0 + change).ln().abs());
    let name = |row: &CommentRow| (row.package.clone(), row.target.clone(), row.name.clone());
    class(left)
        .cmp(&class(right))
        .then_with(|| size(right).total_cmp(&size(left)))
        .then_with(|| name(left).cmp(&name(right)))
}

fn changed_line(row: &CommentRow, with_target: bool) -> String {
    let sign = if row.verdict == "slower" { "▲" } else { "▼" };
    format!(
        "| {} | {sign} **{}** | {} | {} | {} | {} |",
        benchmark(row, with_target),
        row.change.map_or_else(|| "-".to_owned(), change),
        interval(row),
        cost(row.reference_ns),
        cost(row.contender_ns),
        verdict(row)
    )
}

fn undecided_line(row: &CommentRow, with_target: bool) -> String {
    format!(
        "| {} | {} | {} | {} | {} |",
        benchmark(row, with_target),
        row.change.map_or_else(|| "-".to_owned(), change),
        interval(row),
        row.smallest.map_or_else(
            || "-".to_owned(),
            |smallest| percent(smallest.abs()).trim_start_matches('+').to_owned()
        ),
        verdict(row)
    )
}

fn unchanged_line(row: &CommentRow, with_target: bool) -> String {
    format!(
        "| {} | {} | {} | {} | {} |",
        benchmark(row, with_target),
        row.change.map_or_else(|| "-".to_owned(), change),
        interval(row),
        cost(row.contender_ns),
        verdict(row)
    )
}

fn failure_line(failure: &CommentFailure) -> String {
    let name = failure.name.as_deref().map(|name| format!(" {}", code(name))).unwrap_or_default();
    let side =
        failure.side.as_deref().map(|side| format!(" ({})", escaped(side))).unwrap_or_default();
    let place = format!("{} {}", failure.package, failure.target);
    format!(
        "- {}{name}{side}: {}",
        escaped(&place),
        escape_markdown(&clip(&failure.error, LINE_LIMIT))
    )
}

fn unmatched_line(unmatched: &Unmatched) -> String {
    let place = format!("{} {}", unmatched.package, unmatched.target);
    format!("- {} {}: {} only", escaped(&place), code(&unmatched.name), escaped(&unmatched.side))
}

fn benchmark(row: &CommentRow, with_target: bool) -> String {
    let name = code(&row.name);
    if with_target {
        format!("{name}<br><sub>{} {}</sub>", escaped(&row.package), escaped(&row.target))
    } else {
        name
    }
}

fn interval(row: &CommentRow) -> String {
    match row.low.zip(row.high) {
        Some((low, high)) => percent_interval(low, high),
        None => "-".to_owned(),
    }
}

fn cost(nanoseconds: Option<f64>) -> String {
    nanoseconds.map_or_else(|| "-".to_owned(), duration)
}

fn verdict(row: &CommentRow) -> String {
    match &row.note {
        Some(note) => format!("{} ({})", escaped(&row.verdict), escaped(note)),
        None => escaped(&row.verdict),
    }
}

fn escaped(text: &str) -> String {
    escape_markdown(&clip(text, NAME_LIMIT))
}

/// A forge leaves text inside `<code>` alone, which a code span cannot offer to a name that holds a backtick.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}
