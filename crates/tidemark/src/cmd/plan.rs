//! `tidemark plan`: the plan of an organization, on servers with billing.

use tidemark_api::{
    Checkout, Entitlements, NewCheckout, NewPlan, NonEmpty, OrganizationUuid, Plan, PlanLevel, PlanPatch,
    PlanRemoval, ResourceId,
};
use tidemark_client::{begin_plan, checkout, end_plan, plan, update_plan};

use crate::{
    failure::Result,
    output,
    resource::{Fields, Session, Shown, Verb, flag, number, word},
};

/// Verbs of `tidemark plan`.
#[derive(clap::Subcommand)]
pub(crate) enum PlanVerb {
    /// Open a page where a plan is paid for, and print its address
    Checkout {
        /// The organization, by UUID or slug
        organization: ResourceId,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Begin a plan that was paid for
    #[command(visible_alias = "add")]
    Create {
        /// The organization, by UUID or slug
        organization: ResourceId,
        /// The checkout where it was paid for
        #[arg(long)]
        checkout: NonEmpty,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Show the plan
    #[command(visible_alias = "get")]
    View {
        /// The organization, by UUID or slug
        organization: ResourceId,
    },
    /// Let the plan end with the period that is paid for, or go on after all
    #[command(visible_alias = "edit")]
    Update {
        /// The organization, by UUID or slug
        organization: ResourceId,
        /// It ends
        #[arg(long, required_unless_present = "resume", conflicts_with = "resume")]
        cancel: bool,
        /// It goes on
        #[arg(long)]
        resume: bool,
    },
    /// End the plan at once
    #[command(visible_alias = "rm")]
    Delete {
        /// The organization, by UUID or slug
        organization: ResourceId,
        /// Only forget a plan that has ended at the payment provider
        #[arg(long)]
        skip_remote: bool,
    },
}

/// The requested plan.
#[derive(clap::Args)]
pub(crate) struct Wanted {
    /// The level of the plan
    #[arg(long, value_parser = word::<PlanLevel>())]
    level: PlanLevel,
    /// How many metrics a license for a server of one's own is for
    #[arg(long, value_parser = number::<u32, Entitlements>, requires = "self_hosted")]
    entitlements: Option<Entitlements>,
    /// The UUID of the organization on that server
    #[arg(long, requires = "entitlements")]
    self_hosted: Option<OrganizationUuid>,
}

impl Verb for PlanVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::Checkout { organization, wanted } => session.show(&checkout(&NewCheckout {
                organization: organization.clone(),
                level: wanted.level,
                entitlements: wanted.entitlements,
                self_hosted: wanted.self_hosted,
            })),
            Self::Create { organization, checkout, wanted } => {
                let new = NewPlan {
                    checkout: checkout.clone(),
                    level: wanted.level,
                    entitlements: wanted.entitlements,
                    self_hosted: wanted.self_hosted,
                    remote: None,
                };
                session.show(&begin_plan(organization, &new))
            }
            Self::View { organization } => session.show(&plan(organization)),
            Self::Update { organization, cancel, .. } => {
                session.show(&update_plan(organization, PlanPatch { cancel_at_period_end: *cancel }))
            }
            Self::Delete { organization, skip_remote } => {
                let removal = PlanRemoval { remote: skip_remote.then_some(false) };
                session.done(&end_plan(organization, removal), "The plan has ended.")
            }
        }
    }
}

impl Shown for Checkout {
    fn fields(&self) -> Fields {
        Fields::default().detail("Pay at", &self.url).detail("Checkout", &self.session)
    }
}

impl Shown for Plan {
    fn fields(&self) -> Fields {
        let fields = Fields::default()
            .detail("Organization", self.organization)
            .detail("Level", self.level)
            .detail("Status", self.status)
            .detail("From", output::time(self.current_period_start))
            .detail("Until", output::time(self.current_period_end))
            .detail("Ends then", flag(self.cancel_at_period_end))
            .detail("Paid by", format_args!("{} <{}>", self.customer.name, self.customer.email))
            .detail("Card", format_args!("{} …{}", self.card.brand, self.card.last_four));
        match &self.license {
            Some(license) => fields.detail("License", &license.key),
            None => fields,
        }
    }
}
