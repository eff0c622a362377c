//! `tidemark archive` and `tidemark unarchive`: archive or unarchive a branch, testbed, benchmark or measure.

use tidemark_api::{Benchmark, Branch, Measure, NameId, ResourceId, Testbed};

use crate::{
    connection::Connection,
    dimension::Dimension,
    failure::Result,
    output,
    resource::{OutputFlags, ProjectArgument, Session},
};

/// Arguments of both commands.
#[derive(clap::Args)]
pub(crate) struct Archive {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: OutputFlags,
    /// Project UUID or slug
    #[arg(long, env = "TIDEMARK_PROJECT")]
    project: ResourceId,
    #[command(flatten)]
    target: ArchiveTarget,
}

/// The resource to archive or unarchive.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct ArchiveTarget {
    /// Branch UUID, slug or name
    #[arg(long)]
    branch: Option<NameId>,
    /// Testbed UUID, slug or name
    #[arg(long)]
    testbed: Option<NameId>,
    /// Benchmark UUID, slug or name
    #[arg(long)]
    benchmark: Option<NameId>,
    /// Measure UUID, slug or name
    #[arg(long)]
    measure: Option<NameId>,
}

impl Archive {
    pub(crate) fn run(&self, archived: bool) -> Result {
        let session = Session { client: self.connection.client()?, json: self.format.json };
        match &self.target {
            ArchiveTarget { branch: Some(id), .. } => self.set_archived::<Branch>(&session, id, archived),
            ArchiveTarget { testbed: Some(id), .. } => self.set_archived::<Testbed>(&session, id, archived),
            ArchiveTarget { benchmark: Some(id), .. } => {
                self.set_archived::<Benchmark>(&session, id, archived)
            }
            ArchiveTarget { measure: Some(id), .. } => self.set_archived::<Measure>(&session, id, archived),
            // Clap requires one of the flags.
            _ => Ok(()),
        }
    }

    fn set_archived<D: Dimension>(&self, session: &Session, id: &NameId, archived: bool) -> Result {
        let project = ProjectArgument::from(self.project.clone());
        let (list, uuid) = session.find::<D>(&project, id)?;
        let done = if archived { "is archived" } else { "is no longer archived" };
        let sentence = format!("The {} `{}` {done}.", D::NOUN, output::plain(id.as_str()));
        session.confirm(&list.update(&uuid, &D::archive(archived)), &sentence)
    }
}
