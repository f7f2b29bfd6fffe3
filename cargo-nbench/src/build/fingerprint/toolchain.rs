//! The compiler and the settings that an executable was made with. It must not
//! know the sources: two revisions built alike have one key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest as _, Sha256};

use super::{Component, hex, key};
use crate::build::cargo::{BuildContext, BuildOptions, Executable, Workspace, configuration_file};

/// How executables were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Sixteen hexadecimal digits over everything but the lock file: an update
    /// of a dependency is a change to be seen, not another series.
    pub key: String,
    /// One line for people.
    pub summary: String,
    /// Every fact by name.
    pub components: BTreeMap<String, Component>,
}

/// Reads the facts, for executables of one build.
pub fn toolchain(
    context: &BuildContext<'_>,
    options: &BuildOptions,
    workspace: &Workspace,
    executables: &[&Executable],
) -> Toolchain {
    let rustc = compiler(context);
    let line = |prefix: &str| {
        let Component::Value(text) = &rustc else { return None };
        text.lines().find_map(|line| line.strip_prefix(prefix)).map(|rest| rest.trim().to_owned())
    };
    let host = line("host: ");
    let version = line("rustc ").map(|text| format!("rustc {text}"));
    let nothing = "nothing was built";
    let over = |read: &dyn Fn(&Executable) -> String| {
        let mut values: Vec<String> =
            executables.iter().map(|executable| read(executable)).collect();
        values.sort();
        values.dedup();
        Component::or((!values.is_empty()).then(|| values.join("; ")), nothing)
    };
    let features = |executable: &Executable| {
        let list = executable.features.join(",");
        format!("{}: {}", executable.target.package, if list.is_empty() { "none" } else { &list })
    };
    let profile = options.profile.as_deref().unwrap_or("bench");
    let manifest = manifest(&workspace.root);
    let setting = |name: &str| profile_setting(manifest.as_ref(), profile, name);
    let components: BTreeMap<String, Component> = [
        ("rustc", rustc.clone()),
        (
            "target",
            Component::or(
                options.target.clone().or_else(|| env::var("CARGO_BUILD_TARGET").ok()).or(host),
                "rustc does not tell its host",
            ),
        ),
        ("profile", Component::value(profile)),
        ("opt_level", over(&|executable| executable.profile.opt_level.clone())),
        ("debug_assertions", over(&|e| e.profile.debug_assertions.to_string())),
        ("overflow_checks", over(&|e| e.profile.overflow_checks.to_string())),
        ("lto", setting("lto")),
        ("codegen_units", setting("codegen-units")),
        ("rustflags", rustflags()),
        ("configuration", configuration(context)),
        ("features", over(&features)),
        ("cargo_lock", lock_file(&workspace.lock_directory())),
        ("harness", over(&|executable| executable.harness.to_string())),
    ]
    .map(|(name, fact)| (name.to_owned(), fact))
    .into();
    let parts = components.iter().filter(|(name, _)| *name != "cargo_lock");
    let key = key(parts.map(|(name, fact)| (name.as_str(), fact.to_string())));
    let text = |name: &str| components.get(name).map(ToString::to_string).unwrap_or_default();
    let summary = format!(
        "{}, profile {profile}, opt-level {}, lto {}, codegen-units {}",
        version.unwrap_or_else(|| rustc.to_string()),
        text("opt_level"),
        text("lto"),
        text("codegen_units"),
    );
    Toolchain { key, summary, components }
}

/// Version of what a checkout keeps of its builds beside their artifacts. 2: the link commands. A
/// checkout of another version is not taken for fresh.
const KEPT_VERSION: u32 = 2;

/// Digest of everything but the sources that decides what cargo builds and what is kept of it, for
/// choosing a checkout whose artifacts can be used again. `ours` are flags of this program that
/// decide it too.
pub fn flags_digest(context: &BuildContext<'_>, options: &BuildOptions, ours: &[&str]) -> String {
    let list = |values: &[String]| values.join("\n");
    key([
        ("rustc", compiler(context).to_string()),
        ("rustflags", rustflags().to_string()),
        ("configuration", configuration(context).to_string()),
        ("target", options.target.clone().unwrap_or_default()),
        ("profile", options.profile.clone().unwrap_or_default()),
        ("features", list(&options.features)),
        ("all_features", options.all_features.to_string()),
        ("no_default_features", options.no_default_features.to_string()),
        ("config", list(&options.config)),
        ("cap_lints", format!("{} {}", context.cap_lints, context.cap_all_crates)),
        ("kept", KEPT_VERSION.to_string()),
        ("ours", ours.join("\n")),
    ])
}

fn compiler(context: &BuildContext<'_>) -> Component {
    let mut command = context.rustc();
    match command.arg("-vV").output() {
        Ok(output) if output.status.success() => {
            Component::value(String::from_utf8_lossy(&output.stdout).trim())
        }
        Ok(output) => Component::unavailable(format!("`rustc -vV` ended with {}", output.status)),
        Err(error) => Component::unavailable(format!("`rustc -vV` does not start: {error}")),
    }
}

fn manifest(root: &Path) -> Option<toml::Table> {
    fs::read_to_string(root.join("Cargo.toml")).ok()?.parse().ok()
}

/// A setting of a profile: the environment's, else the manifest's, with what
/// the profile inherits, else cargo's default.
fn profile_setting(manifest: Option<&toml::Table>, profile: &str, name: &str) -> Component {
    let Some(manifest) = manifest else {
        return Component::unavailable("the manifest of the workspace cannot be read");
    };
    let profiles = manifest.get("profile");
    let mut current = profile.to_owned();
    // A cycle is an error of cargo's, and must not be a hang of ours.
    for _ in 0..16 {
        let upper = |text: &str| text.to_uppercase().replace('-', "_");
        if let Ok(value) = env::var(format!("CARGO_PROFILE_{}_{}", upper(&current), upper(name))) {
            return Component::value(value);
        }
        let table = profiles.and_then(|profiles| profiles.get(&current));
        match table.and_then(|table| table.get(name)) {
            Some(toml::Value::String(text)) => return Component::value(text),
            Some(value) => return Component::value(value.to_string()),
            None => {}
        }
        let inherited = table.and_then(|table| table.get("inherits")).and_then(|v| v.as_str());
        current = match (current.as_str(), inherited) {
            ("release", _) => return default_setting(name, "16"),
            ("dev", _) => return default_setting(name, "256"),
            ("bench", _) => "release".to_owned(),
            ("test", _) => "dev".to_owned(),
            (_, Some(parent)) => parent.to_owned(),
            (_, None) => break,
        };
    }
    Component::unavailable(format!("the manifest does not define the profile `{profile}`"))
}

fn default_setting(name: &str, codegen_units: &str) -> Component {
    match name {
        "lto" => Component::value("false"),
        "codegen-units" => Component::value(codegen_units),
        _ => Component::unavailable("no default is known"),
    }
}

/// The flags of the environment, which replace those of the configuration.
fn rustflags() -> Component {
    if let Ok(flags) = env::var("CARGO_ENCODED_RUSTFLAGS") {
        return Component::value(flags.replace('\u{1f}', " "));
    }
    let flags = env::var("RUSTFLAGS").or_else(|_| env::var("CARGO_BUILD_RUSTFLAGS"));
    Component::or(flags.ok(), "not set in the environment; see `configuration`")
}

/// A digest of what the configuration files say about building. Other tables,
/// such as aliases, do not change what is built.
fn configuration(context: &BuildContext<'_>) -> Component {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let own = context.dir.ancestors().map(|directory| directory.join(".cargo"));
    let mut directories: Vec<PathBuf> = own.chain(home).collect();
    directories.dedup();
    let found = directories.iter().filter_map(|directory| configuration_file(directory));
    let mut told = Vec::new();
    for file in found.chain(context.configuration.iter().cloned()) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let Ok(table) = text.parse::<toml::Table>() else { continue };
        for name in ["build", "target", "profile", "env", "host", "unstable"] {
            if let Some(value) = table.get(name) {
                told.push(format!("{name} = {value}"));
            }
        }
    }
    // The same file is found in two ways when it lies above both.
    told.sort();
    told.dedup();
    if told.is_empty() {
        return Component::unavailable("no configuration file says anything about building");
    }
    Component::value(hex(&Sha256::digest(told.join("\n").as_bytes()), 8))
}

fn lock_file(root: &Path) -> Component {
    match fs::read(root.join("Cargo.lock")) {
        Ok(bytes) => Component::value(hex(&Sha256::digest(bytes), 32)),
        Err(error) => Component::unavailable(format!("no Cargo.lock: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{configuration, flags_digest, lock_file, profile_setting};
    use crate::build::cargo::{BuildContext, BuildOptions};

    fn setting(manifest: &str, profile: &str, name: &str) -> String {
        let table: toml::Table = manifest.parse().unwrap();
        profile_setting(Some(&table), profile, name).to_string()
    }

    #[test]
    fn profiles_inherit_as_cargo_says() {
        assert_eq!(setting("", "bench", "lto"), "false");
        assert_eq!(setting("", "bench", "codegen-units"), "16");
        assert_eq!(setting("", "dev", "codegen-units"), "256");
        let manifest = "[profile.release]\nlto = \"fat\"\ncodegen-units = 1\n\
                        [profile.bench]\nlto = true\n\
                        [profile.mine]\ninherits = \"release\"\ncodegen-units = 4\n\
                        [profile.round]\ninherits = \"round\"\n";
        assert_eq!(setting(manifest, "bench", "lto"), "true");
        assert_eq!(setting(manifest, "bench", "codegen-units"), "1");
        assert_eq!(setting(manifest, "mine", "lto"), "fat");
        assert_eq!(setting(manifest, "mine", "codegen-units"), "4");
        assert!(setting(manifest, "round", "lto").starts_with("unavailable("));
        assert!(setting(manifest, "gone", "lto").starts_with("unavailable("));
        assert!(profile_setting(None, "bench", "lto").to_string().starts_with("unavailable("));
    }

    #[test]
    fn configuration_counts_only_what_is_built() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join(".cargo");
        fs::create_dir(&place).unwrap();
        let context = BuildContext::new(directory.path());
        let with = |text: &str| {
            fs::write(place.join("config.toml"), text).unwrap();
            configuration(&context)
        };
        let none = with("");
        assert_eq!(with("[alias]\nx = \"run\"\n"), none);
        let flags = with("[build]\nrustflags = [\"-Ctarget-cpu=native\"]\n");
        assert_ne!(flags, none);
        assert_eq!(with("build.rustflags = [\"-Ctarget-cpu=native\"]\n[alias]\n"), flags);
    }

    #[test]
    fn the_flags_digest_sees_every_flag() {
        let directory = tempfile::tempdir().unwrap();
        let context = BuildContext::new(directory.path());
        let plain = BuildOptions::default();
        let digest = flags_digest(&context, &plain, &[]);
        assert_eq!(digest, flags_digest(&context, &plain, &[]));
        assert_ne!(digest, flags_digest(&context, &plain, &["overlay"]));
        let some = |text: &str| Some(text.to_owned());
        let changed = [
            BuildOptions { profile: some("release"), ..plain.clone() },
            BuildOptions { target: some("x"), ..plain.clone() },
            BuildOptions { features: vec!["a".to_owned()], ..plain.clone() },
            BuildOptions { all_features: true, ..plain.clone() },
            BuildOptions { no_default_features: true, ..plain.clone() },
            BuildOptions { config: vec!["a=1".to_owned()], ..plain.clone() },
        ];
        for options in changed {
            assert_ne!(flags_digest(&context, &options, &[]), digest, "{options:?}");
        }
        let selection = BuildOptions { benches: vec!["a".to_owned()], ..plain.clone() };
        assert_eq!(flags_digest(&context, &selection, &[]), digest, "a selection is no flag");
        let capped = BuildContext { cap_lints: true, ..context };
        assert_ne!(flags_digest(&capped, &plain, &[]), digest);
    }

    #[test]
    fn the_lock_file_is_named_by_its_digest() {
        let directory = tempfile::tempdir().unwrap();
        assert!(lock_file(directory.path()).to_string().starts_with("unavailable("));
        fs::write(directory.path().join("Cargo.lock"), "abc").unwrap();
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(lock_file(directory.path()).to_string(), digest);
    }
}
