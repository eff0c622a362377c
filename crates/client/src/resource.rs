//! What the API keeps in lists: the table of its nouns, each with where it is and the types it is asked for, made and
//! changed with. What is asked of all of them alike is a method of [`Collection`]; what only one has is a function of
//! its own at the end.

use std::{fmt::Display, marker::PhantomData};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tidemark_api::{
    Accept, Alert, AlertFilter, AlertPatch, AlertsPatch, AlertsPatched, Allowed, AuditEntry, AuthAck,
    AuthUser, Backtest, Benchmark, BenchmarkFilter, BenchmarkPatch, Branch, BranchFilter, BranchPatch,
    Change, ChangeFilter, ChangePatch, Checkout, Confirm, Delivery, DeliveryFilter, DeliveryUuid, Detection,
    DetectionPatch, Invitation, Job, JobFilter, KeyFilter, Login, Measure, MeasureFilter, MeasurePatch,
    Member, MemberFilter, MemberPatch, MetricUuid, Model, NewBacktest, NewBenchmark, NewBranch, NewCheckout,
    NewClaim, NewMeasure, NewMember, NewNotice, NewOrganization, NewPlan, NewPlot, NewProject, NewProjectKey,
    NewProjectMember, NewReport, NewRunner, NewRunnerSpec, NewSpec, NewSso, NewTestbed, NewThreshold,
    NewToken, NewUserKey, Notice, NoticeFilter, NoticePatch, NoticeUuid, OneMetric, Organization,
    OrganizationFilter, OrganizationPatch, OrganizationPermission, Perf, PerfQuery, Plan, PlanPatch,
    PlanRemoval, Plot, PlotFilter, PlotPatch, Project, ProjectFilter, ProjectKey, ProjectKeyCreated,
    ProjectKeyPatch, ProjectMember, ProjectMemberFilter, ProjectMemberPatch, ProjectPatch, ProjectPermission,
    Report, ReportFilter, ReportUuid, ResourceId, Runner, RunnerFilter, RunnerKey, RunnerPatch, Signup, Spec,
    SpecFilter, SpecPatch, Sso, SsoFilter, Testbed, TestbedFilter, TestbedPatch, Threshold, ThresholdFilter,
    ThresholdPut, ThresholdUuid, Token, TokenFilter, TokenPatch, Usage, User, UserFilter, UserKey,
    UserKeyCreated, UserKeyPatch, UserPatch, UserSession, Verdict,
};

use crate::Request;

/// The type of what a noun does not have: there is no value of it to send.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Never {}

/// A noun of the API.
pub trait Resource: DeserializeOwned {
    /// Which of them are listed.
    type Filter: Serialize;
    /// What one is made of.
    type New: Serialize;
    /// What is answered when one is made.
    type Created: DeserializeOwned;
    /// What can be changed of one.
    type Patch: Serialize;
    /// Whether a change replaces all there was.
    const REPLACES: bool = false;
}

/// A list of the API and the requests that it takes.
#[derive(Clone, Debug)]
pub struct Collection<R> {
    segments: Vec<String>,
    of: PhantomData<fn() -> R>,
}

impl<R: Resource> Collection<R> {
    fn at(segments: &[&dyn Display]) -> Self {
        Self { segments: segments.iter().map(ToString::to_string).collect(), of: PhantomData }
    }

    /// Lists a page of those that fit.
    pub fn list(&self, filter: &R::Filter) -> Request<Vec<R>> {
        Request::get(&self.path(None)).query(filter)
    }

    /// Makes one.
    pub fn create(&self, new: &R::New) -> Request<R::Created> {
        Request::post(&self.path(None), new)
    }

    /// Views one.
    pub fn view(&self, id: &dyn Display) -> Request<R> {
        Request::get(&self.path(Some(id)))
    }

    /// Changes one.
    pub fn update(&self, id: &dyn Display, patch: &R::Patch) -> Request<R> {
        let path = self.path(Some(id));
        if R::REPLACES { Request::put(&path, patch) } else { Request::patch(&path, patch) }
    }

    /// Deletes, removes or revokes one.
    pub fn delete(&self, id: &dyn Display) -> Request<()> {
        Request::delete(&self.path(Some(id)))
    }

    fn path<'a>(&'a self, id: Option<&'a dyn Display>) -> Vec<&'a dyn Display> {
        self.segments.iter().map(|segment| segment as &dyn Display).chain(id).collect()
    }
}

/// The table: a noun, where its list is, and its types in the order of [`Resource`].
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
    /// The organizations that the caller is in.
    organizations() at ["organizations"]
        is Organization { OrganizationFilter, NewOrganization, Organization, OrganizationPatch }
    /// The members of an organization; a new one is invited.
    members(organization) at ["organizations", organization, "members"]
        is Member { MemberFilter, NewMember, AuthAck, MemberPatch }
    /// The invitations into an organization.
    invitations(organization) at ["organizations", organization, "invitations"]
        is Invitation { (), Never, Never, Never }
    /// The domains whose people join an organization by themselves.
    ssos(organization) at ["organizations", organization, "sso"]
        is Sso { SsoFilter, NewSso, Sso, Never }
    /// The projects that the caller sees; [`projects_of`] makes new ones.
    projects() at ["projects"]
        is Project { ProjectFilter, NewProject, Project, ProjectPatch }
    /// The keys of a project.
    project_keys(project) at ["projects", project, "keys"]
        is ProjectKey { KeyFilter, NewProjectKey, ProjectKeyCreated, ProjectKeyPatch }
    /// The members of a project.
    project_members(project) at ["projects", project, "members"]
        is ProjectMember { ProjectMemberFilter, NewProjectMember, ProjectMember, ProjectMemberPatch }
    /// The branches of a project.
    branches(project) at ["projects", project, "branches"]
        is Branch { BranchFilter, NewBranch, Branch, BranchPatch }
    /// The testbeds of a project.
    testbeds(project) at ["projects", project, "testbeds"]
        is Testbed { TestbedFilter, NewTestbed, Testbed, TestbedPatch }
    /// The benchmarks of a project.
    benchmarks(project) at ["projects", project, "benchmarks"]
        is Benchmark { BenchmarkFilter, NewBenchmark, Benchmark, BenchmarkPatch }
    /// The measures of a project.
    measures(project) at ["projects", project, "measures"]
        is Measure { MeasureFilter, NewMeasure, Measure, MeasurePatch }
    /// The thresholds of a project.
    thresholds(project) at ["projects", project, "thresholds"]
        is Threshold { ThresholdFilter, NewThreshold, Threshold, ThresholdPut, true }
    /// The plots of a project.
    plots(project) at ["projects", project, "plots"]
        is Plot { PlotFilter, NewPlot, Plot, PlotPatch }
    /// The reports of a project.
    reports(project) at ["projects", project, "reports"]
        is Report { ReportFilter, NewReport, Report, Never }
    /// The alerts of a project.
    alerts(project) at ["projects", project, "alerts"]
        is Alert { AlertFilter, Never, Never, AlertPatch }
    /// The changes of a project.
    changes(project) at ["projects", project, "changes"]
        is Change { ChangeFilter, Never, Never, ChangePatch }
    /// The jobs of a project; [`crate::run::create`] asks for new ones.
    jobs(project) at ["projects", project, "jobs"]
        is Job { JobFilter, Never, Never, Never }
    /// The notices of a project; [`notices_of_user`] has those that a user set up.
    notices(project) at ["projects", project, "notices"]
        is Notice { NoticeFilter, NewNotice, Notice, NoticePatch }
    /// The specs of the server.
    specs() at ["specs"]
        is Spec { SpecFilter, NewSpec, Spec, SpecPatch }
    /// The runners of the server.
    runners() at ["runners"]
        is Runner { RunnerFilter, NewRunner, RunnerKey, RunnerPatch }
    /// The users of the server.
    users() at ["users"]
        is User { UserFilter, Never, Never, UserPatch }
    /// The keys of a user.
    user_keys(user) at ["users", user, "keys"]
        is UserKey { KeyFilter, NewUserKey, UserKeyCreated, UserKeyPatch }
    /// The sessions of a user.
    sessions(user) at ["users", user, "sessions"]
        is UserSession { (), Never, Never, Never }
    /// The legacy tokens of a user.
    tokens(user) at ["users", user, "tokens"]
        is Token { TokenFilter, NewToken, Token, TokenPatch }
    /// The audit log of the server.
    server_audit() at ["server", "audit"]
        is AuditEntry { (), Never, Never, Never }
}

/// The projects of an organization.
pub fn projects_of(organization: &ResourceId) -> Collection<Project> {
    Collection::at(&[&"organizations", organization, &"projects"])
}

/// The notices that a user set up.
pub fn notices_of_user(user: &ResourceId) -> Collection<Notice> {
    Collection::at(&[&"users", user, &"notices"])
}

impl Collection<Notice> {
    /// What became of what a notice was to tell.
    pub fn deliveries(&self, notice: NoticeUuid, filter: &DeliveryFilter) -> Request<Vec<Delivery>> {
        let mut path = self.path(Some(&notice));
        path.push(&"deliveries");
        Request::get(&path).query(filter)
    }

    /// Has a delivery told again.
    pub fn redeliver(&self, notice: NoticeUuid, delivery: DeliveryUuid) -> Request<Delivery> {
        let mut path = self.path(Some(&notice));
        path.extend([&"deliveries" as &dyn Display, &delivery]);
        Request::post(&path, &())
    }
}

/// The audit log of an organization.
pub fn audit_of(organization: &ResourceId) -> Collection<AuditEntry> {
    Collection::at(&[&"organizations", organization, &"audit"])
}

/// Makes the caller the leader of an organization that nobody owns.
pub fn claim(organization: &ResourceId, new: &NewClaim) -> Request<Organization> {
    Request::post(&[&"organizations", organization, &"claim"], new)
}

/// How much an organization uses.
pub fn usage(organization: &ResourceId) -> Request<Usage> {
    Request::get(&[&"organizations", organization, &"usage"])
}

/// Opens a page where a plan is paid for.
pub fn checkout(new: &NewCheckout) -> Request<Checkout> {
    Request::post(&[&"checkout"], new)
}

/// The plan of an organization.
pub fn plan(organization: &ResourceId) -> Request<Plan> {
    Request::get(&[&"organizations", organization, &"plan"])
}

/// Begins a plan that was paid for.
pub fn begin_plan(organization: &ResourceId, new: &NewPlan) -> Request<Plan> {
    Request::post(&[&"organizations", organization, &"plan"], new)
}

/// Lets a plan end with its period, or not.
pub fn update_plan(organization: &ResourceId, patch: PlanPatch) -> Request<Plan> {
    Request::patch(&[&"organizations", organization, &"plan"], &patch)
}

/// Ends a plan at once.
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

/// The models that a threshold has and had.
pub fn models(project: &ResourceId, threshold: ThresholdUuid) -> Request<Vec<Model>> {
    Request::get(&[&"projects", project, &"thresholds", &threshold, &"models"])
}

/// Changes all alerts that fit.
pub fn update_alerts(project: &ResourceId, patch: &AlertsPatch) -> Request<AlertsPatched> {
    Request::patch(&[&"projects", project, &"alerts"], patch)
}

/// A report against the runs before it.
pub fn verdict(project: &ResourceId, report: ReportUuid) -> Request<Verdict> {
    Request::get(&[&"projects", project, &"reports", &report, &"verdict"])
}

/// What a project is told of, and how many false alarms there are.
pub fn detection(project: &ResourceId) -> Request<Detection> {
    Request::get(&[&"projects", project, &"detection"])
}

/// Chooses what a project is told of.
pub fn update_detection(project: &ResourceId, patch: &DetectionPatch) -> Request<Detection> {
    Request::patch(&[&"projects", project, &"detection"], patch)
}

/// Which alarms there would have been.
pub fn backtest(project: &ResourceId, new: &NewBacktest) -> Request<Backtest> {
    Request::post(&[&"projects", project, &"backtest"], new)
}

/// A metric with all that it belongs to.
pub fn metric(project: &ResourceId, metric: MetricUuid) -> Request<OneMetric> {
    Request::get(&[&"projects", project, &"metrics", &metric])
}

/// Metrics over time.
pub fn perf(project: &ResourceId, query: &PerfQuery) -> Request<Perf> {
    Request::get(&[&"projects", project, &"perf"]).query(query)
}

/// Gives a runner another key.
pub fn renew_runner_key(runner: &ResourceId) -> Request<RunnerKey> {
    Request::post(&[&"runners", runner, &"key"], &())
}

/// The specs that a runner does jobs for.
pub fn runner_specs(runner: &ResourceId) -> Request<Vec<Spec>> {
    Request::get(&[&"runners", runner, &"specs"])
}

/// Lets a runner do jobs for a spec.
pub fn add_runner_spec(runner: &ResourceId, spec: &ResourceId) -> Request<Spec> {
    Request::post(&[&"runners", runner, &"specs"], &NewRunnerSpec { spec: spec.clone() })
}

/// Ends that a runner does jobs for a spec.
pub fn remove_runner_spec(runner: &ResourceId, spec: &ResourceId) -> Request<()> {
    Request::delete(&[&"runners", runner, &"specs", spec])
}

/// Signs up; a link is mailed.
pub fn sign_up(new: &Signup) -> Request<AuthAck> {
    Request::post(&[&"auth", &"signup"], new)
}

/// Signs in; a link is mailed.
pub fn sign_in(login: &Login) -> Request<AuthAck> {
    Request::post(&[&"auth", &"login"], login)
}

/// Confirms an address with what was mailed to it, and answers a session.
pub fn confirm(confirm: &Confirm) -> Request<AuthUser> {
    Request::post(&[&"auth", &"confirm"], confirm)
}

/// Accepts an invitation.
pub fn accept(accept: &Accept) -> Request<AuthAck> {
    Request::post(&[&"auth", &"accept"], accept)
}

/// Whose credential the caller has.
pub fn caller() -> Request<tidemark_api::Caller> {
    Request::get(&[&"auth", &"caller"])
}
