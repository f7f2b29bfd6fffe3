//! The library behind `cargo nbench`. It declares the modules that resolve
//! revisions, keep the checkouts they are built in and drive cargo.

pub mod cargo;
pub mod checkout;
pub mod failure;
pub mod fingerprint;
mod git;
pub mod identical;
pub mod lint_cap;
pub mod overlay;
pub mod revision;
