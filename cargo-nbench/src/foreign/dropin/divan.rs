//! The stand-ins for divan and its macros, and for the compatibility crates of CodSpeed that carry
//! copies of them. It must not know how they are written.

use super::StandIn;

macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../dropins/", $folder, "/", $path)))),+]
    };
}

/// Divan itself, 0.1.0 to 0.1.21.
pub(super) const DIVAN: StandIn = StandIn {
    package: "divan",
    lib: "divan",
    with_harness: true,
    proc_macro: false,
    files: files![
        "divan":
        "arguments.rs",
        "counter.rs",
        "divan.rs",
        "forms.rs",
        "lib.rs",
        "options.rs",
        "order.rs",
        "private.rs",
        "registry.rs",
        "threaded.rs",
    ],
    manifest: |_| manifest("divan-macros"),
    options: |_| Vec::new(),
};

/// The attributes of divan.
pub(super) const MACROS: StandIn = StandIn {
    package: "divan-macros",
    lib: "divan_macros",
    with_harness: false,
    proc_macro: true,
    files: files!["divan-macros": "expand.rs", "lib.rs", "parse.rs", "token.rs"],
    manifest: |_| String::new(),
    options: |_| Vec::new(),
};

/// Package that suites use under the name of divan. It depends on the next one and, in the
/// original, on copies of divan and on the library that reports to the service, which are not
/// needed.
pub(super) const CODSPEED: StandIn = StandIn {
    package: "codspeed-divan-compat",
    lib: "codspeed_divan_compat",
    manifest: |_| manifest("codspeed-divan-compat-macros"),
    ..DIVAN
};

/// Its attributes.
pub(super) const CODSPEED_MACROS: StandIn = StandIn {
    package: "codspeed-divan-compat-macros",
    lib: "codspeed_divan_compat_macros",
    ..MACROS
};

/// Features of all versions, and the attributes in whatever version the lock file holds: the two
/// were not always released together.
fn manifest(macros: &str) -> String {
    format!(
        "[features]\ndefault = [\"wrap_help\"]\ndyn_thread_local = []\nhelp = []\n\
         internal_benches = []\nwrap_help = [\"help\"]\n\n\
         [dependencies.divan-macros]\npackage = \"{macros}\"\nversion = \"*\"\n"
    )
}
