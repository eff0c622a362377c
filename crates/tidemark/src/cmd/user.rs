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
    resource::{Fields, NameFilter, PageFlags, Printable, Session, SortFlag, Verb, optional, yes_if},
};

/// Verbs of `tidemark user`.
#[derive(clap::Subcommand)]
pub(crate) enum UserVerb {
    /// List the users of the server; requires an administrator
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        names: NameFilter<UserName>,
        #[command(flatten)]
        sort: SortFlag<UsersSort>,
        #[command(flatten)]
        page: PageFlags,
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
        page: PageFlags,
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
            Self::List { user, page } => session.list(sessions(user).list(&()), page),
            Self::End { user, session: ended } => {
                session.confirm(&sessions(user).delete(ended), "The session has ended.")
            }
        }
    }
}

impl Printable for UserSession {
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
            Self::List { names, sort, page } => {
                let filter =
                    UserFilter { name: names.name.clone(), search: names.search.clone(), sort: sort.sort };
                session.list(users().list(&filter), page)
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

impl Printable for User {
    const DROPPABLE: &'static [&'static str] = &["Created", "Locked", "Admin"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("Slug", &self.slug)
            .text("Email", &self.email)
            .column("Admin", yes_if(self.admin))
            .column("Locked", yes_if(self.locked))
            .detail("UUID", self.uuid)
            .column("Created", optional(self.created.map(output::time)))
    }
}
