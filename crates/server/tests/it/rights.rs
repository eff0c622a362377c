//! Rights: every kind of caller calls every operation of the API, and the response is compared with the `x-right` of
//! the operation.
//!
//! New operations are covered automatically: their path and body are generated from the description. If this is not
//! possible, the test fails and says what to add.

mod stage;
mod tool;

use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use serde_json::Value;
use tidemark_api::{OrganizationPermission, OrganizationRole, ProjectPermission, ProjectRole, Visibility};
use uuid::Uuid;

use self::stage::{Cast, Stage};
use crate::{
    Answer, Engine, TestServer, both,
    contract::{self, Operation},
};

/// The caller. The leader leads the organization in the path, and is also the user in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    Anonymous,
    Invalid,
    Locked,
    Stranger,
    Member,
    Leader,
    Admin,
    LeaderKey,
    StrangerKey,
    ProjectKey,
    /// The key of a project that is not in the path.
    OtherKey,
    Viewer,
    Developer,
    Maintainer,
}

impl Caller {
    const ALL: [Self; 14] = [
        Self::Anonymous,
        Self::Invalid,
        Self::Locked,
        Self::Stranger,
        Self::Member,
        Self::Leader,
        Self::Admin,
        Self::LeaderKey,
        Self::StrangerKey,
        Self::ProjectKey,
        Self::OtherKey,
        Self::Viewer,
        Self::Developer,
        Self::Maintainer,
    ];

    /// Whether the caller differs from others: outside of projects, roles in a project have no effect, and all
    /// project keys are equal.
    fn is_distinguished(self, operation: &Operation) -> bool {
        is_in_project(operation)
            || !matches!(self, Self::OtherKey | Self::Viewer | Self::Developer | Self::Maintainer)
    }
}

/// Whether an operation is about a project; a run names it in the body.
fn is_in_project(operation: &Operation) -> bool {
    operation.path.contains("{project}") || operation.id == "run_post"
}

/// What a response says about rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Done,
    NeedsCredential,
    Forbidden,
    Hidden,
    /// Allowed, but the server does not have the feature.
    Off,
}

impl Verdict {
    fn of(answer: &Answer) -> Option<Self> {
        match answer.status {
            StatusCode::UNAUTHORIZED if answer.headers.get(header::WWW_AUTHENTICATE)? == "Bearer" => {
                Some(Self::NeedsCredential)
            }
            StatusCode::FORBIDDEN => Some(Self::Forbidden),
            StatusCode::NOT_FOUND => Some(Self::Hidden),
            status if status.is_success() => Some(Self::Done),
            _ => None,
        }
    }
}

/// Returns the expected verdict of a right for a caller.
fn expected(right: &str, visibility: Visibility, caller: Caller) -> Verdict {
    use Caller::{
        Admin, Anonymous, Invalid, Leader, LeaderKey, Locked, Member, OtherKey, ProjectKey, StrangerKey,
    };
    if let Some(rest) = right.strip_prefix("project:") {
        let (word, by_user) = match rest.split_once(':') {
            Some((word, "by_user" | "by_session")) => (word, true),
            _ => (rest, false),
        };
        let verdict = expected_in_project(permission(right, word), by_user, visibility, caller);
        let is_refused_to_keys = rest.ends_with(":by_session") && caller == LeaderKey;
        return if is_refused_to_keys { Verdict::Forbidden } else { verdict };
    }
    match (right, caller) {
        ("session", LeaderKey | StrangerKey | ProjectKey | OtherKey) => Verdict::Forbidden,
        ("public" | "session", _) => Verdict::Done,
        // No provider is configured here; oauth.rs tests one.
        ("provider", _) => Verdict::Hidden,
        // Nothing is billed here; billing.rs tests a provider.
        ("organization:manage:billed:by_user", ProjectKey | OtherKey) => Verdict::Forbidden,
        ("organization:manage:billed" | "organization:manage:billed:by_user", _) => {
            match expected("organization:manage", visibility, caller) {
                Verdict::Done => Verdict::Off,
                refused => refused,
            }
        }
        // No caller here has a runner's key, or the secret of a webhook.
        ("runner" | "signature", _) => Verdict::NeedsCredential,
        (_, Anonymous | Invalid) => Verdict::NeedsCredential,
        ("never", _) | (_, Locked) => Verdict::Forbidden,
        ("credential", _) => Verdict::Done,
        ("user", ProjectKey | OtherKey) | ("self:by_session", LeaderKey) => Verdict::Forbidden,
        ("user", _) | ("admin" | "admin:by_session", Admin) => Verdict::Done,
        ("admin" | "admin:by_session", _) => Verdict::Forbidden,
        ("self" | "self:by_session", Leader | LeaderKey | Admin) => Verdict::Done,
        ("self" | "self:by_session", _) => Verdict::Hidden,
        _ => {
            let word = right.strip_prefix("organization:").unwrap_or(right);
            let permission: OrganizationPermission = permission(right, word);
            match caller {
                Leader | LeaderKey | Admin => Verdict::Done,
                Member if OrganizationRole::Member.grants(permission) => Verdict::Done,
                Member => Verdict::Forbidden,
                _ => Verdict::Hidden,
            }
        }
    }
}

fn permission<P: std::str::FromStr>(right: &str, word: &str) -> P {
    word.parse().unwrap_or_else(|_| panic!("define in `expected` who has the new right `{right}`"))
}

/// Returns the expected verdict of a permission in a project for a caller. The project of the path belongs to the
/// organization.
fn expected_in_project(
    permission: ProjectPermission,
    by_user: bool,
    visibility: Visibility,
    caller: Caller,
) -> Verdict {
    use ProjectPermission::{Create, Edit, View};
    let public = visibility == Visibility::Public;
    let granted = |permission| match caller {
        Caller::Leader | Caller::LeaderKey | Caller::Admin | Caller::Maintainer => true,
        Caller::Member | Caller::Viewer => ProjectRole::Viewer.grants(permission),
        Caller::Developer => ProjectRole::Developer.grants(permission),
        Caller::ProjectKey => matches!(permission, View | Create | Edit),
        Caller::Anonymous
        | Caller::Invalid
        | Caller::Locked
        | Caller::Stranger
        | Caller::StrangerKey
        | Caller::OtherKey => false,
    };
    match caller {
        _ if !public && !granted(View) => Verdict::Hidden,
        Caller::ProjectKey if by_user => Verdict::Forbidden,
        _ if granted(permission) || (public && permission == View) => Verdict::Done,
        Caller::Anonymous | Caller::Invalid => Verdict::NeedsCredential,
        _ => Verdict::Forbidden,
    }
}

/// Calls an operation and returns what is wrong with the response, if anything.
async fn try_out(
    server: &TestServer,
    cast: &Cast,
    stage: &Stage,
    (operation, visibility): (&Operation, Visibility),
    caller: Caller,
) -> Result<(), String> {
    let path = stage.path(operation, cast);
    let credential = stage.credential_for(operation, cast, caller);
    let body = stage.body(operation, cast);
    let wanted = expected(&operation.right, visibility, caller);
    let before = if wanted == Verdict::Done { 0 } else { changes(server).await };
    let answer = call(server, operation, &path, &credential, body.clone()).await;
    let is_off = answer.body["message"]
        .as_str()
        .is_some_and(|text| text.starts_with("Billing is not configured on this server"));
    let came = match Verdict::of(&answer) {
        Some(Verdict::Hidden) if wanted == Verdict::Off && is_off => Some(Verdict::Off),
        came => came,
    };
    if came != Some(wanted) {
        return Err(format!("{wanted:?} was expected, {} came: {}", answer.status, answer.body));
    }
    if wanted == Verdict::Done {
        return Ok(());
    }
    if changes(server).await != before {
        return Err("the refused call has changed something".into());
    }
    if wanted == Verdict::Hidden {
        let project = stage.project.uuid;
        let known = [stage.organization.to_string(), project.to_string(), cast.leader.uuid.clone()];
        let nowhere = Uuid::from_u128(1).to_string();
        let elsewhere = |text: String| known.iter().fold(text, |text, id| text.replace(id, &nowhere));
        let body = body.map(|body| serde_json::from_str(&elsewhere(body.to_string())).unwrap());
        let missing = call(server, operation, &elsewhere(path), &credential, body).await;
        if (missing.status, &missing.body["message"]) != (answer.status, &answer.body["message"]) {
            return Err(format!(
                "what is hidden ({}) differs from what is not there ({})",
                answer.body, missing.body
            ));
        }
    }
    Ok(())
}

/// Calls an operation, with the header that some operations require.
async fn call(
    server: &TestServer,
    operation: &Operation,
    path: &str,
    credential: &str,
    body: Option<Value>,
) -> Answer {
    let mut request = Request::builder().method(operation.method.as_str()).uri(path);
    if operation.id.starts_with("auth_session") {
        request = request.header("x-tidemark-console", "1");
    }
    if !credential.is_empty() {
        request = request.header(header::AUTHORIZATION, format!("Bearer {credential}"));
    }
    let body = match body {
        Some(Value::String(form)) => Body::from(form),
        Some(body) => Body::from(body.to_string()),
        None => Body::empty(),
    };
    server.send(request.body(body).unwrap()).await
}

/// Returns a number that every change modifies: the audit log has a row for each change, except for the content of
/// projects.
async fn changes(server: &TestServer) -> i64 {
    let mut terms = vec!["(select count(*) from audit) + (select count(*) from report)".to_owned()];
    for table in ["branch", "testbed", "benchmark", "measure", "threshold", "plot", "alert"] {
        terms.push(format!(
            "(select coalesce(cast(sum(id + modified % 1000000007) as bigint), 0) from {table})"
        ));
    }
    let sql = format!("select {}", terms.join(" + "));
    server.app.db.read(move |tx| tx.value(&sql, &[])).await.unwrap()
}

/// Number of tests that share the operations and run in parallel.
const PARTS: usize = 4;

/// Whether a caller calls the operation with this index. On SQLite, every caller calls every operation. On PostgreSQL, where the
/// statements are the same but take three times as long, every operation has a third of the callers, and every caller a third of
/// the operations.
fn is_cast(engine: Engine, operation: usize, caller: u8) -> bool {
    engine == Engine::Sqlite || (operation + usize::from(caller)).is_multiple_of(3)
}

/// Calls one part of the operations as every caller.
async fn walk(server: &TestServer, part: usize) {
    let cast = Cast::enter(server).await;
    let private = Stage::set(server, &cast, Caller::Stranger, Visibility::Private).await;
    let public = Stage::set(server, &cast, Caller::Stranger, Visibility::Public).await;
    let mut broken = Vec::new();
    // The registry has its own tokens: `registry/rights.rs` tests its rights.
    let operations =
        contract::operations().iter().filter(|operation| !operation.right.starts_with("registry"));
    for (index, operation) in operations.enumerate().skip(part).step_by(PARTS) {
        let stages = [(Visibility::Private, &private), (Visibility::Public, &public)];
        let places = if is_in_project(operation) { 2 } else { 1 };
        for (visibility, shared) in stages.into_iter().take(places) {
            // Rate limits are tested elsewhere: one minute passes, and every caller has its own address.
            server.pass(60);
            for (number, caller) in (1..).zip(Caller::ALL) {
                if !caller.is_distinguished(operation) || !is_cast(server.engine, index, number) {
                    continue;
                }
                server.call_from([198, 51, 100, number]);
                let harmless = operation.method == "GET"
                    || expected(&operation.right, visibility, caller) != Verdict::Done;
                let own = match harmless {
                    true => None,
                    false => Some(Stage::set(server, &cast, caller, visibility).await),
                };
                let stage = own.as_ref().unwrap_or(shared);
                let what = (operation, visibility);
                if let Err(problem) = try_out(server, &cast, stage, what, caller).await {
                    broken.push(format!("{} ({visibility}) as {caller:?}: {problem}", operation.id));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

both! {
    async fn every_operation_enforces_its_right_1(server: TestServer) {
        walk(&server, 0).await;
    }

    async fn every_operation_enforces_its_right_2(server: TestServer) {
        walk(&server, 1).await;
    }

    async fn every_operation_enforces_its_right_3(server: TestServer) {
        walk(&server, 2).await;
    }

    async fn every_operation_enforces_its_right_4(server: TestServer) {
        walk(&server, 3).await;
    }

    async fn a_project_key_dies_with_its_organization(server: TestServer) {
        let cast = Cast::enter(&server).await;
        for query in ["", "?hard=true"] {
            let stage = Stage::set(&server, &cast, Caller::ProjectKey, Visibility::Private).await;
            let key = &stage.project.key;
            server.get("/v0/organizations", key).await.expect(403);
            let path = format!("/v0/organizations/{}{query}", stage.organization);
            server.delete(&path, &cast.admin.token).await.expect(204);
            server.get("/v0/organizations", key).await.expect(401);
        }
    }
}
