//! A project that moves to another server: the same responses, on the same and on the other engine.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidemark_store::{Error, archive::project as archive, organization, project};

use crate::{
    Engine, Lab, TestServer,
    fixture::{SETTINGS, populate, responses},
    report::report_body,
};

/// Fields with data of the server that are not moved.
const SERVER_FIELDS: [&str; 7] = ["search", "user", "spec", "organization", "claimed", "job", "request_id"];
/// Resources of the project that belong to the server.
const SERVER_NOUNS: [&str; 5] = ["code_host", "jobs", "keys", "members", "notices"];

pub(crate) async fn export(server: &TestServer) -> Vec<u8> {
    let read = |tx: &mut tidemark_store::Tx<'_>| {
        archive::verify_tables(tx)?;
        let (found, _) = project::find(tx, &"lab".parse().unwrap(), None)?;
        let mut bytes = Vec::new();
        archive::export(tx, found.id, tidemark_api::Timestamp::from_micros(0), &mut bytes)?;
        Ok::<_, Error>(bytes)
    };
    server.app.db.read(read).await.unwrap()
}

pub(crate) async fn import(
    server: &TestServer,
    owner: &str,
    slug: Option<&str>,
    bytes: &[u8],
) -> Result<(), Error> {
    let (owner, slug, bytes) =
        (owner.parse().unwrap(), slug.map(|slug| slug.parse().unwrap()), bytes.to_vec());
    let write = move |tx: &mut tidemark_store::Tx<'_>| {
        let owner = organization::find(tx, &owner)?;
        archive::import(tx, owner.id, slug.as_ref(), &*bytes).map(drop)
    };
    server.app.db.write(write).await
}

/// Returns the responses about the project, without data of the server.
async fn moved(server: &TestServer, token: &str) -> BTreeMap<String, Value> {
    let mut found = responses(server, token).await;
    found.retain(|path, _| {
        let noun = path.strip_prefix("/v0/projects/lab/").and_then(|rest| rest.split('/').next());
        noun.is_some_and(|noun| !SERVER_NOUNS.contains(&noun))
    });
    found.values_mut().for_each(strip);
    found
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !SERVER_FIELDS.contains(&name.as_str()));
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

pub(crate) fn reason(outcome: Result<(), Error>) -> String {
    let error = outcome.unwrap_err();
    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Starts another server, later: all test servers have the same random numbers, and UUIDs contain the time.
pub(crate) async fn start(engine: Engine, source: &TestServer) -> TestServer {
    let server = TestServer::start(engine).await;
    server.pass_to(source.app.clock.now().plus_seconds(60));
    server
}

async fn a_project_moves(engine: Engine) {
    let Lab { server: source, token, .. } = populate(TestServer::start_with(engine, SETTINGS).await).await;
    let before = moved(&source, &token).await;
    assert!(before.len() > 20, "{}", before.len());
    let bytes = export(&source).await;
    for target in [Engine::Sqlite, Engine::Postgres] {
        let server = start(target, &source).await;
        // Its keys must not collide with the keys of the imported project.
        let zoe = server.person("Zoe").await;
        server.project(&zoe, json!({ "name": "Own" })).await;
        let report =
            report_body(json!([json!({ "own": { "latency": { "value": 7 } } }).to_string()]), json!({}));
        server.post("/v0/projects/own/reports", &zoe.token, report.clone()).await.expect(201);
        import(&server, "zoe", None, &bytes).await.unwrap();
        let after = moved(&server, &zoe.token).await;
        for (path, response) in &before {
            assert_eq!(after.get(path), Some(response), "{path} from {engine:?} to {target:?}");
        }
        assert_eq!(after.len(), before.len());
        // Both projects continue.
        for project in ["lab", "own"] {
            let made = server
                .post(&format!("/v0/projects/{project}/reports"), &zoe.token, report.clone())
                .await
                .expect(201);
            let path = format!("/v0/projects/{project}/reports/{}", made.text("/uuid"));
            let results = server.get(&path, &zoe.token).await.expect(200).body["results"].clone();
            assert_eq!(results[0][0]["measures"][0]["metric"]["value"], json!(7.0));
        }
        let metrics = server.get("/v0/projects/own/export?format=ndjson", &zoe.token).await.expect(200);
        assert!(!metrics.body.to_string().contains("moved"), "the project has metrics of the other project");

        // A second import changes nothing, and says why.
        let again = reason(import(&server, "zoe", Some("other"), &bytes).await);
        assert!(again.contains("exists on this server"), "{again}");
    }
    // The slug of another project.
    let server = start(engine, &source).await;
    let zoe = server.person("Zoe").await;
    server.project(&zoe, json!({ "name": "Lab" })).await;
    let taken = reason(import(&server, "zoe", None, &bytes).await);
    assert!(taken.contains("another project has the slug lab"), "{taken}");
    let taken = reason(import(&server, "zoe", Some("copy"), &bytes).await);
    assert!(taken.contains("has the name Lab"), "{taken}");
    let cut = import(&server, "zoe", Some("copy"), &bytes[..bytes.len() / 2]).await;
    assert!(cut.is_err());
}

mod a_project_moves_between_servers {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        a_project_moves(Engine::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        a_project_moves(Engine::Postgres).await;
    }
}
