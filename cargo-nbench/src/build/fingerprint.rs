//! Identifies what a measurement depends on besides the sources: the host and
//! the toolchain. It records what it sees and never judges whether that is good
//! for measuring.

mod host;
mod rows;
mod toolchain;

use std::fmt;

use host::Host;
pub use rows::{describe_toolchain, host_row};
use sha2::{Digest as _, Sha256};
pub use toolchain::flags_digest;
use toolchain::toolchain;

/// One fact of a fingerprint, or why it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Component {
    /// As the system says it.
    Value(String),
    /// The reason, as a fragment.
    Unavailable(String),
}

impl Component {
    fn value(text: impl Into<String>) -> Self {
        Self::Value(text.into())
    }

    fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable(reason.into())
    }

    /// The value, or the reason when there is none or it is empty.
    fn or(text: Option<String>, reason: &str) -> Self {
        match text.filter(|text| !text.is_empty()) {
            Some(text) => Self::Value(text),
            None => Self::unavailable(reason),
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(text) => f.write_str(text),
            Self::Unavailable(reason) => write!(f, "unavailable({reason})"),
        }
    }
}

/// Sixteen hexadecimal digits of SHA-256 over named parts. Every part is
/// preceded by its length, so that no two lists of parts run together alike.
fn key<'a>(parts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut hash = Sha256::new();
    for (name, value) in parts {
        for text in [name, &value] {
            hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(text.as_bytes());
        }
    }
    hex(&hash.finalize(), 8)
}

fn hex(bytes: &[u8], count: usize) -> String {
    bytes.iter().take(count).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::{Component, hex, key};

    #[test]
    fn keys_depend_on_every_part_and_where_it_ends() {
        let of = |parts: &[(&str, &str)]| {
            key(parts.iter().map(|(name, value)| (*name, (*value).to_owned())))
        };
        assert_eq!(of(&[("a", "b")]).len(), 16);
        assert_eq!(of(&[("a", "b")]), of(&[("a", "b")]));
        assert_ne!(of(&[("a", "b")]), of(&[("a", "c")]));
        assert_ne!(of(&[("ab", "c")]), of(&[("a", "bc")]));
    }

    #[test]
    fn hexadecimal_of_a_known_digest() {
        assert_eq!(hex(&Sha256::digest(b"abc"), 4), "ba7816bf");
    }

    #[test]
    fn an_unknown_fact_shows_its_reason() {
        assert_eq!(Component::or(None, "no such file").to_string(), "unavailable(no such file)");
        assert_eq!(Component::or(Some(String::new()), "x").to_string(), "unavailable(x)");
        assert_eq!(Component::value("4").to_string(), "4");
    }
}
