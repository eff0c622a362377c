//! `tidemark sso`: domains whose users join an organization automatically.

use tidemark_api::{Domain, NewSso, OrgSsoSort, ResourceId, Sso, SsoFilter, SsoUuid};
use tidemark_client::ssos;

use crate::{
    failure::Result,
    output,
    resource::{Fields, PageFlags, Printable, Session, SortFlag, Verb},
};

/// Verbs of `tidemark sso`.
#[derive(clap::Subcommand)]
pub(crate) enum SsoVerb {
    /// List the domains of an organization
    #[command(visible_alias = "ls")]
    List {
        /// Organization UUID or slug
        organization: ResourceId,
        #[command(flatten)]
        sort: SortFlag<OrgSsoSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Let users of a domain join automatically; requires an administrator
    #[command(visible_alias = "add")]
    Create {
        /// Organization UUID or slug
        organization: ResourceId,
        /// Domain of the e-mail addresses, after the @
        #[arg(long)]
        domain: Domain,
    },
    /// Show a domain
    #[command(visible_alias = "get")]
    View(SsoTarget),
    /// Delete a domain: its users no longer join automatically; requires an administrator
    #[command(visible_alias = "rm")]
    Delete(SsoTarget),
}

/// A domain of an organization.
#[derive(clap::Args)]
pub(crate) struct SsoTarget {
    /// Organization UUID or slug
    organization: ResourceId,
    /// Domain UUID
    sso: SsoUuid,
}

impl Verb for SsoVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { organization, sort, page } => {
                session.list(ssos(organization).list(&SsoFilter { sort: sort.sort }), page)
            }
            Self::Create { organization, domain } => {
                session.show(&ssos(organization).create(&NewSso { domain: domain.clone() }))
            }
            Self::View(SsoTarget { organization, sso }) => session.show(&ssos(organization).view(sso)),
            Self::Delete(SsoTarget { organization, sso }) => {
                session.confirm(&ssos(organization).delete(sso), "The domain is removed.")
            }
        }
    }
}

impl Printable for Sso {
    const DROPPABLE: &'static [&'static str] = &["Since"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Domain", &self.domain)
            .column("Since", output::time(self.created))
            .column("UUID", self.uuid)
    }
}
