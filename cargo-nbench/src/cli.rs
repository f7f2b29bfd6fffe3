//! What the user asked for: flags, environment and `nbench.toml` become settings. It must not know
//! how anything is built or measured.

pub(crate) mod args;
pub(crate) mod settings;
pub(crate) mod tips;
