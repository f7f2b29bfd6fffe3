//! `ab --layouts`: fresh link layouts where the linker can draw them, and plain words where it
//! cannot or stops to.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{Fixture, Output};
use crate::{AB, with};

/// A linker that draws a few layouts and then no more.
const LINKER: &str = r#"#!/bin/sh
case "$*" in *shuffle-sections*)
    drawn=$(cat "$0.count" 2>/dev/null || echo 0)
    echo $((drawn + 1)) >"$0.count"
    if [ "$drawn" -ge 3 ]; then echo "no more layouts today" >&2; exit 1; fi ;;
esac
exec cc "$@"
"#;

/// Whether the linker of this machine cannot shuffle, which the message shows with `--nocapture`.
fn cannot(output: &Output) -> bool {
    let skipped = output.stderr.contains("cannot shuffle");
    if skipped {
        let words = "skipped: the linker of this machine cannot shuffle functions\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes());
    }
    skipped
}

fn notes(line: &Value) -> String {
    line["notes"].to_string()
}

#[test]
fn layouts_are_fresh_by_default_and_kept_on_request() {
    let fixture = Fixture::new();
    let output = fixture.nbench(&with(&AB, &["HEAD", "HEAD", "--force"])).exits(0);
    if cannot(&output) {
        return;
    }
    for line in output.of_type("comparison") {
        assert_eq!(line["layout"], "fresh", "{line}");
        assert!(!notes(&line).contains("layout"), "{line}");
    }
    // The build is fresh from before, and its link commands are there all the same.
    fixture.write("nbench.toml", "layouts = \"off\"\n");
    let words = with(&AB, &["HEAD", "HEAD", "--force", "--filter", "spin"]);
    assert_eq!(fixture.nbench(&words).exits(0).comparison("spin")["layout"], "off");
    let output = fixture.nbench(&with(&words, &["--layouts", "fresh"])).exits(0);
    assert_eq!(output.comparison("spin")["layout"], "fresh");
    fixture.outlived_by_nothing();
}

#[test]
fn a_linker_that_fails_on_the_way_leaves_the_comparison_unconfirmed() {
    let fixture = Fixture::new();
    fixture.write("tools/linker.sh", LINKER);
    let script = fixture.root().join("tools/linker.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let target = std::env::consts::ARCH;
    let settings = format!("[target.{target}-unknown-linux-gnu]\nlinker = \"tools/linker.sh\"\n");
    fixture.write(".cargo/config.toml", &settings);
    fixture.commit("Link in another way");
    let words = ["HEAD", "HEAD", "--force", "--filter", "spin"];
    let output = fixture.nbench(&with(&AB, &words)).exits(0);
    if cannot(&output) {
        return;
    }
    let line = output.comparison("spin");
    assert_eq!((&line["layout"], &line["launches"]), (&"unconfirmed".into(), &6.into()), "{line}");
    // Both sides share one checkout and with it the three layouts: one launch, and half of another.
    let told = "5 of 6 launches kept the link layouts of the builds";
    let small = "may be layout: ";
    assert!(notes(&line).contains(told) || notes(&line).contains(small), "{line}");
    assert!(notes(&line).contains("no more layouts today"), "{line}");
}

#[test]
fn a_compiler_cache_of_the_user_leaves_no_link_command() {
    let fixture = Fixture::new();
    fixture.write("tools/cache.sh", "#!/bin/sh\nexec \"$@\"\n");
    let script = fixture.root().join("tools/cache.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.write(".cargo/config.toml", "build.rustc-workspace-wrapper = \"tools/cache.sh\"\n");
    fixture.commit("Cache compilations");
    let words = ["HEAD", "HEAD", "--force", "--filter", "spin"];
    let output = fixture.nbench(&with(&AB, &words)).exits(0);
    assert_eq!(output.comparison("spin")["layout"], "unconfirmed");
    assert!(output.stderr.contains("stands before rustc"), "{}", output.stderr);
}
