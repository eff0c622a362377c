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
pub(super) struct HostUrl(pub(super) Url);

impl<'de> Deserialize<'de> for HostUrl {
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
pub(super) struct CommandLine {
    pub(super) words: Vec<String>,
    pub(super) uses_shell: bool,
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CommandLineVisitor;

        impl<'de> Visitor<'de> for CommandLineVisitor {
            type Value = CommandLine;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text for the shell, or a list of a program and its arguments")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<CommandLine, E> {
                if line.trim().is_empty() {
                    return Err(E::custom("the command is empty; omit it, or give the command to run"));
                }
                Ok(CommandLine { words: vec![line.to_owned()], uses_shell: true })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CommandLine, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element::<String>()? {
                    words.push(word);
                }
                if words.is_empty() {
                    return Err(de::Error::custom(
                        "the command is empty; omit it, or give the command to run",
                    ));
                }
                Ok(CommandLine { words, uses_shell: false })
            }
        }

        deserializer.deserialize_any(CommandLineVisitor)
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
