//! `tidemark push`: copies the results on this machine to a server. It skips results that the server already has, so that it can
//! be repeated at any time.

use std::str::FromStr;

use serde_json::json;
use tidemark_api::{Project, ProjectFilter, ResourceId};
use tidemark_client::{Client, projects};

use crate::{
    connection::Connection,
    failure::{Failure, Result, print},
    local,
    output::plain,
    project,
    transfer::{self, Route},
};

/// Arguments of `tidemark push`.
#[derive(clap::Args)]
pub(crate) struct Push {
    #[command(flatten)]
    connection: Connection,
    /// Local project, with `=` and its name on the server if it differs; repeat the flag for several [default: the project of
    /// this repository or folder]
    #[arg(long, value_name = "PROJECT[=THERE]", env = "TIDEMARK_PROJECT")]
    project: Vec<Mapping>,
    /// Create the project that is named after `=` if the server does not have it
    #[arg(long)]
    create: bool,
    /// Push all local projects
    #[arg(long)]
    all: bool,
    /// Only show the number of reports to push
    #[arg(long)]
    dry_run: bool,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
    /// Suppress progress messages
    #[arg(long, short)]
    quiet: bool,
}

/// A local project and its name on the server.
#[derive(Clone, Debug, PartialEq)]
struct Mapping {
    here: ResourceId,
    there: ResourceId,
}

impl FromStr for Mapping {
    type Err = tidemark_api::Invalid;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (here, there) = text.split_once('=').unwrap_or((text, text));
        Ok(Self { here: here.trim().parse()?, there: there.trim().parse()? })
    }
}

impl Push {
    pub(crate) fn run(self) -> Result {
        let Some((host, _)) = self.connection.target()?.host else {
            return Err(Failure::usage(
                "There is no server to push to: give its address with --host or in TIDEMARK_HOST, as host in \
                 tidemark.toml, or with `tidemark login`.",
            ));
        };
        let address = host.as_str().trim_end_matches('/').to_owned();
        let here = local::client(None)?;
        let mappings = self.mappings(&here)?;
        let there = self.connection.client()?;
        // A project with the name of the local project is not misspelled.
        for Mapping { here, there: target } in mappings.iter().filter(|_| !self.create) {
            if here != target {
                project::require(&there, &self.connection, target)?;
            }
        }
        let (mut lines, mut pushed) = (String::new(), Vec::new());
        for Mapping { here: source, there: target } in &mappings {
            let route = Route { from: &here, source, to: &there, target };
            let counts = transfer::copy(&route, self.dry_run, self.quiet || self.json)?;
            let verb = if self.dry_run { "to be sent" } else { "sent" };
            lines.push_str(&format!(
                "{source}: {} of {} reports {verb} to {address}/v0/projects/{target}\n",
                counts.missing, counts.found
            ));
            pushed.push(json!({
                "from": source, "to": target, "reports": counts.found,
                "sent": if self.dry_run { 0 } else { counts.missing }, "missing": counts.missing,
            }));
        }
        if self.json {
            return print(&format!("{:#}\n", json!({ "host": address, "projects": pushed })));
        }
        print(&lines)
    }

    /// Returns the projects to push; all of them must exist locally.
    fn mappings(&self, here: &Client) -> Result<Vec<Mapping>> {
        let known = known(here)?;
        if self.all {
            let same = |project: Project| ResourceId::Slug(project.slug);
            return Ok(known
                .into_iter()
                .map(same)
                .map(|id| Mapping { here: id.clone(), there: id })
                .collect());
        }
        let slugs: Vec<_> = known.iter().map(|project| plain(project.slug.as_str())).collect();
        let found = if slugs.is_empty() {
            "there are no projects on this machine".to_owned()
        } else {
            format!("the projects are: {}", slugs.join(" "))
        };
        let mappings = match self.project.as_slice() {
            [] => {
                let id = project::select(None)?.clone();
                vec![Mapping { here: id.clone(), there: id }]
            }
            named => named.to_vec(),
        };
        for Mapping { here, .. } in &mappings {
            let is_here = |project: &Project| match here {
                ResourceId::Slug(slug) => project.slug == *slug,
                ResourceId::Uuid(uuid) => project.uuid.uuid() == *uuid,
            };
            if !known.iter().any(is_here) {
                let failure = Failure::usage(format!("Project `{here}` not found on this machine; {found}."));
                let slugs = known.into_iter().map(|project| project.slug);
                return Err(match project::most_similar(&here.to_string(), slugs) {
                    Some(slug) => failure.and(&format!("Did you mean `{slug}`?")),
                    None if self.project.is_empty() => {
                        failure.and("Name one with `--project`, or pass `--all`.")
                    }
                    None => failure,
                });
            }
        }
        Ok(mappings)
    }
}

/// Returns all projects of a server.
fn known(client: &Client) -> Result<Vec<Project>> {
    let mut all = Vec::new();
    client.pages(&projects().list(&ProjectFilter::default()), None, |_, found| {
        all.extend(found);
        Ok(())
    })?;
    Ok(all)
}
