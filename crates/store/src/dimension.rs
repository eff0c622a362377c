//! Dimensions of a series: branches, testbeds, benchmarks and measures. This module implements what they share: unique
//! names and slugs in a project, lookup, lists, archiving and counting. The file of each dimension contains what is
//! specific to it.

mod ensure;

use std::{collections::HashMap, hash::Hash};

use tidemark_api::{
    NewestRun, ReportUuid,
    id::{NameId, ResourceId},
    page::{Direction, Page},
    slug::Slug,
    time::Timestamp,
};
use uuid::Uuid;

pub(crate) use self::ensure::{ItemReference, ensure, single_key};
use crate::{
    Error, FromRow, Lock, Param, ProjectId, Result, Tx, WriteContext,
    columns::insert_columns,
    slug,
    sql::{direction, matching, uuids_starting_with},
};

/// Filter of a list.
#[derive(Clone, Copy, Debug)]
pub struct DimensionFilter<'a> {
    /// Only the item with this name.
    pub name: Option<&'a str>,
    /// Only items with this text in their name or slug, or at the start of their UUID.
    pub search: Option<&'a str>,
    /// Whether to list archived items instead of all others.
    pub archived: bool,
    /// Whether to sort by the start time of the newest run instead of the name.
    pub by_newest_run: bool,
}

/// Fields to update.
#[derive(Clone, Copy, Debug)]
pub struct DimensionUpdate<'a> {
    /// New name.
    pub name: Option<&'a str>,
    /// New slug.
    pub slug: Option<&'a Slug>,
    /// Whether to archive or to restore the item.
    pub archived: Option<bool>,
}

insert_columns! {
    /// Columns of a new item that all dimensions have.
    pub struct NewItem<'a> {
        /// UUID.
        uuid: Uuid,
        /// Project.
        project_id: ProjectId,
        /// Name.
        name: &'a str,
        /// Slug.
        slug: &'a Slug,
        /// Time of creation.
        created: Timestamp,
        /// Time of the last update.
        modified: Timestamp,
    }
}

/// A dimension; `Self` is the representation in the API.
pub trait Dimension: FromRow {
    /// Primary key.
    type Id: Copy + Eq + Hash + From<i64> + Into<i64> + FromRow + Param;
    /// Fields of a new item besides the common ones.
    type Fields<'a>: Copy;

    /// Table, which is also the noun in messages.
    const TABLE: &'static str;

    /// The newest run of an item, as the end of a subquery: `newest` is its report. Empty if the dimension has no newest runs.
    const NEWEST_RUN: &'static str = "";

    /// Returns the joins that the columns require.
    fn joins() -> String;

    /// Returns the UUID of an item.
    fn uuid(&self) -> Uuid;

    /// Inserts new items. Returns the primary keys of the inserted items; `suffix` may contain an `on conflict` clause.
    fn insert(
        tx: &mut Tx<'_>,
        items: Vec<(NewItem<'_>, Self::Fields<'_>)>,
        suffix: &str,
    ) -> Result<Vec<i64>> {
        let items: Vec<NewItem<'_>> = items.into_iter().map(|(item, _)| item).collect();
        tx.insert_keyed(Self::TABLE, &items, suffix)
    }

    /// Inserts an item.
    fn create(
        tx: &mut Tx<'_>,
        context: &WriteContext,
        project: ProjectId,
        name: &impl AsRef<str>,
        slug: Option<&Slug>,
        fields: Self::Fields<'_>,
    ) -> Result<Self::Id> {
        let (uuid, name) = (context.uuid(), name.as_ref());
        tx.lock(Lock::Project(project.get()))?;
        let taken =
            format!("select exists (select 1 from {} where project_id = $1 and slug = $2)", Self::TABLE);
        let slug = slug::unused(context, uuid, slug, name, |slug| tx.value(&taken, &[&project, slug]))?;
        let (created, modified) = (context.now, context.now);
        let item = NewItem { uuid, project_id: project, name, slug: &slug, created, modified };
        let id = single_key(Self::insert(tx, vec![(item, fields)], "")?)?;
        count::<Self>(tx, project, 1, 0)?;
        Ok(id)
    }

    /// Returns the primary key of the item with this slug or UUID.
    fn find(tx: &mut Tx<'_>, project: ProjectId, wanted: &ResourceId) -> Result<Self::Id> {
        let (column, value): (_, &dyn Param) = match wanted {
            ResourceId::Uuid(uuid) => ("uuid", uuid),
            ResourceId::Slug(slug) => ("slug", slug),
        };
        let sql = format!("select id from {} where project_id = $1 and {column} = $2", Self::TABLE);
        tx.fetch_one(Self::TABLE, &sql, &[&project, value])
    }

    /// Returns the primary key of the item with this UUID, else slug, else name, if it exists.
    fn resolve(tx: &mut Tx<'_>, project: ProjectId, wanted: &NameId) -> Result<Option<Self::Id>> {
        let table = Self::TABLE;
        tx.fetch_optional(
            // `union all` instead of `or`: without statistics, SQLite would scan all rows of the project.
            &format!(
                "select id from (
                     select id, 0 as place from {table} where project_id = $1 and uuid = $2
                     union all select id, 1 from {table} where project_id = $1 and slug = $3
                     union all select id, 2 from {table} where project_id = $1 and name = $4
                 ) as found order by place limit 1"
            ),
            &[&project, &wanted.uuid(), &wanted.slug(), &wanted.as_str()],
        )
    }

    /// Returns an item.
    fn view(tx: &mut Tx<'_>, id: Self::Id) -> Result<Self> {
        let (table, joins) = (Self::TABLE, Self::joins());
        let sql = format!("select {{columns}} from {table} {joins} where {table}.id = $1");
        tx.fetch_one(table, &sql, &[&id])
    }

    /// Returns the items with these primary keys.
    fn by_ids<T: From<Self>>(tx: &mut Tx<'_>, ids: &[i64]) -> Result<HashMap<Self::Id, T>> {
        let (table, joins) = (Self::TABLE, Self::joins());
        let sql =
            format!("select {table}.id, {{columns}} from {table} {joins} where {table}.id in {{ints $1}}");
        let rows: Vec<(Self::Id, Self)> = tx.fetch_all(&sql, &[&ids])?;
        Ok(rows.into_iter().map(|(id, item)| (id, T::from(item))).collect())
    }

    /// Returns the items of a project with these UUIDs, with their primary keys.
    fn by_uuids<T: From<Self>>(
        tx: &mut Tx<'_>,
        project: ProjectId,
        uuids: &[Uuid],
    ) -> Result<HashMap<Uuid, (Self::Id, T)>> {
        let (table, joins) = (Self::TABLE, Self::joins());
        let sql = format!(
            "select {table}.id, {{columns}} from {table} {joins}
             where {table}.project_id = $1 and {table}.uuid in {{uuids $2}}"
        );
        let rows: Vec<(Self::Id, Self)> = tx.fetch_all(&sql, &[&project, &uuids])?;
        Ok(rows.into_iter().map(|(id, item)| (item.uuid(), (id, T::from(item)))).collect())
    }

    /// Returns the names that a project has, for an error message that lists the valid names.
    fn names(tx: &mut Tx<'_>, project: ProjectId, most: usize) -> Result<Vec<String>> {
        let sql = format!(
            "select name from {} where project_id = $1 and archived is null order by lower(name), id limit $2",
            Self::TABLE
        );
        tx.fetch_all(&sql, &[&project, &i64::try_from(most).unwrap_or(i64::MAX)])
    }

    /// Returns the keys and names of the items of a project; with `only`, of the items with these names.
    fn key_names(tx: &mut Tx<'_>, project: ProjectId, only: Option<&[&str]>) -> Result<Vec<(i64, String)>> {
        let sql = format!("select id, name from {} where project_id = $1", Self::TABLE);
        match only {
            None => tx.fetch_all(&sql, &[&project]),
            Some(names) => tx.fetch_all(&format!("{sql} and name in {{texts $2}}"), &[&project, &names]),
        }
    }

    /// Returns one page by name, and the total number of items. Only a search counts rows; otherwise the total is
    /// stored.
    fn list<'a>(
        tx: &mut Tx<'_>,
        project: ProjectId,
        filter: impl Into<DimensionFilter<'a>>,
        page: &Page,
    ) -> Result<(Vec<Self>, i64)> {
        let filter = DimensionFilter { by_newest_run: false, ..filter.into() };
        fetch_page::<Self, Self>(tx, project, filter, page, "")
    }

    /// Returns one page by name or by newest run, each item with its newest run, and the total number of items.
    fn list_with_runs<'a, T: From<(Self, Option<NewestRun>)>>(
        tx: &mut Tx<'_>,
        project: ProjectId,
        filter: impl Into<DimensionFilter<'a>>,
        page: &Page,
    ) -> Result<(Vec<T>, i64)> {
        let newest = Self::NEWEST_RUN;
        let columns = format!("(select newest.uuid {newest}), (select newest.start_time {newest}), ");
        let (rows, total) =
            fetch_page::<Self, (NewestRunColumns, Self)>(tx, project, filter.into(), page, &columns)?;
        let with_run = |((report, start_time), item): (NewestRunColumns, Self)| {
            let run = report.zip(start_time).map(|(report, start_time)| NewestRun { report, start_time });
            T::from((item, run))
        };
        Ok((rows.into_iter().map(with_run).collect(), total))
    }

    /// Updates the common fields of a dimension. Archiving an archived item updates its timestamp; an empty change
    /// updates only `modified`.
    fn update<'a>(
        tx: &mut Tx<'_>,
        project: ProjectId,
        id: Self::Id,
        change: impl Into<DimensionUpdate<'a>>,
        now: Timestamp,
    ) -> Result<()> {
        let (table, change) = (Self::TABLE, change.into());
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
            Some(true) if moved => count::<Self>(tx, project, -1, 1),
            Some(false) if moved => count::<Self>(tx, project, 1, -1),
            _ => Ok(()),
        }
    }

    /// Deletes an item that nothing refers to. Removes it from plots, and deletes plots that would have no item of this
    /// kind left.
    fn delete(tx: &mut Tx<'_>, project: ProjectId, id: Self::Id) -> Result<()> {
        let table = Self::TABLE;
        tx.execute(
            &format!(
                "delete from plot where project_id = $1
                 and id in (select plot_id from plot_{table} where dimension_id = $2)
                 and not exists (select 1 from plot_{table}
                                 where plot_{table}.plot_id = plot.id and dimension_id <> $2)"
            ),
            &[&project, &id],
        )?;
        let archived: Option<bool> = tx.fetch_optional(
            &format!("delete from {table} where id = $1 returning archived is not null"),
            &[&id],
        )?;
        match archived {
            Some(true) => count::<Self>(tx, project, 0, -1),
            Some(false) => count::<Self>(tx, project, -1, 0),
            None => Err(Error::NotFound(table)),
        }
    }
}

/// Report and start time of the newest run.
type NewestRunColumns = (Option<ReportUuid>, Option<Timestamp>);

/// Returns one page of a list, and the total number of items. `columns` stand before the columns of the dimension.
fn fetch_page<D: Dimension, T: FromRow>(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: DimensionFilter<'_>,
    page: &Page,
    columns: &str,
) -> Result<(Vec<T>, i64)> {
    let (table, joins) = (D::TABLE, D::joins());
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
        tx.fetch_optional(&sql, &[&project, &table])?.unwrap_or(0)
    } else {
        tx.value(&format!("select count(*) from {table} where {condition}"), &params)?
    };
    let (limit, offset) = (page.limit(), page.offset());
    if limit == 0 || offset >= total {
        return Ok((Vec::new(), total));
    }
    params.push(&limit);
    params.push(&offset);
    let (key, order) = if filter.by_newest_run {
        let direction = direction(page.direction.unwrap_or(Direction::Desc));
        let key = format!("(select newest.start_time {})", D::NEWEST_RUN);
        (key, format!("page_key {direction} nulls last, page_id {direction}"))
    } else {
        let direction = direction(page.direction.unwrap_or(Direction::Asc));
        (format!("lower({table}.name)"), format!("page_key {direction}, page_id {direction}"))
    };
    // Selects the primary keys of the page from the index first, so that the joins read only the rows of the page.
    let sql = format!(
        "select {columns}{{columns}} from (
             select {table}.id as page_id, {key} as page_key from {table} where {condition}
             order by {order} limit ${} offset ${}
         ) as page join {table} on {table}.id = page.page_id {joins} order by {order}",
        params.len() - 1,
        params.len()
    );
    Ok((tx.fetch_all(&sql, &params)?, total))
}

/// Adds to the counts of live and archived items.
pub(crate) fn count<D: Dimension>(
    tx: &mut Tx<'_>,
    project: ProjectId,
    live: i64,
    archived: i64,
) -> Result<()> {
    tx.execute(
        "insert into dimension_count (project_id, kind, live, archived) values ($1, $2, $3, $4)
         on conflict (project_id, kind) do update set live = dimension_count.live + excluded.live,
             archived = dimension_count.archived + excluded.archived",
        &[&project, &D::TABLE, &live, &archived],
    )?;
    Ok(())
}
