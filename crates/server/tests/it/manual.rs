//! The manual at `/docs`: media types, caching, the content security policy, and unknown paths. A build without the manual says
//! so; `cargo xtask test` builds it first.

use std::path::Path;

use axum::{
    body::{Body, Bytes},
    http::{Request, Response, header},
};

use crate::{TestServer, both};

const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

/// Whether this build contains the manual.
fn is_built() -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/index.html.br").exists()
}

async fn get(server: &TestServer, path: &str, accept: &str, tag: &str) -> Response<Bytes> {
    let mut request = Request::get(path).header(header::ACCEPT, accept);
    if !tag.is_empty() {
        request = request.header(header::IF_NONE_MATCH, tag);
    }
    server.raw(request.body(Body::empty()).unwrap()).await
}

both! {
    async fn the_manual_is_served_with_the_headers_of_the_console(server: TestServer) {
        let start = get(&server, "/docs/", HTML, "").await;
        if !is_built() {
            assert_eq!(start.status(), 404);
            assert!(String::from_utf8_lossy(start.body()).contains("cargo xtask docs"));
            return;
        }
        assert_eq!((start.status().as_u16(), &start.headers()["location"]), (307, &"/docs/index.html".parse().unwrap()));
        let console = get(&server, "/", HTML, "").await;
        for (path, kind) in [
            ("/docs/index.html", "text/html; charset=utf-8"),
            ("/docs/tutorials/rust.html", "text/html; charset=utf-8"),
            ("/docs/manual.css", "text/css; charset=utf-8"),
            ("/docs/manual.js", "text/javascript; charset=utf-8"),
            ("/docs/search.json", "application/json"),
        ] {
            let answer = get(&server, path, HTML, "").await;
            assert_eq!((answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()), (200, kind));
            assert_eq!(answer.headers()["cache-control"], "no-cache", "{path}");
            for name in ["content-security-policy", "permissions-policy", "x-content-type-options"] {
                assert_eq!(answer.headers().get(name), console.headers().get(name), "{path}: {name}");
            }
            let tag = answer.headers()["etag"].to_str().unwrap();
            let again = get(&server, path, HTML, tag).await;
            assert_eq!((again.status().as_u16(), again.body().len()), (304, 0), "{path}");
        }
        let page = get(&server, "/docs/index.html", HTML, "").await;
        let page = String::from_utf8_lossy(page.body()).into_owned();
        assert!(page.contains(&format!("Manual of Tidemark {}.", env!("CARGO_PKG_VERSION"))), "{page}");
    }

    async fn an_unknown_page_of_the_manual_is_not_found(server: TestServer) {
        let page = get(&server, "/docs/none/none.html", HTML, "").await;
        assert_eq!(page.status(), 404);
        assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
        let error = get(&server, "/docs/none.html", "application/json", "").await;
        assert_eq!((error.status().as_u16(), &error.headers()["content-type"]), (404, &"application/json".parse().unwrap()));
        let text = String::from_utf8_lossy(error.body()).into_owned();
        assert!(text.contains("The manual has no page at this path; GET /docs has the contents."), "{text}");
        let posted = server.raw(Request::post("/docs/index.html").body(Body::empty()).unwrap()).await;
        assert_eq!(posted.status(), 405);
    }
}
