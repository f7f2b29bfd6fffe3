//! The command line, by clap derive only. Flags are dumb here; `settings.rs` turns them into
//! validated settings and nothing below sees them.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use nbench_config::{parse_batching, parse_interval, parse_share, precedence_in_words};
use nbench_engine::{Batching, IntervalMethod};

use crate::failure::EXITS;
use crate::term::{Colour, Format};

const ENVIRONMENT: &str = "\
Environment:
  NBENCH_PRESET, NBENCH_STORE, NBENCH_THRESHOLD, NBENCH_CONFIDENCE, NBENCH_RUN_SEED
                        settings
  NBENCH_CACHE_DIR      where checkouts and builds are kept
  NBENCH_CACHE_SIZE     how much they may take
  NO_COLOR              no colour
  GITHUB_TOKEN, GITHUB_STEP_SUMMARY and others
                        read by `comment --post`, see the README

Exit codes:";

/// End of the main help: precedence of settings, environment and exit codes.
fn after_help() -> String {
    let mut text = format!("{}\n\n{ENVIRONMENT}", precedence_in_words());
    for (exit, meaning) in EXITS {
        text.push_str(&format!("\n  {} {meaning}", exit.code()));
    }
    text
}

/// Did my change make this faster or slower?
#[derive(Debug, Parser)]
#[command(name = "cargo nbench", bin_name = "cargo nbench", version, about, after_help = after_help())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Results on standard output: `human` text, or `json`, one object a line.
    #[arg(long, value_enum, default_value_t, global = true, hide_possible_values = true)]
    pub format: Format,
    /// Colour: `auto` (on a terminal, without NO_COLOR), `always` or `never`.
    #[arg(long, value_enum, default_value_t, global = true, hide_possible_values = true)]
    pub color: Colour,
    /// Print results, warnings and errors only.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print all that is known of each result: launches, spread, their changes, advice, the host.
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure the benchmarks of the working tree and store every result.
    Run(RunArgs),
    /// Compare two or more revisions in pairs and give a verdict per benchmark.
    #[command(after_help = AB_HELP)]
    Ab(AbArgs),
    /// Compare the working tree with itself: what can this host tell apart?
    Aa(AaArgs),
    /// Compare two stored runs of this host. Not paired: `ab` is what decides.
    Compare(CompareArgs),
    /// Show stored results by commit, on the terminal or as one HTML page.
    History(HistoryArgs),
    /// Render the last comparison as a pull-request comment, and post it on request.
    Comment(CommentArgs),
    /// List the benchmarks of the working tree (runs their set-up code).
    List(ListArgs),
    /// Remove cached checkouts and builds of old revisions. Results are kept.
    #[command(after_help = CLEAN_HELP)]
    Clean(CleanArgs),
    /// Print what lets a shell complete `cargo-nbench`.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
}

const CLEAN_HELP: &str = "\
The cache is the directory NBENCH_CACHE_DIR, by default `nbench` in the user's cache directory \
(~/.cache, on macOS ~/Library/Caches). Its size is bounded by NBENCH_CACHE_SIZE, by default 20 GB; \
the longest unused goes first.";

const COMPLETIONS_HELP: &str = "\
Example:
  cargo nbench completions bash > ~/.local/share/bash-completion/completions/cargo-nbench";

const AB_HELP: &str = "\
Examples:
  cargo nbench ab                        uncommitted work against HEAD, or this branch against main
  cargo nbench ab main...                the working tree against where this branch left main
  cargo nbench ab v1.2 v1.3 -f parse     two revisions, benchmarks with `parse` in their id
  cargo nbench ab HEAD~1 --gate          exit 1 if something is slower
  cargo nbench ab v1.2 --overlay-benches today's benchmarks against an older library

Without REV the reference is HEAD when the working tree is dirty, otherwise the merge base with the \
default branch, otherwise HEAD~1; it says which. With one REV the contender is the working tree as \
it is, uncommitted and untracked files included. `main...` means the merge base with main, `@tree` \
the working tree. Changes are contender / reference - 1: positive is slower.

Exit codes are listed in `cargo nbench --help`.";

/// Which benchmarks are meant, by the same words in every command.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Selection")]
pub struct FilterArgs {
    /// Which ids.
    #[command(flatten)]
    pub ids: StoredFilterArgs,
    /// Only benchmarks with this tag; can be repeated, all must match.
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
}

/// Which stored results are meant; the store has no tags to select by.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Selection")]
pub struct StoredFilterArgs {
    /// Only benchmarks whose id contains this, case ignored, or matches it as a pattern for the
    /// whole id where it holds `*` or `?`; can be repeated, any may match.
    #[arg(short, long, value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Leave out benchmarks whose id contains or matches this; can be repeated.
    #[arg(long, value_name = "FILTER")]
    pub skip: Vec<String>,
    /// Take filters as whole ids.
    #[arg(long)]
    pub exact: bool,
}

/// Which bench targets are built, and how; the same words as cargo's.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Build (as cargo bench)")]
pub struct BuildArgs {
    /// Package to benchmark; can be repeated.
    #[arg(short, long = "package", value_name = "SPEC")]
    pub package: Vec<String>,
    /// All packages of the workspace.
    #[arg(long)]
    pub workspace: bool,
    /// Package to leave out; can be repeated.
    #[arg(long, value_name = "SPEC", requires = "workspace")]
    pub exclude: Vec<String>,
    /// Bench target to build; can be repeated.
    #[arg(long = "bench", value_name = "NAME")]
    pub bench: Vec<String>,
    /// Features to activate.
    #[arg(short = 'F', long, value_name = "FEATURES", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Activate all features.
    #[arg(long)]
    pub all_features: bool,
    /// Do not activate the `default` feature.
    #[arg(long)]
    pub no_default_features: bool,
    /// Cargo profile [default: bench].
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Target triple.
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
    /// Directory for build artefacts (`run` and `list`; `ab` keeps one per revision).
    #[arg(long, value_name = "DIR")]
    pub target_dir: Option<PathBuf>,
    /// Measure criterion suites with criterion's own runner, in blocks that pair more weakly,
    /// instead of with what stands in for criterion.
    #[arg(long)]
    pub criterion_runner: bool,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Require that Cargo.lock is up to date.
    #[arg(long)]
    pub locked: bool,
    /// Do not use the network.
    #[arg(long)]
    pub offline: bool,
    /// Equal to --locked and --offline.
    #[arg(long)]
    pub frozen: bool,
    /// Parallel build jobs.
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<String>,
    /// Cargo configuration; can be repeated.
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    pub config: Vec<String>,
}

/// How measurements are taken.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Measurement")]
pub struct PlanArgs {
    /// Bundle of settings [default: default].
    #[arg(long, value_enum, value_name = "PRESET")]
    pub preset: Option<PresetArg>,
    /// Bound on the measuring time of the whole suite, such as 20s or 2m.
    #[arg(long, value_parser = nbench_config::parse_duration, value_name = "TIME")]
    pub budget: Option<Duration>,
    /// Seed of orders and layouts, and of `nbench::seed()` in benchmarks; without it `ab` draws
    /// the former and tells them.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Longest time one batch may take before its worker is given up [default: 60s].
    #[arg(long, value_parser = nbench_config::parse_duration, value_name = "TIME")]
    pub batch_limit: Option<Duration>,
    /// Longest time set-up between two benchmarks may take [default: 120s].
    #[arg(long, value_parser = nbench_config::parse_duration, value_name = "TIME")]
    pub setup_limit: Option<Duration>,
    /// Do not pin workers to a CPU.
    #[arg(long)]
    pub no_pin: bool,
}

/// A bundle of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresetArg {
    /// 6 launches; never says equivalent.
    Quick,
    /// Up to 24 launches (`run`: 12).
    Default,
    /// Up to 48 launches (`run`: 30).
    Thorough,
}

/// When the link layout is drawn anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LayoutsArg {
    /// For every side at every launch.
    Fresh,
    /// In a second trial, for changes below 5 % that the first one called.
    Confirm,
    /// Never: every side keeps the layout of its build.
    Off,
}

/// Where results are kept.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// Path of the store, also NBENCH_STORE [default: .nbench/store.sqlite in the workspace root].
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Only benchmarks whose id contains one of these, case ignored; `*` and `?` make it a pattern
    /// for the whole id.
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Which benchmarks.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Take the cases of a comparison one after the other instead of in rounds.
    #[arg(long, help_heading = "Measurement")]
    pub sequential_cases: bool,
    /// Relative half-width of the interval at which a measurement stops; `quick` has 5%,
    /// `thorough` 1% [default: 2%].
    #[arg(long, value_parser = parse_share, value_name = "SHARE", help_heading = "Measurement")]
    pub precision: Option<f64>,
    /// How to measure.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// What to build.
    #[command(flatten)]
    pub build: BuildArgs,
    /// Where to store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `ab`.
#[derive(Debug, Args)]
pub struct AbArgs {
    /// Revisions: reference first, then contenders; `@tree` is the working tree.
    #[arg(value_name = "REV")]
    pub revisions: Vec<String>,
    /// Which benchmarks.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Measure one set of benchmarks, those of the last revision (by default the working tree),
    /// against every revision's library, also where they did not exist yet.
    #[arg(long, conflicts_with = "criterion_runner")]
    pub overlay_benches: bool,
    /// Measure even if both sides are the same code.
    #[arg(long)]
    pub force: bool,
    /// Build each revision with the toolchain that its rust-toolchain.toml asks for, instead of
    /// all with that of this directory; they must be installed.
    #[arg(long)]
    pub own_toolchains: bool,
    /// Exit 1 if a benchmark is slower (`slower`, also without a value), or also exit 6 if one is
    /// inconclusive or missing (`closed`); `report` only reports. Settings are then those of the
    /// reference's `nbench.toml` [default: report].
    #[arg(long, value_enum, value_name = "POLICY", num_args = 0..=1, require_equals = true,
          default_missing_value = "slower", hide_possible_values = true)]
    pub gate: Option<GatePolicy>,
    /// Write one self-contained page of the pairs behind every verdict (without FILE:
    /// .nbench/comparison.html).
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub html: Option<Option<PathBuf>>,
    /// Exit 6 if a benchmark is inconclusive or not measurable.
    #[arg(long)]
    pub require_verdict: bool,
    /// Changes up to this are not called faster or slower, such as 0.01 or 1% [default: 0.5%].
    #[arg(long, value_parser = parse_share, value_name = "SHARE", help_heading = "Measurement")]
    pub threshold: Option<f64>,
    /// Go on until the interval's half-width is this, such as 0.5%, instead of until a verdict.
    #[arg(long, value_parser = parse_share, value_name = "SHARE", help_heading = "Measurement")]
    pub precision: Option<f64>,
    /// Iteration counts: `shared` by both sides, or `equal-time` for each its own
    /// [default: shared].
    #[arg(long, value_parser = words(["shared", "equal-time"]).try_map(|word| parse_batching(&word)), value_name = "HOW", help_heading = "Measurement")]
    pub batching: Option<Batching>,
    /// What the interval is made from: `signed-rank` over launches, or `block-bootstrap` over
    /// pairs, which is too narrow; for studies of the method [default: signed-rank].
    #[arg(long, hide = true, value_parser = words(["signed-rank", "block-bootstrap"]).try_map(|word| parse_interval(&word)), value_name = "METHOD", help_heading = "Measurement")]
    pub interval: Option<IntervalMethod>,
    /// End the worker of one side before that of the next begins, for benchmarks of which only one
    /// can run at a time (a fixed port, a lock file); weaker pairing. Chosen by itself where
    /// it helps.
    #[arg(long, help_heading = "Measurement")]
    pub one_at_a_time: bool,
    /// With several contenders, also compare these with each other.
    #[arg(long)]
    pub all_pairs: bool,
    /// Confidence of the verdict, all looks together, such as 0.95 or 95% [default: 95%].
    #[arg(long, value_parser = parse_share, value_name = "SHARE", help_heading = "Measurement")]
    pub confidence: Option<f64>,
    /// Whether the link layout is drawn anew, where the linker can [default: fresh].
    #[arg(long, value_enum, value_name = "WHEN", help_heading = "Measurement")]
    pub layouts: Option<LayoutsArg>,
    /// How to measure.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// What to build.
    #[command(flatten)]
    pub build: BuildArgs,
    /// Where to store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `aa`.
#[derive(Debug, Args)]
pub struct AaArgs {
    /// Only benchmarks whose id contains one of these, case ignored; `*` and `?` make it a pattern
    /// for the whole id.
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Which benchmarks.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Comparisons of each benchmark with itself.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeats: u64,
    /// Changes up to this are not called faster or slower, such as 0.01 or 1% [default: 0.5%].
    #[arg(long, value_parser = parse_share, value_name = "SHARE", help_heading = "Measurement")]
    pub threshold: Option<f64>,
    /// Confidence of the verdict, all looks together, such as 0.95 or 95% [default: 95%].
    #[arg(long, value_parser = parse_share, value_name = "SHARE", help_heading = "Measurement")]
    pub confidence: Option<f64>,
    /// Go on until the interval's half-width is this, such as 0.5%, instead of until a verdict.
    #[arg(long, value_parser = parse_share, value_name = "SHARE", help_heading = "Measurement")]
    pub precision: Option<f64>,
    /// Whether the link layout is drawn anew, where the linker can [default: fresh].
    #[arg(long, value_enum, value_name = "WHEN", help_heading = "Measurement")]
    pub layouts: Option<LayoutsArg>,
    /// How to measure; a budget holds for all repeats together.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// What to build.
    #[command(flatten)]
    pub build: BuildArgs,
}

/// What a gate rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum GatePolicy {
    /// Nothing: results are reported only.
    #[default]
    Report,
    /// Benchmarks that are slower, unless link layout may explain it.
    Slower,
    /// Everything but a verdict that is not slower: inconclusive and missing benchmarks too.
    Closed,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Number of a stored run, or a revision with stored results (`@tree` is the working tree).
    #[arg(value_name = "A", requires = "current")]
    pub saved: Option<String>,
    /// The run or revision that is compared with A. Without both, the newest runs are listed.
    #[arg(value_name = "B")]
    pub current: Option<String>,
    /// Only benchmarks whose id contains one of these, case ignored; `*` and `?` make it a pattern
    /// for the whole id.
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Which benchmarks.
    #[command(flatten)]
    pub filter: StoredFilterArgs,
    /// How the two runs are compared.
    #[arg(long, value_enum, value_name = "METHOD", default_value_t)]
    pub method: MethodArg,
    /// Changes up to this are not called faster or slower, such as 0.01 or 1% [default: 0.5%].
    #[arg(long, value_parser = parse_share, value_name = "SHARE")]
    pub threshold: Option<f64>,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Where to read.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// How two stored runs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum MethodArg {
    /// Bootstrap of the ratio of medians over launches.
    #[default]
    Medians,
    /// Criterion's test and noise threshold, over means of launches.
    TwoGate,
    /// Circular-block bootstrap of the ratio of means over launches.
    Blocks,
}

/// Arguments of `history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Only benchmarks whose id contains one of these, case ignored; `*` and `?` make it a pattern
    /// for the whole id.
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Which benchmarks.
    #[command(flatten)]
    pub filter: StoredFilterArgs,
    /// Only this package; can be repeated.
    #[arg(short, long = "package", value_name = "NAME", help_heading = "Selection")]
    pub package: Vec<String>,
    /// Only this bench target; can be repeated.
    #[arg(long = "bench", value_name = "NAME", help_heading = "Selection")]
    pub bench: Vec<String>,
    /// Write one self-contained page (without FILE: .nbench/history.html).
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub html: Option<Option<PathBuf>>,
    /// How many commits back to look, first parents only.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub commits: usize,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Where to read.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `comment`.
#[derive(Debug, Args)]
pub struct CommentArgs {
    /// Lines printed by `ab --format json`, instead of the last comparison of the store; `-` is
    /// standard input.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Create or edit the pull request's comment (GitHub; needs GITHUB_TOKEN or
    /// GH_TOKEN).
    #[arg(long)]
    pub post: bool,
    /// Pull request number [default: that of GITHUB_EVENT_PATH].
    #[arg(long, value_name = "N")]
    pub pr: Option<u64>,
    /// Repository as owner/name [default: GITHUB_REPOSITORY].
    #[arg(long, value_name = "OWNER/NAME")]
    pub repo: Option<String>,
    /// Distinguishes several comments on one pull request.
    #[arg(long, value_name = "ID", default_value = "default")]
    pub id: String,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Where to read.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only benchmarks whose id contains one of these, case ignored; `*` and `?` make it a pattern
    /// for the whole id.
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Which benchmarks.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// What to build.
    #[command(flatten)]
    pub build: BuildArgs,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Arguments of `clean`.
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// The cache of every repository, not of this one only.
    #[arg(long)]
    pub all: bool,
}

/// The words that a flag takes.
fn words(words: [&'static str; 2]) -> PossibleValuesParser {
    PossibleValuesParser::new(words)
}

/// The names of all verbs.
pub fn verbs() -> Vec<String> {
    let names = Cli::command();
    names.get_subcommands().map(|verb| verb.get_name().to_owned()).collect()
}

/// Arguments without the `nbench` that cargo puts in front of them.
pub fn without_cargo_word(mut argv: Vec<std::ffi::OsString>) -> Vec<std::ffi::OsString> {
    if argv.get(1).is_some_and(|word| word == "nbench") {
        argv.remove(1);
    }
    argv
}

#[cfg(test)]
mod tests;
