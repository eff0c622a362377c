//! `tidemark organization`

use serde::Serialize;
use tidemark_api::{
    Allowed, JobSecret, Jwt, NewClaim, NewOrganization, Organization, OrganizationFilter, OrganizationPatch,
    OrganizationPermission, OrganizationsSort, ResourceId, ResourceName, Slug, Usage,
};
use tidemark_client::{allowed_in_organization, claim, organizations, usage};

use crate::{
    failure::Result,
    output,
    resource::{
        Fields, NameFilter, NewValue, PageFlags, Printable, Session, SortFlag, Verb, fixed_string_parser,
        optional,
    },
};

/// Verbs of `tidemark organization`.
#[derive(clap::Subcommand)]
pub(crate) enum OrganizationVerb {
    /// List the organizations that you are a member of
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        names: NameFilter<ResourceName>,
        #[command(flatten)]
        sort: SortFlag<OrganizationsSort>,
        #[command(flatten)]
        page: PageFlags,
        /// Also list organizations that you are not a member of; requires an administrator
        #[arg(long)]
        everyone: bool,
    },
    /// Create an organization
    #[command(visible_alias = "add")]
    Create {
        /// Name
        #[arg(long)]
        name: ResourceName,
        /// Slug [default: derived from the name]
        #[arg(long)]
        slug: Option<Slug>,
    },
    /// Show an organization
    #[command(visible_alias = "get")]
    View(OrganizationTarget),
    /// Update an organization
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        target: OrganizationTarget,
        /// New name
        #[arg(long)]
        name: Option<ResourceName>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        /// New license key; `_` removes it
        #[arg(long, value_name = "KEY")]
        license: Option<NewValue<Jwt>>,
    },
    /// Delete an organization
    #[command(visible_alias = "rm")]
    Delete {
        #[command(flatten)]
        target: OrganizationTarget,
        #[command(flatten)]
        flags: DeleteFlags,
    },
    /// Claim an unclaimed organization that an anonymous run created
    Claim {
        #[command(flatten)]
        target: OrganizationTarget,
        /// Claim token that the first run received; required if the server is configured to check it
        #[arg(long, value_name = "TOKEN")]
        claim_token: Option<String>,
    },
    /// Show whether you have a permission in an organization
    Allowed {
        #[command(flatten)]
        target: OrganizationTarget,
        /// Permission
        #[arg(long, value_parser = fixed_string_parser::<OrganizationPermission>())]
        perm: OrganizationPermission,
    },
    /// Show the usage of an organization
    Usage(OrganizationTarget),
}

/// An organization.
#[derive(clap::Args)]
pub(crate) struct OrganizationTarget {
    /// Organization UUID or slug
    organization: ResourceId,
}

/// How to delete a resource.
#[derive(clap::Args, Serialize)]
pub(crate) struct DeleteFlags {
    /// Delete permanently with all data, instead of hiding; requires an administrator
    #[arg(long)]
    hard: bool,
}

impl Verb for OrganizationVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { names, sort, page, everyone } => {
                let filter = OrganizationFilter {
                    name: names.name.clone(),
                    search: names.search.clone(),
                    sort: sort.sort,
                    all: everyone.then_some(true),
                };
                session.list(organizations().list(&filter), page)
            }
            Self::Create { name, slug } => {
                let new = NewOrganization { name: name.clone(), slug: slug.clone() };
                session.show(&organizations().create(&new))
            }
            Self::View(OrganizationTarget { organization }) => {
                session.show(&organizations().view(organization))
            }
            Self::Update { target, name, slug, license } => {
                let patch = OrganizationPatch {
                    name: name.clone(),
                    slug: slug.clone(),
                    license: NewValue::patch(license.as_ref()),
                };
                session.update(&organizations(), &target.organization, &patch)
            }
            Self::Delete { target, flags } => {
                let request = organizations().delete(&target.organization).query(flags);
                session.confirm(&request, "The organization is deleted.")
            }
            Self::Claim { target, claim_token } => {
                let new = NewClaim { token: claim_token.clone().map(JobSecret) };
                session.show(&claim(&target.organization, &new))
            }
            Self::Allowed { target, perm } => {
                session.show(&allowed_in_organization(&target.organization, *perm))
            }
            Self::Usage(OrganizationTarget { organization }) => session.show(&usage(organization)),
        }
    }
}

impl Printable for Organization {
    const DROPPABLE: &'static [&'static str] = &["Claimed", "Created"];

    fn fields(&self) -> Fields {
        let domains: Vec<_> = self.sso.iter().map(|sso| sso.domain.as_str()).collect();
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .detail("UUID", self.uuid)
            .detail("License", if self.license.is_some() { "set" } else { "" })
            .detail("Single sign-on", domains.join(", "))
            .column("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .column("Claimed", optional(self.claimed.map(output::time)))
    }
}

impl Printable for Allowed {
    fn fields(&self) -> Fields {
        Fields::default().column("Allowed", if self.allowed { "yes" } else { "no" })
    }
}

impl Printable for Usage {
    fn fields(&self) -> Fields {
        Fields::default()
            .detail("Organization", self.organization)
            .detail("Kind", self.kind)
            .detail("From", output::time(self.start_time))
            .detail("Until", output::time(self.end_time))
            .number("Metrics", optional(self.metrics))
            .number("Active series", optional(self.active_series))
            .number("Stored bytes", optional(self.stored_bytes))
            .number("Runner minutes", optional(self.runner_minutes))
    }
}
