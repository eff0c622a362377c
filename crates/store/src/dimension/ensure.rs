//! Lookup and creation of the items that a report names.

use std::collections::{BTreeMap, HashMap, HashSet};

use tidemark_api::{id::NameId, slug::Slug, time::Timestamp};
use uuid::Uuid;

use super::{Dimension, NewItem, count};
use crate::{Error, Lock, ProjectId, Result, Tx, WriteContext, columns::columns, slug};

/// Maximum number of rounds when concurrent transactions change the same names.
const MAX_ROUNDS: usize = 8;

/// An item that a report names, and its fields if it has to be created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemReference<'a, F> {
    /// Reference, if the item is referred to by more than its name.
    pub(crate) reference: Option<&'a NameId>,
    /// Name of a new item.
    pub(crate) name: &'a str,
    /// Slug of a new item, if it is not derived from the name.
    pub(crate) slug: Option<&'a str>,
    /// Other fields of a new item.
    pub(crate) fields: F,
}

/// Returns the primary keys of all named items, in the same order. Creates missing items and restores archived
/// ones. Concurrent transactions that create the same item get the same key. The number of statements does not grow
/// with the number of items.
pub(crate) fn ensure<D: Dimension>(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    wanted: &[ItemReference<'_, D::Fields<'_>>],
) -> Result<Vec<i64>> {
    // SQLite has only one writer, so rows cannot change after they are read.
    let (mut locked, mut made, mut unarchived) = (!tx.is_postgres(), 0, 0);
    let mut known = existing::<D>(tx, project, wanted)?;
    for _ in 0..MAX_ROUNDS {
        let mut missing: BTreeMap<&str, ItemReference<'_, D::Fields<'_>>> = BTreeMap::new();
        let mut keys = Vec::with_capacity(wanted.len());
        for one in wanted {
            let found = one.reference.and_then(|reference| known.find(reference));
            match found.or_else(|| known.names.get(one.name).copied()) {
                Some(key) => keys.push(key),
                None if one.reference.is_some_and(|reference| reference.uuid().is_some()) => {
                    return Err(Error::NotFound(D::TABLE));
                }
                None => {
                    missing.insert(one.name, *one);
                }
            }
        }
        let archived: Vec<i64> = keys.iter().filter(|key| known.archived.contains(key)).copied().collect();
        if missing.is_empty() && archived.is_empty() {
            if made + unarchived > 0 {
                count::<D>(tx, project, made + unarchived, -unarchived)?;
            }
            return Ok(keys);
        }
        let mut stale = !locked || !archived.is_empty();
        if locked {
            unarchived += unarchive::<D>(tx, &archived, context.now)?;
            let (new, all) = insert::<D>(tx, context, project, missing, &mut known)?;
            made += new;
            stale |= !all;
        } else {
            tx.lock(Lock::Project(project.get()))?;
            locked = true;
        }
        if stale {
            known = existing::<D>(tx, project, wanted)?;
        }
    }
    Err(Error::Busy("others kept changing the same names".into()))
}

fn existing<D: Dimension>(
    tx: &mut Tx<'_>,
    project: ProjectId,
    wanted: &[ItemReference<'_, D::Fields<'_>>],
) -> Result<ExistingItems> {
    let references = || wanted.iter().filter_map(|one| one.reference);
    let uuids: Vec<Uuid> = references().filter_map(NameId::uuid).collect();
    let texts = || references().map(NameId::as_str);
    // Search only texts with the form of a slug in the slugs; most names do not have it.
    let slugs: Vec<&str> = texts().filter(|text| Slug::has_slug_format(text)).collect();
    // The text of a reference is searched as a name, too; add the names that differ from their reference.
    let named = wanted.iter().filter(|one| one.reference.is_none_or(|other| other.as_str() != one.name));
    let names: Vec<&str> = texts().chain(named.map(|one| one.name)).collect();
    let (table, mut known) = (D::TABLE, ExistingItems::default());
    let rows: Vec<ExistingItem> = tx.fetch_all(
        // `union all` as in `resolve`; the plus selects the index on the UUID.
        &format!(
            "select {{columns}} from {table} where id in (
                 select id from {table} where +project_id = $1 and uuid in {{uuids $2}}
                 union all select id from {table} where project_id = $1 and slug in {{texts $3}}
                 union all select id from {table} where project_id = $1 and name in {{texts $4}})"
        ),
        &[&project, &uuids.as_slice(), &slugs.as_slice(), &names.as_slice()],
    )?;
    for ExistingItem { id, uuid, slug, name, is_archived } in rows {
        known.uuids.insert(uuid, id);
        known.slugs.insert(slug, id);
        known.names.insert(name, id);
        if is_archived {
            known.archived.insert(id);
        }
    }
    Ok(known)
}

/// Inserts the missing items and adds them to `known`. Returns how many were inserted, and whether all were.
fn insert<D: Dimension>(
    tx: &mut Tx<'_>,
    context: &WriteContext,
    project: ProjectId,
    missing: BTreeMap<&str, ItemReference<'_, D::Fields<'_>>>,
    known: &mut ExistingItems,
) -> Result<(i64, bool)> {
    if missing.is_empty() {
        return Ok((0, true));
    }
    let mut new: Vec<(Uuid, ItemReference<'_, D::Fields<'_>>, Slug)> = missing
        .into_values()
        .map(|one| {
            let uuid = context.uuid();
            let given = one.slug.map(str::to_owned).and_then(|slug| Slug::stored(slug).ok());
            let slug = given.or_else(|| Slug::derive(one.name)).unwrap_or_else(|| Slug::from_uuid(uuid));
            (uuid, one, slug)
        })
        .collect();
    let slugs: Vec<&str> = new.iter().map(|(_, _, slug)| slug.as_str()).collect();
    let taken: HashSet<String> = tx
        .fetch_all(
            &format!("select slug from {} where project_id = $1 and slug in {{texts $2}}", D::TABLE),
            &[&project, &slugs.as_slice()],
        )?
        .into_iter()
        .collect();
    let is_slug = |one: &ItemReference<'_, D::Fields<'_>>, slug: &Slug| {
        one.reference.is_some_and(|reference| reference.as_str() == slug.as_str())
    };
    new.sort_by_key(|(_, one, slug)| is_slug(one, slug));
    let mut given: HashSet<Slug> = HashSet::new();
    new.retain_mut(|(_, one, slug)| {
        if taken.contains(slug.as_str()) {
            *slug = slug::with_random_suffix(context, slug);
            return true;
        }
        if given.insert(slug.clone()) {
            return true;
        }
        // A reference that equals the slug of another new item means the same item; the next round finds it by
        // slug.
        let same = is_slug(one, slug);
        *slug = slug::with_random_suffix(context, slug);
        !same
    });
    let items = new.iter().map(|(uuid, one, slug)| {
        let (created, modified) = (context.now, context.now);
        (NewItem { uuid: *uuid, project_id: project, name: one.name, slug, created, modified }, one.fields)
    });
    // Renames take no lock: the next round detects a name or slug that was taken by a rename.
    let keys = D::insert(tx, items.collect(), "on conflict do nothing")?;
    let all = keys.len() == new.len();
    if all {
        for ((uuid, one, slug), key) in new.iter().zip(&keys) {
            known.uuids.insert(*uuid, *key);
            known.slugs.insert(slug.as_str().to_owned(), *key);
            known.names.insert(one.name.to_owned(), *key);
        }
    }
    Ok((i64::try_from(keys.len()).unwrap_or(i64::MAX), all))
}

fn unarchive<D: Dimension>(tx: &mut Tx<'_>, archived: &[i64], now: Timestamp) -> Result<i64> {
    if archived.is_empty() {
        return Ok(0);
    }
    let unarchived = tx.execute(
        &format!(
            "update {} set archived = null, modified = $2 where id in {{ints $1}} and archived is not null",
            D::TABLE
        ),
        &[&archived, &now],
    )?;
    Ok(i64::try_from(unarchived).unwrap_or(i64::MAX))
}

/// Returns the primary key of a list with one item.
pub(crate) fn single_key<T: From<i64>>(keys: Vec<i64>) -> Result<T> {
    keys.into_iter().next().map(T::from).ok_or_else(|| Error::engine("no key for the one reference"))
}

/// Existing items that match the references.
#[derive(Default)]
struct ExistingItems {
    uuids: HashMap<Uuid, i64>,
    slugs: HashMap<String, i64>,
    names: HashMap<String, i64>,
    archived: HashSet<i64>,
}

impl ExistingItems {
    /// Returns the primary key by UUID, else by slug, else by name.
    fn find(&self, reference: &NameId) -> Option<i64> {
        let text = reference.as_str();
        reference
            .uuid()
            .and_then(|uuid| self.uuids.get(&uuid))
            .or_else(|| self.slugs.get(text))
            .or_else(|| self.names.get(text))
            .copied()
    }
}

columns! {
    /// An existing item.
    struct ExistingItem {
        id: i64 = "id",
        uuid: Uuid = "uuid",
        slug: String = "slug",
        name: String = "name",
        is_archived: bool = "archived is not null",
    }
}
