//! Writes one dependency of the contender into the generated manifest, with
//! paths that hold from anywhere. It does not know which are needed.

use std::path::{Component, Path, PathBuf};

use cargo_metadata::Dependency;
use percent_encoding::percent_decode_str;
use toml::{Table, Value};

/// The two checkouts that a path may lead into.
pub(super) struct Places<'a> {
    pub(super) contender_root: &'a Path,
    pub(super) side_root: &'a Path,
    /// Whether the side has the harness itself as a member.
    pub(super) side_has_harness: bool,
}

impl Places<'_> {
    /// A package of the contender's checkout in the side's, if it is there:
    /// two copies of one package could not stand in one lock file.
    fn prefer_side(&self, path: &Path) -> PathBuf {
        let path = normal(path);
        let inside = path.strip_prefix(self.contender_root).ok();
        let at_side = inside.map(|relative| self.side_root.join(relative));
        at_side.filter(|path| path.join("Cargo.toml").is_file()).unwrap_or(path)
    }
}

/// The table of one dependency as `cargo metadata` told it.
pub(super) fn table(dependency: &Dependency, places: &Places<'_>) -> Table {
    let mut table = Table::new();
    if dependency.rename.is_some() {
        table.insert("package".into(), Value::String(dependency.name.clone()));
    }
    if let Some(path) = &dependency.path {
        // Benchmarks are written for the contender's harness, unless the
        // library itself brings one along.
        let harness = dependency.name == "nbench" && !places.side_has_harness;
        let path = path.as_std_path();
        let path = if harness { normal(path) } else { places.prefer_side(path) };
        table.insert("path".into(), Value::String(path.display().to_string()));
    } else {
        let source = dependency.source.as_ref().map(|source| source.repr.as_str());
        match source.and_then(|source| source.strip_prefix("git+")) {
            Some(git) => insert_git(&mut table, git),
            None => {
                let requirement = dependency.req.to_string();
                table.insert("version".into(), Value::String(requirement));
            }
        }
        if let Some(index) = &dependency.registry {
            table.insert("registry-index".into(), Value::String(index.clone()));
        }
    }
    if !dependency.features.is_empty() {
        let features = dependency.features.iter().cloned().map(Value::String);
        table.insert("features".into(), Value::Array(features.collect()));
    }
    if !dependency.uses_default_features {
        table.insert("default-features".into(), Value::Boolean(false));
    }
    if dependency.optional {
        table.insert("optional".into(), Value::Boolean(true));
    }
    table
}

/// `https://host/repository?branch=name`, as cargo writes sources.
fn insert_git(table: &mut Table, source: &str) {
    let source = source.split('#').next().unwrap_or(source);
    let (url, query) = source.split_once('?').unwrap_or((source, ""));
    table.insert("git".into(), Value::String(url.to_owned()));
    for pair in query.split('&') {
        if let Some((key @ ("branch" | "tag" | "rev"), value)) = pair.split_once('=') {
            table.insert(key.into(), Value::String(decoded(value)));
        }
    }
}

/// Undoes percent encoding, which cargo applies to names such as `feat/x`.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Makes every `path` in the tables of `value`, relative to `base`, absolute.
pub(super) fn make_paths_absolute(value: &mut Value, base: &Path, places: &Places<'_>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table.iter_mut() {
                match value {
                    Value::String(path) if key == "path" => {
                        let absolute = places.prefer_side(&base.join(&*path));
                        *path = absolute.display().to_string();
                    }
                    _ => make_paths_absolute(value, base, places),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                make_paths_absolute(value, base, places);
            }
        }
        _ => {}
    }
}

/// The path without `.` and `..`, which cargo writes into its metadata too.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toml::Table;

    use super::{decoded, insert_git, normal};

    #[test]
    fn git_sources_are_taken_apart() {
        let parse = |source: &str| {
            let mut table = Table::new();
            insert_git(&mut table, source);
            table
        };
        let expected: Table = "git = \"https://x/y.git\"\nbranch = \"feat/x\"\n".parse().unwrap();
        assert_eq!(parse("https://x/y.git?branch=feat%2Fx#abc"), expected);
        let expected: Table = "git = \"https://x/y\"\n".parse().unwrap();
        assert_eq!(parse("https://x/y"), expected);
    }

    #[test]
    fn text_is_decoded_and_paths_are_normal() {
        assert_eq!(decoded("a%2Fb%"), "a/b%");
        assert_eq!(decoded("%zz%41"), "%zzA");
        assert_eq!(normal(Path::new("/a/b/../c/./d")), Path::new("/a/c/d"));
    }
}
