//! `tidemark demo`: makes a project that has a year behind it, to look around in.
//!
//! The reports take the way of every report: they are read, judged and stored by the server's own code, in a data folder
//! with the time at which they would have been sent, or on a running server (`remote.rs`). What was measured is made up
//! in `history.rs`.

mod history;
mod remote;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tidemark_api::{
    AlertStatus, NameId, NewReport, Project, ResourceId, ResourceName, Slug, Timestamp, Url, Visibility,
};
use tidemark_client::{Client, Patience, Settings};
use tidemark_server::{
    clock::{Clock, SeededEntropy},
    config::Flags,
    http::error::{Error, Result as Done},
    ingest::{self, Home, Submission},
    quota::Quota,
};
use tidemark_store::{
    Db, Fresh, ProjectId, Tx, alert, benchmark, branch, measure, organization, plot, project, testbed,
};
use tokio::runtime;

use self::history::{History, PLOTS, Pinned};
use crate::{
    cmd::restore,
    connection,
    failure::{Failure, Result, print},
    settings,
};

/// How many reports share a transaction.
const BATCH: usize = 32;

/// Alerts of reports older than this many days have been looked at.
const SETTLED_DAYS: i64 = 30;

const DAY: i64 = 86_400;

/// What the project is called, and where it would be at home.
const NAME: &str = "Tidepool";
const URL: &str = "https://example.org/tidepool";

/// The arguments of `tidemark demo`.
#[derive(clap::Args)]
pub(crate) struct Demo {
    /// Read settings from this file
    #[arg(long, value_name = "FILE", env = "TIDEMARK_CONFIG")]
    config: Option<PathBuf>,
    /// The data folder of the server, which must not be running [default: the data folder of the platform]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Use this PostgreSQL database instead of SQLite: postgres://user:password@host/name
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Fill a running server instead, such as http://localhost:6610
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "data_dir", "database"])]
    host: Option<Url>,
    /// A key of a user of that server
    #[arg(long, value_name = "KEY", env = "TIDEMARK_API_KEY", hide_env_values = true)]
    key: Option<String>,
    /// The organization that gets the project, by UUID or slug; when not given, your own on a running server, and a
    /// new one that nobody owns in a folder
    #[arg(long)]
    organization: Option<ResourceId>,
    /// The slug of the new project
    #[arg(long, default_value = "demo")]
    project: Slug,
    /// The same seed gives the same history
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Demo {
    pub(crate) fn run(self) -> Result {
        let started = Instant::now();
        let (project, reports, url) = match &self.host {
            Some(host) => self.send(host)?,
            None => self.store()?,
        };
        let (name, slug, url) = (&project.name, &project.slug, url.as_ref().trim_end_matches('/'));
        let ready = if self.host.is_some() { "Open" } else { "Start the server and open" };
        print(&format!(
            "{reports} reports of {name} are in the project {slug} after {:.1} s.\n{ready} {url}/perf/{slug}/plots\n",
            started.elapsed().as_secs_f64()
        ))
    }

    /// Fills a data folder.
    fn store(&self) -> Result<(Project, usize, Url)> {
        let flags = Flags { bind: None, data_dir: self.data_dir.clone(), database: self.database.clone() };
        let config = settings::load(self.config.clone(), &flags)?;
        config.create_folders()?;
        // Of PostgreSQL, a running server may share the database.
        let _claim = match config.database.url {
            Some(_) => None,
            None => Some(restore::claim(&config.database.file)?),
        };
        let fill = async {
            let db = Db::open(&config.location()).await.map_err(Error::from)?;
            let filled = self.fill(&db).await;
            db.close().await;
            filled
        };
        let runtime = runtime::Builder::new_multi_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Failure::new(format!("The threads cannot be started ({error}).")))?;
        let (project, reports) = runtime.block_on(fill).map_err(|error| self.explain(error))?;
        Ok((project, reports, config.console.url))
    }

    /// Fills a running server.
    fn send(&self, host: &Url) -> Result<(Project, usize, Url)> {
        let settings = Settings {
            host: host.clone(),
            credential: self.key.as_deref().map(connection::credential).transpose()?,
            patience: Patience {
                timeout: Duration::from_secs(60),
                attempts: 6,
                first_wait: Duration::from_secs(1),
                // As long as a server can ask for that takes only so many reports a minute.
                longest_wait: Duration::from_secs(60),
            },
            insecure: false,
        };
        let client = Client::new(settings, connection::tell_of_retry);
        let (now, mut known, mut count) = (Clock::System.now(), remote::Known::default(), 0);
        let project = remote::found(&client, self.organization.as_ref(), &self.project)?;
        let here = ResourceId::Slug(project.slug.clone());
        for report in History::new(self.seed, now).reports() {
            let report = report.map_err(|error| self.explain(internal(error)))?;
            remote::record(&client, &here, &mut known, &report, now.plus_seconds(-SETTLED_DAYS * DAY))?;
            count += 1;
        }
        for pinned in PLOTS.iter().rev() {
            remote::pin(&client, &here, &known, pinned)?;
        }
        Ok((project, count, host.clone()))
    }

    /// Makes the project and everything in it.
    async fn fill(&self, db: &Db) -> Done<(Project, usize)> {
        let entropy = Arc::new(SeededEntropy::new(self.seed));
        let now = Clock::System.now();
        let fresh = move |at: Timestamp| Fresh::new(at, Arc::clone(&entropy) as Arc<_>);
        let history = History::new(self.seed, now);
        let (home, project) = {
            let (fresh, organization, slug) =
                (fresh(history.begin()), self.organization.clone(), self.project.clone());
            db.write(move |tx| found(tx, &fresh, organization.as_ref(), &slug)).await?
        };
        let reports: Vec<NewReport> =
            history.reports().collect::<serde_json::Result<_>>().map_err(internal)?;
        let (count, settled) = (reports.len(), now.plus_seconds(-SETTLED_DAYS * DAY));
        let mut reports = reports.into_iter();
        loop {
            let batch: Vec<NewReport> = reports.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            let fresh = fresh.clone();
            db.write(move |tx| batch.into_iter().try_for_each(|new| record(tx, &fresh, home, new, settled)))
                .await?;
        }
        let fresh = fresh(now);
        db.write(move |tx| PLOTS.iter().rev().try_for_each(|pinned| pin(tx, &fresh, home.project, pinned)))
            .await?;
        Ok((project, count))
    }

    fn explain(&self, error: Error) -> Failure {
        let reason = match error {
            Error::Conflict(_) => {
                format!("There is a project {} already; choose another slug with --project.", self.project)
            }
            Error::NotFound(reason) | Error::Invalid(reason) => reason,
            Error::Internal(source) | Error::Full(source) | Error::Busy(Some(source)) => {
                format!("The database cannot be filled ({source}).")
            }
            _ => "The database cannot be filled.".to_owned(),
        };
        Failure::new(reason)
    }
}

/// Founds the project, in an organization of its own if none is named.
fn found(
    tx: &mut Tx<'_>,
    fresh: &Fresh,
    organization: Option<&ResourceId>,
    slug: &Slug,
) -> Done<(Home, Project)> {
    match project::find_any(tx, &ResourceId::Slug(slug.clone())) {
        Ok(_) => return Err(Error::Conflict(String::new())),
        Err(tidemark_store::Error::NotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let name: ResourceName = NAME.parse().map_err(internal)?;
    let found = match organization {
        Some(organization) => organization::find(tx, organization)?,
        None => organization::create(tx, fresh, None, &name, None)?,
    };
    let url = URL.parse().map_err(internal)?;
    let new = project::New {
        organization: found.id,
        uuid: None,
        name: &name,
        slug: Some(slug),
        url: Some(&url),
        visibility: Visibility::Public,
    };
    let made = project::create(tx, fresh, &new)?;
    let claimed = found.organization.claimed.is_some();
    Ok((Home { project: made.id, organization: found.id, claimed }, made.project))
}

/// Records a report at the time it was made; old alerts have been seen by somebody.
fn record(
    tx: &mut Tx<'_>,
    fresh: &impl Fn(Timestamp) -> Fresh,
    home: Home,
    new: NewReport,
    settled: Timestamp,
) -> Done<()> {
    let ended = new.end_time;
    let report = ingest::record(tx, &fresh(ended), Quota::NONE, home, &Submission::read(new, None, false)?)?;
    if ended < settled {
        let which = alert::Which { report: Some(report), ..alert::Which::default() };
        alert::update(tx, home.project, &which, Some(AlertStatus::Dismissed), ended.plus_seconds(2 * DAY))?;
    }
    Ok(())
}

/// Pins a plot in front of the others.
fn pin(tx: &mut Tx<'_>, fresh: &Fresh, project: ProjectId, pinned: &Pinned) -> Done<()> {
    let id = |name: &&str| -> Done<NameId> { name.parse().map_err(internal) };
    let missing = || Error::Invalid("A pinned plot names something that no report has.".to_owned());
    let mut dimensions = plot::Dimensions {
        branches: Vec::new(),
        testbeds: Vec::new(),
        benchmarks: Vec::new(),
        measures: Vec::new(),
    };
    for name in pinned.branches {
        let found = branch::resolve(tx, project, &id(name)?)?.ok_or_else(missing)?;
        dimensions.branches.push(branch::view(tx, found)?.uuid);
    }
    for name in pinned.testbeds {
        let found = testbed::resolve(tx, project, &id(name)?)?.ok_or_else(missing)?;
        dimensions.testbeds.push(testbed::view(tx, found)?.uuid);
    }
    for name in pinned.benchmarks {
        let found = benchmark::resolve(tx, project, &id(name)?)?.ok_or_else(missing)?;
        dimensions.benchmarks.push(benchmark::view(tx, found)?.uuid);
    }
    let found = measure::resolve(tx, project, &id(&pinned.measure)?)?.ok_or_else(missing)?;
    dimensions.measures.push(measure::view(tx, found)?.uuid);
    let settings = plot::Settings {
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
