//! The list of reports: its order, its filters and its pages.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Lab, both, report::bench};

impl Lab {
    /// Returns the values of the reports in a list.
    async fn listed(&self, query: &str) -> Vec<i64> {
        let expanded = self.get(&format!("reports?expand=true&{query}")).await.expect(200);
        let plain = self.get(&format!("reports?{query}")).await.expect(200);
        assert_eq!((plain.each("uuid"), plain.total()), (expanded.each("uuid"), expanded.total()));
        let value = |report: &Value| {
            assert_eq!(report.pointer("/counts/results/0/benchmarks"), Some(&json!(1)));
            report.pointer("/results/0/0/measures/0/metric/value").unwrap().as_f64().unwrap() as i64
        };
        expanded.body.as_array().unwrap().iter().map(value).collect()
    }
}

const DAY: i64 = 86_400_000;
/// 2026-01-01T00:00:00Z in milliseconds.
const NEW_YEAR: i64 = 1_767_225_600_000;

both! {
    async fn reports_are_listed(server: TestServer) {
        let lab = Lab::open(server).await;
        assert_eq!(lab.listed("").await, [0; 0]);
        let day = |day: u32| format!("2026-01-{day:02}T00:00:00Z");
        let mut branch = String::new();
        for (value, branch_name, testbed, start, end) in [
            (1, "main", "localhost", 3, 4),
            (2, "feature/x", "localhost", 2, 9),
            (3, "main", "My Box", 3, 5),
            (4, "main", "localhost", 1, 2),
            (5, "main", "localhost", 3, 4),
            (6, "feature/x", "My Box", 4, 4),
        ] {
            let more = json!({ "branch": branch_name, "testbed": testbed, "start_time": day(start), "end_time": day(end) });
            branch = lab.report(json!([bench(f64::from(value))]), more).await.expect(201).text("/branch/uuid");
            lab.server.pass(60);
        }
        let newest = [6, 3, 5, 1, 2, 4];
        assert_eq!(lab.listed("").await, newest);
        assert_eq!(lab.listed("sort=date_time&direction=desc").await, newest);
        assert_eq!(lab.listed("direction=asc").await, [4, 2, 1, 5, 3, 6]);
        for (query, wanted) in [
            ("branch=main", vec![3, 5, 1, 4]),
            ("branch=feature-x", vec![6, 2]),
            ("branch=feature%2Fx", vec![6, 2]),
            (&format!("branch={branch}"), vec![6, 2]),
            ("testbed=my-box", vec![6, 3]),
            ("testbed=My%20Box", vec![6, 3]),
            ("branch=main&testbed=localhost", vec![5, 1, 4]),
            ("branch=missing", vec![]),
            ("testbed=missing&branch=main", vec![]),
            ("branch=0190a000-0000-7000-8000-000000000000", vec![]),
            (&format!("start_time={}", NEW_YEAR + 2 * DAY), vec![6, 3, 5, 1]),
            (&format!("start_time={}", NEW_YEAR + 2 * DAY + 1), vec![6]),
            (&format!("end_time={}", NEW_YEAR + 3 * DAY), vec![6, 5, 1, 4]),
            (&format!("end_time={}&branch=main", NEW_YEAR + 3 * DAY - 1), vec![4]),
            (&format!("start_time={NEW_YEAR}&end_time={}", NEW_YEAR + 4 * DAY), vec![6, 3, 5, 1, 4]),
            ("archived=true", vec![]),
        ] {
            assert_eq!(lab.listed(query).await, wanted, "{query}");
            assert_eq!(lab.total(&format!("reports?per_page=1&{query}")).await, i64::try_from(wanted.len()).unwrap(), "{query}");
        }
        for page in 1..=4 {
            let from = (page - 1) * 2;
            assert_eq!(lab.listed(&format!("per_page=2&page={page}")).await, newest[from.min(6)..(from + 2).min(6)]);
        }
        assert_eq!(lab.server.get("/v0/projects/lab/reports", "").await.expect(200).total(), 6);

        lab.patch("testbeds/my-box", json!({ "archived": true })).await.expect(200);
        assert_eq!((lab.listed("").await, lab.listed("archived=true").await), (vec![5, 1, 2, 4], vec![6, 3]));
        lab.patch("branches/feature-x", json!({ "archived": true })).await.expect(200);
        assert_eq!((lab.listed("").await, lab.listed("archived=true").await), (vec![5, 1, 4], vec![6, 3, 2]));
        assert_eq!(lab.listed("archived=true&branch=main").await, [3]);
        assert_eq!((lab.total("reports").await, lab.total("reports?archived=true").await), (3, 3));

        let mut lines = Vec::new();
        for query in ["sort=created", "direction=up", "start_time=yesterday", "branch=", "per_page=256", "expand=1"] {
            lines.push(lab.get(&format!("reports?{query}")).await.line());
        }
        assert_snapshot!("report_bad_query", lines.join("\n"));
    }

    async fn reports_are_found_by_the_start_of_a_hash(server: TestServer) {
        let lab = Lab::open(server).await;
        for (value, hash) in [(1, "abcd0"), (2, "ABCDf"), (3, "abce0"), (4, "abcd0")] {
            let branch = if value == 4 { "feature" } else { "main" };
            let more = json!({ "branch": branch, "hash": format!("{hash:0<40}") });
            lab.report(json!([bench(f64::from(value))]), more).await.expect(201);
            lab.server.pass(60);
        }
        lab.value(5.0, json!({})).await;
        for (query, wanted) in [
            ("hash=abcd", vec![1, 2, 4]),
            ("hash=ABCDF", vec![2]),
            (&format!("hash={:0<40}", "abcd0"), vec![1, 4]),
            ("hash=abcd&branch=main", vec![1, 2]),
            ("hash=abcf", vec![]),
        ] {
            let mut listed = lab.listed(query).await;
            listed.sort_unstable();
            assert_eq!(listed, wanted, "{query}");
        }
        assert_eq!(lab.get("reports?hash=abcd&per_page=1").await.total(), 3);
        lab.server.post("/v0/organizations/ada/projects", &lab.token, json!({ "name": "Elsewhere" })).await.expect(201);
        assert_eq!(lab.server.get("/v0/projects/elsewhere/reports?hash=abcd", &lab.token).await.total(), 0);
        assert_snapshot!("report_bad_hash", lab.get("reports?hash=abc").await.line());
    }

    async fn a_report_belongs_to_its_project(server: TestServer) {
        let lab = Lab::open(server).await;
        let report = lab.value(1.0, json!({})).await.text("/uuid");
        lab.server.post("/v0/organizations/ada/projects", &lab.token, json!({ "name": "Elsewhere" })).await.expect(201);
        let mut lines = Vec::new();
        for path in [format!("elsewhere/reports/{report}"), "lab/reports/0190a000-0000-7000-8000-000000000000".into(), "lab/reports/last".into()] {
            let path = format!("/v0/projects/{path}");
            lines.push(lab.server.get(&path, &lab.token).await.line());
            lines.push(lab.server.delete(&path, &lab.token).await.line());
        }
        lines.push(lab.server.delete(&format!("/v0/projects/lab/reports/{report}"), "").await.line());
        assert_snapshot!("report_not_found", lines.join("\n"));
        assert_eq!(lab.server.get("/v0/projects/elsewhere/reports", &lab.token).await.total(), 0);
        lab.get(&format!("reports/{report}")).await.expect(200);
    }
}
