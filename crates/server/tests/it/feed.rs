//! The feed of alerts: its content, its validity with any name, and its cost.

use resvg::usvg::roxmltree::{Document, Node};
use serde_json::{Map, Value, json};
use tidemark_store::{Tx, feed, series_filter::SeriesFilter};

use crate::{
    Engine, Lab, both,
    query_plan::touched,
    report::{bench, report_body},
    server::OWN_DATABASE,
};

const HOSTILE: &str = "</content>]]><script>alert('1')</script> & \"x\" \u{202e}\u{ffff}";

impl Lab {
    async fn feed(&self, query: &str) -> String {
        let answer = self.document(&format!("feed{query}"), "", "").await;
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &"application/atom+xml".parse().unwrap())
        );
        std::str::from_utf8(answer.body()).unwrap().to_owned()
    }
}

fn child<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    node.children()
        .find(|one| one.has_tag_name(("http://www.w3.org/2005/Atom", name)))
        .unwrap()
        .text()
        .unwrap()
}

/// Returns the text of the element `name` of each entry.
fn each(feed: &str, name: &str) -> Vec<String> {
    let document = Document::parse(feed).unwrap();
    let root = document.root_element();
    assert!(root.has_tag_name(("http://www.w3.org/2005/Atom", "feed")));
    let entries = root.children().filter(|node| node.has_tag_name(("http://www.w3.org/2005/Atom", "entry")));
    entries.map(|entry| child(entry, name).to_owned()).collect()
}

both! {
    async fn a_feed_lists_reports_with_alerts(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        let empty = lab.feed("").await;
        assert!(each(&empty, "id").is_empty());
        for _ in 0..3 {
            lab.value(100.0, json!({})).await;
        }
        let models = json!({ "models": {
            "latency": { "test": "percentage", "lower_boundary": 0.1, "upper_boundary": 0.1 },
            "throughput": { "test": "static", "lower_boundary": 5 },
        } });
        lab.server.pass(60);
        let slow = lab.value(125.0, json!({ "thresholds": models, "hash": "a".repeat(40) })).await;
        lab.server.pass(60);
        let both = json!({ "bench": { "latency": { "value": 10 }, "throughput": { "value": 4 } } }).to_string();
        let mixed = lab.report(json!([both]), json!({ "thresholds": models })).await.expect(201);
        lab.server.pass(60);
        lab.value(100.0, json!({ "branch": "quiet" })).await;

        let project = lab.server.get("/v0/projects/lab", &lab.token).await.text("/uuid");
        let shown = |feed: String| {
            feed.replace(&mixed.text("/uuid"), "MIXED").replace(&slow.text("/uuid"), "SLOW").replace(&project, "PROJECT")
        };
        let feed = lab.feed("").await;
        let ids = [&mixed, &slow].map(|report| format!("urn:uuid:{}", report.text("/uuid")));
        assert_eq!(each(&feed, "id"), ids);
        insta::assert_snapshot!("feed", shown(feed.clone()));
        assert_eq!(each(&lab.feed("?branch=main&testbed=localhost&measure=latency").await, "id"), ids);
        assert_eq!(each(&lab.feed("?measure=throughput").await, "id"), ids[..1]);
        assert!(each(&lab.feed("?branch=quiet").await, "id").is_empty());
        let some = shown(lab.feed("?measure=throughput&branch=main").await);
        assert!(some.contains("<id>urn:uuid:PROJECT?=branch=main&amp;measure=throughput</id>"), "{some}");

        // A later change of an alert's status does not change the feed.
        lab.patch("alerts", json!({ "status": "dismissed" })).await.expect(200);
        assert_eq!(lab.feed("").await, feed);
        let mut lines = Vec::new();
        for noun in ["branch", "testbed", "measure"] {
            lines.push(lab.get(&format!("feed?{noun}=x")).await.line());
        }
        insta::assert_snapshot!("feed_bad_query", lines.join("\n"));
    }

    async fn a_feed_stays_valid(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        lab.watch("a<b>&'\"", HOSTILE.trim_end_matches('\u{ffff}')).await;
        lab.server.patch("/v0/projects/lab", &lab.token, json!({ "name": "<Lab> & \u{fffe}" })).await.expect(200);
        let more = json!({ "branch": "a<b>&'\"", "testbed": HOSTILE.trim_end_matches('\u{ffff}') });
        lab.alarm(1, &[&[HOSTILE]], more).await;
        let feed = lab.feed("").await;
        assert_eq!(each(&feed, "title"), ["Outside the configured threshold on a<b>&'\": </content>]]><script>alert('1')</script> & \"x\" \\u{202e}, Latency 1 ns (limit 0 … 0 ns)"]);
        let content = each(&feed, "content").remove(0);
        assert!(content.contains("&lt;script&gt;") && !content.contains("<script>"), "{content}");
        let document = Document::parse(&feed).unwrap();
        assert_eq!(child(document.root_element(), "title"), "<Lab> & : alerts");
    }

    async fn a_feed_is_sent_once(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        lab.watch("main", "localhost").await;
        lab.alarm(1, &[&["a"]], json!({})).await;
        let answer = lab.document("feed", "", "").await;
        let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
        insta::assert_snapshot!("feed_last_modified", answer.headers()["last-modified"].to_str().unwrap());
        let again = lab.document("feed", &format!("\"x\", W/{tag}"), "").await;
        assert_eq!((again.status().as_u16(), again.body().len()), (304, 0));
        assert_eq!(again.headers()["last-modified"], answer.headers()["last-modified"]);
        lab.alarm(1, &[&["a"]], json!({})).await;
        assert_eq!(lab.document("feed", &tag, "").await.status().as_u16(), 200);

        lab.server.patch("/v0/projects/lab", &lab.token, json!({ "visibility": "private" })).await.expect(200);
        assert_eq!(lab.document("feed", "", "").await.status().as_u16(), 404);
        let own = lab.document("feed", "", &lab.token).await;
        assert_eq!((own.status().as_u16(), &own.headers()["cache-control"]), (200, &"private, no-cache".parse().unwrap()));
        assert!(std::str::from_utf8(own.body()).unwrap().contains("/console/projects/lab/reports/"));
    }

    async fn a_feed_finds_the_alerts_among_many_reports(server: TestServer = OWN_DATABASE) {
        let lab = Lab::with_alerts(server).await;
        lab.watch("main", "localhost").await;
        let first = lab.alarm(1, &[&["a"]], json!({})).await.text("/uuid");
        let second = lab.alarm(1, &[&["a"]], json!({})).await.text("/uuid");
        let late = "select min(id) from report where alerted is not null";
        let uuid = match lab.server.engine {
            Engine::Sqlite => "printf('00000000-0000-7000-8000-%012d', n)",
            Engine::Postgres => "('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid",
        };
        lab.sql(
            &format!(
                "with recursive number (n) as (select 0 union all select n + 1 from number where n + 1 < 50000)
                 insert into report (uuid, project_id, branch_id, head_id, version_id, testbed_id, adapter, start_time,
                                     end_time, counts, iterations, metrics, created)
                 select {uuid}, project_id, branch_id, head_id, version_id, testbed_id, adapter, start_time, end_time,
                        counts, iterations, metrics, created + n from number, report where report.id = ({late})"
            ),
            Vec::new(),
        )
        .await;
        if lab.server.engine == Engine::Postgres {
            lab.sql("analyze", Vec::new()).await;
        }
        let project = lab.id;
        let which = SeriesFilter::default();
        let read = move |tx: &mut Tx<'_>| feed::alerts(tx, project, &which, 50, |_, _| ()).map(drop);
        for plan in lab.server.app.db.explain(read).await.unwrap() {
            assert!(touched(&plan) < 500, "{plan}");
        }
        // The report of a slow job is old when it is judged.
        lab.sql(&format!("update report set alerted = alerted + 60000000 where id = ({late})"), Vec::new()).await;
        let feed = lab.feed("").await;
        assert_eq!(each(&feed, "id"), [first, second].map(|uuid| format!("urn:uuid:{uuid}")));
        assert_eq!(child(Document::parse(&feed).unwrap().root_element(), "updated"), each(&feed, "updated")[0]);
    }

    async fn a_feed_and_a_badge_cost_the_same_for_many_alerts(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        lab.watch("main", "localhost").await;
        let paths = ["feed", "feed?branch=main&testbed=localhost&measure=latency", "badge", "badge?branch=main&testbed=localhost&benchmark=bench&measure=latency"];
        let costs = async || {
            let mut costs = Vec::new();
            for path in paths {
                costs.push(lab.cost(async |_| assert_eq!(lab.document(path, "", "").await.status().as_u16(), 200)).await);
            }
            costs
        };
        lab.report(json!([bench(1.0)]), json!({})).await.expect(201);
        let few = costs().await;
        let many: Map<String, Value> = (0..30).map(|number| (format!("b{number}"), json!({ "latency": { "value": number + 1 } }))).collect();
        let body = report_body(json!([Value::Object(many).to_string()]), json!({}));
        for _ in 0..52 {
            lab.post("reports", body.clone()).await.expect(201);
        }
        assert_eq!(costs().await, few);
        assert!(few.iter().all(|cost| *cost <= 10), "{few:?}");
        let feed = lab.feed("").await;
        assert_eq!(each(&feed, "id").len(), 50);
        assert!(each(&feed, "title")[0].ends_with(" and 29 more"));
        assert!(each(&feed, "content")[0].contains("And 10 more."));
    }
}
