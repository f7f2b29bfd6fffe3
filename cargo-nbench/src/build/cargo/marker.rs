//! Recognises executables that carry the harness by a text inside them, so
//! that unknown code is never run to find out.

use std::path::Path;
use std::{fs, io};

const MARKER: &[u8] = b"nbench-harness-marker ";

/// The harness in an executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The package that it was compiled as: `nbench`, or what it stands in for.
    pub(super) package: String,
    /// The version of that package.
    pub(super) release: String,
    /// The version of the harness itself.
    pub(super) version: String,
}

/// The harness in an executable, or nothing when it has none.
///
/// # Errors
///
/// When the file cannot be read.
pub(super) fn mark(executable: &Path) -> io::Result<Option<Mark>> {
    Ok(find(&fs::read(executable)?))
}

/// The variable by which criterion is told that it has a runner; it is in every executable that
/// obeys one.
const RUNNER: &[u8] = b"CARGO_CRITERION_PORT";

/// Whether an executable has a criterion in it that obeys a runner.
///
/// # Errors
///
/// When the file cannot be read.
pub(super) fn obeys_runner(executable: &Path) -> io::Result<bool> {
    Ok(fs::read(executable)?.windows(RUNNER.len()).any(|window| window == RUNNER))
}

fn find(bytes: &[u8]) -> Option<Mark> {
    let mut rest = bytes;
    loop {
        let at = rest.iter().position(|byte| *byte == b'n')?;
        rest = rest.get(at..)?;
        if let Some(fields) = rest.strip_prefix(MARKER) {
            // Another marker than this program's own text has fields.
            let end = fields.iter().take(200).position(|byte| !(b' '..=b'~').contains(byte));
            let text = String::from_utf8_lossy(fields.get(..end.unwrap_or(200)).unwrap_or(fields));
            let field = |name: &str| {
                let fields = text.split(' ').filter_map(|field| field.split_once('='));
                fields.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
            };
            let version = field("version").unwrap_or_else(|| "unknown".to_owned());
            return Some(Mark {
                // Before other harnesses were stood in for there was only one.
                package: field("package").unwrap_or_else(|| "nbench".to_owned()),
                release: field("release").unwrap_or_else(|| version.clone()),
                version,
            });
        }
        rest = rest.get(1..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::{Mark, find};

    #[test]
    fn finds_package_and_version_between_other_bytes() {
        let found = |bytes: &[u8]| {
            find(bytes)
                .map(|Mark { package, release, version }| format!("{package} {release} {version}"))
        };
        let marked = b"\x00nn\xffnbench-harness-marker version=1.2.3 protocol=1 end\x00nbench";
        assert_eq!(found(marked).as_deref(), Some("nbench 1.2.3 1.2.3"));
        let stand_in =
            b"nbench-harness-marker version=1.2.3 package=criterion release=0.5.1 end\x01";
        assert_eq!(found(stand_in).as_deref(), Some("criterion 0.5.1 1.2.3"));
        assert_eq!(
            found(b"nbench-harness-marker later").as_deref(),
            Some("nbench unknown unknown")
        );
        assert_eq!(found(b"nbench-harness-marker"), None);
        assert_eq!(found(b"no such thing in here"), None);
        assert_eq!(found(b""), None);
    }
}
