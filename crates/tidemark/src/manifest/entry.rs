//! Types of values that only `tidemark.toml` has.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};
use tidemark_api::{Boundary, ModelTest, NewModel, SampleSize, Url, Window, measure};
use tidemark_stats::{Invalid, Worse};

/// Address of a server, without a password.
#[derive(Debug)]
pub(super) struct Address(pub(super) Url);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let host = Url::deserialize(deserializer)?;
        let authority = host.as_str().split("://").nth(1).and_then(|rest| rest.split('/').next());
        if authority.is_some_and(|authority| authority.contains('@')) {
            return Err(de::Error::custom(
                "the address of the server must not contain a name or password, because everyone with \
                 access to the repository can read it",
            ));
        }
        Ok(Self(host))
    }
}

/// A command: a text for the shell, or a list of a program and its arguments.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) words: Vec<String>,
    pub(super) is_line: bool,
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LineVisitor;

        impl<'de> Visitor<'de> for LineVisitor {
            type Value = Line;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text for the shell, or a list of a program and its arguments")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<Line, E> {
                if line.trim().is_empty() {
                    return Err(E::custom("the command is empty; omit it, or give the command to run"));
                }
                Ok(Line { words: vec![line.to_owned()], is_line: true })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Line, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element::<String>()? {
                    words.push(word);
                }
                if words.is_empty() {
                    return Err(de::Error::custom(
                        "the command is empty; omit it, or give the command to run",
                    ));
                }
                Ok(Line { words, is_line: false })
            }
        }

        deserializer.deserialize_any(LineVisitor)
    }
}

/// Threshold of a measure.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Threshold {
    test: ModelTest,
    min_sample_size: Option<SampleSize>,
    max_sample_size: Option<SampleSize>,
    window: Option<Window>,
    lower_boundary: Option<Boundary>,
    upper_boundary: Option<Boundary>,
}

impl Threshold {
    /// Returns the model for a measure, if it is valid.
    pub(super) fn model(self, measure: &str) -> Result<NewModel, Invalid> {
        let Self { test, min_sample_size, max_sample_size, window, lower_boundary, upper_boundary } = self;
        let model =
            NewModel { test, min_sample_size, max_sample_size, window, lower_boundary, upper_boundary };
        let worse = measure::built_in(measure).map_or(Worse::Unknown, |measure| measure.worse);
        model.complete(worse)?;
        Ok(model)
    }
}
