//! Repositories with suites of other harnesses, whose real packages lie vendored beside them and
//! cannot be compiled: what is measured was built without them.

use std::fs;

use super::{Fixture, turn};

/// A package of the vendored registry: name, version, folder, and what else its manifest says.
const VENDORED: [(&str, &str, &str, &str); 5] = [
    ("anes", "0.1.6", "anes", ""),
    ("criterion", "0.5.1", "criterion", CRITERION),
    ("criterion", "0.3.6", "criterion-0.3.6", CRITERION),
    ("codspeed-criterion-compat", "2.7.2", "codspeed-criterion-compat", CRITERION),
    ("tango-bench", "0.6.0", "tango-bench", ""),
];

const CRITERION: &str = "[features]\ndefault = [\"rayon\"]\nrayon = []\nhtml_reports = []\n\
                         [dependencies]\nanes = \"0.1\"\n";

/// A digest that cargo compares with the lock file and nothing else.
const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

const CONFIGURATION: &str = "[source.crates-io]\nreplace-with = \"vendored\"\n\
                             [source.vendored]\ndirectory = \"vendor\"\n";

const LIBRARY: &str = include_str!("../fixtures/subject/src/lib.rs");

impl Fixture {
    /// Package `subject-lib` with these dependencies for its benchmarks and the bench targets of
    /// these names and sources, all with `harness = false`, in one commit with its lock file.
    pub fn existing(dependencies: &str, targets: &[(&str, &str)]) -> Fixture {
        let fixture = Fixture::empty(Some(turn::beside_others()));
        for (name, version, folder, more) in VENDORED {
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2018\"\n{more}"
            );
            fixture.write(&format!("vendor/{folder}/Cargo.toml"), &manifest);
            let real = format!("compile_error!(\"the real {name}\");\n");
            fixture.write(&format!("vendor/{folder}/src/lib.rs"), &real);
            let checksum = format!("{{\"files\":{{}},\"package\":\"{DIGEST}\"}}");
            fixture.write(&format!("vendor/{folder}/.cargo-checksum.json"), &checksum);
        }
        fixture.write(".cargo/config.toml", CONFIGURATION);
        fixture.write(".gitignore", "/target\n");
        fixture.write("src/lib.rs", LIBRARY);
        fixture.write("README.md", "What it is.\n");
        fixture.set_suite(dependencies, targets);
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture.cargo(&["generate-lockfile"]).exits(0);
        fixture.commit("First commit");
        fixture
    }

    /// Writes manifest and bench targets anew, without those that were there.
    pub fn set_suite(&self, dependencies: &str, targets: &[(&str, &str)]) {
        let _ = fs::remove_dir_all(self.root.join("benches"));
        let mut manifest = format!(
            "[package]\nname = \"subject-lib\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
             [lib]\nbench = false\n\n[features]\nextra = []\n\n[dev-dependencies]\n{dependencies}\n"
        );
        for (name, source) in targets {
            self.write(&format!("benches/{name}.rs"), source);
            manifest.push_str(&format!("\n[[bench]]\nname = \"{name}\"\nharness = false\n"));
        }
        self.write("Cargo.toml", &manifest);
    }
}
