//! Suites of other harnesses: libraries that stand in for criterion and divan, and criterion's own
//! runner. It must not know what is compared.

pub(crate) mod bridge;
pub mod dropin;
