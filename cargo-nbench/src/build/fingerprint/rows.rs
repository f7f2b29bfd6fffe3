//! Fingerprints as the store has them. It must not know what is read for one.

use std::collections::BTreeMap;

use super::{Component, Host};
use crate::build::cargo::{BuildContext, BuildOptions, Executable, Workspace};

/// The host as the store has it.
pub fn host_row() -> nbench_store::Host {
    let host = Host::read();
    nbench_store::Host {
        key: host.key,
        summary: host.summary,
        components: components(&host.components),
    }
}

/// The toolchain of a build as the store has it.
pub fn describe_toolchain(
    context: &BuildContext<'_>,
    options: &BuildOptions,
    workspace: &Workspace,
    executables: &[Executable],
) -> nbench_store::Toolchain {
    let all: Vec<&Executable> = executables.iter().collect();
    let toolchain = super::toolchain(context, options, workspace, &all);
    nbench_store::Toolchain {
        key: toolchain.key,
        summary: toolchain.summary,
        components: components(&toolchain.components),
    }
}

fn components(facts: &BTreeMap<String, Component>) -> String {
    let facts: serde_json::Map<String, serde_json::Value> =
        facts.iter().map(|(name, fact)| (name.clone(), fact.to_string().into())).collect();
    serde_json::Value::Object(facts).to_string()
}
