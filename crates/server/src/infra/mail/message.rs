//! The types of messages and their texts.

use serde::{Deserialize, Serialize};
use tidemark_api::{
    Email, InvitationUuid, Jwt, OrganizationRole, OrganizationUuid, PlanLevel, ResourceName, Timestamp,
    UserName,
};
use tidemark_store::sign_in::SignIn;
use url::Url;
use uuid::Uuid;

use super::{
    TokenSigner,
    content::{Action, MailContent},
};

/// A message, with the data of its text and without secrets.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Message {
    /// To a user who has just signed up: confirm the address.
    SignUp {
        /// Name in the greeting.
        name: UserName,
        /// Link that confirms the address.
        link: Link,
    },
    /// To the owner of an address that was used to sign up again.
    SignUpAgain {
        /// Name in the greeting.
        name: UserName,
        /// Link that signs in to the existing account.
        link: Link,
    },
    /// To a user who wants to sign in.
    LogIn {
        /// Name in the greeting.
        name: UserName,
        /// Link that signs in.
        link: Link,
    },
    /// To a user who is invited to an organization.
    Invitation(Invitation),
    /// To an administrator: a user has signed up.
    NewUser {
        /// Name of the new user.
        name: UserName,
        /// Address of the new user.
        email: Email,
        /// Whether the user signed up with an invitation.
        invited: bool,
    },
    /// To the new address of an account: confirm the change.
    EmailChange {
        /// Name in the greeting.
        name: UserName,
        /// Link that confirms the address.
        link: Link,
    },
    /// To the old address of an account: the address of the account has changed.
    EmailChanged {
        /// Name in the greeting.
        name: UserName,
        /// The new address. The mail contains it in masked form.
        email: Email,
    },
    /// To a user for whom an administrator created an API key.
    KeyCreated {
        /// Name in the greeting.
        name: UserName,
        /// Name of the key.
        key: ResourceName,
        /// Name of the administrator.
        by: UserName,
    },
    /// To the recipient of a notice: reports of a project raised alerts.
    Alerts {
        /// Summary of the notification.
        title: String,
        /// Text of the notification.
        text: String,
        /// Name of the notice.
        notice: ResourceName,
        /// Whether the notice belongs to the recipient.
        own: bool,
    },
}

/// A sign-in link. Its token is signed for the recipient's address.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Link {
    /// UUID of the stored sign-in.
    pub uuid: Uuid,
    /// The plan that the user selected before signing in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanLevel>,
    /// When the link was requested.
    pub created: Timestamp,
    /// When the link expires.
    pub expires: Timestamp,
}

impl Link {
    /// Creates the link of a stored sign-in.
    pub fn new(sign_in: &SignIn, plan: Option<PlanLevel>) -> Self {
        Self { uuid: sign_in.uuid, plan, created: sign_in.created, expires: sign_in.expires }
    }
}

/// An invitation to an organization. Its token is signed for the recipient's address.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Invitation {
    /// UUID of the stored invitation.
    pub uuid: InvitationUuid,
    /// The organization.
    pub organization: OrganizationUuid,
    /// Name of the organization.
    pub organization_name: ResourceName,
    /// The offered role.
    pub role: OrganizationRole,
    /// Name of the inviting user.
    pub inviter: UserName,
    /// Name of the invited user, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<UserName>,
    /// Whether the address has an account. Decides which page the link opens.
    pub known: bool,
    /// When the invitation was issued.
    pub created: Timestamp,
    /// When the invitation expires.
    pub expires: Timestamp,
}

const NOT_YOU: &str = "If you did not request this mail, ignore it.";

impl Message {
    /// Returns the time after which the message is obsolete.
    pub(super) fn expires(&self) -> Option<Timestamp> {
        match self {
            Self::SignUp { link, .. }
            | Self::SignUpAgain { link, .. }
            | Self::LogIn { link, .. }
            | Self::EmailChange { link, .. } => Some(link.expires),
            Self::Invitation(invitation) => Some(invitation.expires),
            Self::NewUser { .. }
            | Self::EmailChanged { .. }
            | Self::KeyCreated { .. }
            | Self::Alerts { .. } => None,
        }
    }

    /// Returns the content of the message.
    pub(super) fn content(&self, to: &Email, console: &Url, tokens: &dyn TokenSigner) -> MailContent {
        let content =
            |subject: &str, name: Option<&UserName>, body: String, action, closing: &str| MailContent {
                subject: subject.to_owned(),
                greeting: name.map_or_else(|| "Hello,".to_owned(), |name| format!("Hello {name},")),
                body,
                action,
                closing: closing.to_owned(),
                home: console.to_string(),
            };
        match self {
            Self::SignUp { name, link } => content(
                "Confirm your new Tidemark account",
                Some(name),
                "Welcome to Tidemark. Click the link to confirm your address and activate your account."
                    .to_owned(),
                Some(link.action("Confirm my address", to, console, tokens)),
                NOT_YOU,
            ),
            Self::SignUpAgain { name, link } => content(
                "You already have a Tidemark account",
                Some(name),
                "A sign-up with this address was requested, but the address already has an account. Sign in \
                 instead."
                    .to_owned(),
                Some(link.action("Sign in", to, console, tokens)),
                NOT_YOU,
            ),
            Self::LogIn { name, link } => content(
                "Sign in to Tidemark",
                Some(name),
                "Use this link to sign in.".to_owned(),
                Some(link.action("Sign in", to, console, tokens)),
                NOT_YOU,
            ),
            Self::Invitation(invitation) => content(
                &format!("{} invites you to {}", invitation.inviter, invitation.organization_name),
                invitation.name.as_ref(),
                format!(
                    "{} invites you to join the organization “{}” on Tidemark as a {}.",
                    invitation.inviter, invitation.organization_name, invitation.role
                ),
                Some(invitation.action(to, console, tokens)),
                "If you did not expect this invitation, ignore this mail.",
            ),
            Self::NewUser { name, email, invited } => content(
                "A new user signed up on your Tidemark server",
                None,
                format!(
                    "{name} ({email}) has signed up{}.",
                    if *invited { " with an invitation" } else { "" }
                ),
                None,
                "You receive this mail because you are an administrator of the server.",
            ),
            Self::EmailChange { name, link } => content(
                "Confirm your new address",
                Some(name),
                "You requested to use this address for your Tidemark account. Click the link to confirm the \
                 address."
                    .to_owned(),
                Some(link.action("Use this address", to, console, tokens)),
                NOT_YOU,
            ),
            Self::EmailChanged { name, email } => content(
                "The address of your account has changed",
                Some(name),
                format!(
                    "Your Tidemark account now uses the address {}. You can no longer sign in with the \
                     previous address. All sessions and API keys of the account were revoked.",
                    email.masked()
                ),
                None,
                "If you did not request this change, contact the administrator of the server immediately.",
            ),
            Self::KeyCreated { name, key, by } => content(
                "An API key was created for your account",
                Some(name),
                format!(
                    "{by}, an administrator of the server, created the API key “{key}” for your account."
                ),
                None,
                "If you did not request this key, revoke it in the list of your API keys.",
            ),
            Self::Alerts { title, text, notice, own } => content(
                title,
                None,
                text.clone(),
                None,
                &format!(
                    "You receive this mail because of the notice “{notice}” of {}.",
                    if *own { "your account" } else { "the project" }
                ),
            ),
        }
    }
}

impl Link {
    fn action(&self, button: &'static str, to: &Email, console: &Url, tokens: &dyn TokenSigner) -> Action {
        let token = tokens.sign_in(self.uuid, to, self.created, self.expires);
        let mut url = page(console, "confirm");
        if let Some(plan) = self.plan {
            url.query_pairs_mut().append_pair("plan", plan.as_str());
        }
        url.query_pairs_mut().append_pair("token", token.as_str());
        Action {
            button,
            url,
            label: "Confirmation token",
            token,
            lasts: format!(
                "The link can be used once and expires after {}.",
                span(self.created, self.expires)
            ),
        }
    }
}

impl Invitation {
    fn action(&self, to: &Email, console: &Url, tokens: &dyn TokenSigner) -> Action {
        let token =
            tokens.invitation(self.uuid, to, self.organization, self.role, self.created, self.expires);
        let mut url = page(console, if self.known { "login" } else { "signup" });
        url.query_pairs_mut().append_pair("invite", token.as_str());
        Action {
            button: "Accept the invitation",
            url,
            label: "Invitation code",
            token,
            lasts: format!(
                "The invitation can be used once and expires after {}.",
                span(self.created, self.expires)
            ),
        }
    }
}

/// Returns the URL of the page that shows an invitation. Unlike the link in the mail, it does not depend on whether the address
/// has an account, so that it can be shown to other users than the invited one.
pub fn invitation_url(console: &Url, token: &Jwt) -> Url {
    let mut url = page(console, "invitation");
    url.query_pairs_mut().append_pair("invite", token.as_str());
    url
}

/// Returns the URL of a sign-in page of the console. The URL of the console can have a path.
fn page(console: &Url, name: &str) -> Url {
    let mut url = console.clone();
    url.set_query(None);
    url.set_fragment(None);
    let path = format!("{}/auth/{name}", console.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

/// Returns a duration in words, rounded to the largest suitable unit.
fn span(from: Timestamp, to: Timestamp) -> String {
    let minutes = (to.seconds() - from.seconds()).max(0) / 60;
    let (count, unit) = match minutes {
        0..120 => (minutes, "minute"),
        120..2880 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
