//! The `cargo-nbench` program: the system's streams around the library.

use std::process::ExitCode;

use cargo_nbench::term::Term;

fn main() -> ExitCode {
    // Cargo starts this very program in rustc's place to cap lints of old code.
    if let Some(code) = cargo_nbench::lint_cap::maybe_run_as_wrapper(std::env::args_os()) {
        return code;
    }
    // And in an executable's place, to learn how it would start that.
    if let Some(code) = cargo_nbench::cargo::maybe_answer(std::env::args_os()) {
        return code;
    }
    if let Some(code) = cargo_nbench::bridge::maybe_run(std::env::args_os()) {
        return code;
    }
    cargo_nbench::run(std::env::args_os().collect(), &mut Term::system()).into()
}
