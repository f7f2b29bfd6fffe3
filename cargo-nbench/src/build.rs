//! From the trees of revisions to executables: cargo, the other side's bench sources, what the
//! executables are made of. It must not know how they are measured.

pub(crate) mod built;
pub(crate) mod cargo;
mod error;
pub(crate) mod fingerprint;
pub(crate) mod identical;
pub(crate) mod lint_cap;
pub(crate) mod one_path;
pub(crate) mod overlay;
pub(crate) mod own_runner;
pub(crate) mod relink;
pub(crate) mod sides;
