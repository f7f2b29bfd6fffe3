//! Which addresses may receive the token: the origin of the API and nothing
//! else. Pure text; it knows neither requests nor GitHub.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::http::Uri;

/// Scheme, host and port of an address: what may see the token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of an absolute `http` or `https` address, or `None`. An
    /// address with user information has none: a reader takes
    /// `https://api.github.com@elsewhere` for the wrong host too easily.
    pub(super) fn of(address: &str) -> Option<Self> {
        let uri: Uri = address.parse().ok()?;
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let authority = uri.authority()?;
        if authority.as_str().contains('@') {
            return None;
        }
        let host = authority.host().to_ascii_lowercase();
        if host.is_empty() {
            return None;
        }
        Some(Self { scheme, host, port: authority.port_u16().unwrap_or(usual) })
    }

    /// Whether the origin is this machine itself, which no proxy can reach.
    pub(super) fn is_loopback(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Whether nobody on the way can read what is sent there.
    pub(super) fn is_private(&self) -> bool {
        self.scheme == "https" || self.is_loopback()
    }

    /// The absolute address that a `Location` or `Link` value means, or `None`
    /// when it leads away from this origin or cannot be understood.
    pub(super) fn resolve(&self, target: &str) -> Option<String> {
        let absolute = if target.starts_with("//") {
            format!("{}:{target}", self.scheme)
        } else if target.starts_with('/') {
            format!("{}://{}:{}{target}", self.scheme, self.host, self.port)
        } else {
            target.to_owned()
        };
        (Self::of(&absolute)? == *self).then_some(absolute)
    }
}

/// The target of `rel="next"` in the value of a `Link` header. Targets stand in
/// angle brackets, so commas and semicolons inside of them separate nothing.
pub(super) fn next_link(value: &str) -> Option<&str> {
    let mut rest = value;
    loop {
        let (_, after) = rest.split_once('<')?;
        let (target, after) = after.split_once('>')?;
        let (parameters, following) = match after.find('<') {
            Some(at) => after.split_at(at),
            None => (after, ""),
        };
        let is_next = parameters.split([';', ',']).any(|parameter| {
            parameter.split_once('=').is_some_and(|(name, relations)| {
                name.trim().eq_ignore_ascii_case("rel")
                    && relations.trim().trim_matches('"').split_whitespace().any(|r| r == "next")
            })
        });
        if is_next {
            return Some(target);
        }
        rest = following;
    }
}

/// Characters that are encoded in a query value: all but the unreserved ones.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `text` as it may stand in a query value.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Origin, encoded, next_link};

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin = Origin::of("https://API.github.com").expect("an origin");
        assert_eq!(Origin::of("HTTPS://api.github.com:443/repos?x=1"), Some(origin.clone()));
        assert_ne!(Origin::of("http://api.github.com"), Some(origin.clone()));
        assert_ne!(Origin::of("https://api.github.com:8443"), Some(origin));
        for strange in [
            "",
            "api.github.com",
            "/repos",
            "ftp://api.github.com",
            "https://api.github.com@x.test/",
        ] {
            assert_eq!(Origin::of(strange), None, "{strange}");
        }
    }

    #[test]
    fn only_the_own_origin_resolves() {
        let origin = Origin::of("https://git.test/api/v3").expect("an origin");
        assert_eq!(
            origin.resolve("/api/v3/x?page=2").as_deref(),
            Some("https://git.test:443/api/v3/x?page=2")
        );
        assert_eq!(origin.resolve("https://git.test/y").as_deref(), Some("https://git.test/y"));
        for foreign in [
            "https://other.test/y",
            "//other.test/y",
            "http://git.test/y",
            "https://git.test.other.test/",
            "https://git.test@other.test/",
            "y",
            "",
        ] {
            assert_eq!(origin.resolve(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn loopback_is_known_by_name_and_by_address() {
        for (address, expected) in [
            ("http://127.0.0.1:80", true),
            ("http://[::1]:8080", true),
            ("http://localhost", true),
            ("http://localhost.test", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Origin::of(address).map(|o| o.is_loopback()), Some(expected), "{address}");
        }
    }

    #[test]
    fn only_encrypted_and_local_addresses_are_private() {
        for (address, expected) in [
            ("https://api.github.com", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]", true),
            ("http://LOCALHOST:3000/api/v3", true),
            ("http://api.github.com", false),
            ("http://10.0.0.1", false),
            ("http://localhost.test", false),
            ("http://[::ffff:10.0.0.1]", false),
            ("http://0.0.0.0", false),
        ] {
            assert_eq!(Origin::of(address).map(|o| o.is_private()), Some(expected), "{address}");
        }
    }

    #[test]
    fn next_is_found_wherever_it_stands() {
        let first = r#"<https://a.test/c?per_page=100&page=2>; rel="next", <https://a.test/c?page=9>; rel="last""#;
        assert_eq!(next_link(first), Some("https://a.test/c?per_page=100&page=2"));
        let middle = r#"<https://a.test/c?q=a,b;c>; rel="prev", <https://a.test/3>; title="x"; rel="next last""#;
        assert_eq!(next_link(middle), Some("https://a.test/3"));
        for none in ["", "<", "<x", r#"<https://a.test/1>; rel="prev""#, r#"<x>; title="next""#] {
            assert_eq!(next_link(none), None, "{none}");
        }
    }

    #[test]
    fn a_branch_name_cannot_leave_its_query_value() {
        assert_eq!(encoded("fix/a b&state=all#é"), "fix%2Fa%20b%26state%3Dall%23%C3%A9");
    }
}
