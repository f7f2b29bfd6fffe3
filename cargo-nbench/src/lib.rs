//! The command line of `cargo nbench` as a library. For now it holds the error
//! type and the posting of pull-request comments.

pub mod failure;
pub mod forge;
