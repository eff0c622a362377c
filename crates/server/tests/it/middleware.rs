//! The middleware of every request: request IDs, headers, rejected requests, and the common format of errors.

use std::{collections::BTreeSet, io::Read};

use axum::{
    body::{Body, Bytes},
    http::{Method, Request, Response, header},
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Answer, both, contract};

const SMALL: &str = "[server]\nrequest_body_max_bytes = 1024\n";
const PROXIED: &str = "[server]\ntrusted_proxies = [\"10.0.0.0/8\", \"192.0.2.1\"]\n";
const ENCRYPTED: &str = "[server.tls]\ncert_file = \"cert.pem\"\nkey_file = \"key.pem\"\n";
const METRICS_APART: &str = "[server]\nmetrics_address = \"127.0.0.1:0\"\n";

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.into()).unwrap()
}

/// Returns status and headers, in alphabetical order.
fn head(answer: &Answer) -> String {
    let mut lines: Vec<_> = answer
        .headers
        .iter()
        .map(|(name, value)| match name.as_str() {
            "x-request-id" => "  x-request-id: <request>".to_owned(),
            name => format!("  {name}: {}", value.to_str().unwrap()),
        })
        .filter(|line| !line.starts_with("  content-length"))
        .collect();
    lines.sort();
    format!("{}\n{}\n", answer.status.as_u16(), lines.join("\n"))
}

both! {
    async fn every_answer_carries_the_headers_of_the_middleware(server: TestServer = SMALL) {
        let admin = server.person("Ada").await;
        let bearer = format!("Bearer {}", admin.token);
        let json = ("content-type", "application/json");
        let big = json!({ "name": "x".repeat(2000) }).to_string();
        let signed = ("authorization", bearer.as_str());
        let requests = [
            ("GET", "/", &[][..], ""),
            ("HEAD", "/", &[], ""),
            ("OPTIONS", "/v0/organizations", &[("access-control-request-method", "POST")], ""),
            ("OPTIONS", "/nowhere", &[], ""),
            ("GET", "/v0/organizations", &[signed], ""),
            ("POST", "/v0/organizations", &[signed, json], r#"{"name":"Analytical"}"#),
            ("DELETE", "/v0/organizations/analytical", &[signed], ""),
            ("GET", "/v0/organizations", &[], ""),
            ("GET", "/nowhere", &[], ""),
            ("DELETE", "/v0/organizations", &[], ""),
            ("POST", "/v0/organizations", &[signed, json], &big),
            ("POST", "/v0/organizations", &[signed, ("content-type", "text/plain")], "name"),
            ("POST", "/v0/organizations", &[signed, json], "{"),
            ("GET", "/healthz", &[], ""),
        ];
        let mut text = String::new();
        for (method, path, headers, body) in requests {
            let answer = server.send(request(method, path, headers, body.to_owned())).await;
            text.push_str(&format!("{method} {path} -> {}", head(&answer)));
        }
        assert_snapshot!("middleware_headers", text);
    }

    async fn every_answer_carries_an_id(server: TestServer) {
        let mut seen = BTreeSet::new();
        for path in ["/", "/v0/server/version", "/nowhere", "/v0/organizations", "/v0/users?page=x", "/%ff"] {
            let answer = server.get(path, "").await;
            let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
            assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 4);
            if answer.status.is_client_error() {
                assert_eq!(answer.text("/request_id"), id);
            }
            assert!(seen.insert(id), "an id was given twice");
        }
    }

    async fn a_preflight_lists_the_methods_of_its_path(server: TestServer) {
        let mut paths: std::collections::BTreeMap<String, BTreeSet<String>> = Default::default();
        for operation in contract::operations() {
            paths.entry(operation.path.clone()).or_default().insert(operation.method.clone());
        }
        // The registry responds as its specification defines.
        for (path, mut methods) in paths.into_iter().filter(|(path, _)| !path.starts_with("/v2")) {
            if methods.contains("GET") {
                methods.insert("HEAD".into());
            }
            methods.insert("OPTIONS".into());
            let answer = server.call(Method::OPTIONS, &path.replace(['{', '}'], ""), "", None).await.expect(200);
            let listed = answer.headers["access-control-allow-methods"].to_str().unwrap();
            assert_eq!(listed.split(", ").map(str::to_owned).collect::<BTreeSet<_>>(), methods, "{path}");
            assert_eq!((answer.body, answer.headers["x-total-count"].to_str().unwrap()), (Value::Null, "1"));
        }
    }

    async fn a_list_returns_its_total_and_everything_else_one_or_none(server: TestServer) {
        let ada = server.person("Ada").await;
        let total = |answer: &Answer| answer.headers.get("x-total-count").map(|total| total.to_str().unwrap().to_owned());
        let counted = |count: &str| Some(count.to_owned());
        for name in ["Engine", "Looms"] {
            let made = server.post("/v0/organizations", &ada.token, json!({ "name": name })).await.expect(201);
            assert_eq!(total(&made), counted("1"));
        }
        for query in ["", "?per_page=1", "?per_page=0", "?page=9"] {
            let list = server.get(&format!("/v0/organizations{query}"), &ada.token).await.expect(200);
            assert_eq!(total(&list), counted("3"), "{query}");
        }
        let found = server.get("/v0/organizations?search=loom", &ada.token).await;
        assert_eq!(total(&found), counted("1"));
        assert_eq!(total(&server.get("/v0/organizations/looms", &ada.token).await), counted("1"));
        let renamed = server.patch("/v0/organizations/looms", &ada.token, json!({ "name": "Mills" })).await;
        assert_eq!(total(&renamed), counted("1"));
        let deleted = server.delete("/v0/organizations/looms", &ada.token).await.expect(204);
        assert_eq!((total(&deleted), deleted.body), (counted("0"), Value::Null));
        assert_eq!(total(&server.get("/v0/organizations/looms", &ada.token).await.expect(404)), None);
    }

    async fn answers_are_compressed_as_the_client_likes(server: TestServer) {
        let plain = server.raw(request("GET", "/v0/server/spec", &[], "")).await;
        assert_eq!(plain.headers().get(header::CONTENT_ENCODING), None);
        assert_eq!(plain.headers()[header::VARY], "accept-encoding");
        let packed = [
            ("gzip", "gzip"),
            ("br", "br"),
            ("zstd", "zstd"),
            ("gzip, deflate, br, zstd", "zstd"),
            ("gzip;q=1.0, zstd;q=0.5", "gzip"),
            ("zstd;q=0, *", "br"),
        ];
        for (accepted, chosen) in packed {
            let accept = [("accept-encoding", accepted)];
            let answer = server.raw(request("GET", "/v0/server/spec", &accept, "")).await;
            assert_eq!(answer.headers()[header::CONTENT_ENCODING], chosen, "{accepted}");
            assert!(answer.body().len() * 4 < plain.body().len(), "{chosen} packs badly");
            assert!(unpack(&answer) == plain.body(), "{chosen} does not come back");
            let refusal = server.raw(request("GET", "/nowhere", &accept, "")).await;
            assert_eq!(refusal.headers()[header::CONTENT_ENCODING], chosen, "{accepted}");
            let refusal: Value = serde_json::from_slice(&unpack(&refusal)).unwrap();
            assert_eq!(refusal["error_code"], "not_found");
        }
        let refused = [("accept-encoding", "identity")];
        let answer = server.raw(request("GET", "/v0/server/spec", &refused, "")).await;
        assert!(answer.body() == plain.body());
    }

    async fn a_body_is_refused_with_the_place_and_the_reason(server: TestServer) {
        let ada = server.person("Ada").await;
        let bodies: [(&str, &[u8]); 13] = [
            ("/v0/organizations", b""),
            ("/v0/organizations", b"{"),
            ("/v0/organizations", b"[]"),
            ("/v0/organizations", b"{}"),
            ("/v0/organizations", b"null"),
            ("/v0/organizations", br#"{"name":5}"#),
            ("/v0/organizations", br#"{"name":""}"#),
            ("/v0/organizations", br#"{"name":"A","name":"B"}"#),
            ("/v0/organizations", br#"{"name":"A"} x"#),
            ("/v0/organizations", br#"{"name":"A"}{"name":"B"}"#),
            ("/v0/organizations", b"{\"name\":\"\xff\"}"),
            ("/v0/auth/signup", br#"{"name":"Grace","email":"grace@example.org","i_agree":"yes"}"#),
            ("/v0/server/stats", br#"{"server":{"uuid":"7"}}"#),
        ];
        let mut text = String::new();
        for (path, body) in bodies {
            let signed = format!("Bearer {}", ada.token);
            let headers = [("authorization", signed.as_str()), ("content-type", "application/json")];
            let answer = server.send(request("POST", path, &headers, body.to_vec())).await;
            let shown = String::from_utf8_lossy(body);
            text.push_str(&format!("{shown}\n  {} {}\n", answer.status.as_u16(), answer.text("/message")));
        }
        assert_snapshot!("middleware_bodies", text);
        for body in [r#"["Listed",null]"#, r#" "Listed""#] {
            server.post("/v0/organizations", &ada.token, serde_json::from_str(body).unwrap()).await.expect(400);
        }
        let deep = format!(r#"{{"other":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        let signed = format!("Bearer {}", ada.token);
        server.send(request("POST", "/v0/organizations", &[("authorization", &signed)], deep)).await.expect(400);
    }

    async fn a_body_is_json_of_bounded_size(server: TestServer = SMALL) {
        let ada = server.person("Ada").await;
        let signed = format!("Bearer {}", ada.token);
        let post = |kind: Option<&'static str>, body: Body| {
            let mut headers = vec![("authorization", signed.as_str())];
            headers.extend(kind.map(|kind| ("content-type", kind)));
            server.send(request("POST", "/v0/organizations", &headers, body))
        };
        for kind in [None, Some("application/json"), Some("Application/JSON; charset=utf-8")] {
            post(kind, r#"{"name":"Engine"}"#.into()).await.expect(201);
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
            let answer = post(Some(kind), r#"{"name":"Engine"}"#.into()).await.expect(415);
            assert_eq!(answer.text("/error_code"), "unsupported_media_type", "{kind}");
        }
        let padded = |length: usize| format!("{:length$}", r#"{"name":"Engine"}"#);
        post(None, padded(1024).into()).await.expect(201);
        assert_snapshot!("middleware_too_large", server.show(&post(None, padded(1025).into()).await));
        // Without a length, the server has to count.
        let pieces = padded(1025).into_bytes().chunks(100).map(Bytes::copy_from_slice).map(Ok::<_, std::io::Error>).collect::<Vec<_>>();
        post(None, Body::from_stream(futures_util::stream::iter(pieces))).await.expect(413);
    }

    async fn a_query_or_path_that_cannot_be_read_is_refused(server: TestServer) {
        let ada = server.person("Ada").await;
        let mut text = String::new();
        for path in [
            "/v0/organizations?per_page=256",
            "/v0/organizations?per_page=-1",
            "/v0/organizations?per_page=",
            "/v0/organizations?page=one",
            "/v0/organizations?page=1&page=2",
            "/v0/organizations?sort=color",
            "/v0/organizations?direction=up",
            "/v0/organizations?name=%20x",
            "/v0/organizations/%ff",
            "/v0/organizations/%zz",
            "/v0/organizations/a%2Fb",
            "/v0/organizations/..",
            "/v0/%4",
            "/v0/organizations/ada/allowed/fly",
            "/v0/server/stats/7",
        ] {
            let answer = server.get(path, &ada.token).await;
            text.push_str(&format!("{path}\n  {} {}\n", answer.status.as_u16(), answer.text("/message")));
        }
        assert_snapshot!("middleware_queries", text);
        server.get("/v0/organizations?color=blue&page=0&per_page=255", &ada.token).await.expect(200);
    }

    async fn empty_segments_of_a_path_do_not_count(server: TestServer) {
        for path in ["/v0/server/version/", "//v0///server/version", "/v0/server/version//?a=b"] {
            let request = Request::builder().uri(path).body(Body::empty()).unwrap();
            assert_eq!(server.raw(request).await.status(), 200, "{path}");
        }
    }

    async fn head_is_get_without_the_body(server: TestServer) {
        let ada = server.person("Ada").await;
        for (path, status) in [("/", 200), ("/v0/organizations", 200), ("/v0/organizations/nobody", 404)] {
            let got = server.get(path, &ada.token).await.expect(status);
            let head = server.call(Method::HEAD, path, &ada.token, None).await.expect(status);
            let names = |answer: &Answer| answer.headers.keys().map(|name| name.as_str().to_owned()).collect::<BTreeSet<_>>();
            // An empty body is not compressed.
            let mut expected = names(&got);
            expected.remove("vary");
            assert_eq!(expected, names(&head));
            assert_eq!(head.body, Value::Null, "{path}");
        }
        server.call(Method::HEAD, "/v0/auth/signup", "", None).await.expect(405);
    }

    async fn unknown_paths_and_methods_have_the_shared_form(server: TestServer) {
        let answer = server.get("/v1/organizations", "").await;
        assert_snapshot!("middleware_not_found", server.show(&answer));
        let answer = server.call(Method::DELETE, "/v0/organizations", "", None).await;
        assert_snapshot!("middleware_method_not_allowed", server.show(&answer));
        let brew = Method::from_bytes(b"BREW").unwrap();
        server.call(brew, "/v0/organizations", "", None).await.expect(405);
    }

    async fn an_encrypted_server_asks_to_stay_so(server: TestServer = ENCRYPTED) {
        let answer = server.get("/", "").await;
        assert_eq!(answer.headers["strict-transport-security"], "max-age=31536000");
    }

    async fn a_trusted_proxy_sets_the_client(server: TestServer = PROXIED) {
        let ada = server.person("Ada").await;
        let signed = format!("Bearer {}", ada.token);
        let cases = [
            ([192, 0, 2, 1], "203.0.113.9, 198.51.100.7, 10.1.2.3", "198.51.100.7"),
            ([192, 0, 2, 1], "", "192.0.2.1"),
            ([192, 0, 2, 1], "2001:db8::7", "2001:db8::7"),
            ([198, 51, 100, 99], "203.0.113.9", "198.51.100.99"),
        ];
        for (peer, forwarded, client) in cases {
            server.call_from(peer);
            let headers = [("authorization", signed.as_str()), ("x-forwarded-for", forwarded)];
            server.send(request("POST", "/v0/organizations", &headers, r#"{"name":"Engine"}"#)).await.expect(201);
            let log = server.get("/v0/server/audit?per_page=1", &ada.token).await.expect(200);
            assert_eq!(log.text("/0/action"), "organization.create");
            assert_eq!(log.text("/0/address"), client, "{forwarded}");
        }
    }

    async fn an_operator_sees_alive_and_ready(server: TestServer) {
        assert_eq!(server.get("/healthz", "").await.expect(200).body, "ok\n");
        assert_eq!(server.get("/readyz", "").await.expect(200).body, "ready\n");
        server.app.close().await;
        assert_eq!(server.get("/healthz", "").await.expect(200).body, "ok\n");
        let answer = server.get("/readyz", "").await;
        assert_snapshot!("middleware_not_ready", server.show(&answer));
    }

    async fn an_operator_sees_the_numbers(server: TestServer) {
        // The workers access the database from time to time.
        server.stop_workers().await;
        for _ in 0..3 {
            server.get("/v0/server/version", "").await.expect(200);
        }
        server.get("/v0/organizations/secret-name", "").await.expect(401);
        server.get("/secret-path", "").await.expect(404);
        let brew = Method::from_bytes(b"BREW").unwrap();
        server.call(brew, "/", "", None).await.expect(405);
        let answer = server.get("/metrics", "").await.expect(200);
        assert_eq!(answer.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
        let page = answer.body.as_str().unwrap();
        for line in [
            r#"tidemark_http_requests_total{method="GET",route="/v0/server/version",status="200"} 3"#,
            r#"tidemark_http_requests_total{method="GET",route="/v0/organizations/{organization}",status="401"} 1"#,
            r#"tidemark_http_requests_total{method="GET",route="none",status="404"} 1"#,
            r#"tidemark_http_requests_total{method="other",route="/",status="405"} 1"#,
            r#"tidemark_http_request_duration_seconds_count{method="GET",route="/v0/server/version"} 3"#,
            "tidemark_database_waiting 0",
            "tidemark_outbox_depth 0",
            "# EOF",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is missing in\n{page}");
        }
        for name in ["database_connections ", "database_connections_busy ", "database_statements_total "] {
            assert!(page.contains(&format!("\ntidemark_{name}")), "{name} is missing in\n{page}");
        }
        assert!(!page.contains("secret"), "a path became a label:\n{page}");
    }

    async fn the_numbers_can_have_an_address_of_their_own(server: TestServer = METRICS_APART) {
        server.get("/metrics", "").await.expect(404);
        let apart = tidemark_server::transport::router::metrics_router(server.app.clone());
        let answer = tower::ServiceExt::oneshot(apart, request("GET", "/metrics", &[], "")).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
}

/// Returns the decompressed body.
fn unpack(answer: &Response<Bytes>) -> Bytes {
    let packed = answer.body().as_ref();
    let mut plain = Vec::new();
    match answer.headers()[header::CONTENT_ENCODING].to_str().unwrap() {
        "gzip" => flate2::read::GzDecoder::new(packed).read_to_end(&mut plain).unwrap(),
        "zstd" => zstd::Decoder::new(packed).unwrap().read_to_end(&mut plain).unwrap(),
        "br" => brotli::Decompressor::new(packed, 4096).read_to_end(&mut plain).unwrap(),
        other => panic!("{other} was not asked for"),
    };
    plain.into()
}
