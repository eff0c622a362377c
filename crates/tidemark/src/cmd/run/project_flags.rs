//! Flags that select the project of a run.

use tidemark_api::{Project, ResourceId};
use tidemark_client::Client;

use crate::{
    connection::Connection,
    context::{Context, Environment},
    failure::{Failure, Result},
    manifest, project,
};

/// Flags for the project.
#[derive(clap::Args)]
pub(crate) struct ProjectFlags {
    /// Project UUID or slug [default: the project of this repository or folder]
    #[arg(long, env = "TIDEMARK_PROJECT")]
    pub(super) project: Option<ResourceId>,
    /// Create the project of --project or TIDEMARK_PROJECT if it does not exist
    #[arg(long)]
    create: bool,
    /// On CI: use the project of this repository if none is named, and create it if it does not exist
    #[arg(long)]
    ci_on_the_fly: bool,
}

impl ProjectFlags {
    /// Requires a server and a project on CI.
    pub(super) fn check(
        &self,
        connection: &Connection,
        environment: &Environment,
        context: &Context,
    ) -> Result {
        let on_ci = context.system.is_some() || environment.is_set("CI");
        // The results would be lost with the machine, and every run would count as the first.
        if on_ci && !connection.is_explicitly_local() && connection.target()?.host.is_none() {
            return Err(Failure::usage(
                "On CI the server must be named: give its address with --host or in TIDEMARK_HOST; --local \
                 keeps the results on this machine anyway.",
            ));
        }
        // If the variable with the name is missing, the results must not be recorded in another project.
        if on_ci && self.project.is_none() && !self.ci_on_the_fly && !connection.has_project_key() {
            return Err(Failure::usage(
                "On CI the project must be named: give --project or TIDEMARK_PROJECT, or the key of a project; \
                 --ci-on-the-fly uses the project of the repository.",
            ));
        }
        Ok(())
    }

    /// Selects the project of the repository or folder if none is named. Fails if a flag or a variable names a project that does
    /// not exist, because the name may be misspelled. Returns the
    /// project if it was looked up.
    pub(super) fn select(
        &mut self,
        client: &Client,
        connection: &Connection,
        context: &Context,
        is_job: bool,
    ) -> Result<Option<Project>> {
        let Some(named) = &self.project else {
            // The image names the project of a job, and a project key its own project.
            if !is_job && !connection.has_project_key() {
                self.project = Some(ResourceId::Slug(context.identity()?.slug.clone()));
            }
            return Ok(None);
        };
        let is_in_file = manifest::current()?.project() == Some(named);
        let is_of_folder =
            || context.identity().is_ok_and(|identity| *named == ResourceId::Slug(identity.slug.clone()));
        if self.create || is_in_file || is_of_folder() {
            return Ok(None);
        }
        project::require(client, connection, named).map(Some)
    }
}
