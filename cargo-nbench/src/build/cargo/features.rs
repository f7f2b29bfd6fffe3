//! Which features of a package the user's flags turn on. It knows nothing of
//! what other packages turn on in it.

use std::collections::HashSet;

use cargo_metadata::Package;

use super::BuildOptions;

/// The features of `package` that are on, with everything they imply.
pub(super) fn enabled(package: &Package, options: &BuildOptions) -> HashSet<String> {
    let mut left: Vec<String> = Vec::new();
    if options.all_features {
        left.extend(package.features.keys().cloned());
    }
    if !options.no_default_features {
        left.push("default".to_owned());
    }
    let named = options.features.iter().flat_map(|list| list.split([',', ' ']));
    for feature in named.filter(|feature| !feature.is_empty()) {
        match feature.split_once('/') {
            Some((name, feature)) if name == package.name.as_str() => left.push(feature.to_owned()),
            _ => left.push(feature.to_owned()),
        }
    }
    let mut enabled = HashSet::new();
    while let Some(feature) = left.pop() {
        if enabled.insert(feature.clone()) {
            left.extend(package.features.get(&feature).into_iter().flatten().cloned());
        }
    }
    enabled
}
