//! `tidemark project export` and `tidemark project import`: move a whole project between servers and engines. Both commands open the
//! database directly, with or without a running server.

use std::{error::Error as _, fs::File, io::BufReader, path::PathBuf};

use tidemark_api::{ResourceId, Slug};
use tidemark_store::{Error, IN_USE, archive::project as archive, organization, project};

use crate::{
    cmd::backup::{DatabaseFlags, OpenDatabase, fresh, open, runtime},
    failure::{Failure, Result, causes, print},
    file::OutputFile,
};

/// Arguments of `tidemark project export`.
#[derive(clap::Args)]
pub(crate) struct ExportProject {
    /// Project UUID or slug
    project: ResourceId,
    /// File to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    place: DatabaseFlags,
}

impl ExportProject {
    pub(crate) fn run(&self) -> Result {
        let config = self.place.load()?;
        let output = OutputFile::create(&self.file)?;
        let (wanted, created) = (self.project.clone(), fresh().now);
        let (summary, output) = runtime()?.block_on(async {
            let OpenDatabase { db, _lock } = open(&config).await?;
            let exported = db
                .read(move |tx| {
                    let (found, _) = project::find(tx, &wanted, None)?;
                    let mut encoder = zstd::Encoder::new(output, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                    let summary = archive::export(tx, found.id, created, &mut encoder)?;
                    Ok::<_, Error>((summary, encoder.finish()?))
                })
                .await;
            db.close().await;
            exported.map_err(|error| failure("exported", &error))
        })?;
        output.finish()?;
        let runs = summary.rows.get("report").copied().unwrap_or_default();
        print(&format!("Exported {} to {} (runs: {runs}).\n", self.project, self.file.display()))
    }
}

/// Arguments of `tidemark project import`.
#[derive(clap::Args)]
pub(crate) struct ImportProject {
    /// File of `tidemark project export`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Organization UUID or slug of the new project
    #[arg(long, value_name = "ORGANIZATION")]
    organization: ResourceId,
    /// Slug of the new project [default: the slug in the file]
    #[arg(long)]
    slug: Option<Slug>,
    #[command(flatten)]
    place: DatabaseFlags,
}

impl ImportProject {
    pub(crate) fn run(&self) -> Result {
        let config = self.place.load()?;
        let unreadable = |error| {
            Failure::new(format!("{} cannot be read ({error}); nothing was changed.", self.file.display()))
        };
        let reader = File::open(&self.file)
            .and_then(|file| zstd::Decoder::with_buffer(BufReader::new(file)))
            .map_err(unreadable)?;
        let (owner, slug) = (self.organization.clone(), self.slug.clone());
        let summary = runtime()?.block_on(async {
            let OpenDatabase { db, _lock } = open(&config).await?;
            let imported = db
                .write(move |tx| {
                    let owner = organization::find(tx, &owner)?;
                    archive::import(tx, owner.id, slug.as_ref(), reader)
                })
                .await;
            db.close().await;
            imported.map_err(|error| failure("imported", &error))
        })?;
        let runs = summary.rows.get("report").copied().unwrap_or_default();
        let slug = match (&self.slug, &summary.header.project) {
            (Some(slug), _) => slug.to_string(),
            (None, Some(project)) => project.slug.clone(),
            (None, None) => String::new(),
        };
        print(&format!("Imported {slug} into {} (runs: {runs}).\n", self.organization))
    }
}

fn failure(verb: &str, error: &Error) -> Failure {
    let reason = match (error, error.source()) {
        (Error::NotFound(noun), _) => format!("this {noun} does not exist"),
        (Error::Conflict(index), _) if index == IN_USE => {
            "the archive is damaged: a row refers to a missing row".to_owned()
        }
        (_, Some(source)) => causes(source),
        (_, None) => error.to_string(),
    };
    Failure::new(format!("The project cannot be {verb} ({reason}); nothing was changed."))
}
