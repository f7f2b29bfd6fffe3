//! The pull-request comment: which rows it shows, in which order, and what goes when it grows too
//! long. It must not know how a comment is posted or where its numbers come from.

use std::cmp::Ordering;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error};
use serde::Serialize;

use crate::lines::{Comparison, FailureLine, Rev, Summary, Unmatched, Verdict, short};
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
    /// Revision that changes are relative to.
    pub reference: Rev,
    /// Revision that is judged; the last of several.
    pub contender: Rev,
    /// Whether there are several contenders, so that each row names its own.
    pub several: bool,
    /// Why there is no more than this, when the comparison did not get to its end.
    pub failed: Option<String>,
    /// How many benchmarks got which verdict, failed or were not measured.
    pub counts: Summary,
    /// One row per compared benchmark, in any order.
    pub rows: Vec<Comparison>,
    /// Benchmarks or targets that failed or cannot be measured.
    pub failures: Vec<FailureLine>,
    /// Benchmarks that exist on one side only.
    pub unmatched: Vec<Unmatched>,
    /// One line about the machine.
    pub host: String,
    /// One line about how it was measured: launches, pairs, confidence, threshold.
    pub method: String,
    /// Geometric means, a sentence for each contender; none when there is none to give.
    pub together: Vec<String>,
    /// The command that repeats the comparison.
    pub command: String,
}

/// Variables of the template.
#[derive(Debug, Serialize)]
struct CommentPage<'a> {
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
/// A comment that would be longer loses unchanged rows first, then undecided ones, then the
/// benchmarks of one side, then the smallest changes, and says how many.
///
/// # Errors
/// Only when the template itself is at fault.
pub fn comment(view: &CommentView) -> Result<String, Error> {
    let with_target = {
        let mut places: Vec<_> = view.rows.iter().map(|row| (&row.package, &row.target)).collect();
        places.dedup();
        places.len() > 1
    };
    let mut rows: Vec<&Comparison> = view.rows.iter().collect();
    rows.sort_by(|left, right| by_weight(left, right));
    let style = RowStyle { several: view.several, with_target };
    let table = |wanted: &[Verdict], line: &dyn Fn(&Comparison, RowStyle) -> String| Section {
        rows: rows
            .iter()
            .filter(|row| wanted.contains(&row.verdict))
            .map(|row| line(row, style))
            .collect(),
        hidden: 0,
    };
    let mut changed = table(&[Verdict::Slower, Verdict::Faster], &changed_line);
    let mut unchanged = table(&[Verdict::Equivalent, Verdict::Identical], &unchanged_line);
    let mut undecided = table(&[Verdict::Inconclusive], &undecided_line);
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

/// Names that a row has beside its benchmark.
#[derive(Debug, Clone, Copy)]
struct RowStyle {
    several: bool,
    with_target: bool,
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
    environment.add_filter("short", |commit: &str| short(commit).to_owned());
    environment.add_template("comment.md", include_str!("comment.md"))?;
    environment.get_template("comment.md")?.render(Serde(CommentPage {
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
fn headline(failed: bool, counts: &Summary) -> String {
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
        (counts.unmatched + counts.not_measurable, "not measured", false),
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
fn by_weight(left: &Comparison, right: &Comparison) -> Ordering {
    let class = |row: &Comparison| match row.verdict {
        Verdict::Slower => 0,
        Verdict::Faster => 1,
        Verdict::Equivalent | Verdict::Inconclusive | Verdict::Identical => 2,
    };
    // Ratios, not differences: half the time is as large a change as twice the time.
    let size = |row: &Comparison| row.change.map_or(-1.0, |change| (1.0 + change).ln().abs());
    let name = |row: &Comparison| {
        let Comparison { package, target, benchmark, .. } = row;
        (package.clone(), target.clone(), benchmark.clone(), row.contender.rev.clone())
    };
    class(left)
        .cmp(&class(right))
        .then_with(|| size(right).total_cmp(&size(left)))
        .then_with(|| name(left).cmp(&name(right)))
}

fn changed_line(row: &Comparison, style: RowStyle) -> String {
    let sign = if row.verdict == Verdict::Slower { "▲" } else { "▼" };
    format!(
        "| {} | {sign} **{}** | {} | {} | {} | {} |",
        benchmark(row, style),
        row.change.map_or_else(|| "-".to_owned(), change),
        interval(row),
        cost(row.reference_ns),
        cost(row.contender_ns),
        verdict(row)
    )
}

fn undecided_line(row: &Comparison, style: RowStyle) -> String {
    format!(
        "| {} | {} | {} | {} | {} |",
        benchmark(row, style),
        row.change.map_or_else(|| "-".to_owned(), change),
        interval(row),
        row.smallest.map_or_else(
            || "-".to_owned(),
            |smallest| percent(smallest.abs()).trim_start_matches('+').to_owned()
        ),
        verdict(row)
    )
}

fn unchanged_line(row: &Comparison, style: RowStyle) -> String {
    format!(
        "| {} | {} | {} | {} | {} |",
        benchmark(row, style),
        row.change.map_or_else(|| "-".to_owned(), change),
        interval(row),
        cost(row.contender_ns),
        verdict(row)
    )
}

fn failure_line(failure: &FailureLine) -> String {
    let name =
        failure.benchmark.as_deref().map(|name| format!(" {}", code(name))).unwrap_or_default();
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
    let name = unmatched.benchmark.as_deref().unwrap_or("(whole target)");
    format!("- {} {}: {} only", escaped(&place), code(name), escaped(&unmatched.side))
}

fn benchmark(row: &Comparison, style: RowStyle) -> String {
    let name = match style.several {
        true => code(&format!("{} ({})", row.benchmark, row.contender.rev)),
        false => code(&row.benchmark),
    };
    if style.with_target {
        format!("{name}<br><sub>{} {}</sub>", escaped(&row.package), escaped(&row.target))
    } else {
        name
    }
}

fn interval(row: &Comparison) -> String {
    match row.interval() {
        Some((low, high)) => percent_interval(low, high),
        None => "-".to_owned(),
    }
}

fn cost(nanoseconds: Option<f64>) -> String {
    nanoseconds.map_or_else(|| "-".to_owned(), duration)
}

fn verdict(row: &Comparison) -> String {
    let notes: Vec<String> = row.notes.iter().map(ToString::to_string).collect();
    match notes.is_empty() {
        true => row.verdict.to_string(),
        false => format!("{} ({})", row.verdict, escaped(&notes.join("; "))),
    }
}

fn escaped(text: &str) -> String {
    escape_markdown(&clip(text, NAME_LIMIT))
}

/// A forge leaves text inside `<code>` alone, which a code span cannot offer to a name that holds a
/// backtick.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}
