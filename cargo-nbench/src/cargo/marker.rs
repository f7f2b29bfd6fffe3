//! Recognises executables that carry the harness by a text inside them, so
//! that unknown code is never run to find out.

use std::fs;
use std::io;
use std::path::Path;

const MARKER: &[u8] = b"nbench-harness-marker ";

/// The version of the harness in an executable, or nothing when it has none.
///
/// # Errors
///
/// When the file cannot be read.
pub fn harness_version(executable: &Path) -> io::Result<Option<String>> {
    Ok(find(&fs::read(executable)?))
}

fn find(bytes: &[u8]) -> Option<String> {
    let mut rest = bytes;
    loop {
        let at = rest.iter().position(|byte| *byte == b'n')?;
        rest = rest.get(at..)?;
        if let Some(fields) = rest.strip_prefix(MARKER) {
            // Another marker than this program's own text has fields.
            let end = fields.iter().take(200).position(|byte| !(b' '..=b'~').contains(byte));
            let text = String::from_utf8_lossy(fields.get(..end.unwrap_or(200)).unwrap_or(fields));
            let version = text.split(' ').find_map(|field| field.strip_prefix("version="));
            return Some(version.unwrap_or("unknown").to_owned());
        }
        rest = rest.get(1..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn finds_the_version_between_other_bytes() {
        let marked = b"\x00nn\xffnbench-harness-marker version=1.2.3 protocol=1 end\x00nbench";
        assert_eq!(find(marked).as_deref(), Some("1.2.3"));
        assert_eq!(find(b"nbench-harness-marker later").as_deref(), Some("unknown"));
        assert_eq!(find(b"nbench-harness-marker"), None);
        assert_eq!(find(b"no such thing in here"), None);
        assert_eq!(find(b""), None);
    }
}
