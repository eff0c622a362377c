//! Slugs: short identifiers of resources in URLs. The store checks whether a slug is available.

use serde::{Deserialize, Deserializer};
use uuid::Uuid;

use crate::scalar::{Invalid, text};

/// Maximum length of a slug in characters. A slug is ASCII, so this is also the length in bytes.
pub const MAX_LEN: usize = 64;

/// Pattern of a slug as an ECMAScript regular expression.
pub(crate) const PATTERN: &str = "^[a-z0-9]+(-[a-z0-9]+)*$";

/// Maximum length of a suffix in characters; the rest is ignored.
const SUFFIX_LEN: usize = 8;

text! {
    /// Short identifier of a resource in URLs: 1 to 64 lower-case ASCII letters and digits, joined by single dashes.
    Slug, shown, |text| {
        if !Slug::has_slug_format(&text) {
            return Err(FORMAT_RULE);
        }
        if Uuid::parse_str(&text).is_ok() {
            return Err(Invalid::new("a slug cannot have the form of a UUID"));
        }
        Ok(text)
    }, |object| object.min_length(Some(1)).max_length(Some(MAX_LEN)).pattern(Some(PATTERN))
}

const FORMAT_RULE: Invalid =
    Invalid::new("a slug is 1 to 64 lower-case ASCII letters and digits, joined by single dashes");

impl Slug {
    /// Derives a slug from a name.
    ///
    /// Returns `None` if no character of the name is left, if the result is too long, or if it has the form of a UUID. The slug
    /// is then the resource's UUID.
    pub fn derive(name: &str) -> Option<Self> {
        let ascii = deunicode::deunicode_with_tofu(name, "-");
        let mut slug = String::with_capacity(ascii.len());
        for character in ascii.chars() {
            if character.is_ascii_alphanumeric() {
                slug.push(character.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        slug.truncate(slug.trim_end_matches('-').len());
        slug.parse().ok()
    }

    /// Creates a slug from the resource's UUID, for a resource without another slug.
    pub fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid.to_string().into())
    }

    /// Parses a slug that this server assigned, which may have the form of a UUID.
    pub fn stored(text: String) -> Result<Self, Invalid> {
        if Self::has_slug_format(&text) { Ok(Self(text.into())) } else { Err(FORMAT_RULE) }
    }

    /// Whether a text has the form of a slug. The form of a UUID is allowed.
    pub fn has_slug_format(text: &str) -> bool {
        text.len() <= MAX_LEN
            && text.split('-').all(|part| {
                !part.is_empty()
                    && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            })
    }

    /// Appends a suffix of up to eight letters or digits to make the slug unique. Truncates the slug if needed.
    #[must_use]
    pub fn with_suffix(&self, suffix: &str) -> Self {
        let suffix: String = suffix
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|character| character.to_ascii_lowercase())
            .take(SUFFIX_LEN)
            .collect();
        if suffix.is_empty() {
            return self.clone();
        }
        let room = MAX_LEN - SUFFIX_LEN - 1;
        let stem = if self.0.len() > room { self.0[..room].trim_end_matches('-') } else { &self.0 };
        Self(format!("{stem}-{suffix}").into())
    }
}

/// Deserializes the slug of a response; for `#[serde(deserialize_with)]`.
pub(crate) fn stored<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Slug, D::Error> {
    Slug::stored(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scalar::tests::schema_accepts;

    fn slug(text: &str) -> Slug {
        text.parse().unwrap()
    }

    #[test]
    fn format() {
        for text in ["a", "0", "a-b", "a1-2b-c", &"x".repeat(64)] {
            assert!(text.parse::<Slug>().is_ok(), "{text}");
        }
        for text in ["", "-", "-a", "a-", "a--b", "A", "é", "a b", "a_b", "a\n", &"x".repeat(65)] {
            assert!(text.parse::<Slug>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_stored_slug_can_have_the_form_of_a_uuid() {
        for text in ["67e5504410b1426f9247bb680e5fe0c8", "67e55044-10b1-426f-9247-bb680e5fe0c8"] {
            assert!(text.parse::<Slug>().is_err(), "{text}");
            assert!(Slug::stored(text.to_owned()).is_ok(), "{text}");
        }
        assert!(Slug::stored("A".to_owned()).is_err());
        assert!(Slug::stored(Slug::from_uuid(Uuid::max()).to_string()).is_ok());
    }

    #[test]
    fn derived_from_names() {
        for (name, expected) in [
            ("Ada Lovelace", "ada-lovelace"),
            ("  Zażółć -- gęślą  ", "zazolc-gesla"),
            ("北京", "bei-jing"),
            ("Straße 7", "strasse-7"),
            ("C++ / Rust!", "c-rust"),
        ] {
            assert_eq!(Slug::derive(name), Some(slug(expected)), "{name}");
        }
        for name in ["", "---", "!?", "\u{10ffff}", "67e55044-10b1-426f-9247-bb680e5fe0c8", &"x".repeat(65)] {
            assert_eq!(Slug::derive(name), None, "{name}");
        }
    }

    #[test]
    fn suffixes() {
        assert_eq!(slug("ada").with_suffix("0a1b2c3d").as_str(), "ada-0a1b2c3d");
        assert_eq!(slug("ada").with_suffix("").as_str(), "ada");
        let long = slug(&"x".repeat(64)).with_suffix("0a1b2c3d");
        assert_eq!(long.as_str(), format!("{}-0a1b2c3d", "x".repeat(55)));
        // The cut is directly after a dash.
        let dashed = slug(&format!("{}-{}", "x".repeat(54), "y".repeat(9))).with_suffix("0a1b2c3d");
        assert_eq!(dashed.as_str(), format!("{}-0a1b2c3d", "x".repeat(54)));
    }

    #[test]
    fn the_schema_has_the_same_rule() {
        let accepts = schema_accepts::<Slug>();
        for text in ["a", "a-b", "", "-a", "a--b", "A", &"x".repeat(64), &"x".repeat(65)] {
            assert_eq!(accepts(text), text.parse::<Slug>().is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn derived_texts_are_slugs(name in any::<String>(), suffix in any::<String>()) {
            if let Some(derived) = Slug::derive(&name) {
                prop_assert_eq!(derived.as_str().parse(), Ok(derived.clone()));
                prop_assert_eq!(Slug::derive(derived.as_str()), Some(derived.clone()));
                let other = derived.with_suffix(&suffix);
                prop_assert_eq!(other.as_str().parse(), Ok(other.clone()));
            }
        }

        #[test]
        fn a_slug_with_a_suffix_is_a_slug(text in "[a-z0-9]{1,20}(-[a-z0-9]{1,12}){0,3}", suffix in "[0-9a-z]{8}") {
            let with_suffix = slug(&text).with_suffix(&suffix);
            prop_assert!(with_suffix.as_str().ends_with(&suffix));
            prop_assert_eq!(with_suffix.as_str().parse(), Ok(with_suffix.clone()));
        }
    }
}
