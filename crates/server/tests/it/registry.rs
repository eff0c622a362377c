//! The container registry as its clients see it.

pub(crate) mod client;
mod conformance;
mod fuzz;
mod housekeeping;
mod quota;
mod rights;
mod s3;
mod token;
mod upload;

use insta::assert_snapshot;
use serde_json::{Value, json};

use self::client::{Client, IMAGE, INDEX, descriptor, digest, image, line, show};
use crate::{Answer, TestServer, both};

/// Returns a client for the owner of a new project `lab`.
async fn owner(server: &TestServer) -> Client<'_> {
    let ada = server.person("Ada").await;
    server.project(&ada, json!({ "name": "Lab" })).await;
    Client::user(server, &ada).await
}

/// A request: its first line, headers and body.
type Call<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [u8]);

/// Returns a transcript for a snapshot: each request line and its response.
async fn talk(client: &Client<'_>, lines: &[Call<'_>]) -> String {
    let mut text = String::new();
    for (line, headers, body) in lines {
        let answer = client.call(line, headers, body).await;
        text.push_str(&format!("> {line}\n{}\n\n", show(client.server, &answer)));
    }
    text
}

/// Returns the location at which an upload continues.
fn location(answer: &Answer) -> String {
    answer.headers["location"].to_str().unwrap().to_owned()
}

fn range(answer: &Answer) -> &str {
    answer.headers["range"].to_str().unwrap()
}

both! {
    async fn a_blob_comes_in_chunks_and_goes_out_in_parts(server: TestServer) {
        let ada = owner(&server).await;
        let begun = ada.call("POST /v2/lab/blobs/uploads/", &[], b"").await.expect(202);
        assert_snapshot!("upload_begun", show(&server, &begun));
        let place = location(&begun);
        let chunk = ada.call(&format!("PATCH {place}"), &[("content-range", "0-4")], b"Hello").await.expect(202);
        assert_eq!(range(&chunk), "0-4");
        let status = ada.call(&format!("GET {place}"), &[], b"").await.expect(204);
        assert_eq!((range(&status), location(&status)), ("0-4", place.clone()));
        let repeated = ada.call(&format!("PATCH {place}"), &[("content-range", "0-4")], b"Hello").await;
        assert_snapshot!("upload_out_of_order", show(&server, &repeated));
        for wrong in ["5-", "-", "x", "5-9999999999999999999999", "9-5", "bytes 4-9/10"] {
            ada.call(&format!("PATCH {place}"), &[("content-range", wrong)], b", you").await.expect(416);
        }
        // A chunk that is shorter than its range is discarded.
        ada.call(&format!("PATCH {place}"), &[("content-range", "5-20")], b", you").await.expect(416);
        let chunk = ada.call(&format!("PATCH {place}"), &[("content-range", "bytes 5-6/*")], b", ").await.expect(202);
        assert_eq!(range(&chunk), "0-6");
        let chunk = ada.call(&format!("PATCH {place}"), &[], b"wor").await.expect(202);
        assert_eq!(range(&chunk), "0-9");
        let whole = digest(b"Hello, world!");
        let finish = format!("PUT {place}?digest={whole}");
        let finished = ada.call(&finish, &[("content-range", "10-12")], b"ld!").await.expect(201);
        assert_snapshot!("upload_finished", show(&server, &finished));
        ada.call(&finish, &[], b"").await.expect(404);
        assert_eq!(server.objects(), 1, "the parts are gone");

        let blob = format!("/v2/lab/blobs/{whole}");
        let (get, head) = (format!("GET {blob}"), format!("HEAD {blob}"));
        let shown = talk(&ada, &[
            (&get, &[], b""),
            (&head, &[], b""),
            (&get, &[("range", "bytes=7-11")], b""),
            (&get, &[("range", "bytes=-1")], b""),
            (&get, &[("range", "bytes=13-")], b""),
            (&get, &[("range", "bytes=0-1,3-4")], b""),
            (&get, &[("if-none-match", &format!("\"{whole}\""))], b""),
        ]).await;
        assert_snapshot!("blob_parts", shown);
    }

    async fn a_blob_comes_in_one_request(server: TestServer) {
        let ada = owner(&server).await;
        ada.push_blob("lab", b"one").await;
        // An upload session that the whole blob finishes.
        let place = location(&ada.call("POST /v2/lab/blobs/uploads/", &[], b"").await);
        let two = digest(b"two");
        ada.call(&format!("PUT {place}?digest={two}"), &[], b"two").await.expect(201);
        // Like docker: one PATCH with the whole blob and no range, then an empty PUT.
        let place = location(&ada.call("POST /v2/lab/blobs/uploads/", &[], b"").await);
        ada.call(&format!("PATCH {place}"), &[], b"three").await.expect(202);
        let three = digest(b"three");
        ada.call(&format!("PUT {place}?digest={three}"), &[], b"").await.expect(201);
        // Without a session, like clients of the reference implementation.
        let four = digest(b"four");
        let put = ada.call(&format!("PUT /v2/lab/blobs/uploads?digest={four}"), &[], b"four").await.expect(201);
        assert_eq!(location(&put), format!("/v2/lab/blobs/{four}"));
        ada.call("PUT /v2/lab/blobs/uploads", &[], b"four").await.expect(400);
        // An empty blob.
        let nothing = ada.push_blob("lab", b"").await;
        let place = location(&ada.call("POST /v2/lab/blobs/uploads/", &[], b"").await);
        ada.call(&format!("PUT {place}?digest={nothing}"), &[], b"").await.expect(201);
        ada.call(&format!("GET /v2/lab/blobs/{nothing}"), &[], b"").await.expect(200);
        // SHA-512, in one piece and in two.
        let abc = "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                   2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
        ada.call(&format!("POST /v2/lab/blobs/uploads/?digest={abc}"), &[], b"abc").await.expect(201);
        let place = location(&ada.call("POST /v2/lab/abc/blobs/uploads/", &[], b"").await);
        ada.call(&format!("PATCH {place}"), &[], b"ab").await.expect(202);
        ada.call(&format!("PUT {place}?digest={abc}"), &[], b"c").await.expect(201);
        for blob in [&two, &three, &four, &nothing, abc] {
            assert_eq!(ada.status(&format!("HEAD /v2/lab/blobs/{blob}")).await, 200, "{blob}");
        }
        assert_eq!(server.objects(), 6, "each is stored once");
    }

    async fn a_wrong_upload_leaves_nothing(server: TestServer = "[plus.registry]\nmax_body_size = 10") {
        let ada = owner(&server).await;
        let wanted = digest(b"wanted");
        let mut lines = Vec::new();
        lines.push(line(&ada.call(&format!("POST /v2/lab/blobs/uploads/?digest={wanted}"), &[], b"other").await));
        let place = location(&ada.call("POST /v2/lab/blobs/uploads/", &[], b"").await);
        lines.push(line(&ada.call(&format!("PUT {place}"), &[], b"wanted").await));
        lines.push(line(&ada.call(&format!("PUT {place}?digest=md5:0"), &[], b"wanted").await));
        ada.call(&format!("PATCH {place}"), &[], b"oth").await.expect(202);
        ada.call(&format!("PATCH {place}"), &[], b"er").await.expect(202);
        lines.push(line(&ada.call(&format!("PUT {place}?digest={wanted}"), &[], b"").await));
        lines.push(line(&ada.call(&format!("PUT {place}?digest={wanted}"), &[], b"wanted").await));
        let place = location(&ada.call("POST /v2/lab/blobs/uploads/", &[], b"").await);
        ada.call(&format!("PATCH {place}"), &[], b"12345678").await.expect(202);
        lines.push(line(&ada.call(&format!("PATCH {place}"), &[], b"901").await));
        ada.call(&format!("DELETE {place}"), &[], b"").await.expect(204);
        lines.push(line(&ada.call(&format!("GET {place}"), &[], b"").await));
        lines.push(line(&ada.call("GET /v2/lab/blobs/uploads/nonsense", &[], b"").await));
        lines.push(line(&ada.call(&format!("GET /v2/lab/blobs/{wanted}"), &[], b"").await));
        assert_snapshot!("upload_refused", lines.join("\n"));
        assert_eq!(server.objects(), 0);
    }

    async fn manifests_and_tags(server: TestServer) {
        let ada = owner(&server).await;
        let manifest = ada.make_image("lab/app", b"layer").await;
        let body = manifest.to_string();
        let known = digest(body.as_bytes());
        let (by_digest, by_tag) = (format!("/v2/lab/app/manifests/{known}"), "/v2/lab/app/manifests/v1");
        let kind: &[(&str, &str)] = &[("content-type", IMAGE)];
        let layer = digest(b"layer");
        let shown = talk(&ada, &[
            (&format!("PUT {by_tag}"), kind, body.as_bytes()),
            (&format!("GET {by_tag}"), &[], b""),
            (&format!("HEAD {by_digest}"), &[], b""),
            ("PUT /v2/lab/app/manifests/latest", kind, body.as_bytes()),
            (&format!("PUT {by_digest}"), kind, body.as_bytes()),
            ("GET /v2/lab/app/tags/list", &[], b""),
            ("GET /v2/lab/tags/list", &[], b""),
            ("GET /v2/lab/other/tags/list", &[], b""),
            (&format!("DELETE /v2/lab/app/blobs/{layer}"), &[], b""),
            (&format!("DELETE {by_tag}"), &[], b""),
            (&format!("DELETE {by_tag}"), &[], b""),
            (&format!("HEAD {by_digest}"), &[], b""),
            (&format!("DELETE {by_digest}"), &[], b""),
            (&format!("DELETE {by_digest}"), &[], b""),
            ("GET /v2/lab/app/manifests/latest", &[], b""),
            (&format!("DELETE /v2/lab/app/blobs/{layer}"), &[], b""),
            (&format!("DELETE /v2/lab/app/blobs/{layer}"), &[], b""),
        ]).await;
        assert_snapshot!("manifests_and_tags", shown);
    }

    async fn a_manifest_must_make_sense(server: TestServer) {
        let ada = owner(&server).await;
        let good = ada.make_image("lab", b"layer").await;
        let with = |change: Value| {
            let mut manifest = good.clone();
            for (name, value) in change.as_object().unwrap() {
                match value {
                    Value::Null => drop(manifest.as_object_mut().unwrap().remove(name)),
                    value => manifest[name] = value.clone(),
                }
            }
            manifest.to_string()
        };
        let missing = json!([descriptor("application/vnd.oci.image.layer.v1.tar", b"missing")]);
        let foreign = json!([descriptor("application/vnd.oci.image.layer.nondistributable.v1.tar", b"missing")]);
        let child = json!([descriptor(IMAGE, b"missing")]);
        let mut lines = Vec::new();
        for (kind, body) in [
            (IMAGE, "{".to_owned()),
            (IMAGE, "[]".to_owned()),
            (IMAGE, with(json!({ "schemaVersion": 1 }))),
            (IMAGE, with(json!({ "schemaVersion": null }))),
            (IMAGE, with(json!({ "config": null }))),
            (IMAGE, with(json!({ "layers": [{ "mediaType": "a/b", "digest": "sha256:x", "size": 1 }] }))),
            (IMAGE, with(json!({ "layers": missing }))),
            (IMAGE, with(json!({ "manifests": [] }))),
            (IMAGE, with(json!({ "annotations": { "a": 1 } }))),
            (INDEX, good.to_string()),
            (INDEX, with(json!({ "mediaType": INDEX }))),
            (INDEX, with(json!({ "mediaType": INDEX, "config": null, "layers": null }))),
            (INDEX, json!({ "schemaVersion": 2, "manifests": child }).to_string()),
            ("nonsense", with(json!({ "mediaType": null }))),
            ("text/html", with(json!({ "mediaType": null }))),
            ("application/xhtml+xml", with(json!({ "mediaType": null }))),
        ] {
            lines.push(line(&ada.call("PUT /v2/lab/manifests/x", &[("content-type", kind)], body.as_bytes()).await));
        }
        let body = good.to_string();
        let other = digest(b"other");
        for reference in [other.as_str(), "sha256:x", ".x", "x%2Fy"] {
            let line_of = format!("PUT /v2/lab/manifests/{reference}");
            lines.push(line(&ada.call(&line_of, &[("content-type", IMAGE)], body.as_bytes()).await));
        }
        lines.push(line(&ada.call("GET /v2/lab/manifests/.x", &[], b"").await));
        assert_snapshot!("manifest_refused", lines.join("\n"));

        // Foreign layers, manifests without a media type, and unknown media types.
        for (kind, body) in [
            (Some(IMAGE), with(json!({ "layers": foreign }))),
            (None, with(json!({ "mediaType": null }))),
            (None, json!({ "schemaVersion": 2, "manifests": [] }).to_string()),
            (Some(INDEX), json!({ "schemaVersion": 2, "manifests": [] }).to_string()),
            (Some("application/vnd.example+json"), json!({ "schemaVersion": 2, "anything": [1] }).to_string()),
        ] {
            let headers: Vec<_> = kind.map(|kind| ("content-type", kind)).into_iter().collect();
            ada.call("PUT /v2/lab/manifests/x", &headers, body.as_bytes()).await.expect(201);
        }
        let kept = ada.call("GET /v2/lab/manifests/x", &[], b"").await.expect(200);
        assert_eq!(kept.headers["content-type"], "application/vnd.example+json");
    }

    async fn a_refused_manifest_makes_no_project(server: TestServer) {
        let ada = owner(&server).await;
        let good = image(b"{}", b"layer").to_string();
        let index = json!({ "schemaVersion": 2, "manifests": [descriptor(IMAGE, b"missing")] }).to_string();
        let empty = json!({ "schemaVersion": 2, "manifests": [] }).to_string();
        let other = digest(b"other");
        let mut lines = Vec::new();
        for (slug, who) in [("loose", &Client::anonymous(&server)), ("mine", &ada)] {
            for (reference, kind, body) in [
                ("x", IMAGE, "{"),
                ("x", "text/html", &good),
                ("x", IMAGE, &good),
                ("x", INDEX, &index),
                (&other, INDEX, &empty),
                (".x", INDEX, &empty),
            ] {
                let call = format!("PUT /v2/{slug}/manifests/{reference}");
                lines.push(line(&who.call(&call, &[("content-type", kind)], body.as_bytes()).await));
            }
            assert_eq!(server.get(&format!("/v0/projects/{slug}"), "").await.status, 404);
            who.call(&format!("PUT /v2/{slug}/manifests/x"), &[("content-type", INDEX)], empty.as_bytes()).await.expect(201);
            server.get(&format!("/v0/projects/{slug}"), "").await.expect(200);
        }
        assert_snapshot!("manifest_without_project", lines.join("\n"));
    }

    async fn tags_come_in_pages(server: TestServer) {
        let ada = owner(&server).await;
        let manifest = ada.make_image("lab", b"layer").await;
        for tag in ["b", "a", "C", "a.1", "A"] {
            ada.push_manifest("lab", tag, IMAGE, &manifest).await;
        }
        let shown = talk(&ada, &[
            ("GET /v2/lab/tags/list", &[], b""),
            ("GET /v2/lab/tags/list?n=2", &[], b""),
            ("GET /v2/lab/tags/list?n=2&last=a", &[], b""),
            ("GET /v2/lab/tags/list?n=2&last=b", &[], b""),
            ("GET /v2/lab/tags/list?n=0", &[], b""),
            ("GET /v2/lab/tags/list?n=99999999999999999999&last=0", &[], b""),
            ("GET /v2/lab/tags/list?n=-1", &[], b""),
            ("GET /v2/lab/tags/list?last=.x", &[], b""),
        ]).await;
        assert_snapshot!("tag_pages", shown);
    }

    async fn indexes_and_referrers(server: TestServer) {
        let ada = owner(&server).await;
        let image_body = ada.make_image("lab", b"layer").await;
        let subject = ada.push_manifest("lab", "v1", IMAGE, &image_body).await;
        let about = descriptor(IMAGE, image_body.to_string().as_bytes());
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [about], "subject": about,
            "artifactType": "application/vnd.example.list" });
        ada.push_manifest("lab", "all", INDEX, &index).await;
        let mut signature = image(b"{}", b"layer");
        signature["subject"] = about.clone();
        signature["annotations"] = json!({ "org.example.by": "Ada" });
        let body = signature.to_string();
        let put = ada.call("PUT /v2/lab/manifests/signature", &[("content-type", IMAGE)], body.as_bytes()).await;
        assert_snapshot!("manifest_with_subject", show(&server, &put.expect(201)));
        let unknown = digest(b"unknown");
        let shown = talk(&ada, &[
            (&format!("GET /v2/lab/referrers/{subject}"), &[], b""),
            (&format!("GET /v2/lab/referrers/{subject}?artifactType=application/vnd.example.list"), &[], b""),
            (&format!("GET /v2/lab/referrers/{unknown}"), &[], b""),
            (&format!("GET /v2/lab/other/referrers/{unknown}"), &[], b""),
            ("GET /v2/lab/referrers/nonsense", &[], b""),
        ]).await;
        assert_snapshot!("referrers", shown);
        ada.call("DELETE /v2/lab/manifests/signature", &[], b"").await.expect(202);
        let gone = digest(body.as_bytes());
        ada.call(&format!("DELETE /v2/lab/manifests/{gone}"), &[], b"").await.expect(202);
        let left = ada.call(&format!("GET /v2/lab/referrers/{subject}"), &[], b"").await.expect(200);
        assert!(!left.body.to_string().contains(&gone));
    }

    async fn blobs_are_mounted(server: TestServer) {
        let ada = owner(&server).await;
        let layer = ada.push_blob("lab", b"layer").await;
        let mount = |query: &str| format!("POST /v2/lab/copy/blobs/uploads/?mount={layer}{query}");
        ada.call(&mount("&from=lab/elsewhere"), &[], b"").await.expect(202);
        let mounted = ada.call(&mount("&from=lab"), &[], b"").await;
        assert_snapshot!("blob_mounted", show(&server, &mounted.expect(201)));
        ada.call(&format!("GET /v2/lab/copy/blobs/{layer}"), &[], b"").await.expect(200);
        // Without a source repository, and by an anonymous client, because the project is public.
        let anybody = Client::anonymous(&server);
        anybody.call(&format!("POST /v2/new/blobs/uploads/?mount={layer}"), &[], b"").await.expect(201);
        anybody.call(&format!("POST /v2/new/a/blobs/uploads/?mount={layer}&from=lab"), &[], b"").await.expect(201);
        assert_eq!(line(&ada.call("POST /v2/lab/blobs/uploads/?mount=x&from=lab", &[], b"").await).split(' ').next(), Some("400"));
        assert_eq!(line(&ada.call(&mount("&from=LAB"), &[], b"").await).split(' ').next(), Some("400"));
        // Blobs of a private project cannot be mounted.
        server.patch("/v0/projects/lab", &server.login("ada@example.org").await, json!({ "visibility": "private" })).await.expect(200);
        let secret = ada.push_blob("lab", b"secret").await;
        for query in ["", "&from=lab"] {
            let mount = format!("POST /v2/new/blobs/uploads/?mount={secret}{query}");
            anybody.call(&mount, &[], b"").await.expect(202);
        }
        assert_eq!(server.objects(), 2);
    }

    async fn paths_methods_and_origins(server: TestServer) {
        let ada = owner(&server).await;
        let token = ada.token("lab").await;
        let blob = digest(b"");
        let mut lines = Vec::new();
        for call in [
            "GET /v2/".to_owned(),
            "HEAD /v2/".to_owned(),
            "POST /v2/".to_owned(),
            "GET /v2/_catalog".to_owned(),
            "GET /v2/lab".to_owned(),
            "GET /v2/Lab/tags/list".to_owned(),
            "GET /v2/a_b/tags/list".to_owned(),
            "GET /v2/%FF/tags/list".to_owned(),
            "GET /v2/../tags/list".to_owned(),
            "GET /v2/lab/blobs/uploads/".to_owned(),
            "POST /v2/lab/tags/list".to_owned(),
            format!("POST /v2/lab/referrers/{blob}"),
            format!("PUT /v2/lab/blobs/{blob}"),
            "PATCH /v2/lab/manifests/x".to_owned(),
            "POST /v2/lab/blobs/uploads/x".to_owned(),
            "OPTIONS /v2/lab/manifests/x".to_owned(),
        ] {
            let answer = ada.call_with(&token, &call, &[], b"").await;
            assert_eq!(answer.headers["docker-distribution-api-version"], "registry/2.0");
            let allow = answer.headers.get("allow").map_or("", |allow| allow.to_str().unwrap());
            lines.push(format!("{call}: {} [{allow}]", line(&answer)));
        }
        assert_snapshot!("registry_paths", lines.join("\n"));
    }
}
