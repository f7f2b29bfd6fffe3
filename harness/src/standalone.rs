//! Placeholder.
use crate::Entry;
use std::process::ExitCode;
pub(crate) fn start(_e: &[Entry]) -> ExitCode {
    ExitCode::SUCCESS
}
pub(crate) fn complain(_m: &str) -> ExitCode {
    ExitCode::FAILURE
}
