//! The identity of a benchmark as its author writes it. It must not know groups or duplicates.

use std::fmt::Display;

/// A name of a benchmark, group or case: a text, or a name and a parameter as `("parse", 1024)`,
/// which reads `parse/1024`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id(String);

impl Id {
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl From<&str> for Id {
    fn from(name: &str) -> Id {
        Id(name.to_owned())
    }
}

impl From<&String> for Id {
    fn from(name: &String) -> Id {
        Id(name.clone())
    }
}

impl From<String> for Id {
    fn from(name: String) -> Id {
        Id(name)
    }
}

impl<N: Display, P: Display> From<(N, P)> for Id {
    fn from((name, parameter): (N, P)) -> Id {
        Id(format!("{name}/{parameter}"))
    }
}
