//! Common operations of branches, testbeds, benchmarks and measures: unique names and slugs in a project, lookup,
//! lists, archiving and counting. The file of each dimension contains its particular operations.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
};

use tidemark_api::{
    id::{NameId, ResourceId},
    page::{Direction, Page},
    slug::Slug,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    Error, Fresh, Kind, Lock, Param, ProjectId, Result, Row, Tx, Value, slug,
    sql::{direction, matching, uuids_starting_with},
};

/// A kind of dimension.
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// Table name, which is also the noun in messages.
    table: &'static str,
}

/// Branches.
pub const BRANCH: Dimension = Dimension { table: "branch" };
/// Testbeds.
pub const TESTBED: Dimension = Dimension { table: "testbed" };
/// Benchmarks.
pub const BENCHMARK: Dimension = Dimension { table: "benchmark" };
/// Measures.
pub const MEASURE: Dimension = Dimension { table: "measure" };

/// Filter of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) search: Option<&'a str>,
    pub(crate) archived: bool,
}

/// Fields to update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) slug: Option<&'a Slug>,
    pub(crate) archived: Option<bool>,
}

impl Dimension {
    /// Returns the noun for one item.
    pub fn noun(self) -> &'static str {
        self.table
    }

    /// Returns the primary key of the item with this slug or UUID.
    pub(crate) fn find(self, tx: &mut Tx<'_>, project: ProjectId, wanted: &ResourceId) -> Result<i64> {
        let (column, value): (_, &dyn Param) = match wanted {
            ResourceId::Uuid(uuid) => ("uuid", uuid),
            ResourceId::Slug(slug) => ("slug", slug),
        };
        tx.one(
            self.table,
            &format!("select id from {} where project_id = $1 and {column} = $2", self.table),
            &[&project, value],
            |row| row.get(0),
        )
    }

    /// Returns the primary key of the item with this UUID, else slug, else name.
    pub(crate) fn resolve(self, tx: &mut Tx<'_>, project: ProjectId, wanted: &NameId) -> Result<Option<i64>> {
        let table = self.table;
        tx.optional(
            // `union all` instead of `or`: without statistics, SQLite would scan all rows of the project.
            &format!(
                "select id from (
                     select id, 0 as place from {table} where project_id = $1 and uuid = $2
                     union all select id, 1 from {table} where project_id = $1 and slug = $3
                     union all select id, 2 from {table} where project_id = $1 and name = $4
                 ) as found order by place limit 1"
            ),
            &[&project, &wanted.uuid(), &wanted.slug(), &wanted.as_str()],
            |row| row.get(0),
        )
    }

    /// Returns the names that a project has, for an error message that lists the valid names.
    pub fn names(self, tx: &mut Tx<'_>, project: ProjectId, most: usize) -> Result<Vec<String>> {
        tx.all(
            &format!(
                "select name from {} where project_id = $1 and archived is null order by lower(name), id limit $2",
                self.table
            ),
            &[&project, &i64::try_from(most).unwrap_or(i64::MAX)],
            |row| row.get(0),
        )
    }

    /// Returns a slug that is unused in the project and stays unused until the end of the transaction.
    pub(crate) fn slug(
        self,
        tx: &mut Tx<'_>,
        fresh: &Fresh,
        project: ProjectId,
        uuid: Uuid,
        wanted: Option<&Slug>,
        name: &str,
    ) -> Result<Slug> {
        tx.lock(Lock::Project(project.get()))?;
        let sql = format!("select exists (select 1 from {} where project_id = $1 and slug = $2)", self.table);
        slug::choose(fresh, uuid, wanted, name, |slug| tx.value(&sql, &[&project, slug]))
    }

    /// Adds to the counts of live and archived items.
    pub(crate) fn count(self, tx: &mut Tx<'_>, project: ProjectId, live: i64, archived: i64) -> Result<()> {
        tx.execute(
            "insert into dimension_count (project_id, kind, live, archived) values ($1, $2, $3, $4)
             on conflict (project_id, kind) do update set live = dimension_count.live + excluded.live,
                 archived = dimension_count.archived + excluded.archived",
            &[&project, &self.table, &live, &archived],
        )?;
        Ok(())
    }

    /// Returns one page by name, and the total number of items. Only a search counts rows; otherwise the total is
    /// stored.
    pub(crate) fn list<T>(
        self,
        tx: &mut Tx<'_>,
        project: ProjectId,
        filter: Filter<'_>,
        page: &Page,
        (columns, joins): (&str, &str),
        map: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<(Vec<T>, i64)> {
        let table = self.table;
        let state = if filter.archived { "is not null" } else { "is null" };
        let search = filter.search.filter(|search| !search.is_empty());
        // The plus disables the index on the project, because the search index returns fewer rows.
        let plus = if search.is_some() { "+" } else { "" };
        let mut condition = format!("{plus}{table}.project_id = $1 and {table}.archived {state}");
        let mut params: Vec<&dyn Param> = vec![&project];
        let found = search.map(|search| {
            let range = uuids_starting_with(search);
            (matching(tx, table, search, range.is_some()), range)
        });
        if let Some(((matches, text), range)) = &found {
            params.push(text);
            condition.push_str(&format!(" and {matches}"));
            if let Some((first, last)) = range {
                params.extend([first as &dyn Param, last]);
            }
        }
        if let Some(name) = &filter.name {
            params.push(name);
            condition.push_str(&format!(" and {table}.name = ${}", params.len()));
        }
        let total: i64 = if params.len() == 1 {
            let column = if filter.archived { "archived" } else { "live" };
            let sql = format!("select {column} from dimension_count where project_id = $1 and kind = $2");
            tx.optional(&sql, &[&project, &table], |row| row.get(0))?.unwrap_or(0)
        } else {
            tx.value(&format!("select count(*) from {table} where {condition}"), &params)?
        };
        let (limit, offset) = (page.limit(), page.offset());
        if limit == 0 || offset >= total {
            return Ok((Vec::new(), total));
        }
        let direction = direction(page.direction.unwrap_or(Direction::Asc));
        params.push(&limit);
        params.push(&offset);
        // Selects the primary keys of the page from the index first, so that the joins read only the rows of the page.
        let sql = format!(
            "select {columns} from (
                 select id as page_id from {table} where {condition}
                 order by lower(name) {direction}, id {direction} limit ${} offset ${}
             ) as page join {table} on {table}.id = page.page_id {joins}
             order by lower({table}.name) {direction}, {table}.id {direction}",
            params.len() - 1,
            params.len()
        );
        Ok((tx.all(&sql, &params, map)?, total))
    }

    /// Updates the common fields of a dimension. Archiving an archived item updates its timestamp; an empty change
    /// updates only `modified`.
    pub(crate) fn update(
        self,
        tx: &mut Tx<'_>,
        project: ProjectId,
        id: i64,
        change: Change<'_>,
        now: Timestamp,
    ) -> Result<()> {
        let table = self.table;
        let stamp = change.archived.filter(|archived| *archived).map(|_| now);
        // If two transactions archive the item at the same time, only the one that changes the row updates the counts.
        let moved = match change.archived {
            Some(archived) => {
                let before = if archived { "null" } else { "not null" };
                let sql = format!("update {table} set archived = $2 where id = $1 and archived is {before}");
                tx.execute(&sql, &[&id, &stamp])? > 0
            }
            None => false,
        };
        tx.execute(
            &format!(
                "update {table} set name = coalesce($2, name), slug = coalesce($3, slug),
                        archived = case when $4 then $5 else archived end, modified = $6
                 where id = $1"
            ),
            &[&id, &change.name, &change.slug, &change.archived.is_some(), &stamp, &now],
        )?;
        match change.archived {
            Some(true) if moved => self.count(tx, project, -1, 1),
            Some(false) if moved => self.count(tx, project, 1, -1),
            _ => Ok(()),
        }
    }

    /// Deletes an item that nothing refers to. Removes it from plots, and deletes plots that would have no item of this
    /// kind left.
    pub(crate) fn delete(self, tx: &mut Tx<'_>, project: ProjectId, id: i64) -> Result<()> {
        let table = self.table;
        tx.execute(
            &format!(
                "delete from plot where project_id = $1
                 and id in (select plot_id from plot_{table} where dimension_id = $2)
                 and not exists (select 1 from plot_{table}
                                 where plot_{table}.plot_id = plot.id and dimension_id <> $2)"
            ),
            &[&project, &id],
        )?;
        let archived: Option<bool> = tx.optional(
            &format!("delete from {table} where id = $1 returning archived is not null"),
            &[&id],
            |row| row.get(0),
        )?;
        match archived {
            Some(true) => self.count(tx, project, 0, -1),
            Some(false) => self.count(tx, project, -1, 0),
            None => Err(Error::NotFound(self.table)),
        }
    }
}

/// Maximum number of rounds when concurrent transactions change the same names.
const ROUNDS: usize = 8;

/// An item that a report names, and its fields if it has to be created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Reference, if the item is referred to by more than its name.
    pub(crate) reference: Option<&'a NameId>,
    /// Name of a new item.
    pub(crate) name: &'a str,
    /// Slug of a new item, if it is not derived from the name.
    pub(crate) slug: Option<&'a str>,
    /// Units of a new measure.
    pub(crate) units: Option<&'a str>,
}

impl Dimension {
    /// Returns the primary keys of all named items, in the same order. Creates missing items and restores archived
    /// ones. Concurrent transactions that create the same item get the same key. The number of statements does not grow
    /// with the number of items.
    pub(crate) fn ensure(
        self,
        tx: &mut Tx<'_>,
        fresh: &Fresh,
        project: ProjectId,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<i64>> {
        // SQLite has only one writer, so rows cannot change after they are read.
        let (mut locked, mut made, mut revived) = (!tx.is_postgres(), 0, 0);
        let mut known = self.known(tx, project, wanted)?;
        for _ in 0..ROUNDS {
            let mut missing: BTreeMap<&str, Wanted<'_>> = BTreeMap::new();
            let mut keys = Vec::with_capacity(wanted.len());
            for one in wanted {
                let found = one.reference.and_then(|reference| known.find(reference));
                match found.or_else(|| known.names.get(one.name).copied()) {
                    Some(key) => keys.push(key),
                    None if one.reference.is_some_and(|reference| reference.uuid().is_some()) => {
                        return Err(Error::NotFound(self.table));
                    }
                    None => {
                        missing.insert(one.name, *one);
                    }
                }
            }
            let archived: Vec<i64> =
                keys.iter().filter(|key| known.archived.contains(key)).copied().collect();
            if missing.is_empty() && archived.is_empty() {
                if made + revived > 0 {
                    self.count(tx, project, made + revived, -revived)?;
                }
                return Ok(keys);
            }
            let mut stale = !locked || !archived.is_empty();
            if locked {
                revived += self.revive(tx, &archived, fresh.now)?;
                let (new, all) = self.insert(tx, fresh, project, missing, &mut known)?;
                made += new;
                stale |= !all;
            } else {
                tx.lock(Lock::Project(project.get()))?;
                locked = true;
            }
            if stale {
                known = self.known(tx, project, wanted)?;
            }
        }
        Err(Error::Busy("others kept changing the same names".into()))
    }

    fn known(self, tx: &mut Tx<'_>, project: ProjectId, wanted: &[Wanted<'_>]) -> Result<Known> {
        let references = || wanted.iter().filter_map(|one| one.reference);
        let uuids: Vec<Uuid> = references().filter_map(NameId::uuid).collect();
        let texts = || references().map(NameId::as_str);
        // Search only texts with the form of a slug in the slugs; most names do not have it.
        let slugs: Vec<&str> = texts().filter(|text| Slug::is_shaped(text)).collect();
        // The text of a reference is searched as a name, too; add the names that differ from their reference.
        let named = wanted.iter().filter(|one| one.reference.is_none_or(|other| other.as_str() != one.name));
        let names: Vec<&str> = texts().chain(named.map(|one| one.name)).collect();
        let (table, mut known) = (self.table, Known::default());
        tx.each(
            // `union all` as in `resolve`; the plus selects the index on the UUID.
            &format!(
                "select id, uuid, slug, name, archived is not null from {table} where id in (
                     select id from {table} where +project_id = $1 and uuid in {{uuids $2}}
                     union all select id from {table} where project_id = $1 and slug in {{texts $3}}
                     union all select id from {table} where project_id = $1 and name in {{texts $4}})"
            ),
            &[&project, &uuids.as_slice(), &slugs.as_slice(), &names.as_slice()],
            |row| {
                let cells = &mut row.cells();
                let key = cells.take()?;
                known.uuids.insert(cells.take()?, key);
                known.slugs.insert(cells.take()?, key);
                known.names.insert(cells.take()?, key);
                if cells.take()? {
                    known.archived.insert(key);
                }
                Ok(())
            },
        )?;
        Ok(known)
    }

    /// Inserts the missing items and adds them to `known`. Returns how many were inserted, and whether all were.
    fn insert(
        self,
        tx: &mut Tx<'_>,
        fresh: &Fresh,
        project: ProjectId,
        missing: BTreeMap<&str, Wanted<'_>>,
        known: &mut Known,
    ) -> Result<(i64, bool)> {
        if missing.is_empty() {
            return Ok((0, true));
        }
        let mut new: Vec<(Uuid, Wanted<'_>, Slug)> = missing
            .into_values()
            .map(|one| {
                let uuid = fresh.uuid();
                let given = one.slug.map(str::to_owned).and_then(|slug| Slug::stored(slug).ok());
                let slug = given.or_else(|| Slug::derive(one.name)).unwrap_or_else(|| Slug::from_uuid(uuid));
                (uuid, one, slug)
            })
            .collect();
        let slugs: Vec<&str> = new.iter().map(|(_, _, slug)| slug.as_str()).collect();
        let taken: HashSet<String> = tx
            .all(
                &format!("select slug from {} where project_id = $1 and slug in {{texts $2}}", self.table),
                &[&project, &slugs.as_slice()],
                |row| row.get(0),
            )?
            .into_iter()
            .collect();
        let is_slug = |one: &Wanted<'_>, slug: &Slug| {
            one.reference.is_some_and(|reference| reference.as_str() == slug.as_str())
        };
        new.sort_by_key(|(_, one, slug)| is_slug(one, slug));
        let mut given: HashSet<Slug> = HashSet::new();
        new.retain_mut(|(_, one, slug)| {
            if taken.contains(slug.as_str()) {
                *slug = slug::suffixed(fresh, slug);
                return true;
            }
            if given.insert(slug.clone()) {
                return true;
            }
            // A reference that equals the slug of another new item means the same item; the next round finds it by
            // slug.
            let same = is_slug(one, slug);
            *slug = slug::suffixed(fresh, slug);
            !same
        });
        let mut columns = vec![
            ("uuid", Kind::Uuid),
            ("project_id", Kind::Int),
            ("name", Kind::Text),
            ("slug", Kind::Text),
            ("created", Kind::Int),
            ("modified", Kind::Int),
        ];
        if self.table == MEASURE.table {
            columns.push(("units", Kind::Text));
        }
        let rows: Vec<Vec<Value<'_>>> = new
            .iter()
            .map(|(uuid, one, slug)| {
                let mut row =
                    vec![uuid.value(), project.value(), Value::Text(Cow::Borrowed(one.name)), slug.value()];
                row.extend([fresh.now.value(), fresh.now.value()]);
                row.extend(one.units.map(|units| Value::Text(Cow::Borrowed(units))));
                row
            })
            .collect();
        // Renames take no lock: the next round detects a name or slug that was taken by a rename.
        let keys = tx.insert_keyed(self.table, &columns, &rows, "on conflict do nothing")?;
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

    fn revive(self, tx: &mut Tx<'_>, archived: &[i64], now: Timestamp) -> Result<i64> {
        if archived.is_empty() {
            return Ok(0);
        }
        let revived = tx.execute(
            &format!(
                "update {} set archived = null, modified = $2 where id in {{ints $1}} and archived is not null",
                self.table
            ),
            &[&archived, &now],
        )?;
        Ok(i64::try_from(revived).unwrap_or(i64::MAX))
    }
}

/// Returns the primary key of a list with one item.
pub(crate) fn only<T: From<i64>>(keys: Vec<i64>) -> Result<T> {
    keys.into_iter().next().map(T::from).ok_or_else(|| Error::engine("no key for the one reference"))
}

/// Existing items that match the references.
#[derive(Default)]
struct Known {
    uuids: HashMap<Uuid, i64>,
    slugs: HashMap<String, i64>,
    names: HashMap<String, i64>,
    archived: HashSet<i64>,
}

impl Known {
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
