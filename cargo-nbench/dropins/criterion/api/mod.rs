//! The public names of criterion, one file for each of its concepts. Nothing here measures.

pub(crate) mod async_bencher;
pub mod async_executor;
pub(crate) mod bencher;
pub(crate) mod config;
pub(crate) mod criterion;
pub(crate) mod group;
mod macros;
pub(crate) mod main;
pub mod measurement;
pub mod profiler;
#[cfg(is_codspeed)]
pub(crate) mod rounds;
#[cfg(before_0_4)]
pub(crate) mod routines;
