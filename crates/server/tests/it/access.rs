//! The `[access]` settings of the operator, and the quotas of unclaimed organizations.

use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    Answer, TestServer, both,
    registry::client::{Client, digest, line},
    report::{bench, report_body},
    until,
};

/// Sends a run with this number of benchmarks; creates the project if it does not exist.
pub(crate) async fn send(server: &TestServer, token: &str, project: &str, benchmarks: usize) -> Answer {
    let results: serde_json::Map<String, Value> = (0..benchmarks)
        .map(|number| (format!("bench {number}"), json!({ "latency": { "value": 1.0 } })))
        .collect();
    let more = json!({ "project": project, "context": {} });
    server.post("/v0/run", token, report_body(json!([Value::Object(results).to_string()]), more)).await
}

fn claim_token(answer: &Answer) -> String {
    answer.headers["x-claim-token"].to_str().unwrap().to_owned()
}

both! {
    async fn sign_up_is_by_invitation(server: TestServer = "[access]\nsign_up = \"invitation\"") {
        // The first account needs no invitation.
        let ada = server.person("Ada").await;
        let signup = |name: &str| json!({ "name": name, "email": format!("{name}@example.org"), "i_agree": true });
        let refused = server.post("/v0/auth/signup", "", signup("eve")).await;
        assert_snapshot!("access_sign_up_refused", server.show(&refused));
        // The response does not reveal whether an address has an account.
        let known = server.post("/v0/auth/signup", "", signup("ada")).await;
        assert_eq!(known.line(), refused.line());
        server.no_mail("eve@example.org").await;
        let invite = server.invite("ada", &ada, "bob@example.org", "member").await;
        let mut invited = signup("bob");
        invited["invite"] = json!(invite);
        server.post("/v0/auth/signup", "", invited).await.expect(202);
        let bob = server.confirm("bob@example.org").await;
        assert_eq!(server.get("/v0/server/setup", "").await.text("/sign_up"), "invitation");

        // If an invitation is revoked before the address is confirmed, neither its link nor a sign-in link opens an
        // account.
        let invite = server.invite("ada", &ada, "cleo@example.org", "member").await;
        let mut invited = signup("cleo");
        invited["invite"] = json!(invite);
        server.post("/v0/auth/signup", "", invited).await.expect(202);
        let token = server.mailed_token("cleo@example.org").await;
        let listed = server.get("/v0/organizations/ada/invitations", &ada.token).await.expect(200);
        let path = format!("/v0/organizations/ada/invitations/{}", listed.text("/0/uuid"));
        server.delete(&path, &ada.token).await.expect(204);
        let confirm = async |token| server.post("/v0/auth/confirm", "", json!({ "token": token })).await;
        assert_snapshot!("access_sign_up_revoked", server.show(&confirm(token).await));
        server.pass(60);
        server.post("/v0/auth/login", "", json!({ "email": "cleo@example.org" })).await.expect(202);
        let token = server.mailed_token("cleo@example.org").await;
        assert_eq!(confirm(token).await.line(), refused.line());
        // Confirmed accounts are not affected.
        server.pass(60);
        server.post("/v0/auth/login", "", json!({ "email": bob.email })).await.expect(202);
        server.confirm(&bob.email).await;
    }

    async fn anonymous_runs_are_off(server: TestServer = "[access]\nanonymous_runs = false") {
        let ada = server.person("Ada").await;
        server.project(&ada, json!({ "name": "Hidden", "visibility": "private" })).await;
        let refused = send(&server, "", "loose", 1).await;
        assert_snapshot!("access_run_refused", server.show(&refused));
        assert_eq!(send(&server, "", "hidden", 1).await.line(), refused.line());
        send(&server, &ada.token, "loose", 1).await.expect(201);
    }

    async fn anonymous_pushes_are_off(server: TestServer = "[access]\nanonymous_pushes = false") {
        let ada = server.person("Ada").await;
        let anybody = Client::anonymous(&server);
        let granted = anybody.get_token("scope=repository:open:pull,push").await.expect(200);
        assert_eq!(granted.text("/scope"), "repository:open:");
        assert_eq!(anybody.status("POST /v2/open/blobs/uploads/").await, 401);
        Client::user(&server, &ada).await.push_blob("open", b"x").await;
        assert_eq!(send(&server, "", "loose", 1).await.status, 201, "runs are another switch");
    }

    async fn a_claim_needs_the_token_of_the_creating_run(server: TestServer = "[access]\nclaims = \"token\"") {
        let ada = server.person("Ada").await;
        let ben = server.person("Ben").await;
        let first = send(&server, "", "loose", 1).await.expect(201);
        let token = claim_token(&first);
        assert!(!send(&server, "", "loose", 1).await.expect(201).headers.contains_key("x-claim-token"));
        // A run of a user does not claim the organization either.
        send(&server, &ben.token, "loose", 1).await.expect(201);
        assert_eq!(server.get("/v0/projects/loose", "").await.body["claimed"], Value::Null);
        let claim = "/v0/organizations/loose/claim";
        let refused = server.post(claim, &ben.token, json!({})).await;
        assert_snapshot!("access_claim_refused", server.show(&refused));
        let other = claim_token(&send(&server, "", "other", 1).await.expect(201));
        server.post(claim, &ben.token, json!({ "token": other })).await.expect(403);
        let signup = json!({
            "name": "Eve", "email": "eve@example.org", "i_agree": true, "claim": first.text("/project/organization"),
        });
        server.post("/v0/auth/signup", "", signup).await.expect(403);
        server.post(claim, &ben.token, json!({ "token": token })).await.expect(201);
        // An administrator needs no token.
        server.post("/v0/organizations/other/claim", &ada.token, json!({})).await.expect(201);
    }

    async fn an_unclaimed_project_holds_so_many_metrics(server: TestServer = "[access.unclaimed]\nmetrics = 3\ntotal_metrics = 5") {
        let ada = server.person("Ada").await;
        send(&server, "", "one", 2).await.expect(201);
        let refused = send(&server, "", "one", 2).await;
        assert_snapshot!("access_metrics_refused", server.show(&refused));
        assert_eq!(server.get("/v0/projects/one/reports", "").await.total(), 1, "nothing of it stays");
        send(&server, "", "one", 1).await.expect(201);
        // The total of all unclaimed projects has a limit as well.
        let refused = send(&server, "", "two", 3).await;
        assert_snapshot!("access_total_refused", server.show(&refused));
        send(&server, "", "two", 2).await.expect(201);
        send(&server, "", "three", 1).await.expect(403);
        // A claimed project has no limit and no longer counts toward the total.
        send(&server, &ada.token, "one", 3).await.expect(201);
        send(&server, "", "three", 1).await.expect(201);
        // A threshold counts like a metric.
        let models = |count: usize| -> Value {
            let model = json!({ "test": "t_test", "upper_boundary": 0.9 });
            (0..count).map(|number| (format!("measure {number}"), model.clone())).collect::<serde_json::Map<_, _>>().into()
        };
        let run = |count| {
            let thresholds = json!({ "models": models(count) });
            report_body(json!([bench(1.0)]), json!({ "project": "four", "context": {}, "thresholds": thresholds }))
        };
        server.post("/v0/run", "", run(3)).await.expect(403);
        let refused = server.post("/v0/run", &ada.token, run(1_001)).await.expect(400);
        assert_eq!(refused.text("/message"), "`thresholds.models` has 1001 models; the maximum is 1000.");
    }

    async fn runs_at_once_stay_within_the_total(server: TestServer = "[access.unclaimed]\ntotal_metrics = 5") {
        let projects: Vec<_> = (0..12).map(|number| format!("loose-{number}")).collect();
        let runs = join_all(projects.iter().map(|project| send(&server, "", project, 1))).await;
        let mut statuses: Vec<_> = runs.iter().map(|run| run.status.as_u16()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [[201; 5].as_slice(), &[403; 7]].concat());
        let ada = server.person("Ada").await;
        assert_eq!(server.get("/v0/projects", &ada.token).await.total(), 5);
    }

    async fn an_unclaimed_project_holds_so_many_bytes(server: TestServer = "[access.unclaimed]\nreport_bytes = 1200\nimage_bytes = 3472\ntotal_image_bytes = 4000") {
        server.person("Ada").await;
        let body = |text: String| report_body(json!([text]), json!({ "project": "one", "context": {} }));
        server.post("/v0/run", "", body(bench(1.0))).await.expect(201);
        let long = format!("{}{}", " ".repeat(100), bench(1.0));
        let refused = server.post("/v0/run", "", body(long)).await.expect(403);
        assert!(refused.text("/message").contains("bytes of reports; the maximum is 1200."), "{}", refused.body);

        let anybody = Client::anonymous(&server);
        anybody.push_blob("one", &[b'a'; 300]).await;
        let push = async |repository: &str, letter: u8| {
            let bytes = [letter; 301];
            let wanted = digest(&bytes);
            line(&anybody.call(&format!("POST /v2/{repository}/blobs/uploads/?digest={wanted}"), &[], &bytes).await)
        };
        let lines = [push("one", b'b').await, push("two", b'c').await];
        assert_snapshot!("access_image_bytes_refused", lines.join("\n"));
        // Unfinished uploads count until they are canceled.
        let begun = anybody.call("POST /v2/one/blobs/uploads/", &[], b"").await.expect(202);
        let place = begun.headers["location"].to_str().unwrap().to_owned();
        anybody.call(&format!("PATCH {place}"), &[], &[b'd'; 100]).await.expect(202);
        let full = anybody.call(&format!("PATCH {place}"), &[], b"e").await;
        assert_eq!(line(&full), lines[0]);
        anybody.call(&format!("DELETE {place}"), &[], b"").await.expect(204);
        anybody.push_blob("one", &[b'f'; 100]).await;
    }

    async fn an_upload_is_held_against_the_total_by_the_mebibyte(server: TestServer = "[access.unclaimed]\nimage_bytes = 0\ntotal_image_bytes = 5500") {
        let anybody = Client::anonymous(&server);
        anybody.push_blob("one", &[b'a'; 300]).await;
        let begin = async || {
            let begun = anybody.call("POST /v2/two/blobs/uploads/", &[], b"").await.expect(202);
            begun.headers["location"].to_str().unwrap().to_owned()
        };
        let large = begin().await;
        let refused = anybody.call(&format!("PATCH {large}"), &[], &vec![b'b'; 1 << 20]).await;
        assert_snapshot!("access_total_images_refused", line(&refused));
        let small = begin().await;
        anybody.call(&format!("PATCH {small}"), &[], &[b'c'; 101]).await.expect(202);
        let whole = digest(&[b'c'; 101]);
        let ended = anybody.call(&format!("PUT {small}?digest={whole}"), &[], b"").await;
        assert_eq!(line(&ended), line(&refused));
        // An unfinished upload counts toward the quota of other uploads.
        let other = digest(b"x");
        let pushed = async || anybody.call(&format!("POST /v2/one/blobs/uploads/?digest={other}"), &[], b"x").await;
        assert_eq!(line(&pushed().await), line(&refused));
        anybody.call(&format!("DELETE {small}"), &[], b"").await.expect(204);
        pushed().await.expect(201);
    }

    /// A repository, its uploads, blobs and tags count for 1,024 bytes each, in addition to their content.
    async fn uploads_and_tags_without_bytes_count(server: TestServer = "[access.unclaimed]\nimage_bytes = 6500") {
        let anybody = Client::anonymous(&server);
        let begin = async || anybody.call("POST /v2/one/blobs/uploads/", &[], b"").await;
        let mut begun = Vec::new();
        for _ in 0..5 {
            begun.push(begin().await.expect(202).headers["location"].to_str().unwrap().to_owned());
        }
        let refused = begin().await;
        assert_snapshot!("access_empty_upload_refused", line(&refused));
        for upload in begun {
            anybody.call(&format!("DELETE {upload}"), &[], b"").await.expect(204);
        }
        let config = anybody.push_blob("one", b"{}").await;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": { "mediaType": "application/vnd.oci.empty.v1+json", "digest": config, "size": 2 },
            "layers": [],
        });
        let headers = [("content-type", "application/vnd.oci.image.manifest.v1+json")];
        let manifest = manifest.to_string();
        let tag = async |tag: &str| {
            anybody.call(&format!("PUT /v2/one/manifests/{tag}"), &headers, manifest.as_bytes()).await
        };
        for name in ["a", "b", "c", "d"] {
            tag(name).await.expect(201);
        }
        assert_eq!(line(&tag("e").await), line(&refused));
    }

    async fn an_idle_unclaimed_project_is_deleted(server: TestServer) {
        let ada = server.person("Ada").await;
        let day = 86_400;
        send(&server, "", "idle", 1).await.expect(201);
        send(&server, "", "busy", 1).await.expect(201);
        send(&server, "", "mine", 1).await.expect(201);
        send(&server, &ada.token, "mine", 1).await.expect(201);
        server.unclaimed("Kept").await;
        server.pass(60 * day);
        send(&server, "", "busy", 1).await.expect(201);
        server.pass(31 * day);
        server.app.background.wake();
        until("the idle project is not deleted", async || {
            (server.get("/v0/projects/idle", "").await.status == 404).then_some(())
        })
        .await;
        for project in ["busy", "mine"] {
            server.get(&format!("/v0/projects/{project}"), "").await.expect(200);
        }
        let token = server.login(&ada.email).await;
        let all = server.get("/v0/organizations?all=true", &token).await.expect(200);
        assert_eq!(all.each("slug"), ["ada", "kept", "busy", "mine"]);
        let audit = server.get("/v0/server/audit?per_page=255", &token).await.expect(200);
        let entry = audit.body.as_array().unwrap().iter().find(|entry| entry["action"] == "organization.expire");
        assert_eq!(entry.unwrap()["detail"], json!({ "slugs": "idle" }));
    }

    async fn the_settings_are_shown_to_administrators(server: TestServer = "[access]\nclaims = \"token\"") {
        let ada = server.person("Ada").await;
        let config = server.get("/v0/server/config", &ada.token).await.expect(200);
        assert_snapshot!("access_config", format!("{:#}", config.body["access"]));
        assert_snapshot!("access_line", server.app.config.access.to_string());
    }
}
