//! `cargo nbench completions`: what lets a shell complete our flags. It knows no flag by name.

use clap::CommandFactory;

use crate::cli::args::{Cli, CompletionsArgs};
use crate::failure::Exit;
use crate::term::Term;

/// Prints the script; shells complete the program `cargo-nbench`, since cargo's own completion is
/// not ours.
pub fn completions(term: &mut Term, args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    let mut command = Cli::command().bin_name("cargo-nbench");
    clap_complete::generate(args.shell, &mut command, "cargo-nbench", &mut script);
    term.verbatim(&String::from_utf8_lossy(&script));
    Exit::Done
}
