//! The library behind `cargo nbench`: from a command line to results on the terminal, in the store
//! and on the pull request. [`run`] is the whole program; tests call it in process.
//!
//! Reading order: `args`, `commands` (one recipe per verb), then what they are made of: `revision`,
//! `checkout`, `cargo`, `own_runner`, `sides` (what is built), `suite`, `walk`, `launch`, `bridge`, `link`, `layout`,
//! `drive` (how it is measured), `session`, `recorder`, `record`, `lines`, `report`, `text`, `page` (what becomes of results).

pub mod args;
pub mod bridge;
mod busy;
pub mod cache;
mod capture;
pub mod cargo;
pub mod checkout;
pub mod commands;
pub mod date;
pub mod drive;
pub mod dropin;
pub mod failure;
pub mod filter;
pub mod fingerprint;
#[cfg(feature = "post")]
pub mod forge;
pub mod gate;
mod git;
pub mod identical;
pub mod identity;
pub mod interrupt;
pub mod launch;
pub mod layout;
pub mod lines;
pub mod link;
pub mod lint_cap;
mod one_path;
pub mod orphans;
pub mod overlay;
pub mod own_runner;
pub mod page;
pub mod place;
pub mod policy;
mod private;
pub mod record;
pub mod recorder;
pub mod report;
pub mod revision;
mod secrets;
pub mod session;
pub mod settings;
pub mod sides;
pub mod stored_settings;
pub mod suggest;
pub mod suite;
pub mod term;
pub mod text;
pub mod walk;

use std::ffi::OsString;

use clap::Parser;

use crate::args::{Cli, Command, without_cargo_word};
use crate::failure::{Exit, Failure};
use crate::lines::{ErrorLine, Line};
use crate::term::Term;

/// Runs a command line, its first word being the program, and returns the exit code.
pub fn run(argv: Vec<OsString>, term: &mut Term) -> Exit {
    let cli = match Cli::try_parse_from(without_cargo_word(argv)) {
        Ok(cli) => cli,
        Err(error) => return show_usage(term, &error),
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
            let Failure { error, hint, exit } = failure;
            // Interrupted work failed because the user said so.
            let exit = if interrupt::requested() { Exit::Interrupted } else { exit };
            match measuring(&cli.command) {
                Some(command) => report::print(
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
