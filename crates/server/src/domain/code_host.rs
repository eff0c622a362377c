//! Commands in comments of pull requests: `/tidemark run` and `/tidemark bisect`. The webhook stores a command and enqueues it,
//! and `background.rs` calls this module.
//!
//! A command has effect only if the code host confirms that its author can write to the repository. The `tidemark.toml` of the
//! base branch defines the job; the pull request only selects the image, by the hash of its commit.

pub(crate) mod event;
mod manifest;
mod pull_request;
mod reply;

use std::{collections::BTreeMap, sync::Arc};

use tidemark_api::{
    Actor, ActorKind, CodeHostSecret, JobCallback, NewJob, NewReport, OnDemand, ReportIdempotencyKey,
    ReportSettings, StartPointPatch, job::JobSecret,
};
use tidemark_render::comment;
use tidemark_store::{
    self as store, Db, Lock, Tx, WriteContext, audit, bisection_search,
    code_host::{self, CommandRow, WaitingCommand},
    outbox,
    project::{self, ProjectRow},
};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use self::pull_request::{PullRequest, Repository};
use crate::{
    domain::{
        error::{Error, Result},
        ingest::{self, RecordedReport, Submission, TargetProject},
        jobs::{
            Jobs, Signal, bisection,
            image::Image,
            job_request::{JobCheck, JobRequest, JobSettings},
        },
        quota::Quota,
    },
    infra::{code_host::RequestError, mail::DeliveryError},
};

/// Maximum attempts per command.
const MAX_ATTEMPTS: i64 = 10;
/// Number of characters of a created webhook secret.
const SECRET_LENGTH: usize = 40;

/// Creates a secret for the webhook of a code host.
pub(crate) fn new_secret(fresh: &WriteContext) -> Result<CodeHostSecret> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let secret = fresh.random_text(alphabet, SECRET_LENGTH);
    secret.parse().map_err(|error: tidemark_api::Invalid| Error::Internal(error.into()))
}

/// Runs the commands of comments.
#[derive(Clone)]
pub(crate) struct CommandRunner {
    /// The database.
    pub(crate) db: Db,
    /// Notifies runners of new jobs.
    pub(crate) jobs: Arc<Jobs>,
    /// Settings of jobs.
    pub(crate) settings: JobSettings,
    /// Limits of the server.
    pub(crate) quota: Quota,
}

/// What to do for a command, after the code host was asked.
enum Action {
    /// Answer with this text, because the author may not run commands.
    Refuse(String),
    /// Answer with this text.
    Reply(String),
    /// Run the image of the head of the pull request.
    Run(Box<RunRequest>),
    /// Search for the commit of the newest open event of these branches, or answer with this text.
    Bisect([String; 2], String),
}

/// What to run.
struct RunRequest {
    pull: PullRequest,
    settings: OnDemand,
    /// Command of the job, with the benchmarks of the comment.
    words: Vec<String>,
}

impl CommandRunner {
    /// Runs the command that an outbox item names.
    pub(crate) async fn run(
        &self,
        item: &outbox::OutboxItem,
        fresh: WriteContext,
    ) -> Result<(), DeliveryError> {
        let uuid = item
            .payload
            .parse()
            .map_err(|_| DeliveryError::Permanent("it does not name a command".into()))?;
        let reason = match self.attempt(uuid, fresh.clone()).await {
            Err(DeliveryError::Temporary(reason)) if item.attempts >= MAX_ATTEMPTS => reason,
            Err(DeliveryError::Permanent(reason)) => reason,
            outcome => return outcome,
        };
        self.give_up(uuid, &fresh, &reason).await?;
        Err(DeliveryError::Permanent(reason))
    }

    /// Completes a command that failed after all attempts, and says so in its comment.
    async fn give_up(&self, uuid: Uuid, fresh: &WriteContext, reason: &str) -> Result<(), DeliveryError> {
        let later = |error: store::Error| DeliveryError::Temporary(error.to_string());
        let Some(command) = self.find(uuid).await? else { return Ok(()) };
        // The code host may be the reason.
        if let Err(error) = command.reply(reply::failed(reason)).await {
            tracing::warn!(?error, "the comment about a failed command could not be written");
        }
        let now = fresh.now;
        self.db.write(move |tx| code_host::complete_command(tx, uuid, now)).await.map_err(later)
    }

    /// Returns a command that waits.
    async fn find(&self, uuid: Uuid) -> Result<Option<Command>, DeliveryError> {
        let find = move |tx: &mut Tx<'_>| {
            let waiting = code_host::find_waiting(tx, uuid)?;
            let project = waiting.as_ref().map(|waiting| project::by_id(tx, waiting.code_host.project));
            Ok(waiting.zip(project.transpose()?))
        };
        let later = |error: store::Error| DeliveryError::Temporary(error.to_string());
        let found = self.db.read(find).await.map_err(later)?;
        let allows_private = self.settings.private_callbacks;
        Ok(found.map(|(waiting, project)| Command {
            uuid,
            waiting: Arc::new(waiting),
            project: Arc::new(project),
            allows_private,
        }))
    }

    async fn attempt(&self, uuid: Uuid, fresh: WriteContext) -> Result<(), DeliveryError> {
        let later = |error: store::Error| DeliveryError::Temporary(error.to_string());
        let Some(command) = self.find(uuid).await? else { return Ok(()) };
        let (text, is_permitted) = match command.ask(decide).await? {
            Action::Refuse(text) => (text, false),
            Action::Reply(text) => (text, true),
            Action::Bisect(branches, text) => {
                (self.bisect(&command, &fresh, branches).await?.unwrap_or(text), true)
            }
            Action::Run(run) => match self.start(&command, &fresh, *run).await? {
                Ok(()) => return Ok(()),
                Err(text) => (text, true),
            },
        };
        command.reply(text).await?;
        let write = move |tx: &mut Tx<'_>| {
            if is_permitted {
                command.audit(tx, &fresh)?;
            }
            code_host::complete_command(tx, uuid, fresh.now)
        };
        self.db.write(write).await.map_err(later)
    }

    /// Starts the search for the commit of the newest open event of branches. Returns the answer; `None` if they have no event.
    async fn bisect(
        &self,
        command: &Command,
        fresh: &WriteContext,
        branches: [String; 2],
    ) -> Result<Option<String>, DeliveryError> {
        let (project, fresh) = (command.project.id, fresh.clone());
        let benchmark = command.waiting.command.benchmark.clone();
        let write = move |tx: &mut Tx<'_>| {
            tx.lock(Lock::Project(project.get()))?;
            let [first, second] = &branches;
            let Some((event, uuid)) = bisection_search::newest_open_event(tx, project, [first, second])?
            else {
                return Ok(None);
            };
            let actor = Actor { kind: ActorKind::System, uuid: None, name: None };
            let started =
                bisection::start_requested(tx, &fresh, (project, event), benchmark.as_deref(), &actor)?;
            Ok::<_, Error>(Some((uuid, started)))
        };
        let found = self.db.write(write).await.map_err(temporary)?;
        self.jobs.wake();
        Ok(found.map(|(event, started)| reply::searching(event, started.err().as_deref())))
    }

    /// Creates the job of a command. Returns the answer if there is no job.
    async fn start(
        &self,
        command: &Command,
        fresh: &WriteContext,
        run: RunRequest,
    ) -> Result<Result<(), String>, DeliveryError> {
        let images = Images::new(&run.settings, &command.project);
        let head = images.tagged(&run.pull.head);
        let base = run.pull.merge_base.as_deref().map(|hash| images.tagged(hash));
        let (name, found, registry) =
            (head.clone(), Arc::clone(&command.project), self.settings.registry.clone());
        let resolve = move |tx: &mut Tx<'_>| {
            if Image::parse(&name, &registry)?.find(tx, &found)?.is_none() {
                return Ok(None);
            }
            let Some(base) = base else { return Ok(Some(None)) };
            let is_found = Image::parse(&base, &registry)?.find(tx, &found)?.is_some();
            Ok(Some(Some(base).filter(|_| is_found)))
        };
        let base = match self.db.read(resolve).await {
            Ok(Some(base)) => base,
            Ok(None) => return Ok(Err(reply::missing_image(&head, &self.settings.registry))),
            Err(Error::Invalid(reason)) => return Ok(Err(reply::rejected(&reason))),
            Err(error) => return Err(temporary(error)),
        };
        let CommandRow { author, benchmark, .. } = &command.waiting.command;
        let text = reply::queued(author, &run.pull, &head, benchmark.as_deref());
        let (request, mut submission) = match self.request(command, fresh, run, (head, base)) {
            Ok(request) => request,
            Err(error) => return Ok(Err(reply::rejected(&error.message()))),
        };
        // Written before the job exists: afterwards it could overwrite the result.
        command.reply(text).await?;
        let (command, fresh, quota) = (command.clone(), fresh.clone(), self.quota);
        let write = move |tx: &mut Tx<'_>| {
            let found = &*command.project;
            if let JobCheck::Validated(job) = request.check(tx, found, &mut submission, quota, fresh.now)? {
                let target = TargetProject::of(found);
                let RecordedReport { report, .. } = ingest::record(tx, &fresh, quota, target, &submission)?;
                job.enqueue(tx, &fresh, found, report)?;
                Signal::Queued.announce(tx)?;
                command.audit(tx, &fresh)?;
            }
            code_host::complete_command(tx, command.uuid, fresh.now)?;
            Ok::<_, Error>(())
        };
        match self.db.write(write).await {
            Ok(()) => {
                self.jobs.signal(Signal::Queued);
                Ok(Ok(()))
            }
            Err(error @ (Error::Internal(_) | Error::Busy(_) | Error::StorageFull(_))) => {
                Err(temporary(error))
            }
            Err(error) => Ok(Err(reply::rejected(&error.message()))),
        }
    }

    /// Returns the job, which compares the image with the base if there is one, and its report.
    fn request(
        &self,
        command: &Command,
        fresh: &WriteContext,
        RunRequest { pull, settings, words }: RunRequest,
        (image, base): (String, Option<String>),
    ) -> Result<(JobRequest, Submission)> {
        let WaitingCommand { code_host, command: comment } = &*command.waiting;
        let name = |name: &str| {
            name.parse()
                .map_err(|error| Error::Invalid(format!("The branch `{name}` cannot be used: {error}.")))
        };
        let parse_hash = |hash: &str| hash.parse().ok();
        let report_settings =
            ReportSettings { adapter: settings.adapter, average: settings.average, fold: settings.fold };
        let job = NewJob {
            image,
            base,
            duet: None,
            spec: settings.spec,
            entrypoint: settings.entrypoint,
            cmd: Some(words).filter(|words| !words.is_empty()),
            env: variables(settings.env),
            timeout: settings.timeout,
            file_paths: Some(settings.file).filter(|files| !files.is_empty()),
            build_time: None,
            file_size: None,
            iter: settings.iter,
            allow_failure: None,
            backdate: None,
            isolated: None,
            callback: Some(JobCallback {
                kind: code_host.provider.callback_kind(),
                url: code_host.url.clone(),
                repository: Some(pull_request::path(code_host.provider, code_host.repository.as_str())),
                hash: None,
                number: Some(comment.pull.unsigned_abs()),
                check: None,
                id: Some(comment_id(comment)),
                only_thresholds: false,
                only_on_alert: false,
                public_links: false,
                token: JobSecret(code_host.token.as_str().to_owned()),
            }),
        };
        let testbed = settings.testbed;
        let request =
            JobRequest::new(self.settings.clone(), job, Some(report_settings), testbed.clone(), None)?;
        let branch = name(&pull.branch_name(comment.pull))?;
        let report = NewReport {
            start_point: Some(StartPointPatch {
                branch: Some(name(&pull.base)?),
                hash: pull.merge_base.as_deref().and_then(parse_hash),
                clone_thresholds: Some(true),
                reset: Some(true),
                ..StartPointPatch::default()
            }),
            // The name of the spec replaces it.
            testbed: match testbed {
                Some(testbed) => testbed,
                None => name("localhost")?,
            },
            branch,
            hash: parse_hash(&pull.head),
            thresholds: None,
            start_time: fresh.now,
            end_time: fresh.now,
            results: Vec::new(),
            settings: Some(report_settings),
            idempotency_key: Some(ReportIdempotencyKey(command.uuid)),
        };
        Ok((request, Submission::read(report, None, false)?))
    }
}

/// Asks the code host, and decides what to do for a command.
fn decide(repository: &Repository<'_>, command: &CommandRow) -> Result<Action, RequestError> {
    match repository.may_write(command) {
        Ok(true) => {}
        Ok(false) => return Ok(Action::Refuse(reply::forbidden(&command.author))),
        Err(error) if !error.is_temporary => {
            return Ok(Action::Refuse(reply::permission_unknown(&error.reason)));
        }
        Err(error) => return Err(error),
    }
    match decide_permitted(repository, command) {
        Err(error) if !error.is_temporary => Ok(Action::Reply(reply::unreadable(&error.reason))),
        action => action,
    }
}

/// Decides what to do for a command of an author with write access.
fn decide_permitted(repository: &Repository<'_>, command: &CommandRow) -> Result<Action, RequestError> {
    let pull = repository.pull_request(command.pull)?;
    if !pull.is_open {
        return Ok(Action::Reply(reply::closed()));
    }
    let Some(text) = repository.manifest(&pull.base)? else {
        return Ok(Action::Reply(reply::undefined(&pull.base, None)));
    };
    let settings = match manifest::read(&text) {
        Ok(settings) => settings,
        Err(reason) => return Ok(Action::Reply(reply::undefined(&pull.base, Some(&reason)))),
    };
    let benchmark = command.benchmark.as_deref();
    if command.command == event::BISECT {
        let branches = [pull.branch_name(command.pull), pull.branch.clone()];
        return Ok(Action::Bisect(branches, reply::bisect(&pull, &settings, benchmark)));
    }
    Ok(match settings.command_for(benchmark) {
        Some(words) => Action::Run(Box::new(RunRequest { pull, settings, words })),
        None => Action::Reply(reply::no_filter(&pull.base)),
    })
}

/// Names of the images of commits.
struct Images {
    repository: String,
}

impl Images {
    fn new(settings: &OnDemand, project: &ProjectRow) -> Self {
        let repository = settings.image.as_ref().map(|image| image.as_str().to_owned());
        Self { repository: repository.unwrap_or_else(|| project.project.slug.to_string()) }
    }

    /// Returns the name of the image of a commit.
    fn tagged(&self, hash: &str) -> String {
        format!("{}:{hash}", self.repository)
    }
}

/// A command that is being run.
#[derive(Clone)]
struct Command {
    uuid: Uuid,
    waiting: Arc<WaitingCommand>,
    project: Arc<ProjectRow>,
    allows_private: bool,
}

impl Command {
    /// Sends requests to the code host, on a blocking thread.
    async fn ask<T: Send + 'static>(
        &self,
        requests: impl FnOnce(&Repository<'_>, &CommandRow) -> Result<T, RequestError> + Send + 'static,
    ) -> Result<T, DeliveryError> {
        let (waiting, allows_private) = (Arc::clone(&self.waiting), self.allows_private);
        let asked = spawn_blocking(move || {
            requests(&Repository::new(&waiting.code_host, allows_private), &waiting.command)
        });
        let asked = asked.await.map_err(|error| DeliveryError::Temporary(error.to_string()))?;
        Ok(asked?)
    }

    /// Writes the comment that answers the command. A later text replaces it.
    async fn reply(&self, text: String) -> Result<(), DeliveryError> {
        let marker = comment::marker(&self.project.project.slug, &comment_id(&self.waiting.command));
        self.ask(move |repository, command| repository.reply(command.pull, &marker, &text)).await
    }

    /// Writes the command to the audit log.
    fn audit(&self, tx: &mut Tx<'_>, fresh: &WriteContext) -> store::Result<()> {
        let CommandRow { author, command, benchmark, pull, .. } = &self.waiting.command;
        let actor = Actor { kind: ActorKind::System, uuid: None, name: None };
        let (pull, target) = (pull.to_string(), self.project.project.slug.to_string());
        let detail = [
            ("author", author.as_str()),
            ("command", command.as_str()),
            ("benchmark", benchmark.as_deref().unwrap_or("*")),
            ("pull", pull.as_str()),
        ];
        let entry = audit::NewAuditRow {
            actor: &actor,
            address: None,
            action: "code_host.command",
            target: &target,
            organization: Some(self.project.organization),
            detail: &detail,
        };
        audit::add(tx, fresh, &entry)
    }
}

/// Returns the ID of the comment that answers a command.
fn comment_id(command: &CommandRow) -> String {
    format!("on-demand/{}", command.comment)
}

fn variables(env: BTreeMap<String, String>) -> Option<BTreeMap<String, JobSecret>> {
    let variables: BTreeMap<_, _> = env.into_iter().map(|(name, value)| (name, JobSecret(value))).collect();
    Some(variables).filter(|variables| !variables.is_empty())
}

fn temporary(error: Error) -> DeliveryError {
    DeliveryError::Temporary(error.cause().unwrap_or_else(|| error.message()))
}
