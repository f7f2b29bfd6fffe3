//! Which benchmark harnesses the members of a workspace can reach, and which of their targets run
//! the built-in one. It reads manifests and metadata; it does not know what an executable links.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;

use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};
use toml::{Table, Value};

use super::stand_in;

/// The harness that needs no stand-in.
pub(super) const HARNESS: &str = "nbench";

/// Harnesses that nothing stands in for, to be named where a target is left out.
const FOREIGN: [&str; 12] = [
    "bencher",
    "binggan",
    "brunch",
    "criterion-cycles-per-byte",
    "diol",
    "glassbench",
    "gungraun",
    "iai",
    "iai-callgrind",
    "microbench",
    "rustc-test",
    "tango-bench",
];

/// Whether a package is a harness that this program can drive, itself or through a stand-in.
pub(super) fn is_driven(package: &str) -> bool {
    package == HARNESS || stand_in::is_known(package)
}

/// Whether a package is criterion, under one of the names that it is published as.
pub(super) fn is_criterion(package: &str) -> bool {
    stand_in::is_known(package) && package.contains("criterion")
}

/// The harnesses that each member's bench targets can reach: through their own dependencies of any
/// kind but build scripts, and from there through ordinary ones, under whatever name.
pub(super) fn harnesses(metadata: &Metadata) -> HashMap<PackageId, BTreeSet<String>> {
    let names: HashMap<&PackageId, &str> = metadata
        .packages
        .iter()
        .map(|package| (&package.id, package.name.as_str()))
        .filter(|(_, name)| is_driven(name))
        .collect();
    let Some(resolve) = &metadata.resolve else { return HashMap::new() };
    let nodes: HashMap<&PackageId, &cargo_metadata::Node> =
        resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let next = |id: &PackageId, development: bool| -> Vec<PackageId> {
        let dependencies = nodes.get(id).map(|node| node.deps.as_slice()).unwrap_or_default();
        dependencies
            .iter()
            .filter(|dependency| {
                dependency.dep_kinds.is_empty()
                    || dependency.dep_kinds.iter().any(|info| {
                        info.kind == DependencyKind::Normal
                            || (development && info.kind == DependencyKind::Development)
                    })
            })
            .map(|dependency| dependency.pkg.clone())
            .collect()
    };
    let reached = |member: &PackageId| {
        let mut found = BTreeSet::new();
        let mut seen = HashSet::new();
        let mut left = next(member, true);
        left.push(member.clone());
        while let Some(id) = left.pop() {
            if let Some(name) = names.get(&id) {
                found.insert((*name).to_owned());
            }
            if seen.insert(id.clone()) && id != *member {
                left.extend(next(&id, false));
            }
        }
        found
    };
    metadata.workspace_members.iter().map(|member| (member.clone(), reached(member))).collect()
}

/// Why the targets of a package that reaches no harness of ours are left out.
pub(super) fn missing_harness(package: &Package) -> String {
    foreign(package).unwrap_or_else(|| {
        format!("its package depends on none of `{HARNESS}`, `criterion` and `divan`")
    })
}

/// Why a target is left out whose executable holds no harness that is known.
pub(super) const FOREIGN_MAIN: &str =
    "its `main` is that of none of `nbench`, `criterion` and `divan`, so nothing can drive it";

/// Why a target of `package` is left out whose executable holds no harness that is known, although
/// its package reaches one.
pub(super) fn foreign_main(package: &Package) -> String {
    foreign(package).unwrap_or_else(|| FOREIGN_MAIN.to_owned())
}

/// Description of a target that is written for a harness which nothing stands in for.
fn foreign(package: &Package) -> Option<String> {
    let foreign: Vec<String> = package
        .dependencies
        .iter()
        .filter(|dependency| FOREIGN.contains(&dependency.name.as_str()))
        .map(|dependency| format!("`{}`", dependency.name))
        .collect();
    (!foreign.is_empty()).then(|| {
        format!(
            "it is written for {}, which is not supported: `{HARNESS}`, `criterion` and `divan` are",
            foreign.join(" or ")
        )
    })
}

/// The bench targets of a package that say `harness = false`; the others run the compiler's own
/// harness. Nothing is known when the manifest cannot be read.
pub(super) fn without_built_in_harness(package: &Package) -> Option<BTreeSet<String>> {
    let text = fs::read_to_string(&package.manifest_path).ok()?;
    let table: Table = text.parse().ok()?;
    let benches = table.get("bench").and_then(Value::as_array);
    let own = |bench: &Value| {
        let harness = bench.get("harness").and_then(Value::as_bool).unwrap_or(true);
        let name = bench.get("name").and_then(Value::as_str).map(str::to_owned);
        name.filter(|_| !harness)
    };
    Some(benches.into_iter().flatten().filter_map(own).collect())
}

/// Why a target with the built-in harness is left out.
pub(super) fn built_in_harness(source: &std::path::Path) -> String {
    let uses_it = fs::read_to_string(source).is_ok_and(|text| text.contains("#[bench]"));
    if uses_it {
        "it uses the compiler's own `#[bench]`, which needs a nightly compiler: move it to nbench, criterion or divan with `harness = false`".to_owned()
    } else {
        "its `[[bench]]` does not say `harness = false`, so it runs the compiler's own harness"
            .to_owned()
    }
}
