//! Holds what is serialized against the schema that the OpenAPI document gives for it, with every optional
//! part there and with none. The routes that use these types are the server's to test.
#![expect(clippy::unwrap_used, reason = "samples are valid, and a test may panic")]

mod project;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use tidemark_api::*;
use utoipa::ToSchema;
use uuid::Uuid;

/// Checks a value against its schema and that it reads back as itself.
#[track_caller]
fn check<T: Serialize + DeserializeOwned + ToSchema>(value: &T) {
    let json = serde_json::to_value(value).unwrap();
    if let Err(error) = validator::<T>().validate(&json) {
        panic!("{json} does not fit {}: {error} at {}", T::name(), error.instance_path());
    }
    let read_back: T = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(read_back).unwrap(), json);
}

/// Checks that a value fits neither the schema nor the type.
#[track_caller]
fn reject<T: DeserializeOwned + ToSchema>(json: &Value) {
    assert!(!validator::<T>().is_valid(json), "{json} fits the schema of {}", T::name());
    assert!(serde_json::from_value::<T>(json.clone()).is_err(), "{json} is read as {}", T::name());
}

fn validator<T: ToSchema>() -> jsonschema::Validator {
    let mut parts = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut parts);
    let schemas: Map<String, Value> =
        parts.into_iter().map(|(name, schema)| (name, serde_json::to_value(schema).unwrap())).collect();
    let root = json!({
        "$ref": format!("#/components/schemas/{}", T::name()),
        "components": { "schemas": schemas },
    });
    jsonschema::options().should_validate_formats(true).build(&root).unwrap()
}

fn time() -> Timestamp {
    Timestamp::from_micros(1_790_000_000_123_000)
}

fn email() -> Email {
    "ada@example.org".parse().unwrap()
}

fn jwt() -> Jwt {
    "eyJh.eyJz.c2ln".parse().unwrap()
}

fn user() -> User {
    User {
        uuid: Uuid::from_u128(1).into(),
        name: "Ada Żółć".parse().unwrap(),
        slug: "ada".parse().unwrap(),
        email: email(),
        admin: true,
        locked: false,
        created: Some(time()),
    }
}

fn organization() -> Organization {
    Organization {
        uuid: Uuid::from_u128(2).into(),
        name: "Analytical Engines".parse().unwrap(),
        slug: Slug::from_uuid(Uuid::from_u128(2)),
        license: None,
        sso: Vec::new(),
        created: time(),
        modified: time(),
        claimed: None,
    }
}

#[test]
fn organizations() {
    check(&organization());
    assert!(serde_json::to_value(organization()).unwrap().get("sso").is_none());
    assert_eq!(serde_json::to_value(organization()).unwrap()["license"], Value::Null);
    check(&Organization {
        license: Some(jwt()),
        claimed: Some(time()),
        sso: vec![Sso {
            uuid: Uuid::from_u128(3).into(),
            domain: "example.org".parse().unwrap(),
            created: time(),
        }],
        ..organization()
    });
    check(&NewOrganization { name: "A".parse().unwrap(), slug: None });
    check(&OrganizationPatch::default());
    check(&OrganizationPatch { license: Some(None), ..OrganizationPatch::default() });
    check(&OrganizationPatch {
        name: Some("B".parse().unwrap()),
        slug: Some("b".parse().unwrap()),
        license: Some(Some(jwt())),
    });
    check(&Allowed { allowed: true });
}

#[test]
fn members_and_invitations() {
    check(&Member {
        uuid: Uuid::from_u128(1).into(),
        name: "Ada".parse().unwrap(),
        slug: "ada".parse().unwrap(),
        email: email(),
        role: OrganizationRole::Member,
        created: time(),
        modified: time(),
    });
    check(&NewMember { name: None, email: email(), role: OrganizationRole::Leader });
    check(&MemberPatch::default());
    let invitation = Invitation {
        uuid: Uuid::from_u128(4).into(),
        organization: Uuid::from_u128(2).into(),
        email: email(),
        role: OrganizationRole::Member,
        inviter: None,
        created: time(),
        expires: time().plus_seconds(60),
        status: InvitationStatus::Pending,
    };
    check(&invitation);
    let User { uuid, name, slug, .. } = user();
    check(&InvitationOffer {
        organization: "Acme".parse().unwrap(),
        inviter: Some(name.clone()),
        email: email(),
        role: OrganizationRole::Member,
        expires: time(),
        status: InvitationStatus::Expired,
    });
    check(&InvitationToken { invite: jwt() });
    check(&InvitationLink { url: "https://example.org/auth/invitation?invite=a.b.c".parse().unwrap() });
    check(&Invitation { inviter: Some(PubUser { uuid, name, slug }), ..invitation });
}

#[test]
fn users_and_signing_in() {
    check(&user());
    check(&User { created: None, ..user() });
    check(&UserPatch::default());
    check(&AuthUser { user: user(), token: jwt(), creation: time(), expiration: time() });
    check(&AuthAck { email: email() });
    check(&Confirm { token: jwt() });
    check(&Accept { invite: jwt() });
    check(&NewClaim { token: None });
    check(&Login { email: email(), plan: None, invite: None, recaptcha_token: None });
    check(&Signup {
        name: "Ada".parse().unwrap(),
        slug: Some("ada".parse().unwrap()),
        email: email(),
        plan: Some(PlanLevel::Pro),
        invite: Some(jwt()),
        claim: Some(Uuid::from_u128(2).into()),
        i_agree: true,
        recaptcha_token: Some("proof".parse().unwrap()),
    });
}

#[test]
fn keys_and_tokens() {
    let user_key = UserKey {
        uuid: Uuid::from_u128(5).into(),
        user: Uuid::from_u128(1).into(),
        name: "ci".parse().unwrap(),
        creation: time(),
        expiration: time(),
        revoked: None,
    };
    check(&user_key);
    assert!(serde_json::to_value(&user_key).unwrap().get("revoked").is_none());
    check(&UserKey { revoked: Some(time()), ..user_key });
    check(&UserKeyCreated {
        uuid: Uuid::from_u128(5).into(),
        user: Uuid::from_u128(1).into(),
        name: "ci".parse().unwrap(),
        key: "svc_user_0123456789abcdefghijABCDEFGHIJ".parse().unwrap(),
        creation: time(),
        expiration: time(),
    });
    check(&NewUserKey { name: "ci".parse().unwrap(), ttl: std::num::NonZeroU32::new(u32::MAX) });
    let project_key = ProjectKey {
        uuid: Uuid::from_u128(6).into(),
        project: Uuid::from_u128(7).into(),
        creator: None,
        name: "ci".parse().unwrap(),
        creation: time(),
        expiration: time(),
        revoked: None,
    };
    check(&project_key);
    check(&ProjectKey { creator: Some(Uuid::from_u128(1).into()), ..project_key });
    check(&ProjectKeyCreated {
        uuid: Uuid::from_u128(6).into(),
        project: Uuid::from_u128(7).into(),
        name: "ci".parse().unwrap(),
        key: "svc_run_0123456789abcdefghijABCDEFGHIJ".parse().unwrap(),
        creation: time(),
        expiration: time(),
    });
    check(&NewProjectKey { name: "ci".parse().unwrap(), ttl: None });
    check(&Token {
        uuid: Uuid::from_u128(8).into(),
        user: Uuid::from_u128(1).into(),
        name: "old".parse().unwrap(),
        token: jwt(),
        creation: time(),
        expiration: time(),
        revoked: Some(time()),
    });
    check(&NewToken { name: "old".parse().unwrap(), ttl: None });
}

#[test]
fn audit_and_errors() {
    let entry = AuditEntry {
        uuid: Uuid::from_u128(9).into(),
        created: time(),
        actor: Actor { kind: ActorKind::System, uuid: None, name: None },
        action: "member.role".to_owned(),
        target: "ada".to_owned(),
        organization: None,
        address: None,
        detail: [("role".to_owned(), "leader".to_owned())].into(),
    };
    check(&entry);
    check(&AuditEntry {
        actor: Actor { kind: ActorKind::User, uuid: Some(Uuid::from_u128(1)), name: Some("Ada".to_owned()) },
        organization: Some(Uuid::from_u128(2).into()),
        address: Some("::1".to_owned()),
        ..entry
    });
    check(&Error { request_id: Uuid::from_u128(10), message: "No.".to_owned(), error_code: None });
    check(&Error {
        request_id: Uuid::from_u128(10),
        message: "No.".to_owned(),
        error_code: Some("conflict".to_owned()),
    });
}

#[test]
fn server() {
    check(&ApiVersion { version: "0.6.13".to_owned() });
    check(&Console { url: "http://localhost:3000".parse().unwrap() });
    check(&Backup::default());
    check(&Backup {
        compress: Some(true),
        compression: Some(Compression::Zstd),
        data_store: Some(DataStore::AwsS3),
        remove: Some(false),
    });
    check(&BackupCreated { created: time() });
    check(&UuidResponse { uuid: Uuid::from_u128(11) });
    let empty = json!({
        "server": { "uuid": Uuid::from_u128(11), "created": time(), "version": null },
        "timestamp": time(),
    });
    let mut stats: ServerStats = serde_json::from_value(empty).unwrap();
    check(&stats);
    let top = TopProject {
        name: "p".parse().unwrap(),
        uuid: Uuid::from_u128(7).into(),
        metrics: u64::MAX,
        percentage: 1.0,
    };
    let job = TopJobProject {
        name: "p".parse().unwrap(),
        uuid: Uuid::from_u128(7).into(),
        seconds: 1,
        percentage: 0.5,
    };
    let seconds = Cohort { week: 1, month: 2, total: 3 };
    let median = CohortAvg { week: 0.5, month: 1.5, total: 2.5 };
    let jobs = TopJobCohort { week: vec![job.clone()], month: vec![job], total: Vec::new() };
    stats.organizations = Some(vec![organization()]);
    stats.admins = Some(vec![user()]);
    stats.users = Some(seconds);
    stats.reports_per_project = Some(median);
    stats.top_projects = Some(TopCohort { week: vec![top], month: Vec::new(), total: Vec::new() });
    stats.runner = Some(RunnerStats {
        seconds: RunnerSeconds { total: seconds, unclaimed: seconds, claimed: seconds, plus: seconds },
        seconds_per_report: RunnerSecondsPerReport {
            total: median,
            unclaimed: median,
            claimed: median,
            plus: median,
        },
        top_projects: RunnerTopProjects {
            total: jobs.clone(),
            unclaimed: jobs.clone(),
            claimed: jobs.clone(),
            plus: jobs,
        },
    });
    check(&stats);
}

#[test]
fn schema_and_type_reject_a_patch_with_an_unknown_field() {
    reject::<OrganizationPatch>(&json!({ "nmae": "x" }));
}
