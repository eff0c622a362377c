//! `tidemark user key`, `tidemark project key` and `tidemark token`: credentials of programs. They have different owners and the
//! same verbs and flags.

use std::{marker::PhantomData, num::NonZeroU32};

use tidemark_api::{
    KeyFilter, KeysSort, NewProjectKey, NewToken, NewUserKey, ProjectKey, ProjectKeyCreated, ProjectKeyPatch,
    ResourceId, ResourceName, Search, Token, TokenFilter, TokenPatch, UserKey, UserKeyCreated, UserKeyPatch,
};
use tidemark_client::{Collection, Resource, project_keys, tokens, user_keys};
use uuid::Uuid;

use crate::{
    failure::Result,
    output,
    resource::{Fields, NameFilter, PageFlags, Printable, Session, SortFlag, Verb, optional},
};

/// Verbs of one type of key.
#[derive(clap::Subcommand)]
pub(crate) enum KeyVerb<K: Key> {
    /// List the keys
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        owner: Owner<K>,
        #[command(flatten)]
        names: NameFilter<ResourceName>,
        /// List only revoked keys
        #[arg(long)]
        revoked: bool,
        #[command(flatten)]
        sort: SortFlag<KeysSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Create a key and show it once
    #[command(visible_alias = "add")]
    Create {
        #[command(flatten)]
        owner: Owner<K>,
        /// Name
        #[arg(long)]
        name: ResourceName,
        /// Lifetime in seconds [default: the maximum]
        #[arg(long, value_name = "SECONDS")]
        ttl: Option<NonZeroU32>,
    },
    /// Show the properties of a key
    #[command(visible_alias = "get")]
    View(KeyTarget<K>),
    /// Rename a key
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        target: KeyTarget<K>,
        /// New name
        #[arg(long)]
        name: ResourceName,
    },
    /// Revoke a key
    #[command(visible_aliases = ["rm", "delete"])]
    Revoke(KeyTarget<K>),
}

/// Owner of keys.
#[derive(clap::Args)]
pub(crate) struct Owner<K: Key> {
    /// Owner: user or project UUID or slug
    owner: ResourceId,
    #[arg(skip)]
    kind: PhantomData<fn() -> K>,
}

/// A key of an owner.
#[derive(clap::Args)]
pub(crate) struct KeyTarget<K: Key> {
    #[command(flatten)]
    owner: Owner<K>,
    /// Key UUID
    uuid: Uuid,
}

/// A type of key.
pub(crate) trait Key: Resource<Created: Printable, Patch: Default + PartialEq> + Printable {
    fn of(owner: &ResourceId) -> Collection<Self>;

    fn filter(
        name: Option<ResourceName>,
        search: Option<Search>,
        revoked: bool,
        sort: Option<KeysSort>,
    ) -> Self::Filter;

    fn new(name: ResourceName, ttl: Option<NonZeroU32>) -> Self::New;

    fn rename(name: ResourceName) -> Self::Patch;
}

impl<K: Key> Owner<K> {
    fn keys(&self) -> Collection<K> {
        K::of(&self.owner)
    }
}

impl<K: Key> Verb for KeyVerb<K> {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { owner, names, revoked, sort, page } => {
                let filter = K::filter(names.name.clone(), names.search.clone(), *revoked, sort.sort);
                session.list(owner.keys().list(&filter), page)
            }
            Self::Create { owner, name, ttl } => {
                session.show(&owner.keys().create(&K::new(name.clone(), *ttl)))
            }
            Self::View(KeyTarget { owner, uuid }) => session.show(&owner.keys().view(uuid)),
            Self::Update { target: KeyTarget { owner, uuid }, name } => {
                session.update(&owner.keys(), uuid, &K::rename(name.clone()))
            }
            Self::Revoke(KeyTarget { owner, uuid }) => {
                session.confirm(&owner.keys().delete(uuid), "The key is revoked.")
            }
        }
    }
}

impl Key for UserKey {
    fn of(owner: &ResourceId) -> Collection<Self> {
        user_keys(owner)
    }

    fn filter(
        name: Option<ResourceName>,
        search: Option<Search>,
        revoked: bool,
        sort: Option<KeysSort>,
    ) -> KeyFilter {
        KeyFilter { name, search, revoked: revoked.then_some(true), sort }
    }

    fn new(name: ResourceName, ttl: Option<NonZeroU32>) -> NewUserKey {
        NewUserKey { name, ttl }
    }

    fn rename(name: ResourceName) -> UserKeyPatch {
        UserKeyPatch { name: Some(name) }
    }
}

impl Key for ProjectKey {
    fn of(owner: &ResourceId) -> Collection<Self> {
        project_keys(owner)
    }

    fn filter(
        name: Option<ResourceName>,
        search: Option<Search>,
        revoked: bool,
        sort: Option<KeysSort>,
    ) -> KeyFilter {
        KeyFilter { name, search, revoked: revoked.then_some(true), sort }
    }

    fn new(name: ResourceName, ttl: Option<NonZeroU32>) -> NewProjectKey {
        NewProjectKey { name, ttl }
    }

    fn rename(name: ResourceName) -> ProjectKeyPatch {
        ProjectKeyPatch { name: Some(name) }
    }
}

impl Key for Token {
    fn of(owner: &ResourceId) -> Collection<Self> {
        tokens(owner)
    }

    fn filter(
        name: Option<ResourceName>,
        search: Option<Search>,
        revoked: bool,
        // Keys are always sorted by name.
        _: Option<KeysSort>,
    ) -> TokenFilter {
        TokenFilter { name, search, revoked: revoked.then_some(true), sort: None }
    }

    fn new(name: ResourceName, ttl: Option<NonZeroU32>) -> NewToken {
        NewToken { name, ttl }
    }

    fn rename(name: ResourceName) -> TokenPatch {
        TokenPatch { name: Some(name) }
    }
}

impl Printable for UserKey {
    const DROPPABLE: &'static [&'static str] = &["Created", "Ends", "Revoked"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("UUID", self.uuid)
            .detail("User", self.user)
            .column("Created", output::time(self.creation))
            .column("Ends", output::time(self.expiration))
            .column("Revoked", optional(self.revoked.map(output::time)))
    }
}

impl Printable for UserKeyCreated {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Name", &self.name)
            .column("Key", &self.key)
            .column("UUID", self.uuid)
            .detail("User", self.user)
            .column("Created", output::time(self.creation))
            .column("Ends", output::time(self.expiration))
    }
}

impl Printable for ProjectKey {
    const DROPPABLE: &'static [&'static str] = &["Created", "Ends", "Revoked"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("UUID", self.uuid)
            .detail("Project", self.project)
            .detail("Created by", optional(self.creator))
            .column("Created", output::time(self.creation))
            .column("Ends", output::time(self.expiration))
            .column("Revoked", optional(self.revoked.map(output::time)))
    }
}

impl Printable for ProjectKeyCreated {
    fn fields(&self) -> Fields {
        Fields::default()
            .column("Name", &self.name)
            .column("Key", &self.key)
            .column("UUID", self.uuid)
            .detail("Project", self.project)
            .column("Created", output::time(self.creation))
            .column("Ends", output::time(self.expiration))
    }
}

impl Printable for Token {
    const DROPPABLE: &'static [&'static str] = &["Created", "Ends", "Revoked"];

    fn fields(&self) -> Fields {
        Fields::default()
            .text("Name", &self.name)
            .column("UUID", self.uuid)
            .detail("User", self.user)
            .column("Created", output::time(self.creation))
            .column("Ends", output::time(self.expiration))
            .column("Revoked", optional(self.revoked.map(output::time)))
    }
}
