//! One line of the protocol as a verb and its key=value fields, with percent-encoding. It must not
//! know any message.

use std::str::FromStr;

use super::MAX_LINE;

/// The prefix of the keys that carry settings.
const SETTING: &str = "set.";

/// The beginning of a line with everything unprintable escaped; it never fails and is short.
pub(super) fn excerpt(line: &[u8]) -> String {
    const SHOWN: usize = 80;
    let end = line.len() - usize::from(line.last() == Some(&b'\n'));
    let shown = &line[..end.min(SHOWN)];
    let mut text = shown.escape_ascii().to_string();
    if end > SHOWN {
        text.push_str("...");
    }
    text
}

/// Bytes that stand for themselves.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'%' | b'=' | b',')
}

fn escape_into(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

fn unescape(value: &str) -> Result<String, String> {
    let bad = || format!("`{}` is not percent-encoded", excerpt(value.as_bytes()));
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = rest.next().and_then(hex).ok_or_else(bad)?;
            let low = rest.next().and_then(hex).ok_or_else(bad)?;
            bytes.push(high << 4 | low);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("`{}` is not UTF-8", excerpt(value.as_bytes())))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Writes one line.
pub(super) struct Builder(String);

impl Builder {
    pub(super) fn new(verb: &str) -> Builder {
        Builder(verb.to_owned())
    }

    fn key(&mut self, key: &str) {
        self.0.push(' ');
        self.0.push_str(key);
        self.0.push('=');
    }

    pub(super) fn number(mut self, key: &str, value: u64) -> Builder {
        self.key(key);
        self.0.push_str(&value.to_string());
        self
    }

    pub(super) fn text(mut self, key: &str, value: &str) -> Builder {
        self.key(key);
        escape_into(&mut self.0, value);
        self
    }

    /// An empty list of texts is an absent key, because an empty value is a list of one empty text.
    pub(super) fn texts(mut self, key: &str, values: &[String]) -> Builder {
        if values.is_empty() {
            return self;
        }
        self.key(key);
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            escape_into(&mut self.0, value);
        }
        self
    }

    pub(super) fn numbers(mut self, key: &str, values: &[u64]) -> Builder {
        self.key(key);
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            self.0.push_str(&value.to_string());
        }
        self
    }

    pub(super) fn reading(self, key: &str, value: &Result<u64, String>) -> Builder {
        match value {
            Ok(value) => self.number(key, *value),
            Err(reason) => self.text(&format!("{key}_unavailable"), reason),
        }
    }

    pub(super) fn setting(mut self, key: &str, value: &str) -> Builder {
        self.0.push(' ');
        self.0.push_str(SETTING);
        escape_into(&mut self.0, key);
        self.0.push('=');
        escape_into(&mut self.0, value);
        self
    }

    pub(super) fn end(mut self) -> String {
        self.0.push('\n');
        self.0
    }
}

/// The verb and the still encoded fields of one line; of a repeated key the first counts.
pub(super) struct Fields<'l> {
    verb: &'l str,
    pairs: Vec<(&'l str, &'l str)>,
}

impl<'l> Fields<'l> {
    pub(super) fn parse(line: &'l [u8]) -> Result<Fields<'l>, String> {
        if line.len() > MAX_LINE {
            return Err(format!("more than {MAX_LINE} bytes"));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if let Some(byte) = line.iter().find(|byte| !byte.is_ascii_graphic() && **byte != b' ') {
            return Err(format!("byte 0x{byte:02x} is not printable ASCII"));
        }
        let line = std::str::from_utf8(line).map_err(|_| "not ASCII".to_owned())?;
        let mut tokens = line.split(' ').filter(|token| !token.is_empty());
        let verb = tokens.next().ok_or("no verb")?;
        let pairs = tokens
            .map(|token| {
                token
                    .split_once('=')
                    .ok_or_else(|| format!("`{}` is not key=value", excerpt(token.as_bytes())))
            })
            .collect::<Result<_, _>>()?;
        Ok(Fields { verb, pairs })
    }

    pub(super) fn verb(&self) -> &'l str {
        self.verb
    }

    fn raw(&self, key: &str) -> Option<&'l str> {
        self.pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn required(&self, key: &str) -> Result<&'l str, String> {
        self.raw(key).ok_or_else(|| format!("`{key}` is missing"))
    }

    pub(super) fn text(&self, key: &str) -> Result<String, String> {
        unescape(self.required(key)?)
    }

    /// An absent key is an empty list.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        self.raw(key).map_or(Ok(Vec::new()), |value| value.split(',').map(unescape).collect())
    }

    pub(super) fn number<N: FromStr>(&self, key: &str) -> Result<N, String> {
        number(key, self.required(key)?)
    }

    pub(super) fn optional_number<N: FromStr>(&self, key: &str) -> Result<Option<N>, String> {
        self.raw(key).map(|value| number(key, value)).transpose()
    }

    pub(super) fn numbers(&self, key: &str) -> Result<Vec<u64>, String> {
        match self.required(key)? {
            "" => Ok(Vec::new()),
            value => value.split(',').map(|value| number(key, value)).collect(),
        }
    }

    /// A reading that is absent altogether is one that the peer does not take.
    pub(super) fn reading(&self, key: &str) -> Result<Result<u64, String>, String> {
        if let Some(value) = self.optional_number(key)? {
            return Ok(Ok(value));
        }
        match self.raw(&format!("{key}_unavailable")) {
            Some(reason) => Ok(Err(unescape(reason)?)),
            None => Ok(Err("not reported by the worker".to_owned())),
        }
    }

    pub(super) fn settings(&self) -> Result<Vec<(String, String)>, String> {
        let settings = self
            .pairs
            .iter()
            .filter_map(|(key, value)| key.strip_prefix(SETTING).map(|key| (key, value)));
        settings.map(|(key, value)| Ok((unescape(key)?, unescape(value)?))).collect()
    }
}

fn number<N: FromStr>(key: &str, value: &str) -> Result<N, String> {
    // `parse` would take a sign, of which the protocol knows none.
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = if digits { value.parse().ok() } else { None };
    parsed.ok_or_else(|| {
        format!("`{key}` is not a number in range but `{}`", excerpt(value.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_structures_a_line_is_escaped() {
        let mut out = String::new();
        escape_into(&mut out, "a b%c=d,e\nf\u{7f}é~!/#");
        assert_eq!(out, "a%20b%25c%3Dd%2Ce%0Af%7F%C3%A9~!/#");
        assert_eq!(unescape(&out).as_deref(), Ok("a b%c=d,e\nf\u{7f}é~!/#"));
    }

    #[test]
    fn broken_escapes_are_errors() {
        for text in ["%", "%4", "%zz", "%C3", "%+1"] {
            assert!(unescape(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_have_no_sign() {
        assert!(number::<u64>("iters", "+1").is_err());
        assert!(number::<u64>("iters", "").is_err());
        assert!(number::<u64>("iters", "18446744073709551616").is_err());
        assert_eq!(number::<u64>("iters", "18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn an_excerpt_is_printable_and_short() {
        assert_eq!(excerpt(b"a\x00\xff\n"), "a\\x00\\xff");
        assert_eq!(excerpt(&[b'x'; 200]).len(), 83);
    }
}
