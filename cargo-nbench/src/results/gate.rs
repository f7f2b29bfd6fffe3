//! Whether results let a pipeline pass. It reads finished results and decides nothing about them.

use nbench_templates::lines::{Comparison, LayoutState, Summary, Verdict};

use crate::cli::args::GatePolicy;
use crate::failure::Exit;
use crate::measure::layout::LAYOUT_BIAS;

/// Judgement of a gate on a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Gated {
    /// Exit code of a rejection.
    pub exit: Option<Exit>,
    /// Reason of the rejection, in words; empty where there is none.
    pub why: String,
    /// Rules that were not enforced, in words.
    pub remarks: Vec<String>,
}

/// Judges a run by a policy.
pub fn judge(policy: GatePolicy, comparisons: &[Comparison], summary: &Summary) -> Gated {
    let mut gated = Gated::default();
    if policy == GatePolicy::Report {
        return gated;
    }
    let (doubtful, certain): (Vec<_>, Vec<_>) =
        comparisons.iter().filter(|c| c.verdict == Verdict::Slower).partition(|c| may_be_layout(c));
    if !certain.is_empty() || (policy == GatePolicy::Closed && !doubtful.is_empty()) {
        gated.exit = Some(Exit::Slower);
        let counted = if policy == GatePolicy::Closed { doubtful.len() } else { 0 };
        gated.why = format!("{} slower", certain.len() + counted);
    }
    if policy == GatePolicy::Slower {
        gated.remarks.extend(doubtful.iter().map(|c| {
            format!(
                "the gate was not enforced for `{}`: link layout alone may explain a change below {:.0} % (`--gate=closed` rejects it)",
                c.benchmark,
                100.0 * LAYOUT_BIAS
            )
        }));
    }
    let absent = summary.unmatched + summary.not_measurable;
    if policy == GatePolicy::Slower && absent > 0 {
        gated.remarks.push(format!(
            "the gate was not enforced for {absent} that one side lacks, listed above: who removes or renames a benchmark is not judged by it (`--gate=closed` rejects that, `[aliases]` pairs renamed ones)"
        ));
    }
    let missing = without_verdict(summary, true);
    if policy == GatePolicy::Closed && !missing.is_empty() {
        gated.exit.get_or_insert(Exit::NoVerdict);
        let first = std::mem::take(&mut gated.why);
        let parts = [first, missing].into_iter().filter(|part| !part.is_empty());
        gated.why = parts.collect::<Vec<_>>().join(", ");
    }
    gated
}

/// How many benchmarks of a run have no verdict and why; with `unmatched` also those that only one
/// side has. Empty where there is none.
pub fn without_verdict(summary: &Summary, unmatched: bool) -> String {
    let counts = [
        (summary.inconclusive, "inconclusive"),
        (summary.not_measurable, "not measurable"),
        (if unmatched { summary.unmatched } else { 0 }, "on one side only"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Whether the call is small and both sides kept the layout of their build.
fn may_be_layout(c: &Comparison) -> bool {
    c.layout != LayoutState::Fresh && c.change.is_some_and(|change| change.abs() < LAYOUT_BIAS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slower(change: f64, layout: LayoutState) -> Comparison {
        Comparison {
            benchmark: "b".into(),
            verdict: Verdict::Slower,
            change: Some(change),
            layout,
            ..Comparison::default()
        }
    }

    #[test]
    fn policies_reject_what_they_name() {
        use GatePolicy::{Closed, Report, Slower};
        let clean = Summary::default();
        let open = Summary { inconclusive: 1, ..Summary::default() };
        let gone = Summary { unmatched: 2, ..Summary::default() };
        let lost = Summary { not_measurable: 1, ..Summary::default() };
        let table = [
            (Report, slower(0.2, LayoutState::Fresh), &clean, None, 0, ""),
            (Slower, slower(0.2, LayoutState::Off), &clean, Some(Exit::Slower), 0, "1 slower"),
            (Slower, slower(0.02, LayoutState::Fresh), &clean, Some(Exit::Slower), 0, "1 slower"),
            (Slower, slower(0.02, LayoutState::Off), &clean, None, 1, ""),
            (Slower, slower(0.02, LayoutState::Unconfirmed), &open, None, 1, ""),
            (
                Closed,
                slower(0.02, LayoutState::Unconfirmed),
                &clean,
                Some(Exit::Slower),
                0,
                "1 slower",
            ),
            (
                Closed,
                slower(0.02, LayoutState::Unconfirmed),
                &open,
                Some(Exit::Slower),
                0,
                "1 slower, 1 inconclusive",
            ),
            (Closed, Comparison::default(), &open, Some(Exit::NoVerdict), 0, "1 inconclusive"),
            (Slower, Comparison::default(), &open, None, 0, ""),
            // Who removes a benchmark, or breaks its build, is not judged in silence.
            (Slower, Comparison::default(), &gone, None, 1, ""),
            (Slower, Comparison::default(), &lost, None, 1, ""),
            (Closed, Comparison::default(), &gone, Some(Exit::NoVerdict), 0, "2 on one side only"),
            (Report, Comparison::default(), &gone, None, 0, ""),
        ];
        for (policy, comparison, summary, exit, remarks, why) in table {
            let got = judge(policy, std::slice::from_ref(&comparison), summary);
            assert_eq!((got.exit, got.remarks.len()), (exit, remarks), "{policy:?} {comparison:?}");
            assert_eq!(got.why, why, "{policy:?} {comparison:?}");
        }
    }
}
