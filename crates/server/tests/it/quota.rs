//! Quotas: how much may be created within a time window, if the operator sets one.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{both, report::report_body};

const SMALL: &str = "
    [plus.rate_limiting]
    window = 3600
    claimed_limit = 2
    unclaimed_limit = 1
";

both! {
    async fn creation_is_limited(server: TestServer = SMALL) {
        let ada = server.person("Ada").await;
        let t = &ada.token;
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let mut lines = Vec::new();
        let mut plot = json!({
            "lower_value": true, "upper_value": true, "lower_boundary": true, "upper_boundary": true,
            "x_axis": "version", "window": 60,
        });
        for kind in ["branches", "testbeds", "benchmarks", "measures"] {
            plot[kind] = json!([
                server.dimension(&ada, &project, kind, "one").await,
                server.dimension(&ada, &project, kind, "two").await,
            ]);
            let third = json!({ "name": "three", "units": "x" });
            lines.push(server.post(&format!("{project}/{kind}"), t, third).await.line());
        }
        let threshold = |branch: &str, measure: &str| {
            json!({ "branch": branch, "testbed": "one", "measure": measure, "test": "t_test" })
        };
        let thresholds = format!("{project}/thresholds");
        let watched = server.post(&thresholds, t, threshold("one", "one")).await.expect(201).text("/uuid");
        server.post(&thresholds, t, threshold("one", "two")).await.expect(201);
        lines.push(server.post(&thresholds, t, threshold("two", "one")).await.line());
        let watched = format!("{thresholds}/{watched}");
        server.put(&watched, t, json!({ "test": "z" })).await.expect(200);
        lines.push(server.put(&watched, t, json!({ "test": "log_normal" })).await.line());
        server.put(&watched, t, json!({ "test": "z" })).await.expect(200);
        server.put(&watched, t, json!({ "test": null })).await.expect(200);

        let plots = format!("{project}/plots");
        server.post(&plots, t, plot.clone()).await.expect(201);
        server.post(&plots, t, plot.clone()).await.expect(201);
        server.pass(600);
        let third = server.post(&plots, t, plot.clone()).await;
        assert_snapshot!("quota_reached", server.show(&third));

        let reset = json!({ "start_point": { "reset": true } });
        server.patch(&format!("{project}/branches/one"), t, reset.clone()).await.expect(200);
        lines.push(server.patch(&format!("{project}/branches/one"), t, reset).await.line());
        server.project(&ada, json!({ "name": "Second" })).await;
        server.delete("/v0/projects/second", t).await.expect(204);
        let third = json!({ "name": "Third" });
        lines.push(server.post("/v0/organizations/ada/projects", t, third.clone()).await.line());
        assert_snapshot!("quota_of_each", lines.join("\n"));

        server.pass(3000);
        server.post(&plots, t, plot).await.expect(201);
        server.post("/v0/organizations/ada/projects", t, third).await.expect(201);
    }

    async fn what_a_report_makes_is_limited(server: TestServer = SMALL) {
        let ada = server.person("Ada").await;
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let reports = format!("{project}/reports");
        let named = |names: &[&str]| {
            let latency = json!({ "latency": { "value": 1 } });
            json!([Value::Object(names.iter().map(|name| ((*name).to_owned(), latency.clone())).collect()).to_string()])
        };
        let known = "0190a000-0000-7000-8000-00000000000f";
        let lines = [
            server.post(&reports, &ada.token, report_body(named(&["a", "b", "c"]), json!({}))).await,
            server.post(&reports, &ada.token, report_body(named(&["a"]), json!({ "idempotency_key": known }))).await.expect(201),
            server.post(&reports, &ada.token, report_body(named(&["a"]), json!({ "branch": "other" }))).await.expect(201),
            server.post(&reports, &ada.token, report_body(named(&["a"]), json!({}))).await,
        ];
        assert_snapshot!("quota_of_reports", format!("{}\n{}", lines[0].line(), lines[3].line()));
        // A report that is already recorded gets the original response.
        let again = report_body(named(&["a"]), json!({ "idempotency_key": known }));
        assert_eq!(server.post(&reports, &ada.token, again).await.expect(201).text("/uuid"), lines[1].text("/uuid"));
        for (noun, total) in [("benchmarks", 1), ("branches", 2), ("reports", 2)] {
            assert_eq!(server.get(&format!("{project}/{noun}"), &ada.token).await.total(), total, "{noun}");
        }
    }

    async fn an_unclaimed_organization_gets_less(server: TestServer = SMALL) {
        let admin = server.person("Admin").await;
        let unclaimed = format!("/v0/organizations/{}/projects", server.unclaimed("Unclaimed").await);
        let create = async |path: &str, name: &str| {
            server.post(path, &admin.token, json!({ "name": name })).await
        };
        let first = create(&unclaimed, "First").await.expect(201);
        assert_eq!(first.body["claimed"], Value::Null);
        create(&unclaimed, "Second").await.expect(429);
        create("/v0/projects/first/branches", "one").await.expect(201);
        create("/v0/projects/first/branches", "two").await.expect(429);
    }

    async fn without_settings_nothing_is_limited(server: TestServer) {
        let ada = server.person("Ada").await;
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        for number in 0..20 {
            server.dimension(&ada, &project, "benchmarks", &format!("bench {number}")).await;
        }
    }
}
