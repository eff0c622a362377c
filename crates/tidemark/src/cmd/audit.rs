//! `tidemark audit`: the audit log.

use tidemark_api::{AuditEntry, ResourceId};
use tidemark_client::{audit_of, server_audit};

use crate::{
    failure::Result,
    output,
    resource::{Fields, PageFlags, Printable, Session, Verb, optional},
};

/// Verbs of `tidemark audit`.
#[derive(clap::Subcommand)]
pub(crate) enum AuditVerb {
    /// List the audit log of an organization or of the server, the newest entries first
    #[command(visible_alias = "ls")]
    List {
        /// Organization UUID or slug [default: the whole server; requires an administrator]
        organization: Option<ResourceId>,
        #[command(flatten)]
        page: PageFlags,
    },
}

impl Verb for AuditVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { organization, page } => {
                let log = organization.as_ref().map_or_else(server_audit, audit_of);
                session.list(log.list(&()), page)
            }
        }
    }
}

impl Printable for AuditEntry {
    const DROPPABLE: &'static [&'static str] = &["Address", "Detail"];

    fn fields(&self) -> Fields {
        let detail: Vec<_> = self.detail.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Fields::default()
            .column("Time", output::time(self.created))
            .text("User", self.actor.name.as_deref().unwrap_or(self.actor.kind.as_str()))
            .column("Action", &self.action)
            .text("Target", &self.target)
            .text("Detail", detail.join(", "))
            .column("Address", optional(self.address.as_ref()))
    }
}
