//! `tidemark invitation`: invitations to an organization. `tidemark member invite` creates them.

use tidemark_api::{Invitation, InvitationUuid, ResourceId};
use tidemark_client::invitations;

use crate::{
    failure::Result,
    output,
    resource::{Fields, PageFlags, Printable, Session, Verb, optional},
};

/// Verbs of `tidemark invitation`.
#[derive(clap::Subcommand)]
pub(crate) enum InvitationVerb {
    /// List the invitations to an organization
    #[command(visible_alias = "ls")]
    List {
        /// Organization UUID or slug
        organization: ResourceId,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Show an invitation
    #[command(visible_alias = "get")]
    View(InvitationTarget),
    /// Revoke an invitation
    #[command(visible_aliases = ["rm", "delete"])]
    Revoke(InvitationTarget),
}

/// An invitation to an organization.
#[derive(clap::Args)]
pub(crate) struct InvitationTarget {
    /// Organization UUID or slug
    organization: ResourceId,
    /// Invitation UUID
    invitation: InvitationUuid,
}

impl Verb for InvitationVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { organization, page } => session.list(invitations(organization).list(&()), page),
            Self::View(InvitationTarget { organization, invitation }) => {
                session.show(&invitations(organization).view(invitation))
            }
            Self::Revoke(InvitationTarget { organization, invitation }) => {
                session.confirm(&invitations(organization).delete(invitation), "The invitation is revoked.")
            }
        }
    }
}

impl Printable for Invitation {
    const DROPPABLE: &'static [&'static str] = &["By", "Ends", "Sent", "Role"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Email", &self.email)
            .column("Role", self.role)
            .column("Status", self.status)
            .text("By", optional(self.inviter.as_ref().map(|user| &user.name)))
            .column("Sent", output::time(self.created))
            .column("Ends", output::time(self.expires))
            .column("UUID", self.uuid)
            .detail("Organization", self.organization)
    }
}
