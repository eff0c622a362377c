//! Branches, their heads, and where a head starts from.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    BranchUuid, HeadUuid, Invalid, NameId, ProjBranchesSort, ProjectUuid, Search, Slug, Timestamp,
    scalar::text,
};

/// The longest name of a branch, in bytes.
const NAME_MAX: usize = 256;

text! {
    /// The name of a branch: a git reference or the end of one, such as `main` or `feature/x`, of at most 256
    /// bytes.
    BranchName, shown, |text| {
        if is_reference(&text) && text.len() <= NAME_MAX {
            return Ok(text);
        }
        Err(Invalid::new(
            "a branch name is what git takes as one, such as main or feature/x, and has at most 256 bytes",
        ))
    }, |object| object.min_length(Some(1)).max_length(Some(NAME_MAX)).pattern(Some(
        r"^(?![/.])(?!.*(//|/\.|\.\.|@\{|\.lock/))(?!.*([/.]|\.lock)$)[^\u0000- \u007f~^:?*\[\\]+$",
    ))
}

/// Whether git takes a text as the name of a reference; see `git help check-ref-format`.
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
    /// The hash of a git commit: 40 hexadecimal digits, kept in lower case.
    GitHash, shown, |text| {
        if text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(text.to_ascii_lowercase());
        }
        Err(Invalid::new("a git hash is 40 hexadecimal digits"))
    }, |object| object.min_length(Some(40)).max_length(Some(40)).pattern(Some("^[0-9A-Fa-f]{40}$"))
}

/// A branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonBranch)]
pub struct Branch {
    /// Its identifier.
    pub uuid: BranchUuid,
    /// The project it belongs to.
    pub project: ProjectUuid,
    /// Its name.
    pub name: BranchName,
    /// Its slug.
    #[serde(deserialize_with = "crate::slug::stored")]
    pub slug: Slug,
    /// Its head: the current one, unless another was asked for.
    pub head: Head,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When it was archived; null while it is in use.
    pub archived: Option<Timestamp>,
}

/// A head of a branch: one line of versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonHead)]
pub struct Head {
    /// Its identifier.
    pub uuid: HeadUuid,
    /// Where it starts from; null when it starts empty, or when what it started from is gone.
    pub start_point: Option<StartPoint>,
    /// The version in question; null where the head as a whole is meant.
    pub version: Option<Version>,
    /// When it was created.
    pub created: Timestamp,
    /// When another took its place; null for the current head.
    pub replaced: Option<Timestamp>,
}

/// The version of another branch that a head starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonStartPoint)]
pub struct StartPoint {
    /// The branch.
    pub branch: BranchUuid,
    /// The head of that branch.
    pub head: HeadUuid,
    /// The last version taken over from there.
    pub version: Version,
}

/// A version: one place in the history of a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonVersion)]
pub struct Version {
    /// Its place, counted from 0.
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub number: u32,
    /// The commit that was measured, if it was told.
    pub hash: Option<GitHash>,
}

/// How many versions a new head takes over from its start point when the request does not say.
pub const DEFAULT_MAX_VERSIONS: u32 = 255;

/// A branch to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewBranch)]
pub struct NewBranch {
    /// Its name, which no other branch of the project can have.
    pub name: BranchName,
    /// Its slug; derived from the name when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Where to start from; empty when not given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub start_point: Option<NewStartPoint>,
}

/// Where a new branch starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonNewStartPoint)]
pub struct NewStartPoint {
    /// The UUID, slug or name of the branch to start from.
    pub branch: NameId,
    /// The commit to start from; the newest version when not given or not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    /// How many versions to take over, the newest ones; 255 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub max_versions: Option<u32>,
    /// Whether to take over the thresholds too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clone_thresholds: Option<bool>,
}

/// What to change of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateBranch)]
pub struct BranchPatch {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<BranchName>,
    /// The new slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Whether the branch is to be archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Where the branch is to start from.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::object::optional")]
    pub start_point: Option<StartPointPatch>,
}

/// Where an existing branch is to start from. It gets a new head only if that changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JsonUpdateStartPoint)]
pub struct StartPointPatch {
    /// The UUID, slug or name of the branch to start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<NameId>,
    /// The commit to start from; the newest version when not given or not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    /// How many versions to take over, the newest ones; 255 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 4_294_967_295_u32, format = "uint32")]
    pub max_versions: Option<u32>,
    /// Whether to take over the thresholds too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clone_thresholds: Option<bool>,
    /// Whether to make a new head in any case, an empty one when no branch is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<bool>,
}

/// Which branches to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BranchFilter {
    /// Only those with exactly this name.
    #[param(inline)]
    pub name: Option<BranchName>,
    /// Only those with this text in the name, slug or UUID.
    #[param(inline)]
    pub search: Option<Search>,
    /// The archived ones instead of the others.
    pub archived: Option<bool>,
    /// What to order by.
    #[param(inline)]
    pub sort: Option<ProjBranchesSort>,
}

/// Which head of a branch to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HeadQuery {
    /// A head of the branch, current or replaced; the current one when not given.
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
    fn hashes_are_kept_in_lower_case() {
        let hash = "0123456789ABCDEF0123456789abcdef01234567";
        check::<GitHash>(&[hash], &["", &hash[1..], &hash.replace('7', "g"), &format!("{hash}0")]);
        assert_eq!(hash.parse::<GitHash>().unwrap().as_str(), hash.to_lowercase());
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
        fn type_and_schema_agree(texts in prop::collection::vec("[ab/.@{~ékloc]{0,12}(\\.lock)?[/a]{0,2}", 8)) {
            let accepts = schema_accepts::<BranchName>();
            for text in texts {
                prop_assert_eq!(accepts(&text), text.parse::<BranchName>().is_ok(), "{:?}", text);
            }
        }
    }
}
