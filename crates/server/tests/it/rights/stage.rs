//! Fixtures of the rights test: the resources of the calls, and the callers.

use serde_json::{Value, json};
use tidemark_api::{
    Benchmark, Branch, DEFAULT_MAX_VERSIONS, Email, Measure, NewModel, OrganizationRole, ProjectRole,
    ResourceId, ResourceName, Testbed, Visibility,
};
use tidemark_server::domain::auth::{
    jwt::Audience,
    key::{KeyKind, generate, hash},
};
use tidemark_store::{
    Dimension, ProjectId, ReportId, Tx, UserId, WriteContext,
    change::{ChangeWrite, DetectedChange},
    code_host,
    event::{self, NewEvent},
    head, invitation, job, key,
    lane::Lane,
    member, mute, notice, organization, plot, project, project_key, project_member, report, runner, series,
    session, sign_in, spec, sso, threshold, token, user,
};
use uuid::Uuid;

use super::Caller;
use crate::{
    Person, TestServer,
    contract::{self, Operation},
    report::{bench, record, report_body},
};

/// The users of the test.
#[derive(Clone)]
pub(super) struct Cast {
    pub(super) admin: Person,
    pub(super) leader: Person,
    member: Person,
    /// A member of the organization and a viewer of the projects; the user in paths about members.
    bystander: Person,
    stranger: Person,
    locked: Person,
    viewer: Person,
    developer: Person,
    maintainer: Person,
    /// The key of a project of the administrator.
    other_key: String,
}

impl Cast {
    pub(super) async fn enter(server: &TestServer) -> Self {
        let admin = server.person("Admin").await;
        let locked = server.person("Locked").await;
        server.patch("/v0/users/locked", &admin.token, json!({ "locked": true })).await.expect(200);
        let other = json!({ "name": "Other" });
        server.post("/v0/organizations/admin/projects", &admin.token, other).await.expect(201);
        let key = server.post("/v0/projects/other/keys", &admin.token, json!({ "name": "key" })).await;
        Self {
            admin,
            locked,
            other_key: key.expect(201).text("/key"),
            leader: server.person("Leader").await,
            member: server.person("Member").await,
            bystander: server.person("Bystander").await,
            stranger: server.person("Stranger").await,
            viewer: server.person("Viewer").await,
            developer: server.person("Developer").await,
            maintainer: server.person("Maintainer").await,
        }
    }

    /// Returns the user whose credential a caller uses; the stranger for callers without a user.
    fn person(&self, caller: Caller) -> &Person {
        match caller {
            Caller::Admin => &self.admin,
            Caller::Leader | Caller::LeaderKey => &self.leader,
            Caller::Member => &self.member,
            Caller::Locked => &self.locked,
            Caller::Viewer => &self.viewer,
            Caller::Developer => &self.developer,
            Caller::Maintainer => &self.maintainer,
            Caller::Anonymous
            | Caller::Invalid
            | Caller::Stranger
            | Caller::StrangerKey
            | Caller::ProjectKey
            | Caller::OtherKey => &self.stranger,
        }
    }
}

/// The resources of the calls. A call that changes data gets its own stage.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) organization: Uuid,
    unclaimed: Uuid,
    invitation: Uuid,
    sso: Uuid,
    key: Uuid,
    notice: Uuid,
    delivery: Uuid,
    token: Uuid,
    /// An unused spec, a runner, and a spec that the runner serves.
    spec: String,
    runner: Uuid,
    runner_spec: String,
    leader_key: String,
    stranger_key: String,
    pub(super) project: Project,
    /// Lets the caller join the unclaimed organization.
    invite: String,
    /// Signs the stranger in.
    link: String,
    /// A session of the caller that may end, and a session of the leader.
    bearer: String,
    session: Uuid,
}

/// A project of the organization. All unused dimensions are named `free`.
#[derive(Clone)]
pub(super) struct Project {
    pub(super) uuid: Uuid,
    pub(super) key: String,
    key_uuid: Uuid,
    threshold: Uuid,
    plot: Uuid,
    notice: Uuid,
    delivery: Uuid,
    /// A report with one metric, and the alert that it raised.
    report: Uuid,
    /// A pending job.
    job: Uuid,
    metric: Uuid,
    alert: Uuid,
    change: Uuid,
    event: Uuid,
    mute: Uuid,
    /// The dimensions of the plot, in the form of a body.
    dimensions: Value,
}

impl Stage {
    pub(super) async fn set(
        server: &TestServer,
        cast: &Cast,
        caller: Caller,
        visibility: Visibility,
    ) -> Self {
        let (app, cast) = (server.app.clone(), cast.clone());
        let build = move |tx: &mut Tx<'_>| {
            let fresh = app.fresh();
            let expires = fresh.now.plus_seconds(86_400);
            let [leader, member, bystander, stranger] =
                [&cast.leader, &cast.member, &cast.bystander, &cast.stranger].map(|person| id(tx, person));

            let claimed = organization::create(tx, &fresh, None, &"Acme".parse().unwrap(), None)?;
            organization::claim(tx, claimed.id, fresh.now)?;
            member::add(tx, claimed.id, leader, OrganizationRole::Leader, fresh.now)?;
            member::add(tx, claimed.id, member, OrganizationRole::Member, fresh.now)?;
            member::add(tx, claimed.id, bystander, OrganizationRole::Member, fresh.now)?;
            let unclaimed = organization::create(tx, &fresh, None, &"Anonymous's".parse().unwrap(), None)?;

            let invite = |tx: &mut Tx<'_>, into: &organization::OrganizationRow, email: &Email| {
                let role = OrganizationRole::Member;
                let found = invitation::create(tx, &fresh, into.id, email, role, leader, expires).unwrap();
                let uuid = found.invitation.uuid.uuid();
                (uuid, app.signer.sign(Audience::Invite, uuid, email, None, fresh.now, expires))
            };
            let (invitation, _) = invite(tx, &claimed, &"guest@example.org".parse().unwrap());
            let (_, invite) = invite(tx, &unclaimed, &cast.person(caller).email.parse().unwrap());

            let domain = format!("{}.example.org", fresh.uuid().simple()).parse().unwrap();
            let domain = sso::create(tx, &fresh, claimed.id, &domain)?;
            let name = "key".parse().unwrap();
            let prefix = &app.config.security.key_prefix;
            let [leader_key, stranger_key, project_key] = [KeyKind::User, KeyKind::User, KeyKind::Project]
                .map(|kind| generate(&fresh, prefix, kind).as_str().to_owned());
            let hashes = [&leader_key, &stranger_key].map(|key| hash(key));
            let [leaders, strangers] =
                hashes.each_ref().map(|hash| key::NewKeyRow { name: &name, hash, expires });
            let own = key::create(tx, &fresh, leader, leaders)?;
            key::create(tx, &fresh, stranger, strangers)?;
            let project = Project::set(tx, &fresh, &cast, &claimed, visibility, project_key);
            let home = project::find(tx, &ResourceId::Uuid(project.uuid), None)?.0.id;
            // A user has a maximum number of notices; the notices of the first two stages are needed until the end.
            tx.execute(
                "delete from notice where account_id = $1
                 and id not in (select id from notice where account_id = $1 order by id limit 2)",
                &[&leader],
            )?;
            let (notice, delivery) =
                notice_with_delivery(tx, &fresh, notice::NoticeOwner::User(leader), home);
            let digest = hash(&fresh.uuid().to_string());
            token::record(tx, &fresh, leader, &name, &digest, fresh.now, expires)?;

            let email: Email = cast.stranger.email.parse().unwrap();
            let link = sign_in::create(tx, &fresh, stranger, &email, None, None, expires)?;
            let link = app.signer.sign(Audience::Auth, link.uuid, &email, None, fresh.now, expires);
            let place = session::SessionOrigin { address: None, agent: None };
            let session = session::open(tx, &fresh, leader, place, expires)?;
            let owner = cast.person(caller);
            let (user, owner) = (id(tx, owner), owner.email.parse().unwrap());
            let bearer = session::open(tx, &fresh, user, place, expires)?;
            let bearer = app.signer.sign(Audience::Client, bearer, &owner, None, fresh.now, expires);
            let [free, used] = ["Free", "Used"].map(|name| {
                let new = json!({ "name": name, "os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1 });
                spec::create(tx, &fresh, &serde_json::from_value(new).unwrap()).unwrap()
            });
            let slug = format!("box-{}", fresh.uuid().simple()).parse().ok();
            let (name, digest_of_key) = ("box".parse().unwrap(), hash(&fresh.uuid().to_string()));
            let new = runner::NewRunnerRow { name: &name, slug: slug.as_ref(), hash: &digest_of_key };
            let runner = runner::create(tx, &fresh, &new)?.uuid();
            let found = runner::find(tx, &ResourceId::Uuid(runner), fresh.now)?;
            runner::add_spec(tx, found.id, used.id, fresh.now)?;
            Ok::<_, tidemark_store::Error>(Self {
                spec: free.spec.uuid.to_string(),
                runner,
                runner_spec: used.spec.uuid.to_string(),
                organization: claimed.organization.uuid.uuid(),
                unclaimed: unclaimed.organization.uuid.uuid(),
                invitation,
                sso: domain.uuid.uuid(),
                key: own.uuid.uuid(),
                notice,
                delivery,
                token: tx.value("select uuid from user_token where hash = $1", &[&digest])?,
                leader_key,
                stranger_key,
                project,
                invite: invite.to_string(),
                link: link.to_string(),
                bearer: bearer.to_string(),
                session,
            })
        };
        server.app.db.write(build).await.unwrap()
    }

    /// Returns the value of `{name}` in the path.
    fn parameter(&self, operation: &Operation, cast: &Cast, name: &str) -> String {
        let in_project = operation.path.contains("{project}");
        match name {
            "organization" if operation.id == "org_claim_post" => self.unclaimed.to_string(),
            "organization" => self.organization.to_string(),
            "user" if in_project || operation.path.contains("{organization}") => cast.bystander.uuid.clone(),
            "user" => cast.leader.uuid.clone(),
            "invitation" => self.invitation.to_string(),
            "sso" => self.sso.to_string(),
            "provider" => "example".into(),
            "key" if in_project => self.project.key_uuid.to_string(),
            "key" => self.key.to_string(),
            "token" => self.token.to_string(),
            "session" => self.session.to_string(),
            "spec" if operation.path.contains("{runner}") => self.runner_spec.clone(),
            "spec" => self.spec.clone(),
            "runner" => self.runner.to_string(),
            "permission" => "view".into(),
            "server" => Uuid::nil().to_string(),
            "project" => self.project.uuid.to_string(),
            "branch" | "testbed" | "benchmark" | "measure" => "free".into(),
            "threshold" => self.project.threshold.to_string(),
            "plot" => self.project.plot.to_string(),
            "notice" if in_project => self.project.notice.to_string(),
            "notice" => self.notice.to_string(),
            "delivery" if in_project => self.project.delivery.to_string(),
            "delivery" => self.delivery.to_string(),
            "job" => self.project.job.to_string(),
            "report" => self.project.report.to_string(),
            "alert" => self.project.alert.to_string(),
            "change" => self.project.change.to_string(),
            "event" => self.project.event.to_string(),
            "mute" => self.project.mute.to_string(),
            "metric" => self.project.metric.to_string(),
            _ => panic!("{}: say in `Stage::parameter` what stands for {{{name}}}", operation.id),
        }
    }

    pub(super) fn path(&self, operation: &Operation, cast: &Cast) -> String {
        let segments = operation.path.split('/').map(|segment| {
            match segment.strip_prefix('{').and_then(|segment| segment.strip_suffix('}')) {
                Some(name) => self.parameter(operation, cast, name),
                None => segment.to_owned(),
            }
        });
        let path = segments.collect::<Vec<_>>().join("/");
        match operation.id.as_str() {
            "proj_perf_get" | "proj_perf_img_get" => format!("{path}?{}", self.project.perf_query()),
            _ => path,
        }
    }

    /// Returns the smallest body that the description allows, unless it must refer to this stage.
    pub(super) fn body(&self, operation: &Operation, cast: &Cast) -> Option<Value> {
        match operation.id.as_str() {
            "auth_accept_post" | "auth_invitation_post" => Some(json!({ "invite": self.invite })),
            // An encoded form.
            "auth_oci_token_post" => {
                Some(Value::String(format!("grant_type=password&username=other&password={}", cast.other_key)))
            }
            "auth_confirm_post" | "auth_session_post" => Some(json!({ "token": self.link })),
            "proj_member_post" => Some(json!({ "user": cast.stranger.uuid, "role": "viewer" })),
            "proj_threshold_post" => {
                let free = "free";
                Some(json!({ "branch": free, "testbed": free, "measure": free, "test": "t_test" }))
            }
            "org_sso_post" => Some(json!({ "domain": format!("{}.example.net", self.sso.simple()) })),
            "auth_github_post" | "auth_google_post" | "auth_oidc_post" => {
                Some(json!({ "state": self.link, "code": "x" }))
            }
            "checkouts_post" => {
                let mut body = contract::body(operation)?;
                body["organization"] = json!(self.organization);
                Some(body)
            }
            "runner_specs_post" => Some(json!({ "spec": self.spec })),
            "proj_code_host_put" => {
                Some(json!({ "provider": "github", "repository": "acme/app", "token": "s3cret" }))
            }
            "proj_event_bisection_post" => Some(crate::bisection::result()),
            "proj_mute_post" => Some(json!({ "benchmark": "free", "reason": "Flaky" })),
            "proj_notice_post" | "user_notice_post" => {
                Some(json!({ "name": "Hook", "kind": "webhook", "url": "https://example.org/hook" }))
            }
            "proj_threshold_put" => Some(json!({ "test": null })),
            "proj_report_post" => Some(report_body(json!([]), json!({}))),
            "run_post" => Some(report_body(json!([]), json!({ "project": self.project.uuid }))),
            "proj_plot_post" => {
                let mut body = contract::body(operation)?;
                let dimensions = self.project.dimensions.as_object()?.clone();
                body.as_object_mut()?.extend(dimensions);
                Some(body)
            }
            _ => contract::body(operation),
        }
    }

    /// Returns the credential for an operation. The sessions of the users are needed until the end, so signing out
    /// ends another session.
    pub(super) fn credential_for(&self, operation: &Operation, cast: &Cast, caller: Caller) -> String {
        let credential = self.credential(cast, caller);
        let ends = operation.id == "auth_session_delete" && credential == cast.person(caller).token;
        if ends { self.bearer.clone() } else { credential }
    }

    pub(super) fn credential(&self, cast: &Cast, caller: Caller) -> String {
        match caller {
            Caller::Anonymous => String::new(),
            Caller::Invalid => format!("{}x", cast.leader.token),
            Caller::LeaderKey => self.leader_key.clone(),
            Caller::StrangerKey => self.stranger_key.clone(),
            Caller::ProjectKey => self.project.key.clone(),
            Caller::OtherKey => cast.other_key.clone(),
            Caller::Locked
            | Caller::Stranger
            | Caller::Member
            | Caller::Leader
            | Caller::Admin
            | Caller::Viewer
            | Caller::Developer
            | Caller::Maintainer => cast.person(caller).token.clone(),
        }
    }
}

impl Project {
    /// Returns the query of the dimensions of the plot.
    fn perf_query(&self) -> String {
        let dimensions = self.dimensions.as_object().unwrap().iter();
        let terms = dimensions.map(|(key, ids)| format!("{key}={}", ids[0].as_str().unwrap()));
        terms.collect::<Vec<_>>().join("&")
    }

    fn set(
        tx: &mut Tx<'_>,
        fresh: &WriteContext,
        cast: &Cast,
        organization: &organization::OrganizationRow,
        visibility: Visibility,
        key: String,
    ) -> Self {
        let name = visibility.as_str().parse().unwrap();
        let organization = organization.id;
        let new = project::NewProjectRow {
            organization,
            uuid: None,
            name: &name,
            slug: None,
            url: None,
            visibility,
        };
        let found = project::create(tx, fresh, &new).unwrap();
        for (person, role) in [
            (&cast.bystander, ProjectRole::Viewer),
            (&cast.viewer, ProjectRole::Viewer),
            (&cast.developer, ProjectRole::Developer),
            (&cast.maintainer, ProjectRole::Maintainer),
        ] {
            let user = id(tx, person);
            project_member::add(tx, found.id, user, role, fresh.now).unwrap();
        }
        let leader = id(tx, &cast.leader);
        let (hash, expires) = (hash(&key), fresh.now.plus_seconds(86_400));
        let new = key::NewKeyRow { name: &name, hash: &hash, expires };
        let key_uuid = project_key::create(tx, fresh, found.id, leader, new).unwrap().uuid.uuid();

        Dimensions::set(tx, fresh, found.id, "free");
        let used = Dimensions::set(tx, fresh, found.id, "used");
        let model: NewModel = serde_json::from_value(json!({ "test": "t_test" })).unwrap();
        let model = model.complete(Measure::view(tx, used.measure).unwrap().worse()).unwrap();
        let threshold =
            threshold::create(tx, fresh, found.id, used.branch, used.testbed, used.measure, &model).unwrap();
        let dimensions = plot::PlotDimensions {
            branches: vec![Branch::view(tx, used.branch).unwrap().uuid],
            testbeds: vec![Testbed::view(tx, used.testbed).unwrap().uuid],
            benchmarks: vec![Benchmark::view(tx, used.benchmark).unwrap().uuid],
            measures: vec![Measure::view(tx, used.measure).unwrap().uuid],
        };
        let settings = plot::PlotSettings {
            title: None,
            lower_value: false,
            upper_value: false,
            lower_boundary: false,
            upper_boundary: true,
            x_axis: tidemark_api::XAxis::DateTime,
            y_axis: tidemark_api::YAxis::Auto,
            window: 60.try_into().unwrap(),
        };
        let plot = plot::create(tx, fresh, found.id, 0, &settings, &dimensions).unwrap();
        // The threshold in the path judges no metrics, so that it can be deleted.
        let limit = json!({ "models": { "latency": { "test": "static", "upper_boundary": 0 } } });
        let more = json!({ "branch": "used", "testbed": "used", "thresholds": limit });
        let report = record(tx, fresh, (organization, found.id), json!([bench(1.0)]), more);
        let (event, change) = event_with_change(tx, fresh, found.id, report);
        let report = report::summary(tx, &found.project, report).unwrap();
        let report = report::complete(tx, report).unwrap();
        let (notice, delivery) =
            notice_with_delivery(tx, fresh, notice::NoticeOwner::Project(found.id), found.id);
        let new = serde_json::from_value(json!({ "benchmark": "free", "reason": "Flaky" })).unwrap();
        let actor = tidemark_api::Actor { kind: tidemark_api::ActorKind::System, uuid: None, name: None };
        let mute = mute::create(tx, fresh, found.id, &new, &actor).unwrap();
        let settings = code_host::CodeHostSettings {
            provider: tidemark_api::CodeHostProvider::GitHub,
            url: "https://example.org".parse().unwrap(),
            repository: "acme/app".parse().unwrap(),
            token: "s3cret".parse().unwrap(),
            secret: "s3cret".parse().unwrap(),
            commands: true,
        };
        code_host::put(tx, found.id, &settings, fresh.now).unwrap();
        let places = json!({ "branch": "used", "testbed": "used" });
        let empty = record(tx, fresh, (organization, found.id), json!([]), places);
        let job = wait(tx, fresh, &found, empty);
        Self {
            uuid: found.project.uuid.uuid(),
            job,
            key,
            key_uuid,
            threshold: threshold.threshold.uuid.uuid(),
            plot: plot.plot.uuid.uuid(),
            notice,
            delivery,
            report: report.uuid.uuid(),
            metric: report.results.unwrap()[0][0].measures[0].metric.uuid.uuid(),
            alert: report.alerts.unwrap()[0].uuid.uuid(),
            change,
            event,
            mute: mute.uuid.uuid(),
            dimensions: json!({
                "branches": dimensions.branches, "testbeds": dimensions.testbeds,
                "benchmarks": dimensions.benchmarks, "measures": dimensions.measures,
            }),
        }
    }
}

/// Creates an event with a change that begins with a report.
fn event_with_change(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    project: ProjectId,
    report: ReportId,
) -> (Uuid, Uuid) {
    let place = report::dimensions(tx, report).unwrap();
    let report::ReportDimensions { branch, head, testbed, version, .. } = place;
    let lane = Lane { project, branch, head, testbed, reports: 1, deleted: 0, analyzed: 0 };
    let series_key = tx
        .fetch_one("series", "select id from series where testbed_id = $1", &[&place.testbed])
        .and_then(|id| series::series_keys(tx, &[id]))
        .unwrap();
    let series_key = *series_key.values().next().unwrap();
    let found = DetectedChange {
        at: report,
        earliest: report,
        latest: report,
        start_time: fresh.now,
        before: 1.0,
        after: 2.0,
        effect: Some(1.0),
        sigma: 9.0,
        confidence: 0.9,
        worse: 1,
        cause: tidemark_api::ChangeCause::Code,
        is_recovered: false,
    };
    let uuid = fresh.uuid();
    let event = NewEvent {
        uuid: uuid.into(),
        project_id: project,
        head_id: head,
        first_version: version,
        last_version: version,
        cause: found.cause,
        status: tidemark_api::EventStatus::Open,
        start_time: fresh.now,
        created: fresh.now,
        modified: fresh.now,
    };
    let event = event::insert(tx, &[event]).unwrap()[0];
    let new = ChangeWrite {
        uuid: None,
        series_key,
        found,
        event,
        withdrawn: None,
        is_raised: false,
        starts_event: false,
    };
    tidemark_store::change::write(tx, fresh, &lane, Some(report), &[new]).unwrap();
    (uuid, tidemark_store::change::of_heads(tx, &[head], testbed).unwrap()[0].uuid.uuid())
}

/// Creates a notice with a finished delivery.
fn notice_with_delivery(
    tx: &mut Tx<'_>,
    fresh: &WriteContext,
    owner: notice::NoticeOwner,
    project: ProjectId,
) -> (Uuid, Uuid) {
    let settings = notice::NoticeSettings {
        name: "Hook".parse().unwrap(),
        // Not public: a test of the notice sends no request.
        url: Some("https://192.0.2.1/hook".parse().unwrap()),
        email: None,
        filter: tidemark_api::NotificationFilter::default(),
        quiet: None,
        digest: tidemark_api::Digest::None,
        archived: None,
    };
    let kind = tidemark_api::NoticeKind::Webhook;
    let found = notice::create(tx, fresh, owner, Some(project), kind, None, &settings).unwrap();
    let uuid = fresh.uuid();
    tx.execute(
        "insert into delivery (uuid, notice_id, project_id, event, again, status, attempts, created)
         values ($1, $2, $3, $1, $4, 'delivered', 1, $5)",
        &[&uuid, &found.id, &project, &false, &fresh.now],
    )
    .unwrap();
    (found.notice.uuid.uuid(), uuid)
}

/// Creates a pending job.
fn wait(tx: &mut Tx<'_>, fresh: &WriteContext, found: &project::ProjectRow, report: ReportId) -> Uuid {
    let spec =
        json!({ "name": "Wait", "os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1 });
    let spec = spec::create(tx, fresh, &serde_json::from_value(spec).unwrap()).unwrap();
    let config =
        json!({ "registry": "http://localhost", "project": found.project.uuid, "digest": "", "timeout": 60 });
    let new = job::NewJobRow {
        project: found.id,
        report,
        spec: spec.id,
        rank: 0,
        address: None,
        concurrency: None,
        config: &serde_json::from_value(config).unwrap(),
        callback: None,
        expires: fresh.now.plus_seconds(86_400),
    };
    job::create(tx, fresh, &new).unwrap().uuid()
}

/// One of each dimension.
struct Dimensions {
    branch: tidemark_store::BranchId,
    testbed: tidemark_store::TestbedId,
    benchmark: tidemark_store::BenchmarkId,
    measure: tidemark_store::MeasureId,
}

impl Dimensions {
    fn set(tx: &mut Tx<'_>, fresh: &WriteContext, project: ProjectId, name: &str) -> Self {
        let resource: ResourceName = name.parse().unwrap();
        let set = Self {
            branch: Branch::create(tx, fresh, project, &name, None, ()).unwrap(),
            testbed: Testbed::create(tx, fresh, project, &resource, None, None).unwrap(),
            benchmark: Benchmark::create(tx, fresh, project, &name, None, ()).unwrap(),
            measure: Measure::create(tx, fresh, project, &resource, None, resource.as_str()).unwrap(),
        };
        head::create(tx, fresh, set.branch, None, DEFAULT_MAX_VERSIONS).unwrap();
        set
    }
}

fn id(tx: &mut Tx<'_>, person: &Person) -> UserId {
    user::find(tx, &ResourceId::Uuid(person.uuid.parse().unwrap())).unwrap().id
}
