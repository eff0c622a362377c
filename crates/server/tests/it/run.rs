//! `/v0/run`: the project of a run, who may send it, and the use of its context.

use std::iter;

use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    Answer, Person, TestServer, both,
    report::{bench, report_body, with},
};

const HASH: &str = "0123456789abcdef0123456789abcdef01234567";
const KEY: &str = "0190a000-0000-7000-8000-00000000000f";
const NOWHERE: &str = "0190a000-0000-7000-8000-000000000000";

/// Returns the context that a client sends for a repository with this name.
fn context(name: &str) -> Value {
    json!({ "context": {
        "bencher.dev/v0/repo/name": name, "bencher.dev/v0/repo/hash": HASH, "bencher.dev/v0/testbed/fingerprint": "cws1tbnfkj8h3",
    } })
}

/// Returns the context with an explicit project.
fn named(project: &str, name: &str) -> Value {
    let mut body = context(name);
    body["project"] = json!(project);
    body
}

/// Sends a run with one value; the context determines branch and testbed unless they are given.
async fn send(server: &TestServer, token: &str, more: Value) -> Answer {
    let body = report_body(json!([bench(1.0)]), json!({ "branch": null, "testbed": null }));
    server.post("/v0/run", token, with(body, more)).await
}

/// Returns slug and name of the project of a run, whether it is claimed, and who sent the run.
fn place(answer: &Answer) -> (String, String, bool, Option<String>) {
    let project = &answer.body["project"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    (
        text(&project["slug"]).unwrap(),
        text(&project["name"]).unwrap(),
        project["claimed"].is_string(),
        text(&answer.body["user"]["slug"]),
    )
}

/// Returns the role of a user in the organization of a project, if any.
async fn role(server: &TestServer, person: &Person, project: &str) -> Option<String> {
    let project = server.get(&format!("/v0/projects/{project}"), &person.token).await.expect(200);
    let path = format!("/v0/organizations/{}/members/{}", project.text("/organization"), person.uuid);
    let member = server.get(&path, &person.token).await;
    member.body["role"].as_str().map(str::to_owned)
}

both! {
    async fn an_anonymous_run_creates_an_unclaimed_project(server: TestServer) {
        let first = send(&server, "", context("My Repo")).await.expect(201);
        assert_snapshot!("run_anonymous", server.show(&first));
        assert_eq!(place(&first), ("my-repo-0123456-cws1tbnfkj8h3".into(), "My Repo".into(), false, None));
        assert_eq!(first.text("/project/organization"), first.text("/project/uuid"), "both are made for the run");
        let again = send(&server, "", context("My Repo")).await.expect(201);
        assert_eq!(again.text("/project/uuid"), first.text("/project/uuid"));
        let named = send(&server, "", json!({ "project": "my-repo-0123456-cws1tbnfkj8h3" })).await.expect(201);
        assert_eq!(named.text("/project/uuid"), first.text("/project/uuid"), "one that is there needs no context");
        let by_uuid = send(&server, "", json!({ "project": first.text("/project/uuid") })).await.expect(201);
        assert_eq!(by_uuid.body["branch"]["head"]["version"]["number"], 3);
        let list = server.get(&format!("/v0/projects/{}/reports", first.text("/project/slug")), "").await.expect(200);
        assert_eq!(list.total(), 4);
        // An unclaimed project accepts reports of anyone, but only with a run.
        let path = format!("/v0/projects/{}/reports", first.text("/project/slug"));
        assert_eq!(server.post(&path, "", report_body(json!([]), json!({}))).await.status, 401);
    }

    async fn a_project_is_named_after_its_context(server: TestServer) {
        let part = |key: &str, value: &str| (format!("tidemark.dev/v0/{key}"), json!(value));
        let long = "x".repeat(70);
        for (parts, slug, name) in [
            (vec![part("repo/name", "My Repo"), part("repo/hash", HASH)], "my-repo-0123456", "My Repo"),
            (vec![part("repo/name", "only")], "only", "only"),
            (vec![part("repo/hash", HASH), part("other", "x")], "0123456", "Project"),
            (vec![part("testbed/fingerprint", "cws1tbnfkj8h3xxx")], "cws1tbnfkj8h3", "Project"),
            (vec![part("repo/name", &long), part("repo/hash", HASH)], &format!("{}-0123456", "x".repeat(42)), &"x".repeat(64)),
        ] {
            let context: Value = Value::Object(parts.into_iter().collect());
            let made = send(&server, "", json!({ "context": context })).await.expect(201);
            assert_eq!(place(&made), (slug.into(), name.into(), false, None));
        }
        let made = send(&server, "", named("chosen", "My Repo")).await.expect(201);
        assert_eq!(place(&made), ("chosen".into(), "My Repo".into(), false, None));
        let made = send(&server, "", json!({ "project": "bare", "context": {} })).await.expect(201);
        assert_eq!(place(&made), ("bare".into(), "Project".into(), false, None));

        // Characters that are transliterated to several letters leave room for fewer.
        let made = send(&server, "", context(&"\u{57fa}\u{51c6}".repeat(30))).await.expect(201);
        assert_eq!(made.text("/project/slug"), "ji-zhun-ji-zhun-ji-zhun-ji-zhun-ji-zhun-ji-0123456-cws1tbnfkj8h3");
        // The name in the context matters only if the project is created.
        send(&server, "", named("chosen", "a\nb")).await.expect(201);

        let mut lines = Vec::new();
        for body in [
            json!({ "project": "new", "context": { "tidemark.dev/v0/repo/name": "a\nb" } }),
            json!({}),
            json!({ "context": {} }),
            json!({ "context": { "tidemark.dev/v0/repo/name": "  ", "other": "x" } }),
            json!({ "context": { "tidemark.dev/v0/repo/name": "###" } }),
            json!({ "project": "missing" }),
            json!({ "project": NOWHERE }),
            json!({ "project": "Not A Slug" }),
            json!({ "context": { "tidemark.dev/v0/repo/name": 5 } }),
            json!({ "project": "new", "context": {}, "job": { "image": "alpine" } }),
            json!({ "project": "new", "context": {}, "results": ["nothing of the sort"] }),
            json!({ "project": "new", "context": {}, "branch": NOWHERE }),
        ] {
            lines.push(send(&server, "", body).await.line());
        }
        assert_snapshot!("run_wrong", lines.join("\n"));
        let admin = server.person("Ada").await;
        assert_eq!(server.get("/v0/projects/new", &admin.token).await.status, 404, "a run that is wrong makes no project");
        send(&server, "", json!({ "project": "chosen", "job": null })).await.expect(201);
    }

    async fn a_user_makes_a_project_of_their_own(server: TestServer) {
        let ada = server.person("Ada").await;
        let names = ["My Repo", "My Repo (1)", "My Repo (2)"];
        for (number, name) in (0..).zip(names) {
            let made = send(&server, &ada.token, named(&format!("repo-{number}"), "My Repo")).await.expect(201);
            assert_eq!(place(&made), (format!("repo-{number}"), name.into(), true, Some("ada".into())));
            assert_eq!(made.text("/project/organization"), ada.uuid);
        }
        let member = server.get(&format!("/v0/projects/repo-0/members/{}", ada.uuid), &ada.token).await.expect(200);
        assert_eq!(member.text("/role"), "maintainer");
        let again = send(&server, &ada.token, named("repo-0", "Another Name")).await.expect(201);
        assert_eq!(place(&again).1, "My Repo");
        let long = "y".repeat(60);
        let cut = format!("{}...", "y".repeat(38));
        for (number, name) in [(1, long.clone()), (2, format!("{cut} (1)"))] {
            let made = send(&server, &ada.token, named(&format!("long-{number}"), &long)).await.expect(201);
            assert_eq!(place(&made).1, name);
        }
        // The slug belongs to the project, even if an organization has the same slug.
        assert_eq!(place(&send(&server, &ada.token, named("ada", "x")).await.expect(201)).0, "ada");
    }

    async fn a_run_of_a_user_claims(server: TestServer) {
        let ada = server.person("Ada").await;
        let ben = server.person("Ben").await;
        send(&server, "", named("loose", "Loose")).await.expect(201);
        send(&server, "", named("free", "Free")).await.expect(201);
        let claimed = send(&server, &ben.token, json!({ "project": "loose" })).await.expect(201);
        assert_eq!(place(&claimed), ("loose".into(), "Loose".into(), true, Some("ben".into())));
        assert_eq!(claimed.body["branch"]["head"]["version"]["number"], 1, "what was there is kept");
        assert_eq!(role(&server, &ben, "loose").await.as_deref(), Some("leader"));
        let audit = server.get("/v0/server/audit?per_page=1", &ada.token).await;
        assert_eq!(audit.text("/0/action"), "organization.claim");
        send(&server, &ben.token, json!({ "project": "loose" })).await.expect(201);

        // From now on, a run requires rights; private projects look as if they do not exist.
        let eve = server.person("Eve").await;
        server.project(&ada, json!({ "name": "Hidden", "visibility": "private" })).await;
        server.unclaimed("Reserved").await;
        let mut lines = Vec::new();
        for (token, project) in [
            ("", "loose"), (&eve.token, "loose"), ("", "hidden"), (&eve.token, "hidden"), (&eve.token, NOWHERE),
            ("eyJ.no.token", "loose"), ("eyJ.no.token", "free"), ("eyJ.no.token", "new"), ("svc_user_000000000000000000000000000000", "free"),
        ] {
            let answer = send(&server, token, named(project, "x")).await;
            let who = if token.is_empty() { "anonymous" } else if token == eve.token { "Eve" } else { "bad" };
            lines.push(format!("{who} {project}: {}", answer.line()));
        }
        assert_snapshot!("run_refused", server.redact(&lines.join("\n")));
        // A claimed organization with this slug is not revealed: the response is the same as for any other slug.
        let taken = send(&server, "", named("ben", "Same")).await.expect(201);
        let free = send(&server, "", named("zed", "Same")).await.expect(201);
        assert_eq!(place(&taken), ("ben".into(), "Same".into(), false, None));
        assert_eq!(place(&free), ("zed".into(), "Same".into(), false, None));
        assert_eq!(taken.text("/project/organization"), taken.text("/project/uuid"));
        assert_eq!(role(&server, &ben, "ben").await, None, "the organization of the same slug is another one");
        server.get("/v0/organizations/ben/members/ben", &ben.token).await.expect(200);
        // Without a context, a missing and a hidden project get the same response.
        let hidden = send(&server, "", json!({ "project": "hidden" })).await.expect(404);
        assert_eq!(send(&server, "", json!({ "project": "missing" })).await.line(), hidden.line());
        let reserved = send(&server, "", named("reserved", "Reserved")).await.expect(201);
        assert_eq!(place(&reserved).0, "reserved", "an organization without an owner is used");
        let free = server.get("/v0/projects/free", "").await;
        assert_eq!((&free.body["claimed"], server.get("/v0/projects/free/reports", "").await.total()), (&Value::Null, 1));
    }

    async fn a_run_by_a_role(server: TestServer) {
        let ada = server.person("Ada").await;
        server.project(&ada, json!({ "name": "Lab", "visibility": "private" })).await;
        for (name, role, status) in [("Vic", "viewer", 403), ("Dev", "developer", 201), ("Max", "maintainer", 201)] {
            let person = server.person(name).await;
            send(&server, &person.token, json!({ "project": "lab" })).await.expect(404);
            let member = json!({ "user": person.uuid, "role": role });
            server.post("/v0/projects/lab/members", &ada.token, member).await.expect(201);
            send(&server, &person.token, json!({ "project": "lab" })).await.expect(status);
        }
    }

    async fn a_bad_credential_is_refused_whatever_is_sent(server: TestServer) {
        let ada = server.person("Ada").await;
        server.project(&ada, json!({ "name": "Mine" })).await;
        for project in ["mine", "new"] {
            let answer = send(&server, "nonsense", named(project, "a\tb")).await.expect(401);
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
        }
    }

    async fn an_organization_in_other_hands_gets_no_project(server: TestServer) {
        server.person("Admin").await;
        let (ada, ben) = (server.person("Ada").await, server.person("Ben").await);
        server.join(&ada.uuid, &ada, &ben, "leader").await;
        let ada_there = format!("/v0/organizations/{}/members/{}", ada.uuid, ada.uuid);
        server.patch(&ada_there, &ben.token, json!({ "role": "member" })).await.expect(200);
        let refused = send(&server, &ada.token, named("theirs", "Theirs")).await;
        assert_snapshot!("run_other_hands", refused.line());
        assert_eq!(server.get("/v0/projects/theirs", &ben.token).await.status, 404);
    }

    async fn every_run_counts_for_its_project(server: TestServer = "[plus.rate_limiting.project]\nruns = { minute = 3 }\n") {
        let ada = server.person("Ada").await;
        send(&server, "", named("busy", "Busy")).await.expect(201);
        for token in ["", "", &ada.token] {
            send(&server, token, json!({ "project": "busy" })).await.expect(201);
        }
        send(&server, &ada.token, json!({ "project": "busy" })).await.expect(429);
        send(&server, &ada.token, named("idle", "Idle")).await.expect(201);
    }

    async fn a_key_is_for_its_project(server: TestServer) {
        let ada = server.person("Ada").await;
        let lab = server.project(&ada, json!({ "name": "Lab", "visibility": "private" })).await;
        server.project(&ada, json!({ "name": "Other" })).await;
        server.project(&ada, json!({ "name": "Hidden", "visibility": "private" })).await;
        send(&server, "", named("free", "Free")).await.expect(201);
        let key = server.project_key(&ada, &lab).await;
        let uuid = server.get(&lab, &ada.token).await.text("/uuid");
        for more in [json!({}), json!({ "project": "lab" }), json!({ "project": uuid }), context("My Repo")] {
            let answer = send(&server, &key, more).await.expect(201);
            assert_eq!(place(&answer), ("lab".into(), "Lab".into(), true, None));
        }
        let mut lines = Vec::new();
        for project in ["other", "hidden", "free", "missing", NOWHERE] {
            lines.push(format!("{project}: {}", send(&server, &key, named(project, "x")).await.line()));
        }
        assert_snapshot!("run_key_refused", lines.join("\n"));
    }

    async fn a_context_says_what_was_measured_where(server: TestServer) {
        let ada = server.person("Ada").await;
        server.project(&ada, json!({ "name": "Lab" })).await;
        let about = |branch: &str, hash: &str, os: &str| json!({ "project": "lab", "context": {
            "bencher.dev/v0/branch/ref": "refs/heads/x", "bencher.dev/v0/branch/ref/name": branch,
            "bencher.dev/v0/branch/hash": hash, "bencher.dev/v0/testbed/os": os,
        } });
        let shown = |answer: &Answer| {
            let text = |pointer: &str| answer.body.pointer(pointer).unwrap().as_str().map(str::to_owned);
            (text("/branch/name").unwrap(), text("/branch/head/version/hash"), text("/testbed/name").unwrap())
        };
        let hash = Some(HASH.to_owned());
        for (more, wanted) in [
            (json!({ "project": "lab" }), ("main", None, "localhost")),
            (about("feature/x", HASH, "Linux"), ("feature/x", hash.clone(), "Linux")),
            (about("a..b", "0123", &"x".repeat(65)), ("main", None, "localhost")),
            (about("", "", ""), ("main", None, "localhost")),
        ] {
            let answer = send(&server, &ada.token, more).await.expect(201);
            assert_eq!(shown(&answer), (wanted.0.into(), wanted.1, wanted.2.into()));
        }
        let mut given = about("feature/x", HASH, "Linux");
        given["branch"] = json!("mine");
        given["testbed"] = json!("box");
        given["hash"] = json!("f".repeat(40));
        let answer = send(&server, &ada.token, given).await.expect(201);
        assert_eq!(shown(&answer), ("mine".into(), Some("f".repeat(40)), "box".into()), "what is given counts");
    }

    async fn a_run_is_known_by_its_key(server: TestServer) {
        let mut body = named("lab", "Lab");
        body["idempotency_key"] = json!(KEY);
        let runs = join_all((0..8).map(|_| send(&server, "", body.clone()))).await;
        for answer in &runs {
            assert_eq!((answer.status.as_u16(), &answer.body), (201, &runs[0].body));
        }
        let ada = server.person("Ada").await;
        assert_eq!(server.get("/v0/projects", &ada.token).await.total(), 1, "of many first runs one makes the project");
        assert_eq!(server.get("/v0/projects/lab/reports", "").await.total(), 1);
        // The same key on the other route.
        let report = report_body(json!([]), json!({ "idempotency_key": KEY }));
        send(&server, &ada.token, json!({ "project": "lab" })).await.expect(201);
        let other = server.post("/v0/projects/lab/reports", &ada.token, report).await.expect(201);
        assert_eq!(other.text("/uuid"), runs[0].text("/uuid"));
    }

    async fn first_runs_at_once_make_one_project(server: TestServer) {
        let runs = join_all((0..8).map(|_| send(&server, "", named("loose", "Loose")))).await;
        let mut versions: Vec<_> = runs.iter().map(|run| run.body["branch"]["head"]["version"]["number"].clone()).collect();
        versions.sort_unstable_by_key(Value::as_u64);
        assert_eq!(json!(versions), json!([0, 1, 2, 3, 4, 5, 6, 7]));
        for run in &runs {
            assert_eq!(run.body["project"], runs[0].body["project"]);
        }
        let tokens = runs.iter().filter(|run| run.headers.contains_key("x-claim-token"));
        assert_eq!(tokens.count(), 1, "one run created the project");
        // Projects of one user get different names.
        let ada = server.person("Ada").await;
        let slugs: Vec<_> = (0..8).map(|number| format!("mine-{number}")).collect();
        let runs = join_all(slugs.iter().map(|slug| send(&server, &ada.token, named(slug, "Mine")))).await;
        let mut names: Vec<_> = runs.iter().map(|run| place(run).1).collect();
        names.sort_unstable();
        let numbered = (1..8).map(|number| format!("Mine ({number})"));
        assert_eq!(names, iter::once("Mine".to_owned()).chain(numbered).collect::<Vec<_>>());
        assert_eq!(server.get("/v0/projects", &ada.token).await.total(), 9);
    }

    async fn of_two_claims_one_counts(server: TestServer) {
        let people = [server.person("Ada").await, server.person("Ben").await, server.person("Cid").await];
        send(&server, "", named("loose", "Loose")).await.expect(201);
        // The first user administers the server and may do anything.
        let [_, ben, cid] = &people;
        let (one, two) = tokio::join!(send(&server, &ben.token, json!({ "project": "loose" })), send(&server, &cid.token, json!({ "project": "loose" })));
        let mut statuses = [one.status.as_u16(), two.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 403]);
    }
}
