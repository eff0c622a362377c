//! Branches, their heads and start points.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    BranchUuid, HeadUuid, Invalid, NameId, ProjBranchesSort, ProjectUuid, Search, Slug, Timestamp,
    scalar::text,
};

/// Maximum length of a branch name in bytes.
const NAME_MAX: usize = 256;

text! {
    /// Name of a branch: a valid git reference name, for example `main` or `feature/x`; at most 256 bytes.
    BranchName, shown, |text| {
        if is_reference(&text) && text.len() <= NAME_MAX {
            return Ok(text);
        }
        Err(Invalid::new(
            "a branch name is a valid git reference name, for example main or feature/x, of at most 256 bytes",
        ))
    }, |object| object.min_length(Some(1)).max_length(Some(NAME_MAX)).pattern(Some(
        r"^(?![/.])(?!.*(//|/\.|\.\.|@\{|\.lock/))(?!.*([/.]|\.lock)$)[^\u0000- \u007f~^:?*\[\\]+$",
    ))
}

/// Whether `text` is a valid git reference name; see `git help check-ref-format`.
fn is_reference(text: &str) -> bool {
    let forbidden = |character: char| {
        character.is_ascii_control() || matches!(character, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\')
    };
    !text.contains(forbidden)
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && text.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

text! {
    /// Hash of a git commit: 40 hexadecimal digits, stored in lower case.
    GitHash, shown, |text| {
        if text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(text.to_ascii_lowercase());
        }
        Err(Invalid::new("a git hash is 40 hexadecimal digits"))
    }, |object| object.min_length(Some(40)).max_length(Some(40)).pattern(Some("^[0-9A-Fa-f]{40}$"))
}

text! {
    /// Start of the hash of a git commit: 4 to 40 hexadecimal digits.
    GitHashPrefix, shown, |text| {
        if (4..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(text.to_ascii_lowercase());
        }
        Err(Invalid::new("the start of a git hash is 4 to 40 hexadecimal digits"))
    }, |object| object.min_length(Some(4)).max_length(Some(40)).pattern(Some("^[0-9A-Fa-f]{4,40}$"))
}

/// A named line of development, usually a git branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBranch)]
pub struct Branch {
    /// UUID of the branch.
    pub uuid: BranchUuid,
    /// UUID of the project that the branch belongs to.
    pub project: ProjectUuid,
    /// Name of the branch.
    pub name: BranchName,
    /// Slug of the branch.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// Requested head of the branch; the current head by default.
    pub head: Head,
    /// Time when the branch was created.
    pub created: Timestamp,
    /// Time when the branch was last modified.
    pub modified: Timestamp,
    /// Time when the branch was archived; null if it is not archived.
    pub archived: Option<Timestamp>,
}

/// A sequence of versions of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonHead)]
pub struct Head {
    /// UUID of the head.
    pub uuid: HeadUuid,
    /// Version that the head starts from; null if the head starts empty, or if the source was deleted.
    pub start_point: Option<StartPoint>,
    /// Version that the response is about; null if the response is about the whole head.
    pub version: Option<Version>,
    /// Time when the head was created.
    pub created: Timestamp,
    /// Time when another head replaced this head; null for the current head.
    pub replaced: Option<Timestamp>,
}

/// Version of another branch that a head starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonStartPoint)]
pub struct StartPoint {
    /// UUID of the source branch.
    pub branch: BranchUuid,
    /// UUID of the head of the source branch.
    pub head: HeadUuid,
    /// Last version that the head inherits.
    pub version: Version,
}

/// A position in the history of a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVersion)]
pub struct Version {
    /// Position, counted from 0.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub number: u32,
    /// Hash of the measured commit; null if unknown.
    pub hash: Option<GitHash>,
}

/// Default number of versions that a new head inherits from its start point.
pub const DEFAULT_MAX_VERSIONS: u32 = 255;

/// A branch to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewBranch)]
pub struct NewBranch {
    /// Name of the branch; unique within the project.
    pub name: BranchName,
    /// Slug of the branch; derived from the name if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Start point of the branch. Without it, the branch starts empty.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub start_point: Option<NewStartPoint>,
}

/// Start point of a new branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewStartPoint)]
pub struct NewStartPoint {
    /// UUID, slug or name of the source branch.
    pub branch: NameId,
    /// Hash of the commit to start from; the newest version if omitted or not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    /// Maximum number of versions to inherit, the newest; 255 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub max_versions: Option<u32>,
    /// Whether to copy the thresholds of the source branch; false by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clone_thresholds: Option<bool>,
}

/// Changes to a branch. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateBranch)]
pub struct BranchPatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<BranchName>,
    /// New slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Whether to archive the branch (`true`) or to restore it (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// New start point of the branch.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub start_point: Option<StartPointPatch>,
}

/// Start point of an existing branch. The branch gets a new head only if the start point changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateStartPoint)]
pub struct StartPointPatch {
    /// UUID, slug or name of the source branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<NameId>,
    /// Hash of the commit to start from; the newest version if omitted or not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    /// Maximum number of versions to inherit, the newest; 255 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub max_versions: Option<u32>,
    /// Whether to copy the thresholds of the source branch; false by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clone_thresholds: Option<bool>,
    /// Whether to create a new head even if the start point does not change; false by default. Without `branch`, the new head is
    /// empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<bool>,
}

/// Filter of a list of branches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BranchFilter {
    /// Only branches with exactly this name.
    #[param(inline)]
    pub name: Option<BranchName>,
    /// Only branches whose name or slug contains this text, or whose UUID starts with it (case-insensitive).
    #[param(inline)]
    pub search: Option<Search>,
    /// Whether to list archived branches instead of all others; false by default.
    pub archived: Option<bool>,
    /// Sort key; `name` by default.
    #[param(inline)]
    pub sort: Option<ProjBranchesSort>,
}

/// Head of a branch to return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HeadQuery {
    /// UUID of a current or replaced head of the branch; the current head by default.
    #[param(inline)]
    pub head: Option<HeadUuid>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scalar::tests::{check, schema_accepts};

    #[test]
    fn branch_names() {
        let bad = [
            "", "/", "/a", "a/", "a//b", "a..b", "a@{b", "@{", "a*", "a b", "a~b", "a^b", "a:b", "a?b",
            "a[b", "a\\b", "a\0b", "a\nb", "a\u{7f}", ".", "..", ".a", "a.", "a/.b", "a.lock", "a.lock/b",
            ".lock", "a/b.lock", " a", "a\n",
        ];
        check::<BranchName>(
            &[
                "main",
                "MAIN",
                "refs/heads/main",
                "a/b-c",
                "x#y",
                "ünïcode/北京",
                "a.b",
                "a./b",
                "a@b",
                "@",
                "a.locks",
                "lock",
                "\u{1f680}",
                &"x".repeat(256),
                &"é".repeat(128),
            ],
            &bad,
        );
        for text in [&"x".repeat(257), &"é".repeat(129)] {
            assert!(text.parse::<BranchName>().is_err(), "{text}");
        }
        let accepts = schema_accepts::<BranchName>();
        for text in bad {
            assert!(!accepts(text), "{text:?} should not fit the schema");
        }
    }

    #[test]
    fn hashes_are_stored_in_lower_case() {
        let hash = "0123456789ABCDEF0123456789abcdef01234567";
        check::<GitHash>(&[hash], &["", &hash[1..], &hash.replace('7', "g"), &format!("{hash}0")]);
        assert_eq!(hash.parse::<GitHash>().unwrap().as_str(), hash.to_lowercase());
    }

    #[test]
    fn the_start_of_a_hash_has_at_least_four_digits() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        check::<GitHashPrefix>(&["0Abc", hash], &["", "abc", "abcg", "ab c", &format!("{hash}0")]);
    }

    #[test]
    fn in_a_patch_null_is_absent() {
        let patch: BranchPatch = serde_json::from_str(
            r#"{"name":null,"slug":null,"archived":null,"start_point":{"branch":null,"max_versions":0},"x":1}"#,
        )
        .unwrap();
        let start_point = StartPointPatch { max_versions: Some(0), ..StartPointPatch::default() };
        assert_eq!(patch, BranchPatch { start_point: Some(start_point), ..BranchPatch::default() });
    }

    proptest! {
        #[test]
        fn type_and_schema_accept_the_same_texts(texts in prop::collection::vec("[ab/.@{~ékloc]{0,12}(\\.lock)?[/a]{0,2}", 8)) {
            let accepts = schema_accepts::<BranchName>();
            for text in texts {
                prop_assert_eq!(accepts(&text), text.parse::<BranchName>().is_ok(), "{:?}", text);
            }
        }
    }
}
