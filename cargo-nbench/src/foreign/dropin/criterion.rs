//! The stand-ins for criterion and its variants: their sources, and what differs between versions.
//! It must not know how they are written.

use super::{Release, StandIn};

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[
            ("process.rs", include_str!("../../../dropins/process.rs")),
            $(($path, include_str!(concat!("../../../dropins/criterion/", $path)))),+
        ]
    };
}

const FILES: &[(&str, &str)] = files![
    "lib.rs",
    "api/async_bencher.rs",
    "api/async_executor.rs",
    "api/bencher.rs",
    "api/config.rs",
    "api/criterion.rs",
    "api/group.rs",
    "api/macros.rs",
    "api/main.rs",
    "api/measurement.rs",
    "api/mod.rs",
    "api/profiler.rs",
    "api/rounds.rs",
    "api/routines.rs",
];

/// Criterion itself, 0.3 to 0.8.
pub(super) const CRITERION: StandIn = StandIn {
    package: "criterion",
    lib: "criterion",
    with_harness: true,
    proc_macro: false,
    files: FILES,
    manifest: |release| {
        let smol = if release >= (0, 6) { "2" } else { "1.2" };
        manifest(smol, release < (0, 8))
    },
    options: |release| options(release, false),
};

/// The variant that measures in CodSpeed's way; criterion 0.5 otherwise.
pub(super) const CODSPEED: StandIn = StandIn {
    package: "codspeed-criterion-compat",
    lib: "codspeed_criterion_compat",
    manifest: |_| manifest(">=1.2, <3", true),
    options: |_| options((0, 5), true),
    ..CRITERION
};

/// A fork of criterion 0.5.
pub(super) const CRITERION2: StandIn = StandIn {
    package: "criterion2",
    manifest: |_| manifest(">=1.2, <3", true),
    options: |_| options((0, 5), false),
    ..CRITERION
};

fn options(release: Release, codspeed: bool) -> Vec<(&'static str, bool)> {
    vec![
        ("before_0_4", release < (0, 4)),
        ("since_0_4", release >= (0, 4)),
        ("since_0_5", release >= (0, 5)),
        ("since_0_7", release >= (0, 7)),
        ("since_0_8", release >= (0, 8)),
        ("is_codspeed", codspeed),
    ]
}

/// Features of all versions, since a missing one is an error of the resolver. The executors are
/// those of the lock file: it holds them exactly when a suite asks for them.
fn manifest(smol: &str, async_std_is_stable: bool) -> String {
    let async_std = if async_std_is_stable { ", \"async_std\"" } else { "" };
    format!(
        r#"[features]
default = ["cargo_bench_support", "plotters", "rayon"]
async = []
async_futures = ["async", "dep:futures"]
async_smol = ["async", "dep:smol"]
async_std = ["async", "dep:async-std"]
async_tokio = ["async", "dep:tokio"]
async-std = ["dep:async-std"]
cargo_bench_support = []
codspeed = []
csv = []
csv_output = []
document-features = []
futures = ["dep:futures"]
html_reports = []
plotters = []
rayon = []
real_blackbox = []
smol = ["dep:smol"]
stable = ["async_futures", "async_smol", "async_tokio"{async_std}]
tokio = ["dep:tokio"]

[dependencies.async-std]
version = "1.9"
optional = true

[dependencies.futures]
version = "0.3"
default-features = false
features = ["executor"]
optional = true

[dependencies.smol]
version = "{smol}"
default-features = false
optional = true

[dependencies.tokio]
version = "1"
default-features = false
features = ["rt"]
optional = true
"#
    )
}
