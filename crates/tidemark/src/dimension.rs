//! Verbs of branches, testbeds, benchmarks and measures. The file of each dimension below `cmd` has its own flags, its conversion to
//! the types of `api`, and its output fields.

use std::{convert::Infallible, marker::PhantomData, str::FromStr};

use clap::Args;
use serde::Serialize;
use tidemark_api::{FixedString, Invalid, NameId, ResourceId, Search, Slug};
use tidemark_client::{Collection, Error, Resource};
use uuid::Uuid;

use crate::{
    failure::{Exit, Failure, Result},
    output,
    resource::{ArchiveFlags, NameFilter, PageFlags, Printable, ProjectArgument, Session, SortFlag, Verb},
};

/// A branch, testbed, benchmark or measure: a named resource of a project that can be archived.
pub(crate) trait Dimension: Resource<Created = Self, Patch: Default + PartialEq> + Printable {
    const NOUN: &'static str;

    const PLURAL: &'static str;

    /// Placeholder of the argument in the help.
    const VALUE_NAME: &'static str;

    type Name: FromStr<Err = Invalid> + Clone + Send + Sync + 'static;

    type Sort: FixedString;

    /// Flags of `create`, besides the name and the slug.
    type CreateFlags: Args;

    /// Flags of `view`, which are the query of the request.
    type ViewFlags: Args + Serialize + Clone;

    /// Flags of `update`, besides the name, the slug and archiving.
    type UpdateFlags: Args + Default;

    fn of(project: &ResourceId) -> Collection<Self>;

    fn uuid(&self) -> Uuid;

    fn name(&self) -> Self::Name;

    fn filter(
        name: Option<Self::Name>,
        search: Option<Search>,
        archived: Option<bool>,
        sort: Option<Self::Sort>,
    ) -> Self::Filter;

    fn new(name: Self::Name, slug: Option<Slug>, flags: &Self::CreateFlags) -> Self::New;

    fn patch(
        name: Option<Self::Name>,
        slug: Option<Slug>,
        archived: Option<bool>,
        flags: &Self::UpdateFlags,
    ) -> Self::Patch;

    /// Returns the flags of `view` for the query of the request, with UUIDs instead of names.
    fn resolve(
        _session: &Session,
        _project: &ResourceId,
        _uuid: Uuid,
        flags: &Self::ViewFlags,
    ) -> Result<Self::ViewFlags> {
        Ok(flags.clone())
    }

    /// Returns a filter on archived or other resources, optionally with this name.
    fn archived(name: Option<Self::Name>, archived: bool) -> Self::Filter {
        Self::filter(name, None, Some(archived), None)
    }

    /// Returns the patch that archives or unarchives the resource.
    fn archive(archived: bool) -> Self::Patch {
        Self::patch(None, None, Some(archived), &Self::UpdateFlags::default())
    }
}

/// Verbs of a dimension.
#[derive(clap::Subcommand)]
pub(crate) enum DimensionVerb<D: Dimension> {
    #[command(visible_alias = "ls", about = format!("List the {} of a project", D::PLURAL))]
    List {
        #[command(flatten)]
        project: ProjectArgument,
        #[command(flatten)]
        names: NameFilter<D::Name>,
        #[arg(long, help = format!("List only archived {}", D::PLURAL))]
        archived: bool,
        #[command(flatten)]
        sort: SortFlag<D::Sort>,
        #[command(flatten)]
        page: PageFlags,
    },
    #[command(visible_alias = "add", about = format!("Create a {}", D::NOUN))]
    Create {
        #[command(flatten)]
        project: ProjectArgument,
        /// Name
        #[arg(long)]
        name: D::Name,
        /// Slug [default: derived from the name]
        #[arg(long)]
        slug: Option<Slug>,
        #[command(flatten)]
        flags: D::CreateFlags,
    },
    #[command(visible_alias = "get", about = format!("Show a {}", D::NOUN))]
    View {
        #[command(flatten)]
        target: DimensionTarget<D>,
        #[command(flatten)]
        flags: D::ViewFlags,
    },
    #[command(visible_alias = "edit", about = format!("Update a {}", D::NOUN))]
    Update {
        #[command(flatten)]
        target: DimensionTarget<D>,
        /// New name
        #[arg(long)]
        name: Option<D::Name>,
        /// New slug
        #[arg(long)]
        slug: Option<Slug>,
        #[command(flatten)]
        flags: D::UpdateFlags,
        #[command(flatten)]
        archive: ArchiveFlags,
    },
    #[command(visible_alias = "rm", about = format!("Delete a {} without reports", D::NOUN))]
    Delete(DimensionTarget<D>),
}

/// A resource of a dimension.
#[derive(clap::Args)]
pub(crate) struct DimensionTarget<D: Dimension> {
    #[command(flatten)]
    project: ProjectArgument,
    #[arg(id = D::NOUN, value_name = D::VALUE_NAME, help = id_help(D::NOUN))]
    id: NameId,
    #[arg(skip)]
    dimension: PhantomData<fn() -> D>,
}

/// Returns the help of an argument that names a resource.
fn id_help(noun: &str) -> String {
    format!("{} UUID, slug or name", output::capitalized(noun))
}

impl<D: Dimension> DimensionTarget<D> {
    fn find(&self, session: &Session) -> Result<(Collection<D>, Uuid)> {
        session.find(&self.project, &self.id)
    }
}

impl<D: Dimension> Verb for DimensionVerb<D> {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, names, archived, sort, page } => {
                let archived = archived.then_some(true);
                let filter = D::filter(names.name.clone(), names.search.clone(), archived, sort.sort);
                session.list(D::of(project.id()?).list(&filter), page)
            }
            Self::Create { project, name, slug, flags } => {
                let new = D::new(name.clone(), slug.clone(), flags);
                session.show(&D::of(project.id()?).create(&new))
            }
            Self::View { target, flags } => {
                let (list, uuid) = target.find(session)?;
                let flags = D::resolve(session, target.project.id()?, uuid, flags)?;
                session.show(&list.view(&uuid).query(&flags))
            }
            Self::Update { target, name, slug, flags, archive } => {
                let patch = D::patch(name.clone(), slug.clone(), archive.value(), flags);
                let (list, uuid) = target.find(session)?;
                session.update(&list, &uuid, &patch)
            }
            Self::Delete(target) => {
                let (list, uuid) = target.find(session)?;
                session.confirm(&list.delete(&uuid), &format!("The {} is deleted.", D::NOUN))
            }
        }
    }
}

/// Resources as a flag names them: one UUID, slug or name, or several, separated by commas.
#[derive(Clone, Debug)]
pub(crate) struct NameList(String);

impl FromStr for NameList {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl Session {
    /// Finds resources of a project, in the order of the flags. A text with commas is first searched for as a whole, because a
    /// name can contain commas.
    pub(crate) fn find_all<D: Dimension>(
        &self,
        project: &ProjectArgument,
        lists: &[NameList],
    ) -> Result<Vec<Uuid>> {
        let mut uuids = Vec::new();
        for NameList(text) in lists {
            let name = |text: &str| {
                text.parse::<NameId>().map_err(|error| {
                    Failure::usage(format!("`{}` is not a {}: {error}.", output::plain(text), D::NOUN))
                })
            };
            let are_uuids = text.split(',').all(|part| part.parse::<Uuid>().is_ok());
            if let (false, Ok(whole)) = (are_uuids, name(text)) {
                match self.find::<D>(project, &whole) {
                    Ok((_, uuid)) => {
                        uuids.push(uuid);
                        continue;
                    }
                    // Not the name of a resource: a list of names.
                    Err(failure) if text.contains(',') && failure.is(Exit::Refused) => {}
                    Err(failure) => return Err(failure),
                }
            }
            for part in text.split(',') {
                uuids.push(self.find::<D>(project, &name(part)?)?.1);
            }
        }
        Ok(uuids)
    }

    /// Finds a resource of a project by UUID, slug or name, in this order.
    pub(crate) fn find<D: Dimension>(
        &self,
        project: &ProjectArgument,
        id: &NameId,
    ) -> Result<(Collection<D>, Uuid)> {
        let list = D::of(project.id()?);
        let uuid = match id.uuid() {
            Some(uuid) => uuid,
            None => self.look_up(&list, id)?,
        };
        Ok((list, uuid))
    }

    fn look_up<D: Dimension>(&self, list: &Collection<D>, id: &NameId) -> Result<Uuid> {
        if let Some(slug) = id.slug() {
            match self.client.send(&list.view(&slug)) {
                Ok(found) => return Ok(found.uuid()),
                Err(Error::Refused { status: 404, .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        for archived in [false, true] {
            let Ok(name) = id.as_str().parse() else { break };
            if let Some(found) = self.client.send(&list.list(&D::archived(Some(name), archived)))?.first() {
                return Ok(found.uuid());
            }
        }
        let id = output::plain(id.as_str());
        Err(Failure::with(Exit::Refused, format!("There is no {} `{id}`, or you may not see it.", D::NOUN)))
    }
}
