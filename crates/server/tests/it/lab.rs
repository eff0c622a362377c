//! A server with a project, for tests of the content of projects.

use serde_json::{Value, json};
use tidemark_store::{Param, ProjectId};

use crate::{Answer, TestServer};

/// The resources that have a name and a slug in a project, as in a path.
pub(crate) const DIMENSIONS: [&str; 4] = ["branches", "testbeds", "benchmarks", "measures"];

/// A server with one project, `lab`, and its owner.
pub(crate) struct Lab {
    pub(crate) server: TestServer,
    pub(crate) token: String,
    pub(crate) id: ProjectId,
}

impl Lab {
    /// Creates the project.
    pub(crate) async fn open(server: TestServer) -> Self {
        let token = server.person("Ada").await.token;
        server.post("/v0/organizations/ada/projects", &token, json!({ "name": "Lab" })).await.expect(201);
        let id = |tx: &mut tidemark_store::Tx<'_>| tx.value("select id from project where slug = 'lab'", &[]);
        let id = server.app.db.read::<_, tidemark_store::Error, _>(id).await.unwrap();
        Self { server, token, id }
    }

    /// Creates a project with notifications for alerts instead of changes, as in projects created before change
    /// detection.
    pub(crate) async fn with_alerts(server: TestServer) -> Self {
        let lab = Self::open(server).await;
        lab.patch("detection", json!({ "notifies": "alerts" })).await.expect(200);
        lab
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.server.get(&format!("/v0/projects/lab/{path}"), &self.token).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.server.post(&format!("/v0/projects/lab/{path}"), &self.token, body).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.server.patch(&format!("/v0/projects/lab/{path}"), &self.token, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.server.delete(&format!("/v0/projects/lab/{path}"), &self.token).await
    }

    /// Creates a dimension with this name.
    pub(crate) async fn make(&self, noun: &str, name: &str) -> Answer {
        self.post(noun, named(noun, name)).await.expect(201)
    }

    /// Returns the names in a list, in its order.
    pub(crate) async fn names(&self, path: &str) -> Vec<String> {
        let answer = self.get(path).await.expect(200);
        answer.body.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the total of a list.
    pub(crate) async fn total(&self, path: &str) -> i64 {
        let answer = self.get(path).await.expect(200);
        answer.headers["x-total-count"].to_str().unwrap().parse().unwrap()
    }

    /// Runs a statement on the database directly.
    pub(crate) async fn sql(&self, sql: &str, params: Vec<Box<dyn Param + Send>>) {
        let sql = sql.to_owned();
        let run = move |tx: &mut tidemark_store::Tx<'_>| {
            let params: Vec<&dyn Param> = params.iter().map(|param| &**param as &dyn Param).collect();
            tx.execute(&sql, &params)
        };
        self.server.app.db.write::<_, tidemark_store::Error, _>(run).await.unwrap();
    }

    /// Returns the number of statements of a call: the minimum of several calls, because a worker may still finish
    /// its last round. Stops the workers.
    pub(crate) async fn cost(&self, call: impl AsyncFn(usize)) -> u64 {
        self.server.stop_workers().await;
        let mut least = u64::MAX;
        for round in 0..3 {
            let before = self.server.app.db.statements();
            call(round).await;
            least = least.min(self.server.app.db.statements() - before);
        }
        least
    }
}

/// Returns the body for a new dimension.
pub(crate) fn named(noun: &str, name: &str) -> Value {
    match noun {
        "measures" => json!({ "name": name, "units": "seconds (s)" }),
        _ => json!({ "name": name }),
    }
}
