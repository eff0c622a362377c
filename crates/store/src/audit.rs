//! The audit log: one row for every change of accounts, roles, keys and settings.

use std::collections::BTreeMap;

use tidemark_api::{
    audit::{Actor, AuditEntry},
    page::{Direction, Page},
    time::Timestamp,
};

use crate::{Error, Fresh, List, OrganizationId, Result, Row, Tx, sql::direction};

/// What is about to be remembered.
#[derive(Clone, Debug)]
pub struct New<'a> {
    /// Who did it.
    pub actor: &'a Actor,
    /// Where the request came from.
    pub address: Option<&'a str>,
    /// A stable word for what was done, such as `member.role`.
    pub action: &'a str,
    /// What it was done to.
    pub target: &'a str,
    /// The organization it belongs to, if any.
    pub organization: Option<OrganizationId>,
    /// What else is worth knowing.
    pub detail: &'a [(&'a str, &'a str)],
}

const COLUMNS: &str = "audit.uuid, audit.created, audit.actor_kind, audit.actor_uuid, audit.actor_name, audit.action, \
     audit.target, organization.uuid, audit.address, audit.detail";
const TABLES: &str = "audit left join organization on organization.id = audit.organization_id";

fn read(row: &Row<'_>) -> Result<AuditEntry> {
    let detail: String = row.get(9)?;
    Ok(AuditEntry {
        uuid: row.get(0)?,
        created: row.get(1)?,
        actor: Actor { kind: row.get(2)?, uuid: row.get(3)?, name: row.get(4)? },
        action: row.get(5)?,
        target: row.get(6)?,
        organization: row.get(7)?,
        address: row.get(8)?,
        detail: serde_json::from_str(&detail).map_err(|error| Error::Engine(error.into()))?,
    })
}

/// Adds an entry, in the transaction of the change it tells of.
pub fn add(tx: &mut Tx<'_>, fresh: &Fresh, entry: &New<'_>) -> Result<()> {
    let detail: BTreeMap<_, _> = entry.detail.iter().copied().collect();
    let detail = serde_json::to_string(&detail).map_err(|error| Error::Engine(error.into()))?;
    tx.execute(
        "insert into audit (uuid, created, actor_kind, actor_uuid, actor_name, action, target, organization_id,
                            address, detail)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &[
            &fresh.uuid(),
            &fresh.now,
            &entry.actor.kind,
            &entry.actor.uuid,
            &entry.actor.name,
            &entry.action,
            &entry.target,
            &entry.organization,
            &entry.address,
            &detail,
        ],
    )?;
    Ok(())
}

/// The entries of one organization, or of the whole server, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    organization: Option<OrganizationId>,
    page: &Page,
) -> Result<(Vec<AuditEntry>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let order = format!("audit.id {direction}");
    match organization {
        Some(organization) => tx.page(
            &List {
                columns: COLUMNS,
                from: &format!("{TABLES} where audit.organization_id = $1"),
                order: &order,
            },
            &[&organization],
            page,
            read,
        ),
        None => tx.page(&List { columns: COLUMNS, from: TABLES, order: &order }, &[], page, read),
    }
}

/// The most entries that one call of [`purge`] deletes, so that it does not hold up other writers.
const PURGED_MAX: i64 = 50_000;

/// Deletes the entries before a time, the oldest first. It reads no entry that stays but the first: they are in the order
/// of their time.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    tx.execute(
        "delete from audit where id < (select min(id) + $2 from audit)
         and id < coalesce((select id from audit where created >= $1 order by id limit 1), (select max(id) + 1 from audit))",
        &[&before, &PURGED_MAX],
    )?;
    Ok(())
}
