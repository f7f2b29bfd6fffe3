//! The `cargo-nbench` program: the system's streams around the library.

use std::process::ExitCode;

use cargo_nbench::term::Term;

fn main() -> ExitCode {
    if let Some(code) = cargo_nbench::in_place_of_another() {
        return code;
    }
    cargo_nbench::run(std::env::args_os().collect(), &mut Term::system()).into()
}
