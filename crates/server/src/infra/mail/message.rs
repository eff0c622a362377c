//! The messages we send, and what each of them says.

use serde::{Deserialize, Serialize};
use tidemark_api::{
    Email, InvitationUuid, OrganizationRole, OrganizationUuid, PlanLevel, ResourceName, Timestamp, UserName,
};
use tidemark_store::sign_in::SignIn;
use url::Url;
use uuid::Uuid;

use super::{
    Tokens,
    letter::{Action, Letter},
};

/// A message, with what is needed to write it and nothing secret.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Message {
    /// To someone who has just signed up: confirm the address.
    SignUp {
        /// Whom to greet.
        name: UserName,
        /// The link that confirms.
        link: Link,
    },
    /// To the owner of an address that someone signed up with again.
    SignUpAgain {
        /// Whom to greet.
        name: UserName,
        /// A link that signs in to the account there is.
        link: Link,
    },
    /// To someone who wants to sign in.
    LogIn {
        /// Whom to greet.
        name: UserName,
        /// The link that signs in.
        link: Link,
    },
    /// To someone invited into an organization.
    Invitation(Invitation),
    /// To an administrator: someone has signed up.
    NewUser {
        /// The new user's name.
        name: UserName,
        /// The new user's address.
        email: Email,
        /// Whether an invitation brought the user here.
        invited: bool,
    },
    /// To the new address of an account: confirm the change.
    EmailChange {
        /// Whom to greet.
        name: UserName,
        /// The link that confirms.
        link: Link,
    },
    /// To the old address of an account: the account has another one now.
    EmailChanged {
        /// Whom to greet.
        name: UserName,
        /// The new address; the mail shows only its outline.
        email: Email,
    },
    /// To a user for whom an administrator made an API key.
    KeyCreated {
        /// Whom to greet.
        name: UserName,
        /// The name of the key.
        key: ResourceName,
        /// The name of the administrator.
        by: UserName,
    },
    /// To who wants to know: reports of a project raised alerts.
    Alerts {
        /// What happened, in a few words.
        title: String,
        /// What happened, line by line.
        text: String,
        /// The name of the notice.
        notice: ResourceName,
        /// Whether it is one of the reader's own.
        own: bool,
    },
}

/// A sign-in link; its token is signed for the address the mail goes to.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Link {
    /// The id of the recorded sign-in.
    pub uuid: Uuid,
    /// The plan the person has in mind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanLevel>,
    /// When it was asked for.
    pub created: Timestamp,
    /// When it runs out.
    pub expires: Timestamp,
}

impl Link {
    /// The link of a recorded sign-in.
    pub fn new(sign_in: &SignIn, plan: Option<PlanLevel>) -> Self {
        Self { uuid: sign_in.uuid, plan, created: sign_in.created, expires: sign_in.expires }
    }
}

/// An invitation into an organization; its token is signed for the address the mail goes to.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Invitation {
    /// The id of the recorded invitation.
    pub uuid: InvitationUuid,
    /// The organization.
    pub organization: OrganizationUuid,
    /// The name of the organization.
    pub organization_name: ResourceName,
    /// The role that waits there.
    pub role: OrganizationRole,
    /// The name of the inviting user.
    pub inviter: UserName,
    /// The name of the invited person, if the inviter gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<UserName>,
    /// Whether the address has an account; decides where the link leads.
    pub known: bool,
    /// When it was issued.
    pub created: Timestamp,
    /// When it runs out.
    pub expires: Timestamp,
}

const NOT_YOU: &str = "If this was not you, ignore this mail and nothing will happen.";

impl Message {
    /// When the message loses its point.
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

    /// The words of the message.
    pub(super) fn letter(&self, to: &Email, console: &Url, tokens: &dyn Tokens) -> Letter {
        let letter = |subject: &str, name: Option<&UserName>, body: String, action, closing: &str| Letter {
            subject: subject.to_owned(),
            greeting: name.map_or_else(|| "Hello,".to_owned(), |name| format!("Hello {name},")),
            body,
            action,
            closing: closing.to_owned(),
            home: console.to_string(),
        };
        match self {
            Self::SignUp { name, link } => letter(
                "Confirm your new Tidemark account",
                Some(name),
                "Welcome to Tidemark. One click confirms your address and opens your account.".to_owned(),
                Some(link.action("Confirm my address", to, console, tokens)),
                NOT_YOU,
            ),
            Self::SignUpAgain { name, link } => letter(
                "You already have a Tidemark account",
                Some(name),
                "Someone, probably you, tried to sign up with this address. It has an account already, \
                 so there is nothing to set up: just sign in."
                    .to_owned(),
                Some(link.action("Sign in", to, console, tokens)),
                NOT_YOU,
            ),
            Self::LogIn { name, link } => letter(
                "Sign in to Tidemark",
                Some(name),
                "Here is the link you asked for.".to_owned(),
                Some(link.action("Sign in", to, console, tokens)),
                NOT_YOU,
            ),
            Self::Invitation(invitation) => letter(
                &format!("{} invites you to {}", invitation.inviter, invitation.organization_name),
                invitation.name.as_ref(),
                format!(
                    "{} would like you to join the organization “{}” on Tidemark as a {}.",
                    invitation.inviter, invitation.organization_name, invitation.role
                ),
                Some(invitation.action(to, console, tokens)),
                "If you do not know what this is about, ignore this mail and nothing will happen.",
            ),
            Self::NewUser { name, email, invited } => letter(
                "Someone joined your Tidemark server",
                None,
                format!(
                    "{name} ({email}) has just signed up{}.",
                    if *invited { ", following an invitation" } else { "" }
                ),
                None,
                "You get this mail because you administer the server.",
            ),
            Self::EmailChange { name, link } => letter(
                "Confirm your new address",
                Some(name),
                "You want to use this address for your Tidemark account from now on. One click confirms it."
                    .to_owned(),
                Some(link.action("Use this address", to, console, tokens)),
                NOT_YOU,
            ),
            Self::EmailChanged { name, email } => letter(
                "The address of your account has changed",
                Some(name),
                format!(
                    "Your Tidemark account now uses the address {}. This one no longer opens it. All sessions and API keys of \
                     the account have ended.",
                    email.masked()
                ),
                None,
                "If this was not you, please tell the administrator of the server at once.",
            ),
            Self::KeyCreated { name, key, by } => letter(
                "An API key was made for your account",
                Some(name),
                format!("{by}, who administers the server, made the API key “{key}”, which acts as you."),
                None,
                "If you did not ask for it, revoke it in your account's list of keys.",
            ),
            Self::Alerts { title, text, notice, own } => letter(
                title,
                None,
                text.clone(),
                None,
                &format!(
                    "You get this mail by the notice “{notice}” of {}.",
                    if *own { "your account" } else { "the project" }
                ),
            ),
        }
    }
}

impl Link {
    fn action(&self, button: &'static str, to: &Email, console: &Url, tokens: &dyn Tokens) -> Action {
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
            lasts: format!("The link works once and for {}.", span(self.created, self.expires)),
        }
    }
}

impl Invitation {
    fn action(&self, to: &Email, console: &Url, tokens: &dyn Tokens) -> Action {
        let token =
            tokens.invitation(self.uuid, to, self.organization, self.role, self.created, self.expires);
        let mut url = page(console, if self.known { "login" } else { "signup" });
        url.query_pairs_mut().append_pair("invite", token.as_str());
        Action {
            button: "Accept the invitation",
            url,
            label: "Invitation code",
            token,
            lasts: format!("The invitation works once and for {}.", span(self.created, self.expires)),
        }
    }
}

/// A page of the console about signing in; the console may live below a path of its own.
fn page(console: &Url, name: &str) -> Url {
    let mut url = console.clone();
    url.set_query(None);
    url.set_fragment(None);
    let path = format!("{}/auth/{name}", console.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

/// A length of time in words, rounded to the largest unit that reads well.
fn span(from: Timestamp, to: Timestamp) -> String {
    let minutes = (to.seconds() - from.seconds()).max(0) / 60;
    let (count, unit) = match minutes {
        0..120 => (minutes, "minute"),
        120..2880 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
