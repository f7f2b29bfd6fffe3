//! What becomes of results: lines, the store, pages and the gate. It must not know how they came
//! about.

pub(crate) mod date;
pub(crate) mod gate;
pub(crate) mod notes;
pub(crate) mod opening;
pub(crate) mod page;
pub(crate) mod policy;
pub(crate) mod record;
pub(crate) mod recorder;
pub(crate) mod report;
pub(crate) mod session;
pub(crate) mod stored_settings;
