//! From executables to samples: which benchmarks there are, the workers that run them, and the
//! schedule of launches. It must not know what becomes of results.

pub(crate) mod busy;
pub(crate) mod drive;
pub(crate) mod filter;
mod identity;
pub(crate) mod idle;
pub(crate) mod launch;
pub(crate) mod layout;
pub(crate) mod orphans;
pub(crate) mod placement;
pub(crate) mod plans;
pub(crate) mod schedule;
pub(crate) mod sides;
pub(crate) mod suite;
pub(crate) mod words;
