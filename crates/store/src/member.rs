//! Members of organizations and their roles.

use std::collections::HashMap;

use tidemark_api::{
    id::{OrganizationUuid, ResourceId},
    member::{Member, MemberFilter},
    page::{Direction, Page},
    right::OrganizationRole,
    time::Timestamp,
};

use crate::{
    List, OrganizationId, Param, Result, Tx, UserId,
    columns::columns,
    sql::{contains, direction},
};

columns!(
    /// A member with the primary key of the user.
    #[derive(Clone, Debug)]
    pub struct MemberRow {
        /// Primary key of the user.
        pub user: UserId = "account.id",
        /// Representation in the API.
        pub member: Member,
    }
);
columns!(Member {
    uuid: "account.uuid",
    name: "account.name",
    slug: "account.slug",
    email: "account.email",
    role: "member.role",
    created: "member.created",
    modified: "member.modified",
});

/// Inserts a member; an existing member is a conflict.
pub fn add(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    user: UserId,
    role: OrganizationRole,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "insert into member (organization_id, account_id, role, created, modified) values ($1, $2, $3, $4, $4)",
        &[&organization, &user, &role, &now],
    )?;
    Ok(())
}

/// Returns the role of a user in an organization.
pub fn role(tx: &mut Tx<'_>, organization: OrganizationId, user: UserId) -> Result<Option<OrganizationRole>> {
    tx.fetch_optional(
        "select role from member where organization_id = $1 and account_id = $2",
        &[&organization, &user],
    )
}

/// Returns the roles of a user in all organizations.
pub fn roles(tx: &mut Tx<'_>, user: UserId) -> Result<HashMap<OrganizationUuid, OrganizationRole>> {
    let sql = "select organization.uuid, member.role from member
               join organization on organization.id = member.organization_id where member.account_id = $1";
    let roles = tx.fetch_all::<(_, _)>(sql, &[&user])?;
    Ok(roles.into_iter().collect())
}

/// Returns a member, by the slug or UUID of the user.
pub fn find(tx: &mut Tx<'_>, organization: OrganizationId, user: &ResourceId) -> Result<MemberRow> {
    let (column, value): (_, &dyn Param) = match user {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    };
    tx.fetch_one(
        "member",
        &format!(
            "select {{columns}} from member join account on account.id = member.account_id
             where member.organization_id = $1 and account.{column} = $2"
        ),
        &[&organization, value],
    )
}

/// Lists the members of an organization, by name.
pub fn list(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    filter: &MemberFilter,
    page: &Page,
) -> Result<(Vec<Member>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List {
            from: "member join account on account.id = member.account_id
                   where member.organization_id = $1 and (cast($2 as text) is null or account.name = $2)
                   and (cast($3 as text) is null or lower(account.name) like $3 escape '\\'
                        or account.slug like $3 escape '\\' or cast(account.uuid as text) like $3 escape '\\')",
            order: &format!("lower(account.name) {direction}, account.slug {direction}"),
        },
        &[&organization, &filter.name, &filter.search.as_ref().map(|search| contains(search.as_ref()))],
        page,
    )
}

/// Updates the role of a member.
pub fn set_role(
    tx: &mut Tx<'_>,
    organization: OrganizationId,
    user: UserId,
    role: OrganizationRole,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update member set role = $3, modified = $4 where organization_id = $1 and account_id = $2",
        &[&organization, &user, &role, &now],
    )?;
    Ok(())
}

/// Deletes a member, and the roles of the user in the projects of the organization.
pub fn remove(tx: &mut Tx<'_>, organization: OrganizationId, user: UserId) -> Result<()> {
    tx.execute(
        "delete from project_member where account_id = $2
         and project_id in (select id from project where organization_id = $1)",
        &[&organization, &user],
    )?;
    tx.execute("delete from member where organization_id = $1 and account_id = $2", &[&organization, &user])?;
    Ok(())
}

/// Returns the number of unlocked leaders of an organization other than this user.
pub fn other_leaders(tx: &mut Tx<'_>, organization: OrganizationId, user: UserId) -> Result<i64> {
    tx.value(
        "select count(*) from member join account on account.id = member.account_id
         where member.organization_id = $1 and member.role = 'leader' and account.id <> $2 and not account.locked",
        &[&organization, &user],
    )
}

/// Whether a user is a member of an organization that is not deleted.
pub fn has_any(tx: &mut Tx<'_>, user: UserId) -> Result<bool> {
    tx.value(
        "select exists (select 1 from member join organization on organization.id = member.organization_id
                        where member.account_id = $1 and organization.deleted is null)",
        &[&user],
    )
}
