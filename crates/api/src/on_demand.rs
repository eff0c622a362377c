//! The section `[on_demand]` of `tidemark.toml`: the job that `/tidemark run` in a comment of a pull request starts.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de};

use crate::{Adapter, Average, Fold, NameId, ResourceId};

/// Placeholder for the benchmarks that a comment names.
const BENCHMARK: &str = "{benchmark}";

/// Job of the commands in comments. The file of the base branch defines it, so that a pull request cannot change it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnDemand {
    /// Repository of the images in the registry, for example `lab/bench`; the project by default. The tag of an image is the
    /// full hash of its commit.
    pub image: Option<ImageRepository>,
    /// UUID or slug of the spec.
    pub spec: Option<ResourceId>,
    /// UUID, slug or name of the testbed; the name of the spec by default.
    pub testbed: Option<NameId>,
    /// Entry point that replaces the entry point of the image.
    pub entrypoint: Option<Vec<String>>,
    /// Command and its arguments. A job starts it without a shell.
    pub command: Option<Vec<String>>,
    /// Arguments that are appended to the command if the comment names benchmarks, which replace `{benchmark}`.
    #[serde(default)]
    pub filter: Vec<String>,
    /// Environment variables by name.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Paths of files to read the results from; the standard output by default.
    #[serde(default)]
    pub file: Vec<String>,
    /// Adapter of the results.
    #[serde(default, deserialize_with = "adapter")]
    pub adapter: Option<Adapter>,
    /// Average that the server uses if the tool prints several.
    pub average: Option<Average>,
    /// How the iterations are combined into one.
    pub fold: Option<Fold>,
    /// Number of iterations.
    pub iter: Option<u32>,
    /// Maximum duration of all iterations together, in seconds.
    pub timeout: Option<u32>,
}

impl OnDemand {
    /// Returns the command, restricted to benchmarks if the comment names some. `None` if it does, and there is no filter.
    pub fn command_for(&self, benchmarks: Option<&str>) -> Option<Vec<String>> {
        let command = self.command.clone().unwrap_or_default();
        let Some(benchmarks) = benchmarks else { return Some(command) };
        let filter = self.filter.iter().map(|word| word.replace(BENCHMARK, benchmarks));
        (!self.filter.is_empty()).then(|| command.into_iter().chain(filter).collect())
    }
}

/// Name of an image without a tag and a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRepository(String);

impl ImageRepository {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ImageRepository {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        // Text after a colon and before a slash is the port of a host.
        let has_tag = name.rsplit_once(':').is_some_and(|(_, tag)| !tag.contains('/'));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:".contains(&byte);
        if name.is_empty() || has_tag || !name.bytes().all(is_plain) {
            return Err(de::Error::custom(
                "the image is the name of a repository without a tag and a digest; the tag is the hash of the commit",
            ));
        }
        Ok(Self(name))
    }
}

fn adapter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Adapter>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = Adapter::ALL.iter().find(|adapter| adapter.short() == name || adapter.as_str() == name);
    found.copied().map(Some).ok_or_else(|| {
        de::Error::custom(format!("there is no adapter `{name}`; docs/adapters.md lists all adapters"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_filter_restricts_the_command() {
        let plain = OnDemand { command: Some(words(&["bench"])), ..OnDemand::default() };
        assert_eq!(plain.command_for(None), Some(words(&["bench"])));
        assert_eq!(plain.command_for(Some("parse")), None);
        let filtered = OnDemand { filter: words(&["-k", "^{benchmark}$"]), ..plain };
        assert_eq!(filtered.command_for(None), Some(words(&["bench"])));
        assert_eq!(filtered.command_for(Some("a b; c")), Some(words(&["bench", "-k", "^a b; c$"])));
    }

    #[test]
    fn names_of_images_and_adapters() {
        let read = |value: Value| from_value::<OnDemand>(value);
        for image in ["lab", "lab/bench", "localhost:6610/lab/bench"] {
            assert_eq!(read(json!({ "image": image })).unwrap().image.unwrap().as_str(), image);
        }
        for image in ["", "lab:v1", "lab/bench:v1", "lab@sha256:0", "lab bench", "lab`x"] {
            assert!(read(json!({ "image": image })).is_err(), "{image}");
        }
        for adapter in ["criterion", "rust_criterion"] {
            assert_eq!(read(json!({ "adapter": adapter })).unwrap().adapter, Some(Adapter::RustCriterion));
        }
        assert!(read(json!({ "adapter": "nonsense" })).is_err());
        assert!(read(json!({ "cmd": [] })).is_err());
    }
}
