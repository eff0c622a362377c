//! `tidemark user`

use tidemark_api::{
    Email, ResourceId, SessionUuid, Slug, User, UserFilter, UserKey, UserName, UserPatch, UserSession,
    UsersSort,
};
use tidemark_client::{sessions, users};

use super::key::KeyVerb;
use crate::{
    failure::Result,
    output,
    resource::{Fields, Find, Order, Paging, Session, Shown, Verb, flag, optional},
};

/// Verbs of `tidemark user`.
#[derive(clap::Subcommand)]
pub(crate) enum UserVerb {
    /// List the users of the server; requires an administrator
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        find: Find<UserName>,
        #[command(flatten)]
        order: Order<UsersSort>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show a user
    #[command(visible_alias = "get")]
    View {
        /// User UUID or slug
        user: ResourceId,
    },
    /// Update a user
    #[command(visible_alias = "edit")]
    Update {
        /// User UUID or slug
        user: ResourceId,
        /// New name
        #[arg(long)]
        name: Option<UserName>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        /// New e-mail address, which the user must confirm
        #[arg(long)]
        email: Option<Email>,
        /// Whether the user is an administrator
        #[arg(long, value_name = "TRUE|FALSE")]
        admin: Option<bool>,
        /// Whether the account is locked
        #[arg(long, value_name = "TRUE|FALSE")]
        locked: Option<bool>,
    },
    /// Manage the keys of a user
    #[command(subcommand)]
    Key(KeyVerb<UserKey>),
    /// Manage the sessions of a user; requires a session token as the credential
    #[command(subcommand)]
    Session(SessionVerb),
}

/// Verbs of `tidemark user session`.
#[derive(clap::Subcommand)]
pub(crate) enum SessionVerb {
    /// List the active sessions of a user
    #[command(visible_alias = "ls")]
    List {
        /// User UUID or slug
        user: ResourceId,
        #[command(flatten)]
        paging: Paging,
    },
    /// End a session
    #[command(visible_aliases = ["rm", "delete"])]
    End {
        /// User UUID or slug
        user: ResourceId,
        /// Session UUID
        session: SessionUuid,
    },
}

impl Verb for SessionVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { user, paging } => session.list(sessions(user).list(&()), paging),
            Self::End { user, session: ended } => {
                session.done(&sessions(user).delete(ended), "The session has ended.")
            }
        }
    }
}

impl Shown for UserSession {
    const DROPPABLE: &'static [&'static str] = &["Expires", "Address", "Signed in"];

    fn fields(&self) -> Fields {
        Fields::default()
            .column("UUID", self.uuid)
            .column("Signed in", output::time(self.creation))
            .column("Expires", output::time(self.expiration))
            .column("Address", optional(self.address.as_deref()))
            .text("Program", optional(self.agent.as_deref()))
            .column("Current", if self.current { "yes" } else { "no" })
    }
}

impl Verb for UserVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { find, order, paging } => {
                let filter =
                    UserFilter { name: find.name.clone(), search: find.search.clone(), sort: order.sort };
                session.list(users().list(&filter), paging)
            }
            Self::View { user } => session.show(&users().view(user)),
            Self::Update { user, name, slug, email, admin, locked } => {
                let patch = UserPatch {
                    name: name.clone(),
                    slug: slug.clone(),
                    email: email.clone(),
                    admin: *admin,
                    locked: *locked,
                };
                session.update(&users(), user, &patch)
            }
            Self::Key(verb) => verb.run(session),
            Self::Session(verb) => verb.run(session),
        }
    }
}

impl Shown for User {
    const DROPPABLE: &'static [&'static str] = &["Created", "Locked", "Admin"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .text("Email", &self.email)
            .column("Admin", flag(self.admin))
            .column("Locked", flag(self.locked))
            .detail("UUID", self.uuid)
            .column("Created", optional(self.created.map(output::time)))
    }
}
