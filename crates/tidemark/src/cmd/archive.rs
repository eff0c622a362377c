//! `tidemark archive` and `tidemark unarchive`: archive or unarchive a branch, testbed, benchmark or measure.

use tidemark_api::{Benchmark, Branch, Measure, NameId, ResourceId, Testbed};

use crate::{
    connection::Connection,
    dimension::Dimension,
    failure::Result,
    output,
    resource::{Format, InProject, Session},
};

/// Arguments of both commands.
#[derive(clap::Args)]
pub(crate) struct Archive {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
    /// Project UUID or slug
    #[arg(long, env = "TIDEMARK_PROJECT")]
    project: ResourceId,
    #[command(flatten)]
    what: What,
}

/// The resource to archive or unarchive.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct What {
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
        match &self.what {
            What { branch: Some(id), .. } => self.change::<Branch>(&session, id, archived),
            What { testbed: Some(id), .. } => self.change::<Testbed>(&session, id, archived),
            What { benchmark: Some(id), .. } => self.change::<Benchmark>(&session, id, archived),
            What { measure: Some(id), .. } => self.change::<Measure>(&session, id, archived),
            // Clap requires one of the flags.
            _ => Ok(()),
        }
    }

    fn change<D: Dimension>(&self, session: &Session, id: &NameId, archived: bool) -> Result {
        let project = InProject::from(self.project.clone());
        let (list, uuid) = session.find::<D>(&project, id)?;
        let done = if archived { "is archived" } else { "is no longer archived" };
        let sentence = format!("The {} `{}` {done}.", D::NOUN, output::plain(id.as_str()));
        session.done(&list.update(&uuid, &D::archive(archived)), &sentence)
    }
}
