//! Audit log: one row for every change of accounts, roles, keys and settings.

use std::collections::BTreeMap;

use tidemark_api::{
    audit::{Actor, AuditEntry},
    id::{AuditUuid, OrganizationUuid},
    page::{Direction, Page},
    time::Timestamp,
};

use crate::{
    Cells, Error, FromRow, List, OrganizationId, Result, Tx, WriteContext, columns::columns, sql::direction,
};

/// An entry to insert.
#[derive(Clone, Debug)]
pub struct NewAuditRow<'a> {
    /// Actor.
    pub actor: &'a Actor,
    /// Client address of the request.
    pub address: Option<&'a str>,
    /// Stable identifier of the action, for example `member.role`.
    pub action: &'a str,
    /// Target of the action.
    pub target: &'a str,
    /// Organization of the target, if any.
    pub organization: Option<OrganizationId>,
    /// Further details, as names and values.
    pub detail: &'a [(&'a str, &'a str)],
}

columns!(Actor { kind: "audit.actor_kind", uuid: "audit.actor_uuid", name: "audit.actor_name" });
columns!(
    struct StoredEntry {
        uuid: AuditUuid = "audit.uuid",
        created: Timestamp = "audit.created",
        actor: Actor,
        action: String = "audit.action",
        target: String = "audit.target",
        organization: Option<OrganizationUuid> = "organization.uuid",
        address: Option<String> = "audit.address",
        detail: String = "audit.detail",
    }
);
const TABLES: &str = "audit left join organization on organization.id = audit.organization_id";

impl FromRow for AuditEntry {
    const WIDTH: usize = StoredEntry::WIDTH;
    const COLUMNS: &'static str = StoredEntry::COLUMNS;

    fn from_row(cells: &mut Cells<'_>) -> Result<Self> {
        let StoredEntry { uuid, created, actor, action, target, organization, address, detail } =
            cells.read()?;
        let detail = serde_json::from_str(&detail).map_err(|error| Error::Engine(error.into()))?;
        Ok(Self { uuid, created, actor, action, target, organization, address, detail })
    }
}

/// Inserts an entry, in the transaction of the change that it records.
pub fn add(tx: &mut Tx<'_>, context: &WriteContext, entry: &NewAuditRow<'_>) -> Result<()> {
    let detail: BTreeMap<_, _> = entry.detail.iter().copied().collect();
    let detail = serde_json::to_string(&detail).map_err(|error| Error::Engine(error.into()))?;
    tx.execute(
        "insert into audit (uuid, created, actor_kind, actor_uuid, actor_name, action, target, organization_id,
                            address, detail)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &[
            &context.uuid(),
            &context.now,
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

/// Lists the entries of an organization, or of the whole server, newest first.
pub fn list(
    tx: &mut Tx<'_>,
    organization: Option<OrganizationId>,
    page: &Page,
) -> Result<(Vec<AuditEntry>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Desc));
    let order = format!("audit.id {direction}");
    match organization {
        Some(organization) => tx.page(
            &List { from: &format!("{TABLES} where audit.organization_id = $1"), order: &order },
            &[&organization],
            page,
        ),
        None => tx.page(&List { from: TABLES, order: &order }, &[], page),
    }
}

/// Maximum number of entries that one call of [`purge`] deletes, so that it does not block other writers.
const PURGED_MAX: i64 = 50_000;

/// Deletes the entries before a time, oldest first. Reads only one entry that it keeps, because entries are in the
/// order of their time.
pub fn purge(tx: &mut Tx<'_>, before: Timestamp) -> Result<()> {
    tx.execute(
        "delete from audit where id < (select min(id) + $2 from audit)
         and id < coalesce((select id from audit where created >= $1 order by id limit 1), (select max(id) + 1 from audit))",
        &[&before, &PURGED_MAX],
    )?;
    Ok(())
}
