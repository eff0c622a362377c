//! `tidemark plan`: the plan of an organization, on servers with billing.

use tidemark_api::{
    Checkout, Entitlements, NewCheckout, NewPlan, NonEmpty, OrganizationUuid, Plan, PlanLevel, PlanPatch,
    PlanRemoval, ResourceId,
};
use tidemark_client::{begin_plan, checkout, end_plan, plan, update_plan};

use crate::{
    failure::Result,
    output,
    resource::{Fields, Printable, Session, Verb, fixed_string_parser, parse_number, yes_if},
};

/// Verbs of `tidemark plan`.
#[derive(clap::Subcommand)]
pub(crate) enum PlanVerb {
    /// Create a checkout page to pay for a plan, and print its URL
    Checkout {
        /// Organization UUID or slug
        organization: ResourceId,
        #[command(flatten)]
        flags: PlanFlags,
    },
    /// Start a plan that has been paid for
    #[command(visible_alias = "add")]
    Create {
        /// Organization UUID or slug
        organization: ResourceId,
        /// ID of the paid checkout
        #[arg(long)]
        checkout: NonEmpty,
        #[command(flatten)]
        flags: PlanFlags,
    },
    /// Show the plan
    #[command(visible_alias = "get")]
    View {
        /// Organization UUID or slug
        organization: ResourceId,
    },
    /// Cancel the plan at the end of the paid period, or resume it
    #[command(visible_alias = "edit")]
    Update {
        /// Organization UUID or slug
        organization: ResourceId,
        /// Cancel the plan at the end of the paid period
        #[arg(long, required_unless_present = "resume", conflicts_with = "resume")]
        cancel: bool,
        /// Resume the plan
        #[arg(long)]
        resume: bool,
    },
    /// End the plan immediately
    #[command(visible_alias = "rm")]
    Delete {
        /// Organization UUID or slug
        organization: ResourceId,
        /// Only delete the record of a plan that has ended at the payment provider
        #[arg(long)]
        skip_remote: bool,
    },
}

/// The requested plan.
#[derive(clap::Args)]
pub(crate) struct PlanFlags {
    /// Level of the plan
    #[arg(long, value_parser = fixed_string_parser::<PlanLevel>())]
    level: PlanLevel,
    /// Number of metrics of a license for a self-hosted server
    #[arg(long, value_parser = parse_number::<u32, Entitlements>, requires = "self_hosted")]
    entitlements: Option<Entitlements>,
    /// UUID of the organization on that server
    #[arg(long, requires = "entitlements")]
    self_hosted: Option<OrganizationUuid>,
}

impl Verb for PlanVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::Checkout { organization, flags } => session.show(&checkout(&NewCheckout {
                organization: organization.clone(),
                level: flags.level,
                entitlements: flags.entitlements,
                self_hosted: flags.self_hosted,
            })),
            Self::Create { organization, checkout, flags } => {
                let new = NewPlan {
                    checkout: checkout.clone(),
                    level: flags.level,
                    entitlements: flags.entitlements,
                    self_hosted: flags.self_hosted,
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
                session.confirm(&end_plan(organization, removal), "The plan has ended.")
            }
        }
    }
}

impl Printable for Checkout {
    fn fields(&self) -> Fields {
        Fields::default().detail("Pay at", &self.url).detail("Checkout", &self.session)
    }
}

impl Printable for Plan {
    fn fields(&self) -> Fields {
        let fields = Fields::default()
            .detail("Organization", self.organization)
            .detail("Level", self.level)
            .detail("Status", self.status)
            .detail("From", output::time(self.current_period_start))
            .detail("Until", output::time(self.current_period_end))
            .detail("Canceled at end", yes_if(self.cancel_at_period_end))
            .detail("Paid by", format_args!("{} <{}>", self.customer.name, self.customer.email))
            .detail("Card", format_args!("{} …{}", self.card.brand, self.card.last_four));
        match &self.license {
            Some(license) => fields.detail("License", &license.key),
            None => fields,
        }
    }
}
