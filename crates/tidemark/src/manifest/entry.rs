//! Types of values that only `tidemark.toml` has.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor},
};
use tidemark_adapters::Description;
use tidemark_api::{Adapter, Boundary, MeasureDirection, ModelTest, NewModel, SampleSize, Url, Window};
use tidemark_stats::Invalid;
use toml::Spanned;

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

/// The setting `adapter`: the name of an adapter, or the tables `[adapter.NAME]`, which describe formats.
#[derive(Debug)]
pub(super) enum AdapterEntry {
    Name(Adapter),
    Descriptions(BTreeMap<String, Spanned<Description>>),
}

impl AdapterEntry {
    /// Returns the name of the adapter of runs.
    pub(super) fn name(&self) -> Option<&'static str> {
        match self {
            Self::Name(adapter) => Some(adapter.short()),
            Self::Descriptions(_) => None,
        }
    }

    /// Returns the described formats by name.
    pub(super) fn descriptions(&self) -> Vec<(&str, &Spanned<Description>)> {
        match self {
            Self::Name(_) => Vec::new(),
            Self::Descriptions(formats) => {
                formats.iter().map(|(name, description)| (name.as_str(), description)).collect()
            }
        }
    }
}

impl<'de> Deserialize<'de> for AdapterEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AdapterVisitor;

        impl<'de> Visitor<'de> for AdapterVisitor {
            type Value = AdapterEntry;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter
                    .write_str("the name of an adapter, or tables `[adapter.NAME]` that describe formats")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<AdapterEntry, E> {
                let named = |adapter: &&Adapter| adapter.short() == name || adapter.as_str() == name;
                let adapter = Adapter::ALL.iter().find(named);
                adapter.copied().map(AdapterEntry::Name).ok_or_else(|| {
                    E::custom(format!(
                        "there is no adapter `{name}`; docs/adapters.md lists all, and a table `[adapter.{name}]` \
                         would describe one"
                    ))
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut tables: A) -> Result<AdapterEntry, A::Error> {
                let mut formats = BTreeMap::new();
                while let Some(name) = tables.next_key::<String>()? {
                    let known = |adapter: &Adapter| adapter.short() == name || adapter.as_str() == name;
                    if Adapter::ALL.iter().any(known) {
                        return Err(de::Error::custom(format!(
                            "`{name}` is the name of an adapter that exists; choose another name"
                        )));
                    }
                    formats.insert(name, tables.next_value()?);
                }
                Ok(AdapterEntry::Descriptions(formats))
            }
        }

        deserializer.deserialize_any(AdapterVisitor)
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
        model.complete(MeasureDirection::worse(measure, None))?;
        Ok(model)
    }
}
