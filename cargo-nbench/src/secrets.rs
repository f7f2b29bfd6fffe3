//! Which environment variables are credentials, and which programs may see them. Everything that
//! this program starts may run code of others, so that each start goes through [`withhold`]. It
//! knows no program and no forge.

use std::ffi::OsStr;
use std::process::Command;

/// Prefixes of names of a forge, of a CI service, or of cargo's registries.
const OWNERS: [&str; 26] = [
    "ACTIONS",
    "AZURE",
    "BENCHER",
    "BITBUCKET",
    "BUILDKITE",
    "CARGO",
    "CI",
    "CIRCLE",
    "CIRCLECI",
    "CODEBERG",
    "CODECOV",
    "CODSPEED",
    "CRATES",
    "DRONE",
    "FORGEJO",
    "GH",
    "GIT",
    "GITEA",
    "GITHUB",
    "GITLAB",
    "INPUT",
    "JENKINS",
    "RUNNER",
    "SYSTEM",
    "TRAVIS",
    "WOODPECKER",
];

/// Words of which the name of a credential has one.
const WORDS: [&str; 7] = ["ACCESSTOKEN", "JWT", "PASSWORD", "PAT", "SECRET", "SECRETS", "TOKEN"];

/// Whether a variable is a credential of a forge, a CI service or a registry, such as
/// `GITHUB_TOKEN`, `ACTIONS_ID_TOKEN_REQUEST_TOKEN`, `CI_JOB_TOKEN` or
/// `CARGO_REGISTRIES_OURS_TOKEN`.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let mut words = name.split(['_', '-', '.']);
    let owner = words.next().unwrap_or_default();
    OWNERS.contains(&owner) && words.any(|word| WORDS.contains(&word))
}

/// Whether a variable is a credential with which cargo fetches from a registry.
fn is_for_registries(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.starts_with("CARGO_REGISTRIES_") || name.starts_with("CARGO_REGISTRY_")
}

/// Keeps all credentials from a program that is about to be started.
pub(crate) fn withhold(command: &mut Command) {
    for name in inherited(&is_secret) {
        command.env_remove(name);
    }
}

/// Keeps credentials from a command of cargo that fetches and builds nothing: those of registries
/// stay, because it cannot fetch from a private one without.
pub(crate) fn withhold_from_fetching(command: &mut Command) {
    for name in inherited(&|name| is_secret(name) && !is_for_registries(name)) {
        command.env_remove(name);
    }
}

/// Names of our own variables that `is_meant` picks.
pub(crate) fn inherited(is_meant: &dyn Fn(&str) -> bool) -> Vec<std::ffi::OsString> {
    let meant = |name: &OsStr| is_meant(&name.to_string_lossy());
    std::env::vars_os().map(|(name, _)| name).filter(|name| meant(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_for_registries, is_secret};

    #[test]
    fn credentials_are_known_by_their_names_and_nothing_else_is_taken() {
        for name in [
            "GITHUB_TOKEN",
            "github_token",
            "GH_TOKEN",
            "GH_ENTERPRISE_TOKEN",
            "GITHUB_PAT",
            "ACTIONS_RUNTIME_TOKEN",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_REGISTRIES_OURS_TOKEN",
            "CARGO_REGISTRIES_OURS_SECRET_KEY",
            "CI_JOB_TOKEN",
            "CI_JOB_JWT_V2",
            "CI_REGISTRY_PASSWORD",
            "GITLAB_TOKEN",
            "GITEA_TOKEN",
            "FORGEJO_TOKEN",
            "INPUT_GITHUB-TOKEN",
            "SYSTEM_ACCESSTOKEN",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "",
            "TOKEN",
            "CI",
            "GITHUB_REPOSITORY",
            "GITHUB_PATH",
            "GIT_AUTHOR_NAME",
            "CARGO_HOME",
            "CARGO_BUILD_TARGET",
            "CARGO_REGISTRIES_OURS_INDEX",
            "TOKENIZERS_PARALLELISM",
            "MY_TOKEN_COUNT",
            "RUSTFLAGS",
        ] {
            assert!(!is_secret(name), "{name}");
        }
        assert!(is_for_registries("CARGO_REGISTRIES_OURS_TOKEN"));
        assert!(!is_for_registries("CARGO_TOKEN"));
    }
}
