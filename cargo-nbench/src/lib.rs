//! The library behind `cargo nbench`: from a command line to results on the terminal, in the store
//! and on the pull request. [`run`] is the whole program; tests call it in process.
//!
//! Each room below says what it owns; ARCHITECTURE.md has them in the order in which data flows.

mod build;
mod cache;
mod cli;
mod commands;
mod failure;
pub mod foreign;
#[cfg(feature = "post")]
mod forge;
mod interrupt;
mod measure;
mod private;
mod process;
mod results;
mod revisions;
mod secrets;
mod suggest;
pub mod term;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use nbench_templates::lines::{ErrorLine, Line};

use crate::cli::args::{Cli, Command, without_cargo_word};
pub use crate::failure::Exit;
use crate::failure::Failure;
use crate::term::Term;

/// Answer of this program where cargo starts it in place of another: of rustc, to cap the lints of
/// old code; of a bench executable, to learn how it would be started; of a criterion suite's
/// worker. `None` when it was started as itself.
pub fn in_place_of_another() -> Option<ExitCode> {
    let words = std::env::args_os;
    build::lint_cap::maybe_run_as_wrapper(words())
        .or_else(|| build::cargo::maybe_answer(words()))
        .or_else(|| foreign::bridge::maybe_run(words()))
}

/// Runs a command line, its first word being the program, and returns the exit code.
pub fn run(argv: Vec<OsString>, term: &mut Term) -> Exit {
    let cli = match Cli::try_parse_from(without_cargo_word(argv)) {
        Ok(cli) => cli,
        Err(mut error) => {
            cli::tips::explain(&mut error, &cli::args::verbs());
            return show_usage(term, &error);
        }
    };
    term.configure(cli.format, cli.color, cli.quiet);
    term.set_verbose(cli.verbose);
    interrupt::install();
    let outcome = match &cli.command {
        Command::Run(args) => commands::run::run(term, args),
        Command::Aa(args) => commands::aa::aa(term, args),
        Command::Ab(args) => commands::ab::ab(term, args),
        Command::Compare(args) => commands::compare::compare(term, args),
        Command::History(args) => commands::history::history(term, args),
        Command::Comment(args) => commands::comment::comment(term, args),
        Command::List(args) => commands::list::list(term, args),
        Command::Completions(args) => Ok(commands::completions::completions(term, args)),
        Command::Clean(args) => commands::clean::clean(term, args),
    };
    term.end_progress();
    match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            let Failure { error, hint, exit, .. } = failure;
            // Interrupted work failed because the user said so.
            let interrupted = interrupt::requested().then_some((Exit::Interrupted, ()));
            let applying = interrupted.into_iter().chain([(exit, ())]);
            let exit = Exit::gravest(applying).map_or(exit, |(exit, ())| exit);
            match measuring(&cli.command) {
                Some(command) => results::report::print(
                    term,
                    &Line::Error(ErrorLine {
                        command: command.to_owned(),
                        invocation: commands::invocation(),
                        error,
                        hint,
                        exit: exit.code(),
                    }),
                ),
                None => term.error(&error, hint.as_deref()),
            }
            exit
        }
    }
}

/// The name of a command whose lines are results.
fn measuring(command: &Command) -> Option<&'static str> {
    match command {
        Command::Run(_) => Some("run"),
        Command::Ab(_) => Some("ab"),
        _ => None,
    }
}

/// Help and version go to standard output and are no failure.
fn show_usage(term: &mut Term, error: &clap::Error) -> Exit {
    let text = error.render();
    let text = if term.has_colour() { text.ansi().to_string() } else { text.to_string() };
    if error.use_stderr() {
        term.pass(&text);
        Exit::Usage
    } else {
        term.verbatim(&text);
        Exit::Done
    }
}
