//! `cargo nbench comment`: the last comparison as Markdown for a pull request, posted on request.

use std::io::Read;
use std::path::Path;

use nbench_store::{RunCommand, RunRow, Store};
use nbench_templates::CommentView;
use nbench_templates::lines::{
    Comparison, Context, FailureLine, GeometricMeanLine, Line, Rev, Summary, Unmatched, parse,
};

use crate::build::cargo::Words;
use crate::cli::args::CommentArgs;
use crate::cli::settings::{self, store_path};
use crate::failure::{Exit, Failure};
use crate::results::record::{store_failure, stored_comparison};
use crate::term::Term;

/// Largest input of `--from`; a result of thousands of benchmarks stays far below it.
const MAX_INPUT: u64 = 64 << 20;

/// Renders, prints and, with `--post`, publishes. The text is printed before anything is sent, so
/// that a failing forge hides nothing.
///
/// # Errors
/// When there is no comparison to render, or publishing fails.
pub fn comment(term: &mut Term, args: &CommentArgs) -> Result<Exit, Failure> {
    let lines = match &args.from {
        Some(file) => read(file)?,
        None => stored(term, args)?,
    };
    let failed = args.from.as_ref().and_then(|_| unfinished(&lines, args.post));
    let view = view(&lines, &args.id, failed)?;
    let body = nbench_templates::comment(&view)
        .map_err(|error| Failure::new(Exit::Publish, format!("render the comment: {error}")))?;
    term.verbatim(&body);
    if !body.ends_with('\n') {
        term.verbatim("\n");
    }
    if let Some(path) =
        std::env::var_os("GITHUB_STEP_SUMMARY").filter(|p| args.post && !p.is_empty())
        && let Err(error) = append(Path::new(&path), &body)
    {
        term.warn(&format!("the step summary cannot be written: {error}"));
    }
    if args.post {
        publish(term, args, &body)?;
    }
    Ok(Exit::Done)
}

/// Posts the comment, or edits the one that is there.
#[cfg(feature = "post")]
fn publish(term: &mut Term, args: &CommentArgs, body: &str) -> Result<(), Failure> {
    use crate::forge::{self, Posted};
    // The forge's fragments complete this sentence.
    let publishing =
        |failure: Failure| Failure { error: format!("failed to {}", failure.error), ..failure };
    let env = |name: &str| std::env::var(name).ok();
    let (forge, context) =
        forge::from_environment(&env, args.repo.as_deref(), args.pr).map_err(publishing)?;
    let posted = forge::post(
        &forge,
        &context,
        &nbench_templates::marker(&args.id),
        body,
        &std::thread::sleep,
    )
    .map_err(publishing)?;
    term.note(&match posted {
        Posted::Created { url } => format!("posted {url}"),
        Posted::Edited { url } => format!("updated {url}"),
        Posted::Unchanged { url } => format!("unchanged {url}"),
    });
    Ok(())
}

/// Refuses: this build has no HTTPS client. The comment is printed by then.
#[cfg(not(feature = "post"))]
fn publish(_term: &mut Term, _args: &CommentArgs, _body: &str) -> Result<(), Failure> {
    Err(Failure::new(
        Exit::Publish,
        "this cargo-nbench was installed without the feature `post` and cannot publish",
    )
    .hint(
        "install it with its default features: `cargo install --locked --git \
         https://github.com/nbench/nbench cargo-nbench`",
    ))
}

fn append(path: &Path, body: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(body.as_bytes())
}

/// Lines from a file or standard input, which may come from elsewhere: bounded, UTF-8, parsed.
fn read(file: &Path) -> Result<Vec<Line>, Failure> {
    let usage = |error: String| {
        Failure::new(Exit::Usage, error)
            .hint("`--from` takes what `cargo nbench ab --format json` prints")
    };
    let name = file.display();
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = if file.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        let file = std::fs::File::open(file)
            .map_err(|error| usage(format!("cannot read `{name}`: {error}")))?;
        Box::new(file)
    };
    source
        .take(MAX_INPUT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| usage(format!("cannot read `{name}`: {error}")))?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(usage(format!("`{name}` is larger than {} MiB", MAX_INPUT >> 20)));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| usage(format!("`{name}` is not UTF-8 text")))?;
    parse(&text).map_err(|error| usage(format!("`{name}`: {error}")))
}

/// Lines of the last comparison in the store.
fn stored(term: &mut Term, args: &CommentArgs) -> Result<Vec<Line>, Failure> {
    let root = settings::workspace_root(args.manifest_path.as_deref())?;
    let settings = settings::load(&root, nbench_config::Layer::default())?;
    let path = store_path(&root, args.store.store.as_deref(), &settings);
    let nothing = || {
        Failure::new(Exit::NothingSelected, format!("`{}` has no comparison", path.display())).hint(
            format!(
                "`{}` makes one; `--from FILE` reads what it printed as JSON",
                Words::of_manifest(args.manifest_path.as_deref()).nbench("ab")
            ),
        )
    };
    let store = Store::open_read_only(&path).map_err(|e| match e.kind() {
        nbench_store::ErrorKind::Missing => nothing(),
        _ => store_failure(&e),
    })?;
    let store_error = |e: nbench_store::StoreError| store_failure(&e);
    let mut runs = store.runs().map_err(store_error)?;
    runs.retain(|run| run.begun.command == RunCommand::Ab);
    runs.sort_by_key(|run| std::cmp::Reverse(run.id));
    let mut passed_over = Vec::new();
    for run in runs {
        let lines = lines_of(&store, &run).map_err(store_error)?;
        if has_results(&lines) {
            // A build that failed has left no run: only the time tells that this is not the newest.
            let which = format!(
                "run {} of {}",
                run.id.0,
                crate::results::date::utc(run.begun.started_at / 1000)
            );
            match passed_over.first() {
                Some(newest) => term.warn(&format!(
                    "run {newest}, the newest comparison, has no results; this is {which}"
                )),
                None => term.note(&format!("this is {which}")),
            }
            return Ok(lines);
        }
        passed_over.push(run.id.0);
    }
    Err(nothing())
}

/// Whether there is anything to be shown.
fn has_results(lines: &[Line]) -> bool {
    lines.iter().any(|line| {
        matches!(
            line,
            Line::Comparison(_) | Line::Failure(_) | Line::Unmatched(_) | Line::NotMeasurable(_)
        )
    })
}

/// Lines that a stored run has printed.
fn lines_of(store: &Store, run: &RunRow) -> Result<Vec<Line>, nbench_store::StoreError> {
    let mut lines: Vec<Line> = serde_json::from_str::<serde_json::Value>(&run.details)
        .ok()
        .and_then(|mut details| details.get_mut("lines").map(serde_json::Value::take))
        .and_then(|aside| serde_json::from_value(aside).ok())
        .unwrap_or_default();
    for row in store.comparisons_of_run(run.id)? {
        lines.extend(stored_comparison(&row).map(|c| Line::Comparison(Box::new(c))));
    }
    for failure in store.failures(run.id)? {
        lines.push(Line::Failure(FailureLine {
            package: failure.package,
            target: failure.target,
            benchmark: failure.benchmark,
            side: failure.side,
            error: failure.error,
            stderr_tail: failure.stderr_tail,
        }));
    }
    Ok(lines)
}

/// Why printed lines are not those of a comparison that came to its end. Nothing at all is worth a
/// comment only where an older one would stay.
fn unfinished(lines: &[Line], is_posted: bool) -> Option<String> {
    let found = |wanted: &dyn Fn(&Line) -> Option<String>| lines.iter().rev().find_map(wanted);
    let error = found(&|line| match line {
        Line::Error(error) => Some(error.error.lines().next().unwrap_or_default().to_owned()),
        _ => None,
    });
    let has_summary = lines.iter().any(|line| matches!(line, Line::Summary(_)));
    let is_begun = lines.iter().any(|line| matches!(line, Line::Context(c) if c.command == "ab"));
    error.or_else(|| match (lines.is_empty(), is_begun && !has_summary) {
        (true, _) => is_posted.then(|| "it printed nothing".to_owned()),
        (_, true) => Some("it was ended before its summary".to_owned()),
        _ => None,
    })
}

/// Failures of lines, and targets that cannot be measured, which are shown among them.
fn failures(lines: &[Line]) -> Vec<FailureLine> {
    let failure = |line: &Line| match line {
        Line::Failure(failure) => Some(failure.clone()),
        Line::NotMeasurable(n) => Some(FailureLine {
            package: n.package.clone(),
            target: n.target.clone(),
            side: Some(n.rev.clone()),
            error: format!("not measurable at this revision: {}", n.reason),
            ..FailureLine::default()
        }),
        _ => None,
    };
    lines.iter().filter_map(failure).collect()
}

fn unmatched(lines: &[Line]) -> Vec<Unmatched> {
    let unmatched = |line: &Line| match line {
        Line::Unmatched(unmatched) => Some(unmatched.clone()),
        _ => None,
    };
    lines.iter().filter_map(unmatched).collect()
}

/// How many benchmarks got which verdict.
fn counts(lines: &[Line]) -> Summary {
    let mut counts = Summary::default();
    for line in lines {
        counts.count(line);
    }
    counts
}

/// The view of a comment; with several contenders each row names its own.
fn view(lines: &[Line], id: &str, failed: Option<String>) -> Result<CommentView, Failure> {
    let context = lines
        .iter()
        .find_map(|line| match line {
            Line::Context(context) => Some(context.clone()),
            _ => None,
        })
        .unwrap_or_default();
    let comparisons: Vec<&Comparison> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Comparison(c) => Some(c.as_ref()),
            _ => None,
        })
        .collect();
    let (failures, unmatched) = (failures(lines), unmatched(lines));
    if failed.is_none() && comparisons.is_empty() && failures.is_empty() && unmatched.is_empty() {
        return Err(Failure::new(Exit::NothingSelected, "there is no comparison to render")
            .hint("`cargo nbench ab` makes one"));
    }
    let (reference, contender) = sides(&context, &comparisons);
    Ok(CommentView {
        marker_id: id.to_owned(),
        reference,
        contender,
        several: context.revisions.len() > 2,
        method: if comparisons.is_empty() && failed.is_some() {
            "Nothing was measured".to_owned()
        } else {
            method(&comparisons)
        },
        failed,
        counts: counts(lines),
        rows: comparisons.into_iter().cloned().collect(),
        failures,
        unmatched,
        host: host(&context),
        together: together(lines),
        command: lines
            .iter()
            .find_map(|line| match line {
                Line::Error(error) => Some(error.invocation.clone()),
                _ => None,
            })
            .unwrap_or(context.invocation.clone()),
    })
}

fn sides(context: &Context, comparisons: &[&Comparison]) -> (Rev, Rev) {
    let from_context = context.revisions.first().cloned().zip(context.revisions.last().cloned());
    from_context
        .or_else(|| comparisons.first().map(|c| (c.reference.clone(), c.contender.clone())))
        .unwrap_or_default()
}

fn host(context: &Context) -> String {
    let parts: Vec<&str> = [
        context.host_summary.as_str(),
        context.toolchain_summary.as_str(),
        context.placement.as_str(),
    ]
    .into_iter()
    .filter(|part| !part.is_empty())
    .collect();
    if parts.is_empty() { "host unavailable".to_owned() } else { parts.join("; ") }
}

fn method(comparisons: &[&Comparison]) -> String {
    let measured: Vec<_> = comparisons.iter().filter(|c| c.pairs > 0).collect();
    let Some(first) = measured.first() else {
        return "Both sides are the same code, so nothing was measured".to_owned();
    };
    let launches = measured.iter().map(|c| c.launches).max().unwrap_or(0);
    let pairs: usize = measured.iter().map(|c| c.pairs).sum();
    let confidence =
        first.confidence.map_or("unknown".to_owned(), |c| format!("{:.0} %", 100.0 * c));
    format!(
        "Both revisions ran alternately: {pairs} pairs in up to {launches} launches of fresh processes, {confidence} intervals over launches, changes up to {:.1} % are not called",
        100.0 * first.threshold
    )
}

/// Sentences of the run on all changes together. They are not computed anew: two means of one run
/// would differ.
fn together(lines: &[Line]) -> Vec<String> {
    let means = lines.iter().rev().find_map(|line| match line {
        Line::Summary(summary) => Some(&summary.geometric_means),
        _ => None,
    });
    let sentence = |mean: &GeometricMeanLine| mean.sentence().replacen('g', "G", 1);
    means.into_iter().flatten().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use nbench_templates::lines::ErrorLine;

    use super::*;

    #[test]
    fn the_geometric_mean_is_the_one_that_the_run_told() {
        let mean = GeometricMeanLine {
            contender: "@tree".into(),
            change: -0.168,
            low: Some(-0.17),
            high: Some(-0.166),
            benchmarks: 3,
            launches: 10,
        };
        let summary = nbench_templates::lines::Summary {
            geometric_means: vec![mean.clone()],
            ..Default::default()
        };
        let c = |change| {
            Line::Comparison(Box::new(Comparison { change: Some(change), ..Default::default() }))
        };
        let lines = [c(-0.5), c(0.5), c(-0.1), Line::Summary(summary)];
        let sentences = together(&lines);
        assert_eq!(sentences.len(), 1);
        assert!(sentences[0].ends_with(&mean.sentence()[1..]), "{sentences:?}");
        assert!(sentences[0].contains("-16.8 %  [-17.0 % .. -16.6 %]"), "{sentences:?}");
        assert!(together(&lines[..3]).is_empty(), "nothing is made up");
    }

    #[test]
    fn a_comparison_that_did_not_come_to_its_end_says_so() {
        let error = Line::Error(ErrorLine {
            command: "ab".into(),
            invocation: "cargo nbench ab".into(),
            error: "cannot build `b`\nat length".into(),
            hint: None,
            exit: 3,
        });
        let context = Line::Context(Context { command: "ab".into(), ..Context::default() });
        let row = Line::Comparison(Box::default());
        let summary = Line::Summary(Default::default());
        let table = [
            (vec![error.clone()], true, Some("cannot build `b`")),
            (vec![context.clone(), row.clone(), error], false, Some("cannot build `b`")),
            (vec![context.clone(), row.clone()], false, Some("it was ended before its summary")),
            (vec![], true, Some("it printed nothing")),
            (vec![], false, None),
            (vec![context, row.clone(), summary], true, None),
            // What somebody has picked from a result.
            (vec![row], true, None),
        ];
        for (lines, is_posted, expected) in table {
            let failed = unfinished(&lines, is_posted);
            assert_eq!(failed.as_deref(), expected, "{lines:?}");
            if failed.is_some() {
                let view = view(&lines, "x", failed).unwrap();
                let text = nbench_templates::comment(&view).unwrap();
                assert!(text.contains("**the comparison failed**"), "{text}");
                assert!(text.contains("**Failed**: "), "{text}");
            }
        }
    }

    #[test]
    fn nothing_to_render_is_said() {
        assert_eq!(view(&[], "x", None).unwrap_err().exit, Exit::NothingSelected);
    }
}
