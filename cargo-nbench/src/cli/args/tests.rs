//! The command line as it is told: help says what the settings are, in one notation, and what
//! README and help show as commands is understood.

use clap::{Command as Clap, CommandFactory, Parser};
use nbench_config::{Layer, Preset, Settings, Source, resolve};
use nbench_engine::remote::Limits;

use super::*;

const README: &str = include_str!("../../../../README.md");

fn parses(words: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(without_cargo_word(words.iter().map(Into::into).collect()))
}

fn of_preset(preset: Preset) -> Settings {
    resolve([(Source::Flag, Layer { preset: Some(preset), ..Layer::default() })]).unwrap()
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn the_leading_word_of_cargo_is_optional() {
    let with = without_cargo_word(vec!["cargo-nbench".into(), "nbench".into(), "run".into()]);
    let without = without_cargo_word(vec!["cargo-nbench".into(), "run".into()]);
    assert_eq!(with, without);
    assert!(Cli::try_parse_from(with).is_ok());
}

/// What help says of each flag, by command and flag.
fn told() -> Vec<(String, String, String)> {
    let mut told = Vec::new();
    let mut cli = Cli::command();
    cli.build();
    let own = |command: &Clap| -> Vec<(String, String, String)> {
        let name = command.get_name().to_owned();
        let help = |arg: &clap::Arg| {
            let text = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
            let defaults: Vec<String> = arg
                .get_default_values()
                .iter()
                .map(|value| format!(" [default: {}]", value.to_string_lossy()))
                .collect();
            text.unwrap_or_default() + &defaults.concat()
        };
        command
            .get_arguments()
            .filter(|arg| arg.get_action().takes_values())
            .map(|arg| (name.clone(), arg.get_id().to_string(), help(arg)))
            .collect()
    };
    for command in cli.get_subcommands().filter(|command| command.get_name() != "help") {
        told.extend(own(command));
    }
    told
}

fn default_in(help: &str) -> Option<&str> {
    help.split_once("[default: ")?.1.split(']').next()
}

#[test]
fn every_default_in_help_is_the_real_one() {
    let settings = of_preset(Preset::Default);
    let (plan, limits) = (&settings.plan, Limits::default());
    let share = |fraction: f64| format!("{}%", (fraction * 1e6).round() / 1e4);
    let seconds = |time: Duration| format!("{}s", time.as_secs());
    let batching = match plan.batching {
        nbench_engine::Batching::Shared => "shared",
        nbench_engine::Batching::EqualTime => "equal-time",
    };
    let real = |flag: &str| match flag {
        "format" => "human".to_owned(),
        "color" => "auto".to_owned(),
        "threshold" => share(plan.threshold),
        "confidence" => share(plan.confidence),
        "precision" => share(plan.precision),
        "preset" => settings.preset.name().to_owned(),
        "layouts" => settings.layouts.name().to_owned(),
        "batching" => batching.to_owned(),
        "batch_limit" => seconds(settings.batch_limit.unwrap_or(limits.batch)),
        "setup_limit" => seconds(settings.setup_limit.unwrap_or(limits.setup)),
        "interval" => "signed-rank".to_owned(),
        "gate" => "report".to_owned(),
        "profile" => "bench".to_owned(),
        "store" => ".nbench/store.sqlite in the workspace root".to_owned(),
        "repeats" => "5".to_owned(),
        "commits" => "500".to_owned(),
        "method" => "medians".to_owned(),
        "id" => "default".to_owned(),
        "pr" => "that of GITHUB_EVENT_PATH".to_owned(),
        "repo" => "GITHUB_REPOSITORY".to_owned(),
        other => panic!("a default is told of `{other}` that nothing checks"),
    };
    let mut checked = 0;
    for (command, flag, help) in told() {
        assert!(!help.contains("(default"), "one notation: {command} {flag}: {help}");
        if let Some(default) = default_in(&help) {
            assert_eq!(default, real(&flag), "{command} {flag}: {help}");
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked} defaults were found");
    let of = |command: &str, flag: &str| {
        let found = told().into_iter().find(|(c, f, _)| c == command && f == flag);
        found.unwrap_or_else(|| panic!("{command} {flag}")).2
    };
    for command in ["ab", "aa", "compare"] {
        assert!(default_in(&of(command, "threshold")).is_some(), "{command} tells its threshold");
    }
    let precision = of("run", "precision");
    for preset in [Preset::Quick, Preset::Thorough] {
        let word = share(of_preset(preset).plan.precision);
        let (_, behind) = precision.split_once(&format!("`{}`", preset.name())).unwrap();
        assert_eq!(
            behind.split_whitespace().map(|w| w.trim_end_matches(',')).find(|w| w.ends_with('%')),
            Some(word.as_str())
        );
    }
}

#[test]
fn the_presets_are_told_as_they_are() {
    for (arg, preset) in [
        (PresetArg::Quick, Preset::Quick),
        (PresetArg::Default, Preset::Default),
        (PresetArg::Thorough, Preset::Thorough),
    ] {
        let plan = of_preset(preset).plan;
        let help = arg.to_possible_value().unwrap();
        let help = help.get_help().unwrap().to_string();
        let last = plan.looks.last();
        assert!(help.contains(&format!("{last} launches")), "{help}: {last}");
        assert!(
            preset == Preset::Quick || help.contains(&format!("`run`: {}", plan.max_launches)),
            "{help}"
        );
    }
}

/// `text` without its line breaks.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Counts as a sentence has them: `10, 16 and 24`.
fn listed(counts: &[usize]) -> String {
    let words: Vec<String> = counts.iter().map(usize::to_string).collect();
    match words.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

#[test]
fn documents_state_the_numbers_of_the_code() {
    let method = plain(include_str!("../../../../docs/method.md"));
    let plan = of_preset(Preset::Default).plan;
    let percent = |share: f64| format!("{} %", (share * 1e6).round() / 1e4);
    let mut stated = vec![
        format!("fills about {:?}", plan.slice).replace("ms", " ms"),
        format!("about {} s of pairs, at most {}", plan.launch_time.as_secs_f64(), plan.max_rounds),
        format!("with {} trimmed at either end", percent(plan.trim)),
        format!("given after {} launches", listed(&plan.looks.at)),
        format!("spends part of the {}", percent(1.0 - plan.confidence)),
        format!("Operations longer than {} ms", plan.slow_operation.as_millis()),
        format!("practical threshold `t` ({})", percent(plan.threshold)),
        format!("a call below {}", percent(crate::measure::layout::LAYOUT_BIAS)),
    ];
    stated.extend(
        plan.looks.at.iter().zip(&plan.looks.alpha).enumerate().map(|(index, (at, alpha))| {
            format!("| {} | {at} | {:.1} % |", index + 1, 100.0 * alpha)
        }),
    );
    for words in stated {
        assert!(method.contains(&words), "docs/method.md does not say `{words}`");
    }
    for preset in [Preset::Quick, Preset::Default, Preset::Thorough] {
        let plan = of_preset(preset).plan;
        let row = README.lines().find(|l| l.starts_with(&format!("| `{}` |", preset.name())));
        let row = row.expect("the README has a row for every preset");
        assert!(row.contains(&format!("after {} launches", listed(&plan.looks.at))), "{row}");
        assert!(row.contains(&format!("{} launches", plan.max_launches)), "{row}");
    }
}

#[test]
fn help_and_readme_have_the_order_of_sources() {
    let order = nbench_config::precedence_in_words();
    assert!(plain(README).contains(order.trim_end_matches('.')), "{order}");
    assert!(plain(&Cli::command().render_help().to_string()).contains(&order));
}

#[test]
fn readme_and_settings_agree() {
    let sample = README.split("```toml\npreset").nth(1).and_then(|rest| rest.split("```").next());
    let sample = format!("preset{}", sample.expect("the settings are in the README"));
    let told = Layer::from_toml(&sample, "README.md").unwrap();
    let told = Layer { benchmark: None, aliases: None, store: None, ..told };
    let told = resolve([(Source::File, told)]).unwrap();
    let real = of_preset(Preset::Default);
    assert_eq!(format!("{:?}", told.plan), format!("{:?}", real.plan));
    assert_eq!(told.layouts, real.layouts);
    assert_eq!(told.sequential_cases, real.sequential_cases);
    let limits = Limits::default();
    assert_eq!(told.batch_limit, Some(limits.batch));
    assert_eq!(told.setup_limit, Some(limits.setup));
    let threshold = format!("practical threshold is {} %", real.plan.threshold * 100.0);
    assert!(README.contains(&threshold), "{threshold}");
}

/// Command lines of ours in a text, as words; what stands in for a name is left out.
fn commands_in(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("cargo nbench ") {
        let inside = rest[..at].ends_with('`');
        rest = &rest[at..];
        let end = rest.find(if inside { ['`', '\n'] } else { ['\n', '\n'] }).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        let mut line = line.to_owned();
        if after.starts_with('\n') && line.ends_with('\\') {
            line.pop();
            line.push_str(after[1..].lines().next().unwrap_or_default());
        }
        let line = line.split("  ").next().unwrap_or_default();
        let line = line.split([';', '>', '#']).next().unwrap_or_default();
        let words = line.split_whitespace().map(|word| word.trim_matches('"').to_owned());
        found.push(words.skip(1).collect());
        rest = after;
    }
    found
}

#[test]
fn commands_in_readme_and_help_are_understood() {
    let mut cli = Cli::command();
    cli.build();
    let mut texts = vec![README.to_owned(), cli.render_long_help().to_string()];
    for name in ["ab", "aa", "run", "clean", "completions"] {
        texts.push(cli.find_subcommand_mut(name).unwrap().render_long_help().to_string());
    }
    let commands: Vec<Vec<String>> = texts.iter().flat_map(|text| commands_in(text)).collect();
    assert!(commands.len() > 25, "{commands:?}");
    for words in commands {
        // A command that a sentence names, and one that shows its usage.
        if words.iter().any(|word| word.starts_with('[') || word.starts_with('<') || word == "A") {
            continue;
        }
        let line: Vec<String> =
            ["cargo-nbench".to_owned()].into_iter().chain(words.clone()).collect();
        let parsed =
            Cli::try_parse_from(without_cargo_word(line.into_iter().map(Into::into).collect()));
        if let Err(error) = parsed {
            let told = matches!(
                error.kind(),
                clap::error::ErrorKind::DisplayHelp
                    | clap::error::ErrorKind::DisplayVersion
                    | clap::error::ErrorKind::MissingRequiredArgument
            );
            assert!(told, "{words:?}: {error}");
        }
    }
}

#[test]
fn flags_in_the_readme_exist() {
    let mut flags: Vec<String> = Vec::new();
    let mut cli = Cli::command();
    cli.build();
    for command in std::iter::once(&cli).chain(cli.get_subcommands()) {
        flags.extend(command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)));
    }
    // Of cargo itself, of `cargo bench -- ..`, and of other programs.
    let foreign = ["path", "git", "list", "release", "benches", "jobs", "test"];
    for (at, _) in README.match_indices("`--") {
        let flag = README[at + 3..].split(|c: char| !(c.is_ascii_lowercase() || c == '-')).next();
        let flag = flag.unwrap_or_default();
        let known = flag.is_empty() || flags.iter().any(|f| f == flag) || foreign.contains(&flag);
        assert!(known, "the README names `--{flag}`, which no command has");
    }
}

#[test]
fn one_filter_is_taken_by_every_command() {
    let table: [&[&str]; 8] = [
        &["x", "run", "words", "count"],
        &["x", "list", "words", "count"],
        &["x", "aa", "words", "count"],
        &["x", "history", "words", "count"],
        &["x", "compare", "1", "2", "words", "count"],
        &["x", "run"],
        &["x", "ab"],
        &["x", "ab", "main", "v2"],
    ];
    let flags = ["-f", "a", "--filter", "b", "--skip", "c", "--exact"];
    for words in table {
        assert!(parses(words).is_ok(), "{words:?}");
        let with: Vec<&str> = words.iter().chain(&flags).copied().collect();
        assert!(parses(&with).is_ok(), "{with:?}");
    }
    for command in ["run", "list", "aa", "ab"] {
        assert!(parses(&["x", command, "--tag", "slow"]).is_ok(), "{command}");
    }
    assert!(parses(&["x", "run", "-q", "-v"]).is_err());
}

#[test]
fn help_of_ab_begins_its_end_with_examples_and_tells_of_the_cache() {
    let mut cli = Cli::command();
    cli.build();
    let mut help = |name: &str| cli.find_subcommand_mut(name).unwrap().render_help().to_string();
    let ab = help("ab");
    assert!(ab.contains("Examples:") && !ab.contains("block-bootstrap"), "{ab}");
    assert!(help("clean").contains("NBENCH_CACHE_DIR"));
    let main = Cli::command().render_help().to_string();
    for variable in ["NBENCH_CACHE_DIR", "NBENCH_CACHE_SIZE", "NO_COLOR", "GITHUB_STEP_SUMMARY"] {
        assert!(main.contains(variable), "{variable}");
    }
}
