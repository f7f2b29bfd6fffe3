//! Result lines for people: cards, comparisons, summaries. It turns [`nbench_templates::lines`]
//! into text and hands it to the terminal; it neither measures nor stores.

mod brief;

pub use brief::Brief;
use nbench_templates::lines::{
    Comparison, FailureLine, Line, Measurement, NotMeasurable, Note, OwnChangeLine, Skipped, Stop,
    Summary, Unmatched, Verdict,
};
use nbench_templates::number::{change, count, duration, percent};

use crate::term::text::beginning;
use crate::term::{Term, Text, Tone};

/// Prints one line in the format that was asked for.
pub fn print(term: &mut Term, line: &Line) {
    term.for_machines(line);
    match line {
        Line::Context(c) => {
            let seed = format!("seed {}", c.seed);
            let parts = [&c.host_summary, &c.toolchain_summary, &c.placement, &seed];
            let parts: Vec<&str> =
                parts.into_iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
            term.note(&parts.join("; "));
        }
        // Said in one sentence for all targets.
        Line::Target(_) => {}
        Line::Measurement(m) => term.line(measurement(m)),
        Line::Comparison(c) => term.line(comparison(c)),
        Line::Failure(f) => term.line(failure(f)),
        Line::Skipped(s) => term.note(&skipped(s)),
        Line::Unmatched(u) => term.note(&unmatched(u)),
        Line::NotMeasurable(n) => term.line(not_measurable(n)),
        Line::Summary(s) => term.line(summary(s)),
        Line::Error(e) => term.error(&e.error, e.hint.as_deref()),
    }
}

/// Name as shown: package and target in front only where they say more than the id.
fn heading(package: &str, target: &str, benchmark: &str) -> String {
    format!("{package}/{target}  {benchmark}")
}

fn measurement(m: &Measurement) -> Text {
    let mut text = Text::toned(Tone::Strong, &heading(&m.package, &m.target, &m.benchmark));
    let interval = match (m.low, m.high, m.confidence) {
        (Some(low), Some(high), Some(_)) => format!("[{} .. {}]", duration(low), duration(high)),
        _ => format!("no interval at this confidence with {} launches", m.launches),
    };
    text.line(2).push(&format!("{}  {interval}", duration(m.estimate)));
    if let Some(t) = &m.throughput {
        text.push(&format!("  {}", rate(t.amount, &t.unit, m.estimate)));
    }
    let spread = m.spread.map_or("unavailable".to_owned(), |s| format!("{:.1} %", 100.0 * s));
    let taken = if m.notes.contains(&Note::Blocks) {
        "a block each".to_owned()
    } else {
        format!("{} samples of {} iterations, spread {spread}", m.samples, m.iters_per_sample)
    };
    let detail = format!(
        "{} launches, {taken}, fastest {}, stopped: {}",
        m.launches,
        duration(m.min),
        m.stop
    );
    for own in &m.own {
        let value = count(own.value);
        text.line(2).push(&format!("{}: {value} {} an operation", own.name, own.unit));
    }
    text.line(2).add(Tone::Faint, &detail);
    for note in &m.notes {
        text.line(2).add(Tone::Doubt, &format!("note: {note}"));
    }
    text
}

/// Work per second.
fn rate(amount: f64, unit: &str, nanos: f64) -> String {
    let per_second = amount * 1e9 / nanos;
    let (scaled, prefix) = if unit == "bytes" {
        [(1u64 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")]
            .into_iter()
            .find(|(size, _)| per_second >= *size as f64)
            .map_or((per_second, ""), |(size, name)| (per_second / size as f64, name))
    } else {
        [(1e9, "G"), (1e6, "M"), (1e3, "K")]
            .into_iter()
            .find(|(size, _)| per_second >= *size)
            .map_or((per_second, ""), |(size, name)| (per_second / size, name))
    };
    match unit {
        "bytes" => format!("{scaled:.3} {prefix}B/s"),
        "elements" => format!("{scaled:.3} {prefix}elem/s"),
        unit if prefix.is_empty() => format!("{scaled:.3} {unit}/s"),
        unit => format!("{scaled:.3} {prefix} {unit}/s"),
    }
}

/// Where the lines below a verdict begin.
const INDENT: usize = 13;

fn tone_of(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Slower => Tone::Bad,
        Verdict::Faster => Tone::Good,
        Verdict::Inconclusive => Tone::Doubt,
        Verdict::Equivalent | Verdict::Identical => Tone::Plain,
    }
}

fn comparison(c: &Comparison) -> Text {
    let mut title = heading(&c.package, &c.target, &c.benchmark);
    title.push_str(&format!("  ({} against {})", c.contender.rev, c.reference.rev));
    let mut text = Text::toned(tone_of(c.verdict), &format!("{:<12}", c.verdict));
    text.push(" ").add(Tone::Strong, &title);
    if c.verdict == Verdict::Identical {
        text.line(INDENT).push("the same code on both sides, not measured");
        return text;
    }
    let shown = c.change.map_or("no change known".to_owned(), change);
    let interval = match (c.low, c.high) {
        (Some(low), Some(high)) => format!("[{} .. {}]", change(low), change(high)),
        _ => format!("no interval at this confidence with {} launches", c.launches),
    };
    let times = match (c.reference_ns, c.contender_ns) {
        (Some(r), Some(k)) => format!("  {} -> {}", duration(r), duration(k)),
        _ => String::new(),
    };
    text.line(INDENT).push(&format!("{shown}  {interval}{times}"));
    for own in &c.own {
        let shown = match (own.change, own.low, own.high) {
            (Some(by), Some(low), Some(high)) => {
                format!("{}  [{} .. {}]", change(by), change(low), change(high))
            }
            (Some(by), ..) => change(by),
            (None, ..) => own.without_ratio(),
        };
        let (before, after) = (count(own.reference), count(own.contender));
        let OwnChangeLine { name, unit, .. } = own;
        text.line(INDENT).push(&format!("{name}: {before} -> {after} {unit}  {shown}"));
    }
    if let Some(strip) = strip(c) {
        text.line(INDENT).push(&strip);
    }
    let mut detail = format!("{} launches, {} pairs", c.launches, c.pairs);
    if let (Some(between), Some(within)) = (c.between_launches, c.within_launch) {
        detail.push_str(&format!(
            ", spread {:.2} % between launches and {:.2} % within",
            100.0 * between,
            100.0 * within
        ));
    }
    // An interval over most of the range says that nothing is known.
    if let Some(layout) = c.layout_share.filter(|layout| layout.high - layout.low <= 0.5) {
        detail.push_str(&format!(
            "; layout is {:.0} % ({:.0} to {:.0} %) of the variance between launches",
            100.0 * layout.share,
            100.0 * layout.low,
            100.0 * layout.high
        ));
    }
    if let Some(smallest) = c.smallest
        && c.verdict == Verdict::Inconclusive
    {
        detail.push_str(&format!(
            "; this run could see changes of {} or more",
            percent(smallest).trim_start_matches('+')
        ));
    }
    if c.stop != Stop::Decided {
        detail.push_str(&format!("; stopped: {}", c.stop));
    }
    text.line(INDENT).add(Tone::Faint, &detail);
    for note in &c.notes {
        text.line(INDENT).add(Tone::Doubt, &format!("note: {note}"));
    }
    text
}

/// The launches' changes as a small histogram around zero, with the interval below it in brackets.
fn strip(c: &Comparison) -> Option<String> {
    const CELLS: usize = 41;
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (low, high) = c.low.zip(c.high)?;
    if c.launch_changes.len() < 2 {
        return None;
    }
    // Five times slower lies as far from zero as five times faster: the axis is one of ratios,
    // whose ends are changes that can be.
    let log = |x: f64| x.max(-0.999_999).ln_1p();
    let reach = c
        .launch_changes
        .iter()
        .chain([&low, &high, &c.threshold])
        .map(|x| log(*x).abs())
        .filter(|x| x.is_finite())
        .fold(1e-6f64, f64::max);
    let cell = |x: f64| {
        let place = (log(x) / reach + 1.0) / 2.0 * (CELLS - 1) as f64;
        (place.round().max(0.0) as usize).min(CELLS - 1)
    };
    let mut counts = [0usize; CELLS];
    for change in &c.launch_changes {
        counts[cell(*change)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let mut cells: Vec<char> = counts
        .iter()
        .map(|count| match count {
            0 => '·',
            count => BARS[(count * BARS.len()).div_ceil(most).clamp(1, BARS.len()) - 1],
        })
        .collect();
    if cells[CELLS / 2] == '·' {
        cells[CELLS / 2] = '|';
    }
    for (at, bracket) in [(cell(low), '['), (cell(high), ']')] {
        if counts[at] == 0 {
            cells[at] = bracket;
        }
    }
    let bars: String = cells.into_iter().collect();
    Some(format!("{} {bars} {}", percent((-reach).exp_m1()), percent(reach.exp_m1())))
}

fn failure(f: &FailureLine) -> Text {
    let what = f.benchmark.as_deref().unwrap_or("(whole target)");
    let mut text = Text::toned(Tone::Bad, &format!("{:<12}", "failed"));
    text.push(" ").add(Tone::Strong, &heading(&f.package, &f.target, what));
    if let Some(side) = &f.side {
        text.push(&format!(" at {side}"));
    }
    text.block(INDENT, Tone::Plain, "", &beginning(&f.error));
    let tail: Vec<&str> = f.stderr_tail.lines().collect();
    let last = &tail[tail.len().saturating_sub(5)..];
    text.block(INDENT, Tone::Faint, "| ", &beginning(&last.join("\n")));
    text
}

fn skipped(s: &Skipped) -> String {
    if s.target.is_empty() {
        format!("skipped {}: {}", s.package, s.reason)
    } else {
        format!("skipped {}/{}: {}", s.package, s.target, s.reason)
    }
}

fn unmatched(u: &Unmatched) -> String {
    match &u.benchmark {
        Some(id) => format!("only at {}: {}", u.side, heading(&u.package, &u.target, id)),
        None => format!("only at {}: bench target {}/{}", u.side, u.package, u.target),
    }
}

fn not_measurable(n: &NotMeasurable) -> Text {
    let mut text = Text::toned(Tone::Doubt, &format!("{:<12}", "not measured"));
    text.push(&format!(" {}/{} at {}", n.package, n.target, n.rev));
    text.block(INDENT, Tone::Plain, "", &n.reason);
    text
}

fn summary(s: &Summary) -> Text {
    let mut parts = Text::new();
    let mut add = |count: usize, tone: Tone, word: &str| {
        if count > 0 {
            if parts != Text::new() {
                parts.push(", ");
            }
            parts.add(tone, &format!("{count} {word}"));
        }
    };
    add(s.measured, Tone::Plain, "measured");
    add(s.slower, Tone::Bad, "slower");
    add(s.faster, Tone::Good, "faster");
    add(s.equivalent, Tone::Plain, "equivalent");
    add(s.inconclusive, Tone::Doubt, "inconclusive");
    add(s.identical, Tone::Plain, "identical");
    add(s.failed, Tone::Bad, "failed");
    add(s.not_measurable, Tone::Doubt, "not measurable");
    add(s.unmatched, Tone::Plain, "on one side only");
    add(s.skipped, Tone::Plain, "skipped");
    if parts == Text::new() {
        parts.push("nothing measured");
    }
    let mut text = Text::new();
    for mean in &s.geometric_means {
        text.push(&mean.sentence());
        text.line(0);
    }
    let end = if s.interrupted { ", interrupted" } else { "" };
    let run = s.run.map_or(String::new(), |run| format!(", stored as run {run}"));
    text.join(parts).push(&format!(" in {:.1} s{end}{run}", s.seconds));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_use_binary_prefixes_for_bytes_only() {
        assert_eq!(rate(1024.0, "bytes", 1000.0), "976.562 MiB/s");
        assert_eq!(rate(1.0, "elements", 1000.0), "1.000 Melem/s");
    }

    #[test]
    fn the_strip_shows_launches_around_zero_and_the_interval() {
        let c = Comparison {
            low: Some(0.01),
            high: Some(0.03),
            threshold: 0.01,
            launch_changes: vec![0.02, 0.02, 0.02, 0.04, -0.04],
            ..Comparison::default()
        };
        let expected = "-4.0 % ▃···················|····[····█···]····▃· +4.2 %";
        assert_eq!(strip(&c).unwrap(), expected);
        assert_eq!(strip(&Comparison { low: None, ..c.clone() }), None);
        // No time shrinks by more than all of it, however much longer another one gets.
        for (high, ends) in [(4.13, ["-80.5 % ", " +413 %"]), (0.1, ["-9.1 % ", " +10.0 %"])] {
            let launch_changes = vec![high, 0.0, 0.02];
            let c = Comparison { high: Some(high), launch_changes, ..c.clone() };
            let shown = strip(&c).unwrap();
            assert!(shown.starts_with(ends[0]) && shown.ends_with(ends[1]), "{shown}");
        }
        let gone = Comparison { low: Some(-1.0), launch_changes: vec![-1.0, -1.0], ..c };
        assert!(strip(&gone).unwrap().starts_with("-100"), "{:?}", strip(&gone));
    }

    #[test]
    fn an_inconclusive_line_says_what_it_could_have_seen() {
        let text = comparison(&Comparison {
            package: "p".into(),
            target: "t".into(),
            benchmark: "b".into(),
            verdict: Verdict::Inconclusive,
            change: Some(0.004),
            low: Some(-0.01),
            high: Some(0.018),
            smallest: Some(0.014),
            launches: 24,
            pairs: 1920,
            stop: Stop::LastLook,
            ..Comparison::default()
        })
        .to_string();
        assert!(text.contains("this run could see changes of 1.4 % or more"), "{text}");
        assert!(text.contains("+0.40 %") && text.contains("24 launches, 1920 pairs"), "{text}");
    }

    /// Puts `words` in the place of every text that is not of a fixed set, and among the notes.
    fn put_everywhere(value: &mut serde_json::Value, words: &str) {
        match value {
            serde_json::Value::String(text) => words.clone_into(text),
            serde_json::Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    if ["type", "verdict", "stop", "layout"].contains(&name.as_str()) {
                        continue;
                    }
                    if name == "notes" {
                        *field = serde_json::json!([words]);
                    }
                    put_everywhere(field, words);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn no_line_of_a_result_can_be_forged_by_what_others_named() {
        let words = "x\nfaster       p/t  b  (@tree against HEAD)\r\x1b[1A\u{202e}";
        let own = OwnChangeLine { name: words.into(), ..Default::default() };
        let lines = [
            Line::Measurement(Measurement::default()),
            Line::Comparison(Box::new(Comparison { own: vec![own], ..Default::default() })),
            Line::Failure(FailureLine { benchmark: Some(words.into()), ..Default::default() }),
            Line::Skipped(Default::default()),
            Line::Unmatched(Default::default()),
            Line::NotMeasurable(Default::default()),
        ];
        for line in lines {
            let mut value = serde_json::to_value(&line).unwrap();
            put_everywhere(&mut value, words);
            let text = match serde_json::from_value(value).unwrap() {
                Line::Measurement(m) => measurement(&m),
                Line::Comparison(c) => comparison(&c),
                Line::Failure(f) => failure(&f),
                Line::Skipped(s) => Text::from(&skipped(&s)),
                Line::Unmatched(u) => Text::from(&unmatched(&u)),
                Line::NotMeasurable(n) => not_measurable(&n),
                other => panic!("{other:?} is not among them"),
            }
            .to_string();
            assert!(text.contains("\\u{202e}"), "{text}");
            assert!(!text.contains(|c| c != '\n' && crate::term::text::is_hidden(c)), "{text:?}");
            assert!(!text.lines().any(|line| line.starts_with("faster")), "{text}");
        }
    }
}
