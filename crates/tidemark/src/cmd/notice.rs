//! `tidemark notice`: notices of a project or a user, and their deliveries.

use std::{
    str::FromStr,
    thread,
    time::{Duration, Instant},
};

use tidemark_api::{
    Delivery, DeliveryFilter, DeliveryStatus, DeliveryUuid, Digest, Email, Invalid, MinChange, NamePattern,
    NewNotice, Notice, NoticeDirection, NoticeFilter, NoticeKind, NoticePatch, NoticeUuid, PlainKey,
    QuietHours, ResourceId, ResourceName, Url,
};
use tidemark_client::{Collection, notices, notices_of_user};

use crate::{
    failure::{Failure, Result},
    output,
    resource::{
        ArchiveFlags, Fields, NewValue, PageFlags, Printable, ProjectArgument, Session, Verb,
        fixed_string_parser, optional, parse_number, yes_if,
    },
};

/// Maximum time to wait for the result of a test: longer than the timeout of the server's request.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval at which a test is polled.
const TEST_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Verbs of `tidemark notice`.
#[derive(clap::Subcommand)]
pub(crate) enum NoticeVerb {
    /// List the notices of a project or a user
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        owner: Owner,
        /// List only archived notices
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Create a notice; the whole URL and the secret of a webhook are shown once
    #[command(visible_alias = "add")]
    Create(Box<New>),
    /// Show a notice
    #[command(visible_alias = "get")]
    View(NoticeTarget),
    /// Update a notice
    #[command(visible_alias = "edit")]
    Update(Box<Update>),
    /// Delete a notice with its pending deliveries and its log
    #[command(visible_alias = "rm")]
    Delete(NoticeTarget),
    /// Send a test to the destination of a notice and show the result
    Test(NoticeTarget),
    /// List the deliveries of a notice, the newest first
    Deliveries {
        #[command(flatten)]
        target: NoticeTarget,
        /// List only deliveries with this status
        #[arg(long, value_parser = fixed_string_parser::<DeliveryStatus>())]
        status: Option<DeliveryStatus>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Send a delivery again
    Redeliver {
        #[command(flatten)]
        target: NoticeTarget,
        /// Delivery UUID
        delivery: DeliveryUuid,
    },
}

/// Owner of notices.
#[derive(clap::Args)]
pub(crate) struct Owner {
    #[command(flatten)]
    project: ProjectArgument,
    /// User UUID or slug: use the notices of this user instead of a project
    #[arg(long, value_name = "USER")]
    user: Option<ResourceId>,
}

impl Owner {
    fn notices(&self) -> Result<Collection<Notice>> {
        match &self.user {
            Some(user) => Ok(notices_of_user(user)),
            None => Ok(notices(self.project.id()?)),
        }
    }
}

/// A notice of an owner.
#[derive(clap::Args)]
pub(crate) struct NoticeTarget {
    #[command(flatten)]
    owner: Owner,
    /// Notice UUID
    notice: NoticeUuid,
}

/// A new notice.
#[derive(clap::Args)]
pub(crate) struct New {
    #[command(flatten)]
    owner: Owner,
    /// Name
    #[arg(long)]
    name: ResourceName,
    /// Destination type
    #[arg(long, value_parser = fixed_string_parser::<NoticeKind>())]
    kind: NoticeKind,
    /// URL of the destination; required unless the type is email
    #[arg(long)]
    url: Option<Url>,
    /// E-mail address of a member of the organization; notices of a user always use the address of the user
    #[arg(long)]
    email: Option<Email>,
    /// Branch name or pattern, for example main or 'release/*'; '*' for all branches [default: the default branch of the project]
    #[arg(long, value_name = "PATTERN")]
    branch: Option<NamePattern>,
    /// Testbed name or pattern [default: all testbeds]
    #[arg(long, value_name = "PATTERN")]
    testbed: Option<NamePattern>,
    /// Benchmark name or pattern, for example 'parser::*' [default: all benchmarks]
    #[arg(long, value_name = "PATTERN")]
    benchmark: Option<NamePattern>,
    /// Direction of the changes or alerts to send
    #[arg(long, value_parser = fixed_string_parser::<NoticeDirection>(), default_value = "any")]
    direction: NoticeDirection,
    /// Minimum size of the changes or alerts to send, as a share: 0.05 is 5 % [default: all sizes]
    #[arg(long, value_name = "SHARE", value_parser = parse_number::<f64, MinChange>)]
    min_change: Option<MinChange>,
    /// Quiet hours in UTC, for example 22:00-06:00
    #[arg(long, value_name = "FROM-TO")]
    quiet: Option<Quiet>,
    /// Combine notifications into a digest
    #[arg(long, value_parser = fixed_string_parser::<Digest>(), default_value = "none")]
    digest: Digest,
    /// Limit the notices of a user to this project [default: all projects of the user's organizations]
    #[arg(long, value_name = "PROJECT", requires = "user")]
    about: Option<ResourceId>,
}

/// An update of a notice.
#[derive(clap::Args)]
pub(crate) struct Update {
    #[command(flatten)]
    target: NoticeTarget,
    /// New name
    #[arg(long)]
    name: Option<ResourceName>,
    /// New URL
    #[arg(long)]
    url: Option<Url>,
    /// New e-mail address
    #[arg(long)]
    email: Option<Email>,
    /// Branch name or pattern; `_` removes the filter
    #[arg(long, value_name = "PATTERN")]
    branch: Option<NewValue<NamePattern>>,
    /// Testbed name or pattern; `_` removes the filter
    #[arg(long, value_name = "PATTERN")]
    testbed: Option<NewValue<NamePattern>>,
    /// Benchmark name or pattern; `_` removes the filter
    #[arg(long, value_name = "PATTERN")]
    benchmark: Option<NewValue<NamePattern>>,
    /// Direction of the changes or alerts to send
    #[arg(long, value_parser = fixed_string_parser::<NoticeDirection>())]
    direction: Option<NoticeDirection>,
    /// Minimum size of the changes or alerts to send, as a share; `_` removes the filter
    #[arg(long, value_name = "SHARE")]
    min_change: Option<NewValue<Share>>,
    /// Quiet hours in UTC, for example 22:00-06:00; `_` removes them
    #[arg(long, value_name = "FROM-TO")]
    quiet: Option<NewValue<Quiet>>,
    /// Combine notifications into a digest
    #[arg(long, value_parser = fixed_string_parser::<Digest>())]
    digest: Option<Digest>,
    #[command(flatten)]
    archive: ArchiveFlags,
}

/// Quiet hours as one argument.
#[derive(Clone, Debug)]
struct Quiet(QuietHours);

impl FromStr for Quiet {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (from, to) = text.split_once('-').ok_or("quiet hours are two times, such as 22:00-06:00")?;
        let time = |text: &str| text.parse().map_err(|error: Invalid| error.to_string());
        Ok(Self(QuietHours { from: time(from)?, to: time(to)? }))
    }
}

/// Minimum size of changes as one argument.
#[derive(Clone, Debug)]
struct Share(MinChange);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        parse_number::<f64, MinChange>(text).map(Self)
    }
}

impl Verb for NoticeVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { owner, archived, page } => {
                let filter = NoticeFilter { archived: archived.then_some(true) };
                session.list(owner.notices()?.list(&filter), page)
            }
            Self::Create(new) => session.show(&new.owner.notices()?.create(&new.body())),
            Self::View(NoticeTarget { owner, notice }) => session.show(&owner.notices()?.view(notice)),
            Self::Update(update) => update.run(session),
            Self::Delete(NoticeTarget { owner, notice }) => {
                session.confirm(&owner.notices()?.delete(notice), "The notice is deleted.")
            }
            Self::Test(target) => target.test(session),
            Self::Deliveries { target: NoticeTarget { owner, notice }, status, page } => {
                let filter = DeliveryFilter { status: *status };
                session.list(owner.notices()?.deliveries(*notice, &filter), page)
            }
            Self::Redeliver { target: NoticeTarget { owner, notice }, delivery } => {
                session.show(&owner.notices()?.redeliver(*notice, *delivery))
            }
        }
    }
}

impl NoticeTarget {
    /// Sends a test and waits for its result.
    fn test(&self, session: &Session) -> Result {
        let notices = self.owner.notices()?;
        let sent = session.client.send(&notices.test(self.notice))?;
        let (request, started) = (notices.delivery(self.notice, sent.uuid), Instant::now());
        let mut found = sent;
        while found.status == DeliveryStatus::Waiting && started.elapsed() < TEST_TIMEOUT {
            thread::sleep(TEST_POLL_INTERVAL);
            found = session.client.send(&request)?;
        }
        session.show(&request)?;
        match found.status {
            DeliveryStatus::Delivered => Ok(()),
            DeliveryStatus::Waiting => Err(Failure::new(format!(
                "The server has not sent the test within {} s; see `tidemark notice deliveries`.",
                TEST_TIMEOUT.as_secs()
            ))),
            DeliveryStatus::Failed | DeliveryStatus::Dropped => {
                Err(Failure::new(format!("The test was not delivered. {}", found.error.unwrap_or_default())))
            }
        }
    }
}

impl New {
    fn body(&self) -> NewNotice {
        NewNotice {
            name: self.name.clone(),
            kind: self.kind,
            url: self.url.clone(),
            email: self.email.clone(),
            branch: self.branch.clone().map(Some),
            testbed: self.testbed.clone(),
            benchmark: self.benchmark.clone(),
            direction: self.direction,
            min_change: self.min_change,
            quiet: self.quiet.clone().map(|quiet| quiet.0),
            digest: self.digest,
            project: self.about.clone(),
        }
    }
}

impl Update {
    fn run(&self, session: &Session) -> Result {
        let patch = NoticePatch {
            name: self.name.clone(),
            url: self.url.clone(),
            email: self.email.clone(),
            branch: NewValue::patch(self.branch.as_ref()),
            testbed: NewValue::patch(self.testbed.as_ref()),
            benchmark: NewValue::patch(self.benchmark.as_ref()),
            direction: self.direction,
            min_change: NewValue::patch(self.min_change.as_ref()).map(|share| share.map(|share| share.0)),
            quiet: NewValue::patch(self.quiet.as_ref()).map(|quiet| quiet.map(|quiet| quiet.0)),
            digest: self.digest,
            archived: self.archive.value(),
        };
        session.update(&self.target.owner.notices()?, &self.target.notice, &patch)
    }
}

impl Printable for Notice {
    const DROPPABLE: &'static [&'static str] = &["Branch", "Kind"];

    fn fields(&self) -> Fields {
        let receiver = self.url.clone();
        let receiver = receiver.or_else(|| self.email.as_ref().map(ToString::to_string));
        let quiet = self.quiet.as_ref().map(|quiet| format!("{}-{}", quiet.from, quiet.to));
        Fields::default()
            .text("Name", &self.name)
            .column("Kind", self.kind)
            .text("To", optional(receiver))
            .text("Branch", self.branch.as_ref().map_or("*", NamePattern::as_str))
            .detail("Summary", &self.summary)
            .detail("Testbed", optional(self.testbed.as_ref()))
            .detail("Benchmark", optional(self.benchmark.as_ref()))
            .detail("Direction", self.direction)
            .detail("Minimum", optional(self.min_change.map(MinChange::get)))
            .detail("Quiet", optional(quiet))
            .detail("Digest", self.digest)
            .detail("Secret", optional(self.secret.as_ref().map(PlainKey::as_str)))
            .column("UUID", self.uuid)
            .detail("Project", optional(self.project))
            .detail("User", optional(self.user))
            .detail("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
            .detail("Archived", optional(self.archived.map(output::time)))
    }
}

impl Printable for Delivery {
    const DROPPABLE: &'static [&'static str] = &["Attempts", "Enqueued"];

    fn fields(&self) -> Fields {
        Fields::default()
            .column("Enqueued", output::time(self.created))
            .column("Status", self.status)
            .number("Attempts", self.attempts)
            .detail("Test", yes_if(self.test))
            .text("Error", optional(self.error.as_ref()))
            .detail("Attempted", optional(self.tried.map(output::time)))
            .column("UUID", self.uuid)
            .detail("Event", self.event)
            .detail("Notice", self.notice)
            .detail("Project", self.project)
            .detail("Report", optional(self.report))
    }
}
