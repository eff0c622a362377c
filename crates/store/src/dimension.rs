//! What branches, testbeds, benchmarks and measures have in common: a name and a slug of their own in a project, a way
//! to be found, listed, archived and counted. What is particular to each stands in its own file.

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

/// One kind of dimension.
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// The table, which is also the word people know.
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

/// What a list asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) search: Option<&'a str>,
    pub(crate) archived: bool,
}

/// What a change may set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) slug: Option<&'a Slug>,
    pub(crate) archived: Option<bool>,
}

impl Dimension {
    /// The word for one of them.
    pub fn noun(self) -> &'static str {
        self.table
    }

    /// The key of the one with this slug or UUID.
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

    /// The key of the one that a reference means: by UUID, else by slug, else by name.
    pub(crate) fn resolve(self, tx: &mut Tx<'_>, project: ProjectId, wanted: &NameId) -> Result<Option<i64>> {
        let table = self.table;
        tx.optional(
            // Not one `or`: without statistics SQLite would rather walk the whole project.
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

    /// The names a project has, for a message that says what there is instead of what was asked for.
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

    /// A slug that is free in the project, and stays so until the end of the transaction.
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

    /// Counts new ones.
    pub(crate) fn count(self, tx: &mut Tx<'_>, project: ProjectId, live: i64, archived: i64) -> Result<()> {
        tx.execute(
            "insert into dimension_count (project_id, kind, live, archived) values ($1, $2, $3, $4)
             on conflict (project_id, kind) do update set live = dimension_count.live + excluded.live,
                 archived = dimension_count.archived + excluded.archived",
            &[&project, &self.table, &live, &archived],
        )?;
        Ok(())
    }

    /// One page by name, and how many there are in all. Only a search counts rows; the rest is known.
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
        // The plus keeps the engine from walking the project's rows when the few that match are at hand.
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
        // The keys of the page first, from the index; the joins then only meet the rows that are shown.
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

    /// Changes what every dimension has. Archiving again restamps; nothing given only touches `modified`.
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
        // Of two who archive at once, only the one that changes something counts it.
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

    /// Removes one that nothing refers to. A plot loses it, and goes when it has none of the kind left.
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

/// How often to look again before giving up on others who change the same names.
const ROUNDS: usize = 8;

/// One that a report names, and what it is called if it has to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// How it is referred to, if by more than its name.
    pub(crate) reference: Option<&'a NameId>,
    /// The name of a new one.
    pub(crate) name: &'a str,
    /// The slug of a new one, if it has one of its own.
    pub(crate) slug: Option<&'a str>,
    /// The units of a new measure.
    pub(crate) units: Option<&'a str>,
}

impl Dimension {
    /// The keys of all that are named, in the same order. Those that are missing are made, archived ones are revived,
    /// and whoever makes the same one at the same time gets the same key. The cost does not grow with their number.
    pub(crate) fn ensure(
        self,
        tx: &mut Tx<'_>,
        fresh: &Fresh,
        project: ProjectId,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<i64>> {
        // On SQLite there is only one writer: what was read stays true.
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
        // Most names are no slugs, and need not be looked for among them.
        let slugs: Vec<&str> = texts().filter(|text| Slug::is_shaped(text)).collect();
        // What a reference says is its name, too, except for those that are known by another.
        let named = wanted.iter().filter(|one| one.reference.is_none_or(|other| other.as_str() != one.name));
        let names: Vec<&str> = texts().chain(named.map(|one| one.name)).collect();
        let (table, mut known) = (self.table, Known::default());
        tx.each(
            // As in `resolve`; the plus leads to the index of the UUIDs.
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

    /// Makes what is missing and adds it to what is known. Answers how many were made, and whether that is all.
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
            // The slug of another new one is another spelling of it, under which the next round finds it.
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
        // Whoever renames one takes no lock: a name or slug lost that way is found taken in the next round.
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

/// The only key of a list made for one reference.
pub(crate) fn only<T: From<i64>>(keys: Vec<i64>) -> Result<T> {
    keys.into_iter().next().map(T::from).ok_or_else(|| Error::engine("no key for the one reference"))
}

/// What a project has of what was asked for.
#[derive(Default)]
struct Known {
    uuids: HashMap<Uuid, i64>,
    slugs: HashMap<String, i64>,
    names: HashMap<String, i64>,
    archived: HashSet<i64>,
}

impl Known {
    /// By UUID, else by slug, else by name.
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
