//! A run in few lines: one for each benchmark as it ends, and at the end the names of what changed
//! or failed, however many benchmarks there were. What else is known of a result is in [`super`],
//! shown with `--verbose`. It counts nothing that a summary counts.

use nbench_templates::lines::{
    Comparison, Context, FailureLine, Line, Measurement, Note, Stop, Verdict,
};
use nbench_templates::number::{change, count, duration};

use super::{INDENT, heading, rate, tone_of};
use crate::term::{Term, Text, Tone};

/// Most names at the end: with totals, gate and errors they fit a screen of thirty lines.
const NAMES: usize = 20;
/// Names that failures and gains get at least where there are that many.
const FAIR: usize = 5;
/// Up to this many results all stand above the totals on one screen anyway.
const FEW: usize = 5;
/// Longest name and error at the end, in characters, so that neither takes several lines.
const LONGEST_NAME: usize = 60;
const LONGEST_ERROR: usize = 80;
/// Most notes that are told at the end because they stand for several benchmarks.
const NOTES: usize = 3;

/// Results of a run so far, as far as its end repeats them.
#[derive(Debug, Default)]
pub struct Brief {
    /// Whether a result has to name the revisions that it is about.
    several: bool,
    results: usize,
    changed: Vec<Named>,
    failed: Vec<(String, String)>,
    /// Notes on calls and how many had them.
    notes: Vec<(Note, usize)>,
    /// Benchmarks without a verdict, and their notes with how many had each.
    open: usize,
    open_notes: Vec<(Note, usize)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Named {
    name: String,
    verdict: Verdict,
    change: f64,
}

impl Brief {
    /// A run of `sides` revisions. Only with two of them it goes without saying what is compared.
    pub fn new(sides: usize) -> Brief {
        Brief { several: sides != 2, ..Brief::default() }
    }

    /// Prints a line, and keeps what the end repeats.
    pub fn emit(&mut self, term: &mut Term, line: &Line) {
        match line {
            Line::Comparison(c) => self.keep(c),
            Line::Failure(f) => {
                self.results += 1;
                self.failed.push(failed(f));
            }
            Line::Measurement(_) => self.results += 1,
            _ => {}
        }
        if term.is_verbose() {
            return super::print(term, line);
        }
        match line {
            Line::Context(c) => {
                term.for_machines(line);
                term.note(&context(c));
            }
            Line::Comparison(c) => {
                term.for_machines(line);
                let text = self.comparison(c);
                term.line(text);
            }
            Line::Measurement(m) => {
                term.for_machines(line);
                term.line(measurement(m));
            }
            _ => super::print(term, line),
        }
    }

    fn keep(&mut self, c: &Comparison) {
        self.results += 1;
        if let (true, Some(change)) = (c.verdict.is_call(), c.change) {
            self.changed.push(Named { name: self.name(c), verdict: c.verdict, change });
        }
        if c.verdict == Verdict::Inconclusive {
            self.open += 1;
            for note in &c.notes {
                add(&mut self.open_notes, note);
            }
        }
    }

    fn name(&self, c: &Comparison) -> String {
        let name = heading(&c.package, &c.target, &c.benchmark);
        if self.several {
            format!("{name}  ({} against {})", c.contender.rev, c.reference.rev)
        } else {
            name
        }
    }

    fn comparison(&mut self, c: &Comparison) -> Text {
        let mut text = Text::toned(tone_of(c.verdict), &format!("{:<12}", c.verdict));
        text.push(" ").add(Tone::Strong, &self.name(c));
        if c.verdict == Verdict::Identical {
            return text;
        }
        text.push(&format!("  {}", c.change.map_or("no change known".to_owned(), change)));
        if let (Some(low), Some(high)) = (c.low, c.high) {
            text.push(&format!("  [{} .. {}]", change(low), change(high)));
        }
        if let (Some(reference), Some(contender)) = (c.reference_ns, c.contender_ns) {
            text.push(&format!("  {} -> {}", duration(reference), duration(contender)));
        }
        let counted = c.own.iter().filter(|own| own.reference != own.contender);
        for own in counted.take(2) {
            let (before, after) = (count(own.reference), count(own.contender));
            text.push(&format!("  {} {before} -> {after}", own.name));
        }
        // A doubt about a call is no detail; advice on how to get one is.
        if c.verdict.is_call() {
            for note in &c.notes {
                if add(&mut self.notes, note) == 1 {
                    text.line(INDENT).add(Tone::Doubt, &format!("note: {note}"));
                }
            }
        }
        text
    }

    /// Names at the end what is slower, faster and failed, the worst first; nothing where so little
    /// was said that it still stands there.
    pub fn end(mut self, term: &mut Term) {
        if self.results > FEW {
            for (note, count) in self.notes.iter().filter(|(_, count)| *count > 1).take(NOTES) {
                let note = cut(&note.to_string(), 2 * LONGEST_NAME);
                let text = format!("note on {count} that are slower or faster: {note}");
                term.line(Text::toned(Tone::Doubt, &text));
            }
            self.names(term);
        }
        // One reason that most of them share is worth a line; each one's own stands under
        // `--verbose`.
        let most = self.open_notes.iter().max_by_key(|(_, count)| *count);
        if let Some((note, count)) = most.filter(|(_, count)| 2 * count >= self.open)
            && !term.is_verbose()
        {
            let note = cut(&note.to_string(), 2 * LONGEST_NAME);
            term.line(Text::toned(Tone::Doubt, &format!("why {count} inconclusive: {note}")));
        }
    }

    fn names(&mut self, term: &mut Term) {
        if !(self.changed.is_empty() && self.failed.is_empty()) {
            term.line("");
        }
        self.changed.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
        let of = |verdict: Verdict| -> Vec<&Named> {
            self.changed.iter().filter(|named| named.verdict == verdict).collect()
        };
        let (slower, faster) = (of(Verdict::Slower), of(Verdict::Faster));
        let [slow, fail, fast] = shares([slower.len(), self.failed.len(), faster.len()]);
        for (named, shown) in [(&slower, slow), (&faster, fast)] {
            for one in named.iter().take(shown) {
                let mut text = Text::toned(tone_of(one.verdict), &format!("{:<12}", one.verdict));
                text.push(&format!(" {:>8}  {}", change(one.change), cut(&one.name, LONGEST_NAME)));
                term.line(text);
            }
            if let [.., least] = named.get(shown..).unwrap_or_default() {
                let count = named.len() - shown;
                let by = change(least.change);
                let tone = tone_of(least.verdict);
                let mut text = Text::toned(tone, &format!("{:<12}", least.verdict));
                text.push(&format!(" .. and {count} more, down to {by}, in the lines above"));
                term.line(text);
            }
        }
        for (name, error) in self.failed.iter().take(fail) {
            let mut text = Text::toned(Tone::Bad, &format!("{:<12}", "failed"));
            text.push(&format!(
                " {:>8}  {}: {}",
                "",
                cut(name, LONGEST_NAME),
                cut(error, LONGEST_ERROR)
            ));
            term.line(text);
        }
        if self.failed.len() > fail {
            let count = self.failed.len() - fail;
            let mut text = Text::toned(Tone::Bad, &format!("{:<12}", "failed"));
            text.push(&format!(" .. and {count} more, in the lines above"));
            term.line(text);
        }
    }
}

/// Counts one more of `note`; how many that makes.
fn add(notes: &mut Vec<(Note, usize)>, note: &Note) -> usize {
    if let Some((_, count)) = notes.iter_mut().find(|(known, _)| known == note) {
        *count += 1;
        return *count;
    }
    notes.push((note.clone(), 1));
    1
}

/// How many names each of slower, failed and faster gets at the end, in this order of importance.
fn shares(wanted: [usize; 3]) -> [usize; 3] {
    let mut shares = wanted.map(|count| count.min(FAIR));
    let mut left = NAMES - shares.iter().sum::<usize>();
    for (share, count) in shares.iter_mut().zip(wanted) {
        let more = left.min(count - *share);
        *share += more;
        left -= more;
    }
    shares
}

fn failed(f: &FailureLine) -> (String, String) {
    let what = f.benchmark.as_deref().unwrap_or("(whole target)");
    let side = f.side.as_ref().map_or(String::new(), |side| format!(" at {side}"));
    let error = f.error.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    (
        format!("{}{side}", heading(&f.package, &f.target, what)),
        crate::term::text::beginning(error.trim()),
    )
}

fn measurement(m: &Measurement) -> Text {
    let mut text = Text::toned(Tone::Strong, &heading(&m.package, &m.target, &m.benchmark));
    text.push(&format!("  {}", duration(m.estimate)));
    match (m.low, m.high) {
        (Some(low), Some(high)) => {
            text.push(&format!("  [{} .. {}]", duration(low), duration(high)));
        }
        _ => {
            text.push(&format!("  no interval with {} launches", m.launches));
        }
    }
    if matches!(m.stop, Stop::Budget | Stop::MaxLaunches) {
        text.add(Tone::Doubt, &format!("  not as precise as asked for: {}", m.stop));
    }
    if let Some(work) = &m.throughput {
        text.push(&format!("  {}", rate(work.amount, &work.unit, m.estimate)));
    }
    for own in m.own.iter().take(2) {
        text.push(&format!("  {} {} {}", own.name, count(own.value), own.unit));
    }
    text
}

/// Host and compiler in a line that fits a terminal; the rest is in JSON, pages and `--verbose`.
fn context(c: &Context) -> String {
    let first = |text: &str, parts: usize| {
        let parts: Vec<&str> = text.split(", ").take(parts).collect();
        cut(&parts.join(", "), 44)
    };
    let compiler = first(&c.toolchain_summary, 1);
    let compiler = compiler.split(" (").next().unwrap_or_default().to_owned();
    let parts = [first(&c.host_summary, 2), compiler, c.preset.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" \u{b7} ")
}

/// A text of at most `longest` characters; what is cut is marked.
fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest.saturating_sub(2)).collect();
    format!("{}..", kept.trim_end())
}

#[cfg(test)]
mod readme;
#[cfg(test)]
mod tests;
