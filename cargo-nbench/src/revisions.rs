//! Revisions and their trees: what git knows, what the working tree holds, and checkouts of ours in
//! the cache. It must not know what is built in them.

pub(crate) mod checkout;
mod error;
pub(crate) mod git;
pub(crate) mod revision;
