//! `tidemark demo`: creates a demo project with one year of history in a data folder.
//!
//! The code of the server parses, judges and stores the reports, like every other report, at the time of each report.
//! `history.rs` generates the values, and `review.rs` reviews the old events.

mod history;
mod review;

use std::{path::PathBuf, sync::Arc, time::Instant};

use serde_json::json;
use tidemark_api::{
    Benchmark, Branch, Measure, NameId, NewReport, Project, ResourceId, ResourceName, Slug, Testbed,
    Timestamp, User, Visibility,
};
use tidemark_server::{
    App,
    domain::{
        changes,
        error::{Error, Result as Done},
        ingest::{self, Submission, TargetProject},
        quota::Quota,
    },
    infra::{
        clock::{Clock, SeededEntropy},
        config::Flags,
    },
};
use tidemark_store::{Db, Dimension, ProjectId, Tx, WriteContext, organization, plot, project, user};
use tokio::runtime;

use self::history::{History, PLOTS, Pinned};
use crate::{
    cmd::restore,
    failure::{Failure, Result, print},
    settings,
};

/// Reports per transaction.
const BATCH: usize = 32;

/// Events older than this many days are reviewed.
const SETTLED_DAYS: i64 = 30;

const DAY: i64 = 86_400;

/// Arguments of `tidemark demo`.
#[derive(clap::Args)]
pub(crate) struct Demo {
    /// Configuration file
    #[arg(long, value_name = "FILE", env = "TIDEMARK_CONFIG")]
    config: Option<PathBuf>,
    /// Data folder of the server, which must not be running [default: the data folder of the platform]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// PostgreSQL database to use instead of SQLite: postgres://user:password@host/name
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Organization of the project: UUID or slug [default: a new organization without an owner]
    #[arg(long)]
    organization: Option<ResourceId>,
    /// Slug of the new project
    #[arg(long, default_value = "demo")]
    project: Slug,
    /// Seed; the same seed generates the same history
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Demo {
    pub(crate) fn run(self) -> Result {
        let flags = Flags { bind: None, data_dir: self.data_dir.clone(), database: self.database.clone() };
        let config = settings::load(self.config.clone(), &flags)?;
        config.create_folders()?;
        // A running server may share a PostgreSQL database.
        let _lock = match config.database.url {
            Some(_) => None,
            None => Some(restore::lock_database(&config.database.file)?),
        };
        let started = Instant::now();
        let fill = async {
            let app = App::embed(config.clone()).await?;
            let filled = self.fill(&app).await;
            let admins = app.db.read(|tx| user::admins(tx).map_err(Error::from)).await;
            app.close().await;
            Ok::<_, Error>((filled?, admins?))
        };
        let runtime = runtime::Builder::new_multi_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Failure::new(format!("The threads cannot be started ({error}).")))?;
        let ((project, reports), admins) = runtime.block_on(fill).map_err(|error| self.explain(error))?;
        let url = config.console.url.as_ref().trim_end_matches('/');
        let link = match config.smtp {
            Some(_) => "mails the sign-in link".to_owned(),
            None => format!(
                "prints the sign-in link and writes it to {}",
                config.data_dir.join("outbox").display()
            ),
        };
        print(&format!(
            "{reports} reports of {} are in the project {} after {:.1} s.\nStart the server and open \
             {url}/perf/{}/plots\n{}\nThe server {link}.\n",
            project.name,
            project.slug,
            started.elapsed().as_secs_f64(),
            project.slug,
            sign_in_hint(self.organization.as_ref(), &admins, url)
        ))
    }

    /// Creates the project and its content.
    async fn fill(&self, app: &App) -> Done<(Project, usize)> {
        let db = &app.db;
        let entropy = Arc::new(SeededEntropy::new(self.seed));
        let now = Clock::System.now();
        let fresh = move |at: Timestamp| WriteContext::new(at, Arc::clone(&entropy) as Arc<_>);
        let history = History::new(self.seed, now);
        let (target_project, project) = {
            let (fresh, organization, slug) =
                (fresh(history.begin()), self.organization.clone(), self.project.clone());
            db.write(move |tx| create_project(tx, &fresh, organization.as_ref(), &slug)).await?
        };
        let reports: Vec<NewReport> =
            history.reports().collect::<serde_json::Result<_>>().map_err(internal)?;
        let (count, settled) = (reports.len(), now.plus_seconds(-SETTLED_DAYS * DAY));
        let (old, recent) = reports.into_iter().partition(|report| report.end_time < settled);
        let new_image = history.new_image();
        // Detection creates the events of changes. It runs once before the recent reports, so that they are not the reports that
        // revealed the old changes.
        for reports in [old, recent] {
            record_all(db, &fresh, target_project, reports).await?;
            changes::catch_up(app).await?;
            let fresh = fresh.clone();
            db.write(move |tx| review::review(tx, &fresh, target_project.project, settled, new_image))
                .await?;
        }
        let fresh = fresh(now);
        db.write(move |tx| {
            PLOTS.iter().rev().try_for_each(|pinned| pin(tx, &fresh, target_project.project, pinned))
        })
        .await?;
        Ok((project, count))
    }

    fn explain(&self, error: Error) -> Failure {
        let reason = match error {
            Error::Conflict(_) => {
                format!("There is a project {} already; choose another slug with --project.", self.project)
            }
            Error::NotFound(reason) | Error::Invalid(reason) => reason,
            Error::Internal(source) | Error::StorageFull(source) | Error::Busy(Some(source)) => {
                format!("The database cannot be filled ({source}).")
            }
            _ => "The database cannot be filled.".to_owned(),
        };
        Failure::new(reason)
    }
}

/// Returns which user can change the project, and where to sign in.
fn sign_in_hint(organization: Option<&ResourceId>, admins: &[User], url: &str) -> String {
    if let Some(organization) = organization {
        return format!(
            "To change the project, sign in as a leader of the organization {organization} at {url}/auth/login."
        );
    }
    if admins.is_empty() {
        return format!(
            "The project has no owner, and the server has no account. To change the project, sign up at \
             {url}/auth/signup with any address: the first account becomes the administrator."
        );
    }
    let emails: Vec<_> = admins.iter().map(|admin| admin.email.as_str()).collect();
    format!(
        "The project has no owner. To change it, sign in as an administrator ({}) at {url}/auth/login.",
        emails.join(", ")
    )
}

/// Creates the project, in a new organization if none is given.
fn create_project(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    organization: Option<&ResourceId>,
    slug: &Slug,
) -> Done<(TargetProject, Project)> {
    match project::find_any(tx, &ResourceId::Slug(slug.clone())) {
        Ok(_) => return Err(Error::Conflict(String::new())),
        Err(tidemark_store::Error::NotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let name: ResourceName = "Tidepool".parse().map_err(internal)?;
    let found = match organization {
        Some(organization) => organization::find(tx, organization)?,
        None => organization::create(tx, fresh, None, &name, None)?,
    };
    let url = "https://example.org/tidepool".parse().map_err(internal)?;
    let new = project::NewProjectRow {
        organization: found.id,
        uuid: None,
        name: &name,
        slug: Some(slug),
        url: Some(&url),
        visibility: Visibility::Public,
    };
    let made = project::create(tx, fresh, &new)?;
    Ok((TargetProject::of(&made), made.project))
}

/// Records reports in batches.
async fn record_all(
    db: &Db,
    fresh: &(impl Fn(Timestamp) -> WriteContext + Clone + Send + 'static),
    target_project: TargetProject,
    reports: Vec<NewReport>,
) -> Done<()> {
    let mut reports = reports.into_iter();
    loop {
        let batch: Vec<NewReport> = reports.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            return Ok(());
        }
        let fresh = fresh.clone();
        db.write(move |tx| batch.into_iter().try_for_each(|new| record(tx, &fresh, target_project, new)))
            .await?;
    }
}

/// Records a report at its time.
fn record(
    tx: &mut Tx<'_>,
    fresh: &impl Fn(Timestamp) -> WriteContext,
    target_project: TargetProject,
    new: NewReport,
) -> Done<()> {
    let context = fresh(new.end_time);
    let submission = Submission::read(new, None, false)?;
    ingest::record(tx, &context, Quota::NONE, target_project, &submission)?;
    Ok(())
}

/// Pins a plot before the other plots.
fn pin(tx: &mut Tx<'_>, fresh: &WriteContext, project: ProjectId, pinned: &Pinned) -> Done<()> {
    let id = |name: &&str| -> Done<NameId> { name.parse().map_err(internal) };
    let missing = || Error::Invalid("A pinned plot names something that no report has.".to_owned());
    let mut dimensions = plot::PlotDimensions {
        branches: Vec::new(),
        testbeds: Vec::new(),
        benchmarks: Vec::new(),
        measures: Vec::new(),
    };
    for name in pinned.branches {
        let found = Branch::resolve(tx, project, &id(name)?)?.ok_or_else(missing)?;
        dimensions.branches.push(Branch::view(tx, found)?.uuid);
    }
    for name in pinned.testbeds {
        let found = Testbed::resolve(tx, project, &id(name)?)?.ok_or_else(missing)?;
        dimensions.testbeds.push(Testbed::view(tx, found)?.uuid);
    }
    for name in pinned.benchmarks {
        let found = Benchmark::resolve(tx, project, &id(name)?)?.ok_or_else(missing)?;
        dimensions.benchmarks.push(Benchmark::view(tx, found)?.uuid);
    }
    let found = Measure::resolve(tx, project, &id(&pinned.measure)?)?.ok_or_else(missing)?;
    dimensions.measures.push(Measure::view(tx, found)?.uuid);
    let settings = plot::PlotSettings {
        title: Some(pinned.title.parse().map_err(internal)?),
        lower_value: false,
        upper_value: false,
        lower_boundary: false,
        upper_boundary: pinned.boundary,
        x_axis: tidemark_api::XAxis::DateTime,
        y_axis: tidemark_api::YAxis::Auto,
        window: serde_json::from_value(json!(pinned.days * DAY)).map_err(internal)?,
    };
    plot::create(tx, fresh, project, 0, &settings, &dimensions)?;
    Ok(())
}

fn internal(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Internal(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_the_users_who_can_change_the_project() {
        let url = "http://localhost:6610";
        let ada: User = serde_json::from_value(json!({
            "uuid": "0190a000-0000-7000-8000-000000000000", "name": "Ada", "slug": "ada",
            "email": "ada@example.org", "admin": true, "locked": false,
        }))
        .unwrap();
        let hint = sign_in_hint(None, &[ada], url);
        assert!(
            hint.contains("as an administrator (ada@example.org) at http://localhost:6610/auth/login"),
            "{hint}"
        );
        let organization = "acme".parse().unwrap();
        let hint = sign_in_hint(Some(&organization), &[], url);
        assert!(hint.contains("as a leader of the organization acme at"), "{hint}");
        assert!(sign_in_hint(None, &[], url).contains("/auth/signup"));
    }
}
