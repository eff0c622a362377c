//! Resources of the API: the table of nouns with their paths and their types for listing, creating and updating.
//! Operations of all resources are methods of [`Collection`]; operations of a single resource are functions at the end
//! of this file.

use std::{fmt::Display, marker::PhantomData};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tidemark_api::{
    Accept, Alert, AlertFilter, AlertPatch, AlertsPatch, AlertsPatched, Allowed, AuditEntry, AuthAck,
    AuthUser, Backtest, Benchmark, BenchmarkFilter, BenchmarkPatch, Bisection, Branch, BranchFilter,
    BranchPatch, Change, ChangeFilter, Checkout, CodeHost, Confirm, Delivery, DeliveryFilter, DeliveryUuid,
    Detection, DetectionPatch, Event, EventFilter, EventPatch, EventUuid, Invitation, Job, JobFilter,
    KeyFilter, Login, Measure, MeasureFilter, MeasurePatch, Member, MemberFilter, MemberPatch, MetricDetail,
    MetricUuid, Model, Mute, MuteFilter, NewBacktest, NewBenchmark, NewBisection, NewBranch, NewCheckout,
    NewClaim, NewCodeHost, NewMeasure, NewMember, NewMute, NewNotice, NewOrganization, NewPlan, NewPlot,
    NewProject, NewProjectKey, NewProjectMember, NewReport, NewRunner, NewRunnerSpec, NewSpec, NewSso,
    NewTestbed, NewThreshold, NewToken, NewUserKey, Notice, NoticeFilter, NoticePatch, NoticeUuid,
    Organization, OrganizationFilter, OrganizationPatch, OrganizationPermission, Perf, PerfQuery, Plan,
    PlanPatch, PlanRemoval, Plot, PlotFilter, PlotPatch, Project, ProjectFilter, ProjectKey,
    ProjectKeyCreated, ProjectKeyPatch, ProjectMember, ProjectMemberFilter, ProjectMemberPatch, ProjectPatch,
    ProjectPermission, Report, ReportFilter, ReportUuid, ResourceId, Runner, RunnerFilter, RunnerKey,
    RunnerPatch, Signup, Spec, SpecFilter, SpecPatch, Sso, SsoFilter, Testbed, TestbedFilter, TestbedPatch,
    Threshold, ThresholdFilter, ThresholdPut, ThresholdUuid, Token, TokenFilter, TokenPatch, Usage, User,
    UserFilter, UserKey, UserKeyCreated, UserKeyPatch, UserPatch, UserSession, Verdict, VerdictQuery,
};

use crate::Request;

/// Type of an operation that a resource does not have. It has no values, so that it cannot be sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Never {}

/// A resource of the API.
pub trait Resource: DeserializeOwned {
    /// Filter of the list.
    type Filter: Serialize;
    /// Request body of a creation.
    type New: Serialize;
    /// Response to a creation.
    type Created: DeserializeOwned;
    /// Request body of an update.
    type Patch: Serialize;
    /// Whether an update replaces the whole resource.
    const REPLACES: bool = false;
}

/// A list of the API and its requests.
#[derive(Clone, Debug)]
pub struct Collection<R> {
    segments: Vec<String>,
    of: PhantomData<fn() -> R>,
}

impl<R: Resource> Collection<R> {
    fn at(segments: &[&dyn Display]) -> Self {
        Self { segments: segments.iter().map(ToString::to_string).collect(), of: PhantomData }
    }

    /// Lists a page of the matching items.
    pub fn list(&self, filter: &R::Filter) -> Request<Vec<R>> {
        Request::get(&self.path(None)).query(filter)
    }

    /// Creates an item.
    pub fn create(&self, new: &R::New) -> Request<R::Created> {
        Request::post(&self.path(None), new)
    }

    /// Views an item.
    pub fn view(&self, id: &dyn Display) -> Request<R> {
        Request::get(&self.path(Some(id)))
    }

    /// Updates an item.
    pub fn update(&self, id: &dyn Display, patch: &R::Patch) -> Request<R> {
        let path = self.path(Some(id));
        if R::REPLACES { Request::put(&path, patch) } else { Request::patch(&path, patch) }
    }

    /// Deletes, removes or revokes an item.
    pub fn delete(&self, id: &dyn Display) -> Request<()> {
        Request::delete(&self.path(Some(id)))
    }

    fn path<'a>(&'a self, id: Option<&'a dyn Display>) -> Vec<&'a dyn Display> {
        self.segments.iter().map(|segment| segment as &dyn Display).chain(id).collect()
    }
}

/// The table: noun, path of its list, and its types in the order of [`Resource`].
macro_rules! resources {
    ($(
        $(#[$doc:meta])+
        $collection:ident($($parent:ident),*) at [$($segment:expr),+]
            is $noun:ty { $filter:ty, $new:ty, $created:ty, $patch:ty $(, $replaces:literal)? }
    )+) => {$(
        $(#[$doc])+
        pub fn $collection($($parent: &ResourceId),*) -> Collection<$noun> {
            Collection::at(&[$(&$segment),+])
        }

        impl Resource for $noun {
            type Filter = $filter;
            type New = $new;
            type Created = $created;
            type Patch = $patch;
            $(const REPLACES: bool = $replaces;)?
        }
    )+};
}

resources! {
    /// Organizations that the caller is a member of.
    organizations() at ["organizations"]
        is Organization { OrganizationFilter, NewOrganization, Organization, OrganizationPatch }
    /// Members of an organization. Creating a member sends an invitation.
    members(organization) at ["organizations", organization, "members"]
        is Member { MemberFilter, NewMember, AuthAck, MemberPatch }
    /// Invitations of an organization.
    invitations(organization) at ["organizations", organization, "invitations"]
        is Invitation { (), Never, Never, Never }
    /// Domains whose users join an organization automatically.
    ssos(organization) at ["organizations", organization, "sso"]
        is Sso { SsoFilter, NewSso, Sso, Never }
    /// Projects that the caller can view; [`projects_of`] creates new ones.
    projects() at ["projects"]
        is Project { ProjectFilter, NewProject, Project, ProjectPatch }
    /// Keys of a project.
    project_keys(project) at ["projects", project, "keys"]
        is ProjectKey { KeyFilter, NewProjectKey, ProjectKeyCreated, ProjectKeyPatch }
    /// Members of a project.
    project_members(project) at ["projects", project, "members"]
        is ProjectMember { ProjectMemberFilter, NewProjectMember, ProjectMember, ProjectMemberPatch }
    /// Branches of a project.
    branches(project) at ["projects", project, "branches"]
        is Branch { BranchFilter, NewBranch, Branch, BranchPatch }
    /// Testbeds of a project.
    testbeds(project) at ["projects", project, "testbeds"]
        is Testbed { TestbedFilter, NewTestbed, Testbed, TestbedPatch }
    /// Benchmarks of a project.
    benchmarks(project) at ["projects", project, "benchmarks"]
        is Benchmark { BenchmarkFilter, NewBenchmark, Benchmark, BenchmarkPatch }
    /// Measures of a project.
    measures(project) at ["projects", project, "measures"]
        is Measure { MeasureFilter, NewMeasure, Measure, MeasurePatch }
    /// Thresholds of a project.
    thresholds(project) at ["projects", project, "thresholds"]
        is Threshold { ThresholdFilter, NewThreshold, Threshold, ThresholdPut, true }
    /// Plots of a project.
    plots(project) at ["projects", project, "plots"]
        is Plot { PlotFilter, NewPlot, Plot, PlotPatch }
    /// Reports of a project.
    reports(project) at ["projects", project, "reports"]
        is Report { ReportFilter, NewReport, Report, Never }
    /// Alerts of a project.
    alerts(project) at ["projects", project, "alerts"]
        is Alert { AlertFilter, Never, Never, AlertPatch }
    /// Changes of a project.
    changes(project) at ["projects", project, "changes"]
        is Change { ChangeFilter, Never, Never, Never }
    /// Events of a project.
    events(project) at ["projects", project, "events"]
        is Event { EventFilter, Never, Never, EventPatch }
    /// Mutes of a project.
    mutes(project) at ["projects", project, "mutes"]
        is Mute { MuteFilter, NewMute, Mute, Never }
    /// Jobs of a project; [`crate::run::create`] creates new ones.
    jobs(project) at ["projects", project, "jobs"]
        is Job { JobFilter, Never, Never, Never }
    /// Notices of a project; [`notices_of_user`] has the notices of a user.
    notices(project) at ["projects", project, "notices"]
        is Notice { NoticeFilter, NewNotice, Notice, NoticePatch }
    /// Specs of the server.
    specs() at ["specs"]
        is Spec { SpecFilter, NewSpec, Spec, SpecPatch }
    /// Runners of the server.
    runners() at ["runners"]
        is Runner { RunnerFilter, NewRunner, RunnerKey, RunnerPatch }
    /// Users of the server.
    users() at ["users"]
        is User { UserFilter, Never, Never, UserPatch }
    /// Keys of a user.
    user_keys(user) at ["users", user, "keys"]
        is UserKey { KeyFilter, NewUserKey, UserKeyCreated, UserKeyPatch }
    /// Sessions of a user.
    sessions(user) at ["users", user, "sessions"]
        is UserSession { (), Never, Never, Never }
    /// Legacy tokens of a user.
    tokens(user) at ["users", user, "tokens"]
        is Token { TokenFilter, NewToken, Token, TokenPatch }
    /// Audit log of the server.
    server_audit() at ["server", "audit"]
        is AuditEntry { (), Never, Never, Never }
}

/// Projects of an organization.
pub fn projects_of(organization: &ResourceId) -> Collection<Project> {
    Collection::at(&[&"organizations", organization, &"projects"])
}

/// Notices of a user.
pub fn notices_of_user(user: &ResourceId) -> Collection<Notice> {
    Collection::at(&[&"users", user, &"notices"])
}

impl Collection<Notice> {
    /// Lists the deliveries of a notice.
    pub fn deliveries(&self, notice: NoticeUuid, filter: &DeliveryFilter) -> Request<Vec<Delivery>> {
        let mut path = self.path(Some(&notice));
        path.push(&"deliveries");
        Request::get(&path).query(filter)
    }

    /// Returns a delivery of a notice.
    pub fn delivery(&self, notice: NoticeUuid, delivery: DeliveryUuid) -> Request<Delivery> {
        let mut path = self.path(Some(&notice));
        path.extend([&"deliveries" as &dyn Display, &delivery]);
        Request::get(&path)
    }

    /// Sends a test to the destination of a notice.
    pub fn test(&self, notice: NoticeUuid) -> Request<Delivery> {
        let mut path = self.path(Some(&notice));
        path.push(&"test");
        Request::post(&path, &())
    }

    /// Sends a delivery again.
    pub fn redeliver(&self, notice: NoticeUuid, delivery: DeliveryUuid) -> Request<Delivery> {
        let mut path = self.path(Some(&notice));
        path.extend([&"deliveries" as &dyn Display, &delivery]);
        Request::post(&path, &())
    }
}

/// Audit log of an organization.
pub fn audit_of(organization: &ResourceId) -> Collection<AuditEntry> {
    Collection::at(&[&"organizations", organization, &"audit"])
}

/// Claims an unclaimed organization: the caller becomes its leader.
pub fn claim(organization: &ResourceId, new: &NewClaim) -> Request<Organization> {
    Request::post(&[&"organizations", organization, &"claim"], new)
}

/// Returns the usage of an organization.
pub fn usage(organization: &ResourceId) -> Request<Usage> {
    Request::get(&[&"organizations", organization, &"usage"])
}

/// Creates a checkout page to pay for a plan.
pub fn checkout(new: &NewCheckout) -> Request<Checkout> {
    Request::post(&[&"checkout"], new)
}

/// Returns the plan of an organization.
pub fn plan(organization: &ResourceId) -> Request<Plan> {
    Request::get(&[&"organizations", organization, &"plan"])
}

/// Starts a plan that has been paid for.
pub fn begin_plan(organization: &ResourceId, new: &NewPlan) -> Request<Plan> {
    Request::post(&[&"organizations", organization, &"plan"], new)
}

/// Sets whether a plan ends with its period.
pub fn update_plan(organization: &ResourceId, patch: PlanPatch) -> Request<Plan> {
    Request::patch(&[&"organizations", organization, &"plan"], &patch)
}

/// Ends a plan immediately.
pub fn end_plan(organization: &ResourceId, removal: PlanRemoval) -> Request<()> {
    Request::delete(&[&"organizations", organization, &"plan"]).query(&removal)
}

/// Whether the caller has a permission in an organization.
pub fn allowed_in_organization(
    organization: &ResourceId,
    permission: OrganizationPermission,
) -> Request<Allowed> {
    Request::get(&[&"organizations", organization, &"allowed", &permission])
}

/// Whether the caller has a permission in a project.
pub fn allowed_in_project(project: &ResourceId, permission: ProjectPermission) -> Request<Allowed> {
    Request::get(&[&"projects", project, &"allowed", &permission])
}

/// Lists the current and earlier models of a threshold.
pub fn models(project: &ResourceId, threshold: ThresholdUuid) -> Request<Vec<Model>> {
    Request::get(&[&"projects", project, &"thresholds", &threshold, &"models"])
}

/// Updates all matching alerts.
pub fn update_alerts(project: &ResourceId, patch: &AlertsPatch) -> Request<AlertsPatched> {
    Request::patch(&[&"projects", project, &"alerts"], patch)
}

/// Returns the verdict of a report: its comparison with its baseline, or with the branch and testbed of the report `base`.
pub fn verdict(project: &ResourceId, report: ReportUuid, base: Option<ReportUuid>) -> Request<Verdict> {
    let query = VerdictQuery { base, ..VerdictQuery::default() };
    Request::get(&[&"projects", project, &"reports", &report, &"verdict"]).query(&query)
}

/// Returns the connection of a project to a code host.
pub fn code_host(project: &ResourceId) -> Request<CodeHost> {
    Request::get(&[&"projects", project, &"code_host"])
}

/// Connects a project to a code host.
pub fn put_code_host(project: &ResourceId, new: &NewCodeHost) -> Request<CodeHost> {
    Request::put(&[&"projects", project, &"code_host"], new)
}

/// Disconnects a project from its code host.
pub fn delete_code_host(project: &ResourceId) -> Request<()> {
    Request::delete(&[&"projects", project, &"code_host"])
}

/// Returns the detection settings of a project and its number of false alarms.
pub fn detection(project: &ResourceId) -> Request<Detection> {
    Request::get(&[&"projects", project, &"detection"])
}

/// Updates the detection settings of a project.
pub fn update_detection(project: &ResourceId, patch: &DetectionPatch) -> Request<Detection> {
    Request::patch(&[&"projects", project, &"detection"], patch)
}

/// Stores the result of a search for the commit that caused an event.
pub fn store_bisection(project: &ResourceId, event: EventUuid, new: &NewBisection) -> Request<Bisection> {
    Request::post(&[&"projects", project, &"events", &event, &"bisection"], new)
}

/// Runs a backtest: the changes that other settings would have found.
pub fn backtest(project: &ResourceId, new: &NewBacktest) -> Request<Backtest> {
    Request::post(&[&"projects", project, &"backtest"], new)
}

/// Returns a metric with its report, benchmark and measure.
pub fn metric(project: &ResourceId, metric: MetricUuid) -> Request<MetricDetail> {
    Request::get(&[&"projects", project, &"metrics", &metric])
}

/// Queries metrics over time.
pub fn perf(project: &ResourceId, query: &PerfQuery) -> Request<Perf> {
    Request::get(&[&"projects", project, &"perf"]).query(query)
}

/// Queries metrics over time as an image; `style` has the format and other parameters of the image.
pub fn perf_image(project: &ResourceId, query: &PerfQuery, style: &impl Serialize) -> Request<()> {
    Request::get(&[&"projects", project, &"perf", &"img"]).query(query).query(style)
}

/// Exports the metrics of a project; `query` has the format and the filters.
pub fn export(project: &ResourceId, query: &impl Serialize) -> Request<()> {
    Request::get(&[&"projects", project, &"export"]).query(query)
}

/// Replaces the key of a runner.
pub fn renew_runner_key(runner: &ResourceId) -> Request<RunnerKey> {
    Request::post(&[&"runners", runner, &"key"], &())
}

/// Lists the specs that a runner serves.
pub fn runner_specs(runner: &ResourceId) -> Request<Vec<Spec>> {
    Request::get(&[&"runners", runner, &"specs"])
}

/// Adds a spec to a runner.
pub fn add_runner_spec(runner: &ResourceId, spec: &ResourceId) -> Request<Spec> {
    Request::post(&[&"runners", runner, &"specs"], &NewRunnerSpec { spec: spec.clone() })
}

/// Removes a spec from a runner.
pub fn remove_runner_spec(runner: &ResourceId, spec: &ResourceId) -> Request<()> {
    Request::delete(&[&"runners", runner, &"specs", spec])
}

/// Signs up; the server mails a link.
pub fn sign_up(new: &Signup) -> Request<AuthAck> {
    Request::post(&[&"auth", &"signup"], new)
}

/// Signs in; the server mails a link.
pub fn sign_in(login: &Login) -> Request<AuthAck> {
    Request::post(&[&"auth", &"login"], login)
}

/// Confirms an address with the mailed token and returns a session.
pub fn confirm(confirm: &Confirm) -> Request<AuthUser> {
    Request::post(&[&"auth", &"confirm"], confirm)
}

/// Accepts an invitation.
pub fn accept(accept: &Accept) -> Request<AuthAck> {
    Request::post(&[&"auth", &"accept"], accept)
}

/// Returns the owner of the caller's credential.
pub fn caller() -> Request<tidemark_api::Caller> {
    Request::get(&[&"auth", &"caller"])
}
