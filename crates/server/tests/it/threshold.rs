//! `/v0/projects/{project}/thresholds` and their earlier models.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::join;

use crate::{Answer, Person, TestServer, both};

const PROJECT: &str = "/v0/projects/lab";
const THRESHOLDS: &str = "/v0/projects/lab/thresholds";

/// Creates Ada's project with one branch and testbed, and measures whose worse direction is up, down or unknown.
async fn lab(server: &TestServer) -> Person {
    let ada = server.person("Ada").await;
    server.project(&ada, json!({ "name": "Lab" })).await;
    server.dimension(&ada, PROJECT, "branches", "main").await;
    server.dimension(&ada, PROJECT, "testbeds", "localhost").await;
    for name in ["Latency", "Throughput", "Score"] {
        server.dimension(&ada, PROJECT, "measures", name).await;
    }
    ada
}

async fn create(server: &TestServer, ada: &Person, measure: &str, model: Value) -> Answer {
    let mut body = json!({ "branch": "main", "testbed": "localhost", "measure": measure });
    body.as_object_mut().unwrap().extend(model.as_object().unwrap().clone());
    server.post(THRESHOLDS, &ada.token, body).await
}

fn path(threshold: &Answer) -> String {
    format!("{THRESHOLDS}/{}", threshold.text("/uuid"))
}

both! {
    async fn a_threshold_is_created_once(server: TestServer) {
        let ada = lab(&server).await;
        let model = json!({ "test": "t", "min_sample_size": 2, "max_sample_size": 64, "window": 2_592_000, "upper_boundary": 0.99 });
        let created = create(&server, &ada, "latency", model.clone()).await;
        assert_snapshot!("threshold_create", server.show(&created));
        assert_eq!(server.get(&path(&created), "").await.expect(200).body, created.body);
        assert_snapshot!("threshold_again", server.show(&create(&server, &ada, "Latency", model).await));

        let both = json!({ "test": "z_score" });
        let (one, two) = join!(create(&server, &ada, "score", both.clone()), create(&server, &ada, "score", both));
        let mut statuses = [one.status.as_u16(), two.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409]);
        assert_eq!(server.get(THRESHOLDS, "").await.total(), 2);
    }

    async fn a_dimension_must_be_there(server: TestServer) {
        let ada = lab(&server).await;
        for number in 0..9 {
            server.dimension(&ada, PROJECT, "branches", &format!("feature/{number}")).await;
        }
        let elsewhere = server.project(&ada, json!({ "name": "Elsewhere" })).await;
        let foreign = server.dimension(&ada, &elsewhere, "branches", "main").await;
        let mut lines = Vec::new();
        for (branch, testbed, measure) in [
            ("mian", "localhost", "latency"),
            (foreign.as_str(), "localhost", "latency"),
            ("main", "remote", "latency"),
            ("main", "localhost", "Memory Use"),
            ("MAIN", "localhost", "latency"),
        ] {
            let body = json!({ "branch": branch, "testbed": testbed, "measure": measure, "test": "t_test" });
            let answer = server.post(THRESHOLDS, &ada.token, body.clone()).await;
            lines.push(server.redact(&answer.line()));
        }
        let body = json!({ "branch": "feature", "testbed": "x", "measure": "y", "test": "t_test" });
        lines.push(server.post(&format!("{elsewhere}/thresholds"), &ada.token, body).await.line());
        let body = json!({ "branch": "main", "testbed": "x", "measure": "y", "test": "t_test" });
        lines.push(server.post(&format!("{elsewhere}/thresholds"), &ada.token, body).await.line());
        for body in [
            json!({ "testbed": "localhost", "measure": "latency", "test": "t_test" }),
            json!({ "branch": "", "testbed": "localhost", "measure": "latency", "test": "t_test" }),
            json!({ "branch": "main", "testbed": "localhost", "measure": "latency" }),
            json!({ "branch": "main", "testbed": "localhost", "measure": "latency", "test": null }),
        ] {
            lines.push(server.post(THRESHOLDS, &ada.token, body).await.line());
        }
        assert_snapshot!("threshold_unknown_dimension", lines.join("\n"));
        assert_eq!(server.get(THRESHOLDS, "").await.total(), 0);
    }

    async fn a_boundary_is_where_the_measure_gets_worse(server: TestServer) {
        let ada = lab(&server).await;
        for (measure, lower, upper) in [
            ("latency", Value::Null, json!(0.95)),
            ("throughput", json!(0.95), Value::Null),
            ("score", json!(0.95), json!(0.95)),
        ] {
            let created = create(&server, &ada, measure, json!({ "test": "static", "upper_boundary": 1 })).await.expect(201);
            for test in ["z_score", "t_test", "log_normal"] {
                let put = server.put(&path(&created), &ada.token, json!({ "test": test })).await.expect(200);
                let model = &put.body["model"];
                assert_eq!((&model["lower_boundary"], &model["upper_boundary"]), (&lower, &upper), "{measure} {test}");
            }
            let one = json!({ "test": "t_test", "lower_boundary": 0.9 });
            let put = server.put(&path(&created), &ada.token, one).await.expect(200);
            assert_eq!(put.body["model"]["upper_boundary"], Value::Null, "one that is given is the only one");
        }
    }

    async fn a_model_makes_sense(server: TestServer) {
        let ada = lab(&server).await;
        let threshold = create(&server, &ada, "latency", json!({ "test": "t_test" })).await.expect(201);
        let path = path(&threshold);
        for model in [
            json!({ "test": "static", "lower_boundary": -5, "upper_boundary": -5.0 }),
            json!({ "test": "static", "lower_boundary": -1e300 }),
            json!({ "test": "percentage", "min_sample_size": 1, "max_sample_size": 1, "upper_boundary": 0 }),
            json!({ "test": "percentage", "lower_boundary": 7.5, "window": 1 }),
            json!({ "test": "z", "min_sample_size": 2, "max_sample_size": 2, "lower_boundary": 0.5 }),
            json!({ "test": "log_normal", "upper_boundary": 0.999_999, "window": 4_294_967_295_u32 }),
            json!({ "test": "iqr", "max_sample_size": 4_294_967_295_u32, "upper_boundary": 3 }),
            json!({ "test": "delta_iqr", "lower_boundary": 0.0 }),
        ] {
            server.put(&path, &ada.token, model).await.expect(200);
        }
        let before = server.get(&path, "").await.body;
        let mut lines = Vec::new();
        for model in [
            json!({ "test": "static" }),
            json!({ "test": "static", "upper_boundary": 1, "min_sample_size": 2 }),
            json!({ "test": "static", "upper_boundary": 1, "max_sample_size": 2 }),
            json!({ "test": "static", "upper_boundary": 1, "window": 60 }),
            json!({ "test": "static", "lower_boundary": 2, "upper_boundary": 1 }),
            json!({ "test": "percentage" }),
            json!({ "test": "percentage", "upper_boundary": -0.1 }),
            json!({ "test": "percentage", "upper_boundary": 0.1, "min_sample_size": 0 }),
            json!({ "test": "percentage", "upper_boundary": 0.1, "min_sample_size": 3, "max_sample_size": 2 }),
            json!({ "test": "z_score", "upper_boundary": 0.49 }),
            json!({ "test": "z_score", "lower_boundary": 1.0 }),
            json!({ "test": "t_test", "min_sample_size": 1 }),
            json!({ "test": "t_test", "max_sample_size": 1 }),
            json!({ "test": "log_normal", "upper_boundary": 1.5 }),
            json!({ "test": "log_normal", "min_sample_size": 3, "max_sample_size": 2 }),
            json!({ "test": "iqr" }),
            json!({ "test": "iqr", "lower_boundary": -1 }),
            json!({ "test": "iqr", "upper_boundary": 1, "min_sample_size": 1 }),
            json!({ "test": "delta_iqr" }),
            json!({ "test": "delta_iqr", "upper_boundary": 1, "max_sample_size": 1 }),
            json!({ "test": "t_test", "window": 0 }),
            json!({ "test": "t_test", "window": 4_294_967_296_u64 }),
            json!({ "test": "t_test", "max_sample_size": 2.5 }),
            json!({ "test": "t_test", "upper_boundary": "0.9" }),
            json!({ "test": "chi_square" }),
            json!({ "test": null, "window": 0 }),
            json!({ "test": "t_test", "windows": 60 }),
            json!({ "upper_boundary": 0.95 }),
            json!({}),
        ] {
            let put = server.put(&path, &ada.token, model.clone()).await.expect(400);
            // A new threshold accepts the same models, and rejects the others with the same message.
            if model["test"].is_string() && model.get("windows").is_none() {
                let post = create(&server, &ada, "score", model.clone()).await.expect(400);
                let reason = |answer: &Answer| answer.line().split(" (line").next().unwrap().to_owned();
                assert_eq!(reason(&post), reason(&put));
            }
            lines.push(format!("{model}\n    {}", put.line()));
        }
        assert_snapshot!("threshold_wrong_models", lines.join("\n"));
        assert_eq!(server.get(&path, "").await.body, before);
        assert_eq!(server.get(THRESHOLDS, "").await.total(), 1);
    }

    async fn models_are_replaced_and_remembered(server: TestServer) {
        let ada = lab(&server).await;
        let first = json!({ "test": "t_test", "max_sample_size": 64, "upper_boundary": 0.95 });
        let created = create(&server, &ada, "latency", first.clone()).await.expect(201);
        let path = path(&created);
        server.pass(60);
        for same in [first, json!({ "test": "t", "max_sample_size": 64, "window": null })] {
            assert_eq!(server.put(&path, &ada.token, same).await.expect(200).body, created.body, "identical");
        }
        let second = json!({ "test": "percentage", "upper_boundary": 0.1 });
        let replaced = server.put(&path, &ada.token, second).await;
        assert_snapshot!("threshold_put", server.show(&replaced));
        server.pass(60);
        let removed = server.put(&path, &ada.token, json!({ "test": null, "window": 60 })).await.expect(200);
        assert_eq!(removed.body["model"], Value::Null);
        assert_eq!(removed.text("/modified"), "2026-01-01T00:02:00.000Z");
        server.pass(60);
        assert_eq!(server.put(&path, &ada.token, json!({ "test": null })).await.body, removed.body, "again");
        assert_eq!(server.get(THRESHOLDS, "").await.body[0], removed.body);

        let models = server.get(&format!("{path}/models"), "").await;
        assert_snapshot!("threshold_models", server.show(&models));
        let oldest = server.get(&format!("{path}/models?direction=asc&per_page=1"), "").await;
        assert_eq!((oldest.total(), oldest.text("/0/uuid")), (2, created.text("/model/uuid")));
        let old = server.get(&format!("{path}?model={}", created.text("/model/uuid")), "").await.expect(200);
        assert_eq!(old.body["model"], models.body[1]);
        let other = create(&server, &ada, "score", json!({ "test": "z" })).await.expect(201);
        let mut lines = Vec::new();
        for path in [
            format!("{path}?model={}", other.text("/model/uuid")),
            format!("{path}?model=x"),
            format!("{THRESHOLDS}/{}", created.text("/model/uuid")),
            format!("{THRESHOLDS}/{}/models", created.text("/model/uuid")),
            format!("{THRESHOLDS}/main"),
        ] {
            lines.push(server.get(&path, "").await.line());
        }
        assert_snapshot!("threshold_not_there", lines.join("\n"));
    }

    async fn a_threshold_is_of_one_project(server: TestServer) {
        let ada = lab(&server).await;
        let created = create(&server, &ada, "latency", json!({ "test": "t_test" })).await.expect(201);
        let elsewhere = server.project(&ada, json!({ "name": "Elsewhere" })).await;
        let foreign = format!("{elsewhere}/thresholds/{}", created.text("/uuid"));
        server.get(&foreign, &ada.token).await.expect(404);
        server.get(&format!("{foreign}/models"), &ada.token).await.expect(404);
        server.put(&foreign, &ada.token, json!({ "test": null })).await.expect(404);
        server.delete(&foreign, &ada.token).await.expect(404);

        let in_use = server.delete(&format!("{PROJECT}/branches/main"), &ada.token).await;
        assert_snapshot!("threshold_keeps_its_branch", server.show(&in_use));
        server.delete(&path(&created), &ada.token).await.expect(204);
        server.delete(&path(&created), &ada.token).await.expect(404);
        assert_eq!(server.get(THRESHOLDS, "").await.total(), 0);
        server.delete(&format!("{PROJECT}/branches/main"), &ada.token).await.expect(204);
    }

    async fn thresholds_are_listed_by_time_and_dimension(server: TestServer) {
        let ada = lab(&server).await;
        let other = server.dimension(&ada, PROJECT, "branches", "feature/x").await;
        let mut made = Vec::new();
        for measure in ["latency", "throughput", "score"] {
            made.push(create(&server, &ada, measure, json!({ "test": "t_test" })).await.expect(201));
            server.pass(1);
        }
        let body = json!({ "branch": other, "testbed": "localhost", "measure": "score", "test": "t_test" });
        made.push(server.post(THRESHOLDS, &ada.token, body).await.expect(201));
        server.pass(1);
        server.put(&path(&made[1]), &ada.token, json!({ "test": null })).await.expect(200);
        let localhost = server.get(&format!("{PROJECT}/testbeds/localhost"), "").await.text("/uuid");
        let list = async |query: &str| {
            let list = server.get(&format!("{THRESHOLDS}?{query}"), "").await.expect(200);
            let place = |uuid: &String| made.iter().position(|made| made.text("/uuid") == *uuid).unwrap();
            list.each("uuid").iter().map(place).collect::<Vec<_>>()
        };
        for (query, places) in [
            ("", vec![0, 1, 2, 3]),
            ("sort=created&direction=desc", vec![3, 2, 1, 0]),
            ("sort=modified", vec![1, 3, 2, 0]),
            ("sort=modified&direction=asc&per_page=2", vec![0, 2]),
            ("per_page=2&page=2", vec![2, 3]),
            ("branch=main", vec![0, 1, 2]),
            ("branch=feature%2Fx", vec![3]),
            ("branch=feature-x&measure=Score", vec![3]),
            ("measure=score", vec![2, 3]),
            ("branch=none", vec![]),
            (&format!("testbed={localhost}&measure=latency"), vec![0]),
            ("archived=true", vec![]),
        ] {
            assert_eq!(list(query).await, places, "{query}");
        }
        let archive = json!({ "archived": true });
        server.patch(&format!("{PROJECT}/measures/score"), &ada.token, archive).await.expect(200);
        assert_eq!(list("").await, [0, 1]);
        assert_eq!(list("archived=true").await, [2, 3]);
        assert_eq!(list("archived=true&branch=main").await, [2]);
        for query in ["sort=name", "archived=yes", "branch=", "measure=a&measure=b"] {
            server.get(&format!("{THRESHOLDS}?{query}"), "").await.expect(400);
        }
    }
}
