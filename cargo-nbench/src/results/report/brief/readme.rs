//! The samples of output in the README are what is printed today.

use nbench_templates::lines::{Comparison, GeometricMeanLine, Line, Rev, Stop, Summary, Verdict};

use super::tests::printed;

const README: &str = include_str!("../../../../../README.md");

/// Text blocks of the README that hold results.
fn samples() -> Vec<&'static str> {
    let blocks = README.split("```").skip(1).step_by(2);
    blocks.filter(|block| block.contains("µs -> ") && !block.starts_with("rust")).collect()
}

fn line(verdict: Verdict, name: [&str; 3], change: [f64; 3], times: [f64; 2]) -> Comparison {
    let rev = |rev: &str| Rev { rev: rev.into(), ..Rev::default() };
    Comparison {
        package: name[0].into(),
        target: name[1].into(),
        benchmark: name[2].into(),
        verdict,
        reference: rev("b4c9ce1^"),
        contender: rev("@tree"),
        change: Some(change[0]),
        low: Some(change[1]),
        high: Some(change[2]),
        reference_ns: Some(times[0]),
        contender_ns: Some(times[1]),
        threshold: 0.005,
        stop: Stop::Decided,
        ..Comparison::default()
    }
}

fn summary() -> Summary {
    Summary {
        faster: 14,
        inconclusive: 2,
        seconds: 49.8,
        run: Some(7),
        geometric_means: vec![GeometricMeanLine {
            contender: "@tree".into(),
            change: -0.334,
            low: Some(-0.338),
            high: Some(-0.327),
            benchmarks: 16,
            launches: 10,
        }],
        ..Summary::default()
    }
}

#[test]
fn samples_are_what_is_printed() {
    let paired = |id| ["unicode-segmentation", "paired", id];
    let faster = line(
        Verdict::Faster,
        paired("arabic/words"),
        [-0.418, -0.422, -0.412],
        [612e3, 612e3 * 0.582],
    );
    let launch_changes = [vec![-0.423], vec![-0.42; 8], vec![-0.41]].concat();
    let faster = Comparison {
        launch_changes,
        launches: 10,
        pairs: 540,
        between_launches: Some(0.0081),
        within_launch: Some(0.0201),
        ..faster
    };
    let open = line(
        Verdict::Inconclusive,
        paired("english/graphemes"),
        [0.0055, -0.042, 0.054],
        [200e3, 200e3 * 1.0055],
    );
    let integers = ["workloads", "workloads", "integers"];
    let same = line(
        Verdict::Equivalent,
        integers,
        [0.0047, 0.0032, 0.0089],
        [31_240.0, 31_240.0 * 1.0047],
    );
    let identical = Comparison {
        verdict: Verdict::Identical,
        ..line(Verdict::Identical, ["demo", "words", "words/count"], [0.0; 3], [0.0; 2])
    };
    let boxed = |c: &Comparison| Line::Comparison(Box::new(c.clone()));
    let mut all: Vec<String> = Vec::new();
    for line in [&faster, &open, &same, &identical] {
        let mut lines = printed(&[boxed(line)], 2, false);
        lines.pop();
        all.extend(lines);
    }
    let mut verbose = printed(&[boxed(&faster)], 2, true);
    verbose.pop();
    all.extend(verbose);
    // What ends a run is printed after the totals of the helper, which has none of its own.
    let mut end = printed(&[Line::Summary(summary())], 2, false);
    end.pop();
    all.extend(end);
    let shown: Vec<&str> = samples()
        .iter()
        .flat_map(|block| block.lines().skip(1))
        .filter(|line| !line.is_empty() && !line.starts_with('$') && !line.starts_with("comparing"))
        .collect();
    assert!(shown.len() >= 10, "{shown:#?}");
    for line in &shown {
        assert!(all.iter().any(|printed| printed == line), "`{line}` is not printed: {all:#?}");
    }
    // A verdict of the samples follows from its own numbers.
    for (c, threshold) in [(&same, 0.01), (&faster, 0.005)] {
        let within = c.low.unwrap() >= -threshold && c.high.unwrap() <= threshold;
        assert_eq!(within, c.verdict == Verdict::Equivalent);
    }
}
