//! Values as people write them: shares as fractions or per cent, times and words
//! in files. It knows no setting.

use std::fmt;
use std::time::Duration;

use nbench_engine::{Batching, IntervalMethod};
use serde::{Deserialize, Deserializer, de};

use crate::parse_duration;

/// Parses a share: a fraction such as `0.05`, or a percentage with its sign, such as `5%`.
///
/// # Errors
/// A fragment that says what is wrong, with what may have been meant.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share = number_or_percent(text)?;
    if (0.0..1.0).contains(&share) {
        return Ok(share);
    }
    let bare = text.trim();
    let meant = if share > 1.0 && share < 100.0 && !bare.ends_with('%') {
        format!("did you mean `{bare}%`?")
    } else {
        "write 1% or 0.01 for one percent".to_owned()
    };
    Err(format!("`{text}` must be at least 0 and below 1 ({meant})"))
}

/// A share of any size: ranges belong to settings.
pub(crate) fn number_or_percent(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let value: f64 = number.trim().parse().map_err(|_| {
        format!("`{text}` is neither a fraction such as 0.05 nor a percentage such as 5%")
    })?;
    Ok(value / scale)
}

/// A share in a file: a number, or a text with `%`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Share(f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Share;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fraction such as 0.05 or \"5%\"")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Share, E> {
                Ok(Share(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Share, E> {
                Ok(Share(value as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
                number_or_percent(text).map(Share).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

pub(crate) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Share::deserialize(deserializer).map(|share| Some(share.0))
}

pub(crate) fn shares<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<f64>>, D::Error> {
    let shares = Vec::<Share>::deserialize(deserializer)?;
    Ok(Some(shares.into_iter().map(|share| share.0).collect()))
}

/// A value in a file that is written as a text and read by `parse`.
fn parsed<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expecting: &'static str,
    parse: fn(&str) -> Result<T, String>,
) -> Result<Option<T>, D::Error> {
    struct Visitor<T>(&'static str, fn(&str) -> Result<T, String>);
    impl<T> de::Visitor<'_> for Visitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            (self.1)(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_any(Visitor(expecting, parse)).map(Some)
}

pub(crate) fn time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    let expecting = "a time with its unit such as \"250us\", \"1ms\" or \"2s\"";
    parsed(deserializer, expecting, parse_duration)
}

/// One of the words that a setting knows, with what it stands for.
fn word<T: Copy>(text: &str, words: [(&str, T); 2]) -> Result<T, String> {
    let [(one, _), (other, _)] = words;
    let known = words.into_iter().find(|(word, _)| *word == text);
    known.map(|(_, value)| value).ok_or_else(|| format!("`{text}` must be `{one}` or `{other}`"))
}

/// How iteration counts of several subjects relate: `shared` or `equal-time`.
///
/// # Errors
/// A fragment that lists the words.
pub fn parse_batching(text: &str) -> Result<Batching, String> {
    word(text, [("shared", Batching::Shared), ("equal-time", Batching::EqualTime)])
}

/// Method of an interval: `signed-rank` or `block-bootstrap`.
///
/// # Errors
/// A fragment that lists the words.
pub fn parse_interval(text: &str) -> Result<IntervalMethod, String> {
    let bootstrap = IntervalMethod::BlockBootstrap;
    word(text, [("signed-rank", IntervalMethod::SignedRank), ("block-bootstrap", bootstrap)])
}

pub(crate) fn batching<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Batching>, D::Error> {
    parsed(d, "\"shared\" or \"equal-time\"", parse_batching)
}

pub(crate) fn interval<'de, D: Deserializer<'de>>(
    d: D,
) -> Result<Option<IntervalMethod>, D::Error> {
    parsed(d, "\"signed-rank\" or \"block-bootstrap\"", parse_interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_fractions_or_percentages() {
        for (text, share) in
            [("1%", 0.01), ("0.02", 0.02), (" 5 % ", 0.05), ("0", 0.0), (".5", 0.5)]
        {
            assert_eq!(parse_share(text), Ok(share), "{text}");
        }
        assert!(parse_share("5").unwrap_err().contains("did you mean `5%`?"));
        for text in ["100%", "1", "-1%", "nan", "inf", "1e9"] {
            assert!(parse_share(text).unwrap_err().contains("below 1"), "{text}");
        }
        for text in ["", "%", "x", "5 percent", "0,5"] {
            assert!(parse_share(text).unwrap_err().contains("percentage"), "{text}");
        }
    }
}
