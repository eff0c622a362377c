//! Members of a project: users with a role in the project, in addition to the members of its organization.

use tidemark_api::{
    id::ResourceId,
    page::{Direction, Page},
    project_member::{ProjectMember, ProjectMemberFilter},
    right::ProjectRole,
    time::Timestamp,
};

use crate::{
    List, Param, ProjectId, Result, Tx, UserId,
    columns::columns,
    sql::{contains, direction},
};

columns!(
    /// A member with the primary key of the user.
    #[derive(Clone, Debug)]
    pub struct ProjectMemberRow {
        /// Primary key of the user.
        pub user: UserId = "account.id",
        /// Representation in the API.
        pub member: ProjectMember,
    }
);
columns!(ProjectMember {
    uuid: "account.uuid",
    name: "account.name",
    slug: "account.slug",
    role: "project_member.role",
    created: "project_member.created",
    modified: "project_member.modified",
});
const TABLES: &str = "project_member join account on account.id = project_member.account_id";

/// Gives a user a role in a project; an existing member is a conflict.
pub fn add(
    tx: &mut Tx<'_>,
    project: ProjectId,
    user: UserId,
    role: ProjectRole,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "insert into project_member (project_id, account_id, role, created, modified)
         values ($1, $2, $3, $4, $4)",
        &[&project, &user, &role, &now],
    )?;
    Ok(())
}

/// Returns a member, by the slug or UUID of the user.
pub fn find(tx: &mut Tx<'_>, project: ProjectId, user: &ResourceId) -> Result<ProjectMemberRow> {
    let (column, value): (_, &dyn Param) = match user {
        ResourceId::Uuid(uuid) => ("uuid", uuid),
        ResourceId::Slug(slug) => ("slug", slug),
    };
    tx.fetch_one(
        "member",
        &format!(
            "select {{columns}} from {TABLES} where project_member.project_id = $1 and account.{column} = $2"
        ),
        &[&project, value],
    )
}

/// Lists the members of a project, by name.
pub fn list(
    tx: &mut Tx<'_>,
    project: ProjectId,
    filter: &ProjectMemberFilter,
    page: &Page,
) -> Result<(Vec<ProjectMember>, i64)> {
    let direction = direction(page.direction.unwrap_or(Direction::Asc));
    tx.page(
        &List {
            from: &format!(
                "{TABLES} where project_member.project_id = $1
                 and (cast($2 as text) is null or account.name = $2)
                 and (cast($3 as text) is null or lower(account.name) like $3 escape '\\'
                      or account.slug like $3 escape '\\' or cast(account.uuid as text) like $3 escape '\\')"
            ),
            order: &format!("lower(account.name) {direction}, account.slug {direction}"),
        },
        &[&project, &filter.name, &filter.search.as_ref().map(|search| contains(search.as_ref()))],
        page,
    )
}

/// Updates the role of a member.
pub fn set_role(
    tx: &mut Tx<'_>,
    project: ProjectId,
    user: UserId,
    role: ProjectRole,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "update project_member set role = $3, modified = $4 where project_id = $1 and account_id = $2",
        &[&project, &user, &role, &now],
    )?;
    Ok(())
}

/// Removes a member.
pub fn remove(tx: &mut Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute("delete from project_member where project_id = $1 and account_id = $2", &[&project, &user])?;
    Ok(())
}
