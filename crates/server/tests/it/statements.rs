//! What a list costs: as many statements for many rows as for one.

use serde_json::json;

use crate::{Person, TestServer, both};

const LISTS: &[&str] = &[
    "/v0/projects",
    "/v0/organizations",
    "/v0/organizations/ada/projects",
    "/v0/organizations/ada/members",
    "/v0/organizations/ada/audit",
    "/v0/server/audit",
    "/v0/users",
    "/v0/projects/lab/keys",
    "/v0/projects/lab/members",
    "/v0/projects/lab/branches",
    "/v0/projects/lab/branches?search=main",
    "/v0/projects/lab/testbeds",
    "/v0/projects/lab/benchmarks",
    "/v0/projects/lab/benchmarks?search=main",
    "/v0/projects/lab/measures",
    "/v0/projects/lab/thresholds",
    "/v0/projects/lab/thresholds?branch=main-0&testbed=main-0",
    "/v0/projects/lab/plots",
    "/v0/projects/lab/plots?sort=title",
];

/// Adds one of everything there is a list of.
async fn add(server: &TestServer, ada: &Person, number: usize) -> String {
    let t = &ada.token;
    let name = format!("main-{number}");
    let person = server.person(&format!("Person {number}")).await;
    server.join("ada", ada, &person, "member").await;
    server.organization(ada, &name).await;
    server.project(ada, json!({ "name": name })).await;
    let project = "/v0/projects/lab";
    server.project_key(ada, project).await;
    let role = json!({ "user": person.slug, "role": "viewer" });
    server.post(&format!("{project}/members"), t, role).await.expect(201);
    let mut plot = json!({
        "title": name, "lower_value": true, "upper_value": true, "lower_boundary": true, "upper_boundary": true,
        "x_axis": "version", "window": 60,
    });
    for kind in ["branches", "testbeds", "benchmarks", "measures"] {
        plot[kind] = json!([server.dimension(ada, project, kind, &name).await]);
    }
    server.post(&format!("{project}/plots"), t, plot).await.expect(201);
    let threshold = json!({ "branch": name, "testbed": "main-0", "measure": name, "test": "t_test" });
    server.post(&format!("{project}/thresholds"), t, threshold).await.expect(201).text("/uuid")
}

/// How many rows a list shows, and how many statements that takes.
async fn cost(server: &TestServer, path: &str, token: &str) -> (usize, u64) {
    let path = format!("{path}{}per_page=255", if path.contains('?') { "&" } else { "?" });
    let mut least = (0, u64::MAX);
    // What goes on in the background may be counted, too, but not each time.
    for _ in 0..3 {
        let before = server.app.db.statements();
        let list = server.get(&path, token).await.expect(200);
        let statements = server.app.db.statements() - before;
        least = (list.body.as_array().unwrap().len(), least.1.min(statements));
    }
    least
}

both! {
    async fn a_list_costs_the_same_for_many_rows(server: TestServer) {
        let ada = server.person("Ada").await;
        server.project(&ada, json!({ "name": "Lab" })).await;
        let threshold = add(&server, &ada, 0).await;
        let threshold = format!("/v0/projects/lab/thresholds/{threshold}");
        let models = format!("{threshold}/models");
        let lists: Vec<&str> = LISTS.iter().copied().chain([models.as_str()]).collect();
        let mut few = Vec::new();
        for list in &lists {
            few.push(cost(&server, list, &ada.token).await);
        }
        for number in 1..8 {
            add(&server, &ada, number).await;
            let model = json!({ "test": "iqr", "upper_boundary": number });
            server.put(&threshold, &ada.token, model).await.expect(200);
        }
        for (list, (rows, statements)) in lists.iter().zip(few) {
            let (more_rows, more_statements) = cost(&server, list, &ada.token).await;
            let filtered = list.contains("?branch=");
            assert!(more_rows > rows || filtered, "{list} has {more_rows} rows, {rows} before");
            assert!(more_statements <= statements, "{list}: {more_statements} statements, {statements} before");
            assert!(statements <= 10, "{list}: {statements} statements");
        }
    }
}
