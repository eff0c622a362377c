//! Jobs as their creators see them. `channel.rs` tests what runners do with them.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_api::ResourceId;
use tidemark_store::{detection, manifest, project, repository, tag};

use crate::{
    Person, TestServer, both,
    channel::{Runner, enlist, listen},
    mcp::call_tool,
    report::{bench, report_body, with},
    spec::spec,
};

/// Pushes an image to the registry, as `PROJECT[/PATH]:v1`, and returns its digest.
pub(crate) async fn image(server: &TestServer, slug: &str, path: &str) -> String {
    tagged_image(server, slug, path, "v1", &"a".repeat(64)).await
}

/// Pushes an image to the registry, as `PROJECT[/PATH]:TAG`, and returns its digest.
pub(crate) async fn tagged_image(
    server: &TestServer,
    slug: &str,
    path: &str,
    tag: &str,
    hex: &str,
) -> String {
    let digest = format!("sha256:{hex}");
    let (now, wanted, path) =
        (server.app.clock.now(), ResourceId::Slug(slug.parse().unwrap()), path.to_owned());
    let tag = tag.to_owned();
    let new = manifest::NewManifestRow {
        digest: digest.clone(),
        media_type: "application/vnd.oci.image.manifest.v1+json".into(),
        artifact_type: None,
        subject: None,
        annotations: None,
        body: b"{}".to_vec(),
    };
    let write = move |tx: &mut tidemark_store::Tx<'_>| {
        let (found, _) = project::find(tx, &wanted, None)?;
        let repository = repository::ensure(tx, found.id, &path, now)?;
        let manifest = manifest::store(tx, repository, &new, &[], now)?;
        tag::upsert(tx, repository, &tag, manifest, now)
    };
    server.app.db.write(write).await.unwrap();
    digest
}

/// Returns the body of a run with a job.
pub(crate) fn run_body(job: Value, more: Value) -> Value {
    let job = with(json!({ "image": "lab:v1" }), job);
    let base = json!({ "project": "lab", "testbed": null, "job": job, "settings": { "adapter": "json" } });
    with(report_body(json!([]), base), more)
}

/// Creates a project with an image, and a spec for its jobs.
pub(crate) async fn set_up(server: &TestServer) -> Person {
    let ada = server.person("Ada").await;
    server.project(&ada, json!({ "name": "Lab" })).await;
    image(server, "lab", "").await;
    spec(server, &ada, "Metal", json!({ "fallback": true })).await;
    ada
}

/// Creates a job and returns its UUID.
pub(crate) async fn ask(server: &TestServer, person: &Person, job: Value) -> String {
    server.post("/v0/run", &person.token, run_body(job, json!({}))).await.expect(201).text("/job")
}

both! {
    async fn a_job_waits_and_is_canceled(server: TestServer) {
        let ada = set_up(&server).await;
        let key = "0190a000-0000-7000-8000-00000000000f";
        let body = run_body(json!({ "env": { "TOKEN": "s3cret" } }), json!({ "idempotency_key": key }));
        let sent = server.post("/v0/run", &ada.token, body.clone()).await;
        assert_snapshot!("job_report", server.show(&sent));
        let again = server.post("/v0/run", &ada.token, body).await.expect(201);
        assert_eq!(again.text("/job"), sent.text("/job"));
        let path = format!("/v0/projects/lab/jobs/{}", sent.text("/job"));
        assert_snapshot!("job_pending", server.show(&server.get(&path, &ada.token).await));
        server.pass(1);
        let second = ask(&server, &ada, json!({})).await;
        let view = server.get(&format!("/v0/projects/lab/jobs/{second}"), &ada.token).await.expect(200);
        assert_eq!(view.body["position"], json!(2));
        let list = async |query: &str| server.get(&format!("/v0/projects/lab/jobs?{query}"), "").await.expect(200);
        assert_eq!(list("").await.each("uuid"), [second.clone(), sent.text("/job")]);
        assert_eq!(list("direction=asc&per_page=1").await.each("uuid"), [sent.text("/job")]);
        assert_eq!(list("status=running").await.total(), 0);
        let kept = async || {
            let sql = "select count(*) from job where coalesce(env, '') || config like '%s3cret%'";
            server.app.db.read(|tx| tx.value::<i64>(sql, &[])).await.unwrap()
        };
        assert_eq!(kept().await, 1, "a runner that takes the job needs its environment");
        server.delete(&path, "").await.expect(401);
        server.delete(&path, &ada.token).await.expect(204);
        assert_eq!(kept().await, 0, "the environment goes when the job ends");
        assert_snapshot!("job_canceled_twice", server.show(&server.delete(&path, &ada.token).await));
        assert_snapshot!("job_canceled", server.show(&server.get(&path, &ada.token).await));
        let seen = server.get(&path, "").await.expect(200);
        assert_eq!((seen.body.get("output"), seen.body.get("error")), (None, None));
        let stranger = server.person("Stranger").await;
        assert_eq!(server.get(&path, &stranger.token).await.expect(200).body.get("output"), None);
        // The list shows each caller no more than the view.
        let listed = async |credential: &str| {
            let list = server.get("/v0/projects/lab/jobs?status=canceled", credential).await.expect(200);
            list.body[0].get("error").cloned()
        };
        assert_eq!(listed(&ada.token).await, Some(json!("Canceled on request.")));
        assert_eq!((listed("").await, listed(&stranger.token).await), (None, None));
        let tool = async |credential: &str| {
            call_tool(&server, credential, "list_jobs", json!({ "project": "lab" })).await.text
        };
        assert!(tool(&ada.token).await.contains("Canceled on request."));
        assert!(!tool("").await.contains("Canceled on request."));
        assert_eq!(list("status=canceled").await.total(), 1);
        server.get("/v0/projects/lab/jobs/0190a000-0000-7000-8000-000000000000", "").await.expect(404);
    }

    async fn an_unclaimed_job_expires(server: TestServer = "[plus.runners]\nqueue_timeout = 60") {
        let ada = set_up(&server).await;
        let uuid = ask(&server, &ada, json!({})).await;
        server.pass(61);
        let path = format!("/v0/projects/lab/jobs/{uuid}");
        let job = server.until(&path, &ada.token, "canceled").await;
        assert_eq!(job.text("/error"), "No runner claimed the job in time.");
    }

    async fn the_environment_goes_however_a_job_ends(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        let secret = json!({ "env": { "TOKEN": "s3cret" }, "timeout": 3600 });
        let path = |uuid: &str| format!("/v0/projects/lab/jobs/{uuid}");
        let kept = async || {
            let sql = "select count(*) from job where coalesce(env, '') || config like '%s3cret%'";
            server.app.db.read(|tx| tx.value::<i64>(sql, &[])).await.unwrap()
        };

        for (status, end) in [
            ("processed", json!({ "event": "completed", "results": [{ "exit_code": 0, "stdout": bench(1.0) }] })),
            ("failed", json!({ "event": "failed", "error": "It exploded.", "results": [] })),
        ] {
            let uuid = ask(&server, &ada, secret.clone()).await;
            assert_eq!(runner.begin().await, uuid);
            assert_eq!(kept().await, 1, "a job that waits again needs its environment");
            assert_eq!(runner.say(with(end, json!({ "job": uuid }))).await.get("refused"), None);
            server.until(&path(&uuid), &ada.token, status).await;
            assert_eq!(kept().await, 0, "{status}");
        }

        let lost = ask(&server, &ada, secret.clone()).await;
        assert_eq!(runner.begin().await, lost);
        drop(runner);
        server.pass(91);
        server.until(&path(&lost), &ada.token, "unknown").await;
        assert_eq!(kept().await, 0, "lost");

        let expired = ask(&server, &ada, secret).await;
        assert_eq!(kept().await, 1);
        server.pass(86_401);
        let token = server.login(&ada.email).await;
        server.until(&path(&expired), &token, "canceled").await;
        assert_eq!(kept().await, 0, "expired");
    }

    async fn an_isolated_job_stays_out_of_the_history(server: TestServer) {
        let ada = set_up(&server).await;
        let (key, address) = (enlist(&server, &ada, "box").await, listen(&server.app).await);
        let mut runner = Runner::connect(address, "box", &key).await.unwrap();
        for (isolated, runs) in [(json!(true), 0), (json!(null), 1)] {
            let sent = server.post("/v0/run", &ada.token, run_body(json!({ "isolated": isolated }), json!({}))).await.expect(201);
            let uuid = sent.text("/job");
            assert_eq!(runner.begin().await, uuid);
            let results = json!([{ "exit_code": 0, "stdout": bench(1.0) }]);
            runner.say(json!({ "event": "completed", "job": uuid, "results": results })).await;
            let job = server.until(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token, "processed").await;
            assert_eq!(job.body["output"]["results"][0]["stdout"], json!(bench(1.0)));
            let report = server.get(&format!("/v0/projects/lab/reports/{}", sent.text("/uuid")), &ada.token).await;
            assert_eq!(report.body["results"].as_array().unwrap().len(), runs);
            // The false-alarm budget is divided among the runs of the history.
            let counted = server.app.db.read(|tx| {
                let (project, _) = project::find(tx, &ResourceId::Slug("lab".parse().unwrap()), None)?;
                detection::runs(tx, project.id, tidemark_api::Timestamp::from_micros(0))
            });
            assert_eq!(counted.await.unwrap(), runs as i64);
            let benchmarks = server.get("/v0/projects/lab/benchmarks", &ada.token).await.total();
            assert_eq!(benchmarks, runs as i64);
        }
    }

    async fn what_cannot_be_done_is_refused(server: TestServer) {
        let ada = set_up(&server).await;
        let before = server.get("/v0/projects/lab/branches", "").await.total();
        let mut lines = Vec::new();
        for job in [
            json!({ "image": "" }),
            json!({ "image": "other:v1" }),
            json!({ "image": "lab:v2" }),
            json!({ "image": "lab/sub:v1" }),
            json!({ "image": "example.org/lab:v1" }),
            json!({ "image": format!("lab@sha256:{}", "b".repeat(64)) }),
            json!({ "iter": 0 }),
            json!({ "iter": 1001 }),
            json!({ "timeout": 0 }),
            json!({ "cmd": vec!["x"; 65] }),
            json!({ "cmd": ["a\0b"] }),
            json!({ "file_paths": ["a\0b"] }),
            json!({ "env": { "": "x" } }),
            json!({ "env": { "A=B": "x" } }),
            json!({ "env": { "A\nB": "x" } }),
            json!({ "env": { "A": "x\0" } }),
            json!({ "spec": "missing" }),
        ] {
            let body = run_body(job, json!({ "branch": "fresh" }));
            lines.push(server.post("/v0/run", &ada.token, body).await.line());
        }
        server.patch("/v0/specs/metal", &ada.token, json!({ "archived": true })).await.expect(200);
        lines.push(server.post("/v0/run", &ada.token, run_body(json!({}), json!({}))).await.line());
        assert_snapshot!("job_refused", lines.join("\n"));
        assert_eq!(server.get("/v0/projects/lab/branches", "").await.total(), before, "nothing stays behind");
    }
}
