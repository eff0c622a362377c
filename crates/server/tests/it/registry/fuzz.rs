//! Random requests, and many concurrent pushes.

use std::sync::Arc;

use axum::http::HeaderValue;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

use super::{Client, IMAGE, INDEX, digest, image, owner};
use crate::both;

const REQUESTS: usize = 10_000;

/// Returns a text that is sometimes valid, often nearly valid, and sometimes random.
fn mangled(random: &mut StdRng, right: &str) -> String {
    let mut bytes = right.as_bytes().to_vec();
    for _ in 0..random.random_range(0..3) {
        let place = random.random_range(0..=bytes.len());
        match random.random_range(0..4) {
            0 => bytes.insert(place, random.random()),
            1 => drop(bytes.splice(place.., [])),
            2 if place < bytes.len() => bytes[place] = random.random(),
            _ => {
                let extra =
                    [":", "/", "..", "%2F", "%00", "-", "sha512:", "\u{fffd}", "{", "99999999999999999999"];
                drop(bytes.splice(place..place, extra.choose(random).unwrap().bytes()));
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a mangled text as a part of a path or query.
fn coded(random: &mut StdRng, right: &str) -> String {
    let text = mangled(random, right);
    percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC)
        .to_string()
        .replace("%2F", if random.random() { "/" } else { "%2F" })
}

both! {
    async fn nothing_malformed_is_our_fault(server: TestServer) {
        let ada = owner(&server).await;
        let blob = ada.push_blob("lab", b"layer").await;
        ada.push_image("lab", "v1", b"layer").await;
        let token = ada.token("lab").await;
        let begun = ada.call("POST /v2/lab/blobs/uploads/", &[], b"").await;
        let upload = begun.headers["docker-upload-uuid"].to_str().unwrap().to_owned();
        let manifest = image(b"{}", b"layer").to_string();
        let random = &mut StdRng::seed_from_u64(7);
        let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
        for number in 0..REQUESTS {
            let name = coded(random, "lab");
            let path = match random.random_range(0..8) {
                0 => format!("{name}/blobs/{}", coded(random, &blob)),
                1 => format!("{name}/blobs/uploads/?digest={}", coded(random, &blob)),
                2 => {
                    format!("{name}/blobs/uploads/?mount={}&from={}", coded(random, &blob), coded(random, "lab"))
                }
                3 => format!("{name}/blobs/uploads/{}?digest={}", coded(random, &upload), coded(random, &blob)),
                4 => format!("{name}/manifests/{}", coded(random, "v1")),
                5 => format!("{name}/manifests/{}", coded(random, &blob)),
                6 => format!("{name}/tags/list?n={}&last={}", coded(random, "10"), coded(random, "v1")),
                _ => format!("{name}/referrers/{}?artifactType={}", coded(random, &blob), coded(random, "a/b")),
            };
            let method = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].choose(random).unwrap();
            let mut headers = Vec::new();
            for (header, right) in [
                ("range", "bytes=0-3"),
                ("content-range", "0-4"),
                ("content-type", IMAGE),
                ("if-none-match", "*"),
            ] {
                if random.random_range(0..3) == 0 {
                    headers.push((header, mangled(random, right)));
                }
            }
            headers.retain(|(_, value)| HeaderValue::from_str(value).is_ok());
            let headers: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let token = if random.random_range(0..20) == 0 {
                mangled(random, &token).replace(|letter: char| !letter.is_ascii_graphic(), "")
            } else {
                token.clone()
            };
            let body = match random.random_range(0..3) {
                0 => Vec::new(),
                1 => mangled(random, &manifest).into_bytes(),
                _ => mangled(random, "layer").into_bytes(),
            };
            let line = format!("{method} /v2/{path}");
            let answer = ada.call_with(&token, &line, &headers, &body).await;
            let status = answer.status.as_u16();
            assert!(status < 500, "{number}: {line} {headers:?}: {status} {:#}", answer.body);
            if status >= 400 && *method != "HEAD" {
                assert!(
                    answer.body["errors"][0]["code"].is_string(),
                    "{number}: {line}: {status} {:#}",
                    answer.body
                );
            }
            *statuses.entry(status).or_default() += 1;
        }
        // The requests reached every status, and existing content is intact.
        for status in [200, 201, 202, 206, 400, 401, 404, 405, 416] {
            assert!(statuses.contains_key(&status), "{status} never came: {statuses:?}");
        }
        ada.push_image("lab", "after", b"another").await;
        ada.push_manifest("lab", "all", INDEX, &serde_json::json!({ "schemaVersion": 2, "manifests": [] })).await;
    }

    async fn one_layer_pushed_by_many_is_stored_once(server: TestServer) {
        let ada = owner(&server).await;
        let token = ada.token("lab").await;
        let layer: Vec<u8> = (0..12_000_000_u32).flat_map(u32::to_le_bytes).take(12_000_000).collect();
        let (layer, known) = (Arc::new(layer.clone()), digest(&layer));
        let server = Arc::new(server);
        let mut clients = tokio::task::JoinSet::new();
        for number in 0..16 {
            let (server, layer, known, token) = (Arc::clone(&server), Arc::clone(&layer), known.clone(), token.clone());
            clients.spawn(async move {
                let client = Client::anonymous(&server);
                let begun = client.call_with(&token, "POST /v2/lab/blobs/uploads/", &[], b"").await.expect(202);
                let place = begun.headers["location"].to_str().unwrap().to_owned();
                // Some clients send the blob whole, some in two chunks.
                let (first, rest) = layer.split_at(if number % 2 == 0 { layer.len() } else { 7_000_000 });
                client.call_with(&token, &format!("PATCH {place}"), &[], first).await.expect(202);
                client.call_with(&token, &format!("PUT {place}?digest={known}"), &[], rest).await.expect(201);
            });
        }
        while let Some(done) = clients.join_next().await {
            done.unwrap();
        }
        assert_eq!(server.objects(), 1);
        let client = Client::anonymous(&server);
        let pulled = client.call_with(&token, &format!("GET /v2/lab/blobs/{known}"), &[], b"").await.expect(200);
        assert_eq!(pulled.headers["content-length"], "12000000");
    }
}
