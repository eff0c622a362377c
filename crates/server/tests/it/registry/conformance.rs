//! The checks of the four categories of the OCI distribution specification, in the order of its conformance suite:
//! pull, push, content discovery, content management.

use serde_json::{Value, json};

use super::{Client, IMAGE, INDEX, descriptor, digest, image, location, owner, range};
use crate::{Answer, both};

const REPOSITORY: &str = "lab/conformance";

/// Sends a request below the repository, which must return this status.
async fn check(
    client: &Client<'_>,
    line: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    status: u16,
) -> Answer {
    let (method, path) = line.split_once(' ').unwrap();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/v2/{REPOSITORY}/{path}") };
    let answer = client.call(&format!("{method} {path}"), headers, body).await;
    assert_eq!(answer.status.as_u16(), status, "{method} {path}: {:#}", answer.body);
    if status >= 400 && method != "HEAD" {
        assert!(answer.body["errors"][0]["code"].is_string(), "{method} {path}: {:#}", answer.body);
    }
    answer
}

/// Returns the content of a list of referrers.
fn listed(answer: &Answer) -> Vec<Value> {
    let index: Value = serde_json::from_str(answer.body.as_str().unwrap()).unwrap();
    assert_eq!((&index["schemaVersion"], &index["mediaType"]), (&json!(2), &json!(INDEX)));
    index["manifests"].as_array().unwrap().clone()
}

both! {
    async fn the_walk_of_the_specification(server: TestServer) {
        let ada = owner(&server).await;
        let ada = &ada;
        let unknown = digest(b"unknown");

        // Push: blobs in every supported way.
        let begun = check(ada, "POST blobs/uploads/", &[], b"", 202).await;
        let streamed = check(ada, &format!("PATCH {}", location(&begun)), &[("content-type", "application/octet-stream")], b"streamed", 202).await;
        let known = digest(b"streamed");
        check(ada, &format!("PUT {}?digest={known}", location(&streamed)), &[], b"", 201).await;
        check(ada, &format!("GET blobs/{known}"), &[], b"", 200).await;
        let begun = check(ada, "POST blobs/uploads/", &[], b"", 202).await;
        check(ada, &format!("PUT {}?digest={}", location(&begun), digest(b"{}")), &[], b"{}", 201).await;
        let once = digest(b"once");
        check(ada, &format!("POST blobs/uploads/?digest={once}"), &[], b"once", 201).await;

        // Push: chunks, which must arrive in order.
        let begun = check(ada, "POST blobs/uploads/", &[], b"", 202).await;
        let place = location(&begun);
        let (first, second): (&[u8], &[u8]) = (b"first chunk, ", b"second chunk");
        check(ada, &format!("PATCH {place}"), &[("content-range", "13-24")], second, 416).await;
        let sent = check(ada, &format!("PATCH {place}"), &[("content-range", "0-12")], first, 202).await;
        assert_eq!(range(&sent), "0-12");
        check(ada, &format!("PATCH {place}"), &[("content-range", "0-12")], first, 416).await;
        let status = check(ada, &format!("GET {place}"), &[], b"", 204).await;
        assert_eq!((range(&status), location(&status)), ("0-12", place.clone()));
        let chunked = digest(&[first, second].concat());
        let done = check(ada, &format!("PUT {place}?digest={chunked}"), &[("content-range", "13-24")], second, 201).await;
        assert_eq!(location(&done), format!("/v2/{REPOSITORY}/blobs/{chunked}"));

        // Push: mount from another repository, without a source, and of a blob that does not exist.
        let mount = |query: &str| format!("POST /v2/lab/mounted/blobs/uploads/?mount={query}");
        check(ada, &mount(&format!("{once}&from={REPOSITORY}")), &[], b"", 201).await;
        check(ada, &format!("GET /v2/lab/mounted/blobs/{once}"), &[], b"", 200).await;
        check(ada, &mount(&known), &[], b"", 201).await;
        check(ada, &mount(&format!("{unknown}&from={REPOSITORY}")), &[], b"", 202).await;

        // Push: manifests, including one without layers.
        let manifest = image(b"{}", b"streamed");
        for tag in 0..4 {
            ada.push_manifest(REPOSITORY, &format!("test{tag}"), IMAGE, &manifest).await;
        }
        let mut bare = image(b"{}", b"streamed");
        bare["layers"] = json!([]);
        ada.push_manifest(REPOSITORY, "bare", IMAGE, &bare).await;

        // Pull: existing and missing content, by GET and HEAD.
        let known_manifest = digest(manifest.to_string().as_bytes());
        for method in ["HEAD", "GET"] {
            check(ada, &format!("{method} blobs/{unknown}"), &[], b"", 404).await;
            let blob = check(ada, &format!("{method} blobs/{known}"), &[], b"", 200).await;
            assert_eq!(blob.headers["docker-content-digest"], known);
            check(ada, &format!("{method} manifests/.INVALID_MANIFEST_NAME"), &[], b"", 404).await;
            check(ada, &format!("{method} manifests/{unknown}"), &[], b"", 404).await;
            for reference in ["test0", &known_manifest] {
                let found = check(ada, &format!("{method} manifests/{reference}"), &[("accept", IMAGE)], b"", 200).await;
                assert_eq!(found.headers["docker-content-digest"], known_manifest);
                assert_eq!(found.headers["content-type"], IMAGE);
            }
        }

        // Content discovery: tags.
        let tags = check(ada, "GET tags/list", &[], b"", 200).await;
        assert_eq!(tags.body, json!({ "name": REPOSITORY, "tags": ["bare", "test0", "test1", "test2", "test3"] }));
        let tags = check(ada, "GET tags/list?n=2&last=test0", &[], b"", 200).await;
        assert_eq!(tags.body["tags"], json!(["test1", "test2"]));

        // Content discovery: referrers, including those of a missing manifest.
        let about = descriptor(IMAGE, manifest.to_string().as_bytes());
        assert!(listed(&check(ada, &format!("GET referrers/{known_manifest}"), &[], b"", 200).await).is_empty());
        let kind = "application/vnd.example.signature";
        let with = |subject: &Value, artifact_type: Option<&str>| {
            let mut artifact = image(b"{}", b"once");
            artifact["subject"] = subject.clone();
            if let Some(artifact_type) = artifact_type {
                artifact["artifactType"] = json!(artifact_type);
            }
            artifact
        };
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "artifactType": kind, "manifests": [], "subject": about });
        let missing = descriptor(IMAGE, b"unknown");
        for (media_type, body, subject) in [
            (IMAGE, with(&about, Some(kind)), &known_manifest),
            (IMAGE, with(&about, None), &known_manifest),
            (INDEX, index, &known_manifest),
            (IMAGE, with(&missing, Some(kind)), &unknown),
        ] {
            let body = body.to_string();
            let line = format!("PUT manifests/{}", digest(body.as_bytes()));
            let put = check(ada, &line, &[("content-type", media_type)], body.as_bytes(), 201).await;
            assert_eq!(put.headers["oci-subject"], *subject);
        }
        let all = listed(&check(ada, &format!("GET referrers/{known_manifest}"), &[], b"", 200).await);
        assert_eq!(all.len(), 3);
        let filtered = check(ada, &format!("GET referrers/{known_manifest}?artifactType={kind}"), &[], b"", 200).await;
        assert_eq!(filtered.headers["oci-filters-applied"], "artifactType");
        assert!(listed(&filtered).iter().all(|found| found["artifactType"] == kind));
        assert_eq!(listed(&filtered).len(), 2);
        assert_eq!(listed(&check(ada, &format!("GET referrers/{unknown}"), &[], b"", 200).await).len(), 1);

        // Content management: tags, manifests, blobs.
        check(ada, "DELETE manifests/test3", &[], b"", 202).await;
        check(ada, "GET manifests/test3", &[], b"", 404).await;
        check(ada, &format!("GET manifests/{known_manifest}"), &[], b"", 200).await;
        check(ada, &format!("DELETE manifests/{known_manifest}"), &[], b"", 202).await;
        check(ada, &format!("GET manifests/{known_manifest}"), &[], b"", 404).await;
        let tags = check(ada, "GET tags/list", &[], b"", 200).await;
        assert_eq!(tags.body["tags"], json!(["bare"]));
        check(ada, &format!("DELETE blobs/{known}"), &[], b"", 202).await;
        check(ada, &format!("GET blobs/{known}"), &[], b"", 404).await;
        check(ada, &format!("DELETE blobs/{known}"), &[], b"", 404).await;
    }
}
