//! The stand-in for divan: a suite is built against it as cargo-nbench writes it out, and walked over the
//! wire; the parser of its macro reads tokens that are made here from text.
#![cfg(unix)]

// The compiler's tokens exist in a macro only, so that the rest of the macro is left to the suite.
#[path = "../cargo-nbench/dropins/divan-macros/parse.rs"]
mod parse;
#[path = "divan/parser.rs"]
mod parser;
#[path = "divan/suite.rs"]
mod suite;
#[path = "divan/worker.rs"]
mod worker;
