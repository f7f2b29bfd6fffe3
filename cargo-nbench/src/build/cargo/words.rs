//! The user's own flags as words of a command line, for every hint that names a command to run:
//! without them it would build something else, or nothing. It must not know what went wrong.

use std::fmt::Write as _;
use std::path::Path;

use super::BuildOptions;

/// Flags of a build as the user typed them. A checkout or a generated package has other ones,
/// but nobody can type those.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The one package that was asked for by a name, as it was written.
    package: Option<String>,
    /// Which packages and targets.
    selection: String,
    /// Flags that every command of cargo takes that reads the workspace.
    shared: String,
    /// Flags that only commands take that build.
    build: String,
    /// Flags that only nbench takes.
    own: String,
}

impl Words {
    /// The words of flags as they were given.
    #[must_use]
    pub fn of(options: &BuildOptions) -> Words {
        let named = |flag: &'static str, values: &[String]| -> Vec<(&'static str, String)> {
            values.iter().map(|value| (flag, value.clone())).collect()
        };
        let path = |path: &Option<std::path::PathBuf>| -> Option<String> {
            path.as_ref().map(|path| path.display().to_string())
        };
        let mut words = Words::default();
        for (flag, value) in named("-p", &options.packages) {
            add(&mut words.selection, flag, Some(&value));
        }
        add_if(&mut words.selection, "--workspace", options.workspace);
        for (flag, value) in named("--exclude", &options.exclude)
            .into_iter()
            .chain(named("--bench", &options.benches))
        {
            add(&mut words.selection, flag, Some(&value));
        }
        if !options.features.is_empty() {
            add(&mut words.shared, "--features", Some(&options.features.join(",")));
        }
        add_if(&mut words.shared, "--all-features", options.all_features);
        add_if(&mut words.shared, "--no-default-features", options.no_default_features);
        if let Some(manifest) = path(&options.manifest_path) {
            add(&mut words.shared, "--manifest-path", Some(&manifest));
        }
        add_if(&mut words.shared, "--locked", options.locked);
        add_if(&mut words.shared, "--offline", options.offline);
        add_if(&mut words.shared, "--frozen", options.frozen);
        for (flag, value) in named("--config", &options.config) {
            add(&mut words.shared, flag, Some(&value));
        }
        let building = [
            ("--profile", options.profile.clone()),
            ("--target", options.target.clone()),
            ("--target-dir", path(&options.target_dir)),
            ("-j", options.jobs.clone()),
        ];
        for (flag, value) in building {
            if let Some(value) = value {
                add(&mut words.build, flag, Some(&value));
            }
        }
        add_if(&mut words.own, "--criterion-runner", options.criterion_runner);
        if let [package] = options.packages.as_slice()
            && !package.contains(['*', '?', '['])
        {
            words.package = Some(package.clone());
        }
        words
    }

    /// The words of a command that has no flags of a build but its manifest.
    #[must_use]
    pub fn of_manifest(manifest: Option<&Path>) -> Words {
        let manifest_path = manifest.map(Path::to_path_buf);
        Words::of(&BuildOptions { manifest_path, ..BuildOptions::default() })
    }

    /// Command that runs all that was selected without nbench.
    #[must_use]
    pub fn cargo_bench(&self) -> String {
        format!("cargo bench{}{}{}", self.selection, self.shared, self.build)
    }

    /// Command that builds all that was selected without nbench.
    #[must_use]
    pub fn cargo_build(&self) -> String {
        format!("cargo bench --no-run{}{}{}", self.selection, self.shared, self.build)
    }

    /// Command that builds one target without nbench.
    #[must_use]
    pub fn cargo_build_of(&self, package: &str, target: &str) -> String {
        let mut words = "cargo bench --no-run".to_owned();
        // What was typed may tell packages of one name apart.
        let typed = self.package.as_deref().filter(|typed| names(typed, package));
        add(&mut words, "-p", Some(typed.unwrap_or(package)));
        add(&mut words, "--bench", Some(target));
        words + &self.shared + &self.build
    }

    /// Command that describes the workspace without nbench.
    #[must_use]
    pub fn cargo_metadata(&self) -> String {
        format!("cargo metadata{}", self.shared)
    }

    /// A command of nbench that reads the same workspace and selects the same targets.
    #[must_use]
    pub fn nbench(&self, verb: &str) -> String {
        let (selection, shared, build, own) =
            (&self.selection, &self.shared, &self.build, &self.own);
        format!("cargo nbench {verb}{selection}{shared}{build}{own}")
    }
}

/// Whether `typed` is `package`, possibly with a version or as a URL.
fn names(typed: &str, package: &str) -> bool {
    typed == package
        || typed.contains('#')
        || typed.split_once('@').is_some_and(|(n, _)| n == package)
}

fn add_if(words: &mut String, flag: &str, is_set: bool) {
    if is_set {
        add(words, flag, None);
    }
}

fn add(words: &mut String, flag: &str, value: Option<&str>) {
    // Writing to a text cannot fail.
    let _ = match value {
        Some(value) => write!(words, " {flag} {}", quoted(value)),
        None => write!(words, " {flag}"),
    };
}

/// A word as a shell has to be given it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-+=./:@%,~^#".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with(['~', '#']) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    }

    #[test]
    fn a_command_to_run_has_the_flags_that_were_given() {
        let none = BuildOptions::default();
        let features = BuildOptions {
            features: texts(&["simd", "std"]),
            no_default_features: true,
            profile: Some("perf".into()),
            ..none.clone()
        };
        let elsewhere = BuildOptions {
            packages: texts(&["p@1.2.0"]),
            benches: texts(&["t", "other"]),
            manifest_path: Some("my crates/Cargo.toml".into()),
            target: Some("x86_64-unknown-linux-musl".into()),
            ..none.clone()
        };
        let all = BuildOptions {
            workspace: true,
            exclude: texts(&["q*"]),
            all_features: true,
            locked: true,
            config: texts(&["build.rustflags=\"-Ctarget-cpu=native\""]),
            criterion_runner: true,
            ..none.clone()
        };
        let table = [
            (&none, "cargo bench --no-run -p p --bench t", "cargo metadata", "cargo nbench list"),
            (
                &features,
                "cargo bench --no-run -p p --bench t --features simd,std --no-default-features --profile perf",
                "cargo metadata --features simd,std --no-default-features",
                "cargo nbench list --features simd,std --no-default-features --profile perf",
            ),
            (
                &elsewhere,
                "cargo bench --no-run -p p@1.2.0 --bench t --manifest-path 'my crates/Cargo.toml' --target x86_64-unknown-linux-musl",
                "cargo metadata --manifest-path 'my crates/Cargo.toml'",
                "cargo nbench list -p p@1.2.0 --bench t --bench other --manifest-path 'my crates/Cargo.toml' --target x86_64-unknown-linux-musl",
            ),
            (
                &all,
                "cargo bench --no-run -p p --bench t --all-features --locked --config 'build.rustflags=\"-Ctarget-cpu=native\"'",
                "cargo metadata --all-features --locked --config 'build.rustflags=\"-Ctarget-cpu=native\"'",
                "cargo nbench list --workspace --exclude 'q*' --all-features --locked --config 'build.rustflags=\"-Ctarget-cpu=native\"' --criterion-runner",
            ),
        ];
        for (options, bench, metadata, list) in table {
            let words = Words::of(options);
            assert_eq!(words.cargo_build_of("p", "t"), bench);
            assert_eq!(words.cargo_metadata(), metadata);
            assert_eq!(words.nbench("list"), list);
        }
        assert_eq!(
            Words::of(&elsewhere).cargo_build_of("q", "t"),
            "cargo bench --no-run -p q --bench t --manifest-path 'my crates/Cargo.toml' --target x86_64-unknown-linux-musl",
            "another package than the one that was named"
        );
    }

    #[test]
    fn words_survive_a_shell() {
        for (word, shown) in [
            ("a/b-c.d", "a/b-c.d"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("a b", "'a b'"),
            ("$HOME", "'$HOME'"),
            ("~/x", "'~/x'"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
