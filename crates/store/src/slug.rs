//! Unused slugs: derived from a name, with a suffix if the plain slug is taken.

use tidemark_api::slug::Slug;
use uuid::Uuid;

use crate::{Result, WriteContext};

const BASE_36: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Returns the slug of a new resource: `wanted` or a slug derived from the name, with a suffix if it is taken. `taken`
/// returns whether a slug is in use.
pub(crate) fn unused(
    context: &WriteContext,
    uuid: Uuid,
    wanted: Option<&Slug>,
    name: &str,
    mut taken: impl FnMut(&Slug) -> Result<bool>,
) -> Result<Slug> {
    let stem = wanted.cloned().or_else(|| Slug::derive(name)).unwrap_or_else(|| Slug::from_uuid(uuid));
    let mut slug = stem.clone();
    // A suffix has 36^8 values: a second iteration is already unlikely.
    while taken(&slug)? {
        slug = with_random_suffix(context, &stem);
    }
    Ok(slug)
}

/// Returns the slug with a random suffix.
pub(crate) fn with_random_suffix(context: &WriteContext, slug: &Slug) -> Slug {
    slug.with_suffix(&context.random_text(BASE_36, 8))
}
