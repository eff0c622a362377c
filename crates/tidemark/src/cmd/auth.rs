//! `tidemark auth`: sign up and sign in by mail, for users without a key. `tidemark login` stores a key.

use tidemark_api::{Accept, AuthUser, Confirm, Email, Jwt, Login, OrganizationUuid, Signup, Slug, UserName};
use tidemark_client::{accept, confirm, sign_in, sign_up};

use crate::{
    failure::Result,
    output,
    resource::{Fields, Printable, Session, Verb},
};

/// Verbs of `tidemark auth`.
#[derive(clap::Subcommand)]
pub(crate) enum AuthVerb {
    /// Create an account; the server mails a link to confirm it
    Signup {
        /// Your name
        #[arg(long)]
        name: UserName,
        /// Your slug [default: derived from the name]
        #[arg(long)]
        slug: Option<Slug>,
        /// Your e-mail address
        email: Email,
        /// Token of an invitation to accept
        #[arg(long)]
        invite: Option<Jwt>,
        /// UUID of an organization to claim
        #[arg(long)]
        claim: Option<OrganizationUuid>,
        /// Agree to the terms of the server
        #[arg(long, required = true)]
        i_agree: bool,
    },
    /// Sign in; the server mails a link
    Login {
        /// Your e-mail address
        email: Email,
        /// Token of an invitation to accept
        #[arg(long)]
        invite: Option<Jwt>,
    },
    /// Create a session with the token of a mailed link
    Confirm {
        /// Token
        #[arg(value_name = "TOKEN")]
        mailed: Jwt,
    },
    /// Accept an invitation
    Accept {
        /// Token of the invitation
        invite: Jwt,
    },
}

impl Verb for AuthVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::Signup { name, slug, email, invite, claim, i_agree } => session.show(&sign_up(&Signup {
                name: name.clone(),
                slug: slug.clone(),
                email: email.clone(),
                plan: None,
                invite: invite.clone(),
                claim: *claim,
                i_agree: *i_agree,
                recaptcha_token: None,
            })),
            Self::Login { email, invite } => session.show(&sign_in(&Login {
                email: email.clone(),
                plan: None,
                invite: invite.clone(),
                recaptcha_token: None,
            })),
            Self::Confirm { mailed } => session.show(&confirm(&Confirm { token: mailed.clone() })),
            Self::Accept { invite } => session.show(&accept(&Accept { invite: invite.clone() })),
        }
    }
}

impl Printable for AuthUser {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("User", &self.user.name)
            .column("Slug", &self.user.slug)
            .column("Token", &self.token)
            .column("Ends", output::time(self.expiration))
    }
}
