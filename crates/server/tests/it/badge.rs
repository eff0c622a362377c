//! The badge: its text for each filter, and who can see it.

use axum::{
    body::{Body, Bytes},
    http::{Request, Response, header},
};
use resvg::usvg::roxmltree::Document;
use serde_json::json;

use crate::{Lab, both};

impl Lab {
    /// Fetches a document of the project as sent over the wire, with an ETag and a credential unless they are empty.
    pub(crate) async fn document(&self, path: &str, tag: &str, token: &str) -> Response<Bytes> {
        let mut request = Request::get(format!("/v0/projects/lab/{path}"));
        if !tag.is_empty() {
            request = request.header(header::IF_NONE_MATCH, tag);
        }
        if !token.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        self.server.raw(request.body(Body::empty()).unwrap()).await
    }

    /// Returns the text of a badge for screen readers.
    pub(crate) async fn badge(&self, query: &str) -> String {
        let answer = self.document(&format!("badge{query}"), "", "").await;
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &"image/svg+xml".parse().unwrap())
        );
        let text = std::str::from_utf8(answer.body()).unwrap();
        let document = Document::parse(text).unwrap();
        let svg = document.root_element();
        assert_eq!(svg.attribute("role"), Some("img"));
        let title =
            svg.children().find(|node| node.has_tag_name("title")).unwrap().text().unwrap().to_owned();
        assert_eq!(svg.attribute("aria-label"), Some(title.as_str()));
        title
    }
}

both! {
    async fn a_badge_counts_the_active_alerts(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        assert_eq!(lab.badge("").await, "benchmarks: no reports");
        lab.alarm(1, &[&["a"]], json!({})).await;
        assert_eq!(lab.badge("").await, "benchmarks: no alerts");
        lab.watch("main", "localhost").await;
        lab.watch("pr", "other").await;
        let first = lab.alarm(1, &[&["a"]], json!({})).await;
        assert_eq!(lab.badge("").await, "benchmarks: 1 alert");
        lab.alarm(2, &[&["a", "b"]], json!({ "branch": "pr", "testbed": "other" })).await;
        lab.make("branches", "new").await;
        lab.make("benchmarks", "never").await;
        for (query, said) in [
            ("", "3 alerts"),
            ("?branch=main", "1 alert"),
            ("?branch=pr", "2 alerts"),
            ("?testbed=other", "2 alerts"),
            ("?branch=main&testbed=other", "no reports"),
            ("?branch=new", "no reports"),
            ("?benchmark=a", "2 alerts"),
            ("?benchmark=a&branch=main", "1 alert"),
            ("?benchmark=b&testbed=localhost", "no reports"),
            ("?benchmark=never", "no reports"),
            ("?measure=latency", "3 alerts"),
            ("?measure=latency&benchmark=b&style=flat", "1 alert"),
        ] {
            assert_eq!(lab.badge(query).await, format!("benchmarks: {said}"), "{query}");
        }
        let alert = first.text("/alerts/0/uuid");
        lab.patch(&format!("alerts/{alert}"), json!({ "status": "dismissed" })).await.expect(200);
        lab.patch("branches/pr", json!({ "archived": true })).await.expect(200);
        for query in ["", "?branch=main", "?benchmark=a"] {
            assert_eq!(lab.badge(query).await, "benchmarks: no alerts", "{query}");
        }
        let mut lines = Vec::new();
        for query in ["branch=other", "testbed=x", "benchmark=x", "measure=x", "label=", &format!("label={}", "x".repeat(65))] {
            lines.push(lab.get(&format!("badge?{query}")).await.line());
        }
        insta::assert_snapshot!("badge_bad_query", lines.join("\n"));
    }

    async fn a_badge_has_a_label(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        assert_eq!(lab.badge("?label=Speed%20%26%20size").await, "Speed & size: no reports");
        let hostile = "%3C%2Ftitle%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27%E2%80%AE";
        assert_eq!(lab.badge(&format!("?label={hostile}")).await, "</title><script>alert(1)</script>\"': no reports");
        assert!(lab.badge(&format!("?label={}", "W".repeat(64))).await.starts_with("WWW"));
    }

    async fn a_badge_is_sent_once(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        let answer = lab.document("badge", "\"other\"", "").await;
        assert_eq!((answer.status().as_u16(), &answer.headers()["cache-control"]), (200, &"public, max-age=60".parse().unwrap()));
        let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
        let again = lab.document("badge", &tag, "").await;
        assert_eq!((again.status().as_u16(), again.body().len(), &again.headers()["etag"]), (304, 0, &answer.headers()["etag"]));
        lab.alarm(1, &[&["a"]], json!({})).await;
        assert_eq!(lab.document("badge", &tag, "").await.status().as_u16(), 200);

        lab.server.patch("/v0/projects/lab", &lab.token, json!({ "visibility": "private" })).await.expect(200);
        assert_eq!(lab.document("badge", &tag, "").await.status().as_u16(), 404);
        let own = lab.document("badge", "", &lab.token).await;
        assert_eq!((own.status().as_u16(), &own.headers()["cache-control"]), (200, &"private, no-cache".parse().unwrap()));
    }
}
