//! What branches, testbeds, benchmarks and measures have in common.

use std::slice;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    Lab, both,
    lab::{DIMENSIONS, named},
};

both! {
    async fn every_route(server: TestServer) {
        let lab = Lab::open(server).await;
        for noun in DIMENSIONS {
            let made = lab.make(noun, "Some.Name").await;
            assert_snapshot!(format!("dimension_create_{noun}"), lab.server.show(&made));
            for id in ["some-name", &made.text("/uuid"), &made.text("/uuid").replace('-', "")] {
                assert_eq!(lab.get(&format!("{noun}/{id}")).await.expect(200).body, made.body);
            }
            assert_eq!(lab.get(noun).await.body, json!([made.body]));

            lab.server.pass(60);
            let path = format!("{noun}/some-name");
            let touched = lab.patch(&path, json!({})).await.expect(200);
            assert_snapshot!(format!("dimension_touch_{noun}"), lab.server.show(&touched));
            lab.patch(&path, json!({ "name": "Other" })).await.expect(200);
            let renamed = lab.get(&path).await.expect(200);
            assert_eq!((renamed.text("/name"), renamed.text("/slug")), ("Other".into(), "some-name".into()));
            lab.patch(&path, json!({ "slug": "other" })).await.expect(200);
            let missing = lab.get(&path).await;
            assert_snapshot!(format!("dimension_missing_{noun}"), lab.server.show(&missing));
            lab.patch(&path, json!({})).await.expect(404);
            lab.delete(&path).await.expect(404);
            lab.get(&format!("{noun}/Other")).await.expect(400);
            assert_eq!(lab.delete(&format!("{noun}/other")).await.expect(204).body, Value::Null);
            lab.get(&format!("{noun}/other")).await.expect(404);
        }
    }

    async fn slugs_come_from_names(server: TestServer) {
        let lab = Lab::open(server).await;
        for noun in DIMENSIONS {
            for (name, slug) in [
                ("feature/ABC_1-.x", "feature-abc-1-x"),
                ("--a__b--", "a-b"),
                ("tests//bench_a", "tests-bench-a"),
                ("Æúű--cool", "aeuu-cool"),
                ("北京", "bei-jing"),
            ] {
                let name = if noun == "branches" { name.replace("//", "/") } else { name.to_owned() };
                assert_eq!(lab.make(noun, &name).await.text("/slug"), slug, "{noun} {name}");
            }
            // The derived slug is empty or very long.
            for name in ["###".to_owned(), "é".repeat(32) + &"x".repeat(32), "x".repeat(64)] {
                let made = lab.make(noun, &name).await;
                let slug = if name.len() == 64 { name } else if name.starts_with('é') { "e".repeat(32) + &"x".repeat(32) } else { made.text("/uuid") };
                assert_eq!(made.text("/slug"), slug, "{noun}");
                lab.get(&format!("{noun}/{slug}")).await.expect(200);
            }
            if matches!(noun, "branches" | "benchmarks") {
                let made = lab.make(noun, &"y".repeat(65)).await;
                assert_eq!(made.text("/slug"), made.text("/uuid"));
            }
            for slug in ["", "A", "a--b", "-a", "a_b", &"x".repeat(65), "67e55044-10b1-426f-9247-bb680e5fe0c8"] {
                let mut body = named(noun, "bad");
                body["slug"] = json!(slug);
                lab.post(noun, body).await.expect(400);
                lab.patch(&format!("{noun}/a-b"), json!({ "slug": slug })).await.expect(400);
            }
        }
    }

    async fn names_and_slugs_are_unique(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.server.post("/v0/organizations/ada/projects", &lab.token, json!({ "name": "Twin" })).await.expect(201);
        for noun in DIMENSIONS {
            let first = lab.make(noun, "Main").await;
            let again = lab.post(noun, named(noun, "Main")).await;
            assert_snapshot!(format!("dimension_same_name_{noun}"), lab.server.show(&again));
            // Another name with the same slug, and an explicit slug.
            let second = lab.make(noun, "main").await;
            let mut body = named(noun, "third");
            body["slug"] = json!("main");
            let third = lab.post(noun, body).await.expect(201);
            let slugs = [second.text("/slug"), third.text("/slug")];
            for slug in &slugs {
                let suffix = slug.strip_prefix("main-").unwrap();
                assert!(suffix.len() == 8 && suffix.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()));
            }
            assert_ne!(slugs[0], slugs[1]);
            let full = lab.make(noun, &"z".repeat(64)).await.text("/slug");
            let cut = lab.make(noun, &"Z".repeat(64)).await.text("/slug");
            assert_eq!((cut.len(), &cut[..56]), (64, format!("{}-", &full[..55]).as_str()));

            // A change to a taken name or slug fails instead of adding a suffix.
            for change in [json!({ "slug": "main" }), json!({ "name": "Main" })] {
                let answer = lab.patch(&format!("{noun}/{}", slugs[1]), change.clone()).await;
                let word = if change["slug"].is_null() { "name" } else { "slug" };
                assert_snapshot!(format!("dimension_change_to_taken_{word}_{noun}"), lab.server.show(&answer));
            }
            lab.patch(&format!("{noun}/main"), json!({ "name": "Main", "slug": "main" })).await.expect(200);
            let twin = lab.server.post(&format!("/v0/projects/twin/{noun}"), &lab.token, named(noun, "Main")).await;
            assert_eq!(twin.expect(201).text("/slug"), "main");
            lab.server.get(&format!("/v0/projects/twin/{noun}/{}", first.text("/uuid")), &lab.token).await.expect(404);
            lab.server.delete(&format!("/v0/projects/twin/{noun}/{}", slugs[0]), &lab.token).await.expect(404);
        }
    }

    async fn archived_ones_stand_apart(server: TestServer) {
        let lab = Lab::open(server).await;
        for noun in DIMENSIONS {
            for name in ["b", "C", "a"] {
                lab.make(noun, name).await;
            }
            let archived = format!("{noun}?archived=true");
            assert_eq!(lab.names(noun).await, ["a", "b", "C"]);
            assert_eq!(lab.names(&format!("{noun}?direction=desc&sort=name")).await, ["C", "b", "a"]);
            assert_eq!((lab.total(noun).await, lab.total(&archived).await), (3, 0));

            lab.server.pass(60);
            let path = format!("{noun}/b");
            let first = lab.patch(&path, json!({ "archived": true })).await.expect(200);
            assert_eq!(first.text("/archived"), first.text("/modified"));
            assert_eq!((lab.names(noun).await, lab.names(&archived).await), (vec!["a".to_owned(), "C".into()], vec!["b".to_owned()]));
            assert_eq!((lab.total(noun).await, lab.total(&archived).await), (2, 1));
            lab.get(&path).await.expect(200);

            lab.server.pass(60);
            let again = lab.patch(&path, json!({ "archived": true })).await.expect(200);
            assert!(again.text("/archived") > first.text("/archived"), "archiving again restamps");
            assert_eq!((lab.total(noun).await, lab.total(&archived).await), (2, 1));
            // Its name stays taken.
            lab.post(noun, named(noun, "b")).await.expect(409);

            for _ in 0..2 {
                let back = lab.patch(&path, json!({ "archived": false })).await.expect(200);
                assert_eq!(back.body["archived"], Value::Null);
                assert_eq!((lab.total(noun).await, lab.total(&archived).await), (3, 0));
            }
            lab.patch(&path, json!({ "archived": true })).await.expect(200);
            lab.delete(&path).await.expect(204);
            lab.delete(&format!("{noun}/a")).await.expect(204);
            assert_eq!((lab.total(noun).await, lab.total(&archived).await), (1, 0));
        }
    }

    async fn who_archives_at_once_is_counted_once(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.make("benchmarks", "one").await;
        let archive = async || lab.patch("benchmarks/one", json!({ "archived": true })).await.expect(200);
        tokio::join!(archive(), archive(), archive(), archive());
        assert_eq!((lab.total("benchmarks").await, lab.total("benchmarks?archived=true").await), (0, 1));
        let delete = async || lab.delete("benchmarks/one").await.status.as_u16();
        let mut ends: [u16; 3] = tokio::join!(delete(), delete(), delete()).into();
        ends.sort_unstable();
        assert_eq!(ends, [204, 404, 404]);
        assert_eq!(lab.total("benchmarks?archived=true").await, 0);
    }

    async fn slugs_created_concurrently_are_distinct(server: TestServer) {
        let lab = Lab::open(server).await;
        let make = async |name: &str| lab.post("testbeds", json!({ "name": name })).await.status.as_u16();
        assert_eq!(tokio::join!(make("a b"), make("a-b"), make("A B"), make("a.b")), (201, 201, 201, 201));
        let mut ends: [u16; 3] = tokio::join!(make("x"), make("x"), make("x")).into();
        ends.sort_unstable();
        assert_eq!(ends, [201, 409, 409]);
        assert_eq!(lab.total("testbeds").await, 5);
    }

    async fn a_search_finds_any_part(server: TestServer) {
        let lab = Lab::open(server).await;
        for noun in DIMENSIONS {
            for name in ["Alpha100%", "alpha_beta", "alphaXbeta", "quote\"d'x'", "ab", "gone"] {
                lab.make(noun, name).await;
            }
            let mut body = named(noun, "Gamma");
            body["slug"] = json!("custom-slug");
            let gamma = lab.post(noun, body).await.expect(201);
            lab.patch(&format!("{noun}/gone"), json!({ "archived": true })).await.expect(200);
            let uuid = gamma.text("/uuid");
            for (search, expected) in [
                ("PHA", vec!["Alpha100%", "alpha_beta", "alphaXbeta"]),
                ("phaxB", vec!["alphaXbeta"]),
                ("0%25", vec!["Alpha100%"]),
                ("00%25", vec!["Alpha100%"]),
                ("%25", vec!["Alpha100%"]),
                ("_", vec!["alpha_beta"]),
                ("_B", vec!["alpha_beta"]),
                ("a_b", vec!["alpha_beta"]),
                ("a%5Fb", vec!["alpha_beta"]),
                ("%5C", vec![]),
                ("a%5C_b", vec![]),
                ("%22", vec!["quote\"d'x'"]),
                ("e%22d%27", vec!["quote\"d'x'"]),
                ("'x'", vec!["quote\"d'x'"]),
                ("custom-s", vec!["Gamma"]),
                ("m-", vec!["Gamma"]),
                ("gamma", vec!["Gamma"]),
                ("ab", vec!["ab"]),
                ("G", vec!["Gamma"]),
                ("alpha%20OR%20gamma", vec![]),
                ("alpha*", vec![]),
                ("gone", vec![]),
                (&uuid, vec!["Gamma"]),
                (&uuid.to_uppercase(), vec!["Gamma"]),
                (&uuid[..35], vec!["Gamma"]),
                ("00000000-0000-0000-0000-000000000000", vec![]),
                ("ffffffff", vec![]),
            ] {
                let path = format!("{noun}?search={search}");
                assert_eq!(lab.names(&path).await, expected, "{path}");
                assert_eq!(lab.total(&path).await, i64::try_from(expected.len()).unwrap(), "{path}");
            }
            // All were created at the same time, which is the prefix of their UUIDs.
            assert_eq!(lab.total(&format!("{noun}?search={}", &uuid[..8])).await, 6);
            assert_eq!(lab.total(&format!("{noun}?search=")).await, 6);
            assert_eq!(lab.names(&format!("{noun}?search=gone&archived=true")).await, ["gone"]);
            lab.get(&format!("{noun}?search=%00")).await.expect(400);

            // A renamed item is found by its new name and slug only.
            lab.patch(&format!("{noun}/custom-slug"), json!({ "name": "Delta", "slug": "delta" })).await.expect(200);
            assert_eq!(lab.total(&format!("{noun}?search=gamma")).await, 0);
            assert_eq!(lab.total(&format!("{noun}?search=custom")).await, 0);
            assert_eq!(lab.names(&format!("{noun}?search=delt")).await, ["Delta"]);
            lab.delete(&format!("{noun}/delta")).await.expect(204);
            assert_eq!(lab.total(&format!("{noun}?search=delt")).await, 0);
        }
    }

    async fn a_search_stays_in_its_project(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.server.post("/v0/organizations/ada/projects", &lab.token, json!({ "name": "Twin" })).await.expect(201);
        for noun in DIMENSIONS {
            let here = lab.make(noun, "needle").await;
            lab.server.post(&format!("/v0/projects/twin/{noun}"), &lab.token, named(noun, "needles")).await.expect(201);
            for search in ["n", "ne", "needle", &here.text("/uuid")[..8]] {
                assert_eq!(lab.names(&format!("{noun}?search={search}")).await, ["needle"]);
            }
        }
    }

    async fn lists_are_filtered_and_paged(server: TestServer) {
        let lab = Lab::open(server).await;
        for noun in DIMENSIONS {
            for number in 0..10 {
                lab.make(noun, &format!("n{number}")).await;
            }
            lab.make(noun, "N3").await;
            assert_eq!(lab.names(&format!("{noun}?name=n3")).await, ["n3"]);
            assert_eq!(lab.total(&format!("{noun}?name=n3")).await, 1);
            assert_eq!(lab.names(&format!("{noun}?name=n3&search=N")).await, ["n3"]);
            assert_eq!(lab.total(&format!("{noun}?name=n3&search=zzz")).await, 0);
            assert_eq!(lab.total(&format!("{noun}?name=n3&archived=true")).await, 0);
            assert_eq!(lab.names(noun).await.len(), 8);
            assert_eq!(lab.names(&format!("{noun}?page=0&per_page=2")).await, ["n0", "n1"]);
            // Names that differ only in case: the older first.
            assert_eq!(lab.names(&format!("{noun}?page=2&per_page=3")).await, ["n3", "N3", "n4"]);
            assert_eq!(lab.names(&format!("{noun}?page=2&per_page=3&direction=desc")).await, ["n6", "n5", "n4"]);
            for path in ["page=9", "per_page=0", "page=4294967295&per_page=255"] {
                let path = format!("{noun}?{path}");
                assert_eq!((lab.names(&path).await, lab.total(&path).await), (vec![], 11));
            }
            for path in ["per_page=256", "sort=slug", "direction=up", "archived=yes", "archived="] {
                lab.get(&format!("{noun}?{path}")).await.expect(400);
            }
        }
    }

    async fn a_list_costs_the_same_however_long(server: TestServer) {
        let lab = Lab::open(server).await;
        for noun in DIMENSIONS {
            lab.make(noun, "one").await;
            let list = async |query: &str| {
                lab.cost(async |_| {
                    lab.get(&format!("{noun}?per_page=255{query}")).await.expect(200);
                })
                .await
            };
            let (few, found) = (list("").await, list("&search=one").await);
            for number in 0..20 {
                lab.make(noun, &format!("one-{number}")).await;
            }
            assert_eq!((list("").await, list("&search=one").await), (few, found), "{noun}");
        }
    }

    async fn a_used_one_cannot_be_deleted(server: TestServer) {
        let lab = Lab::open(server).await;
        for (noun, name) in [("branches", "main"), ("testbeds", "box"), ("measures", "Latency")] {
            lab.make(noun, name).await;
        }
        let threshold = json!({ "branch": "main", "testbed": "box", "measure": "latency", "test": "static", "upper_boundary": 1.0 });
        let threshold = lab.post("thresholds", threshold).await.expect(201).text("/uuid");
        let paths = ["branches/main", "testbeds/box", "measures/latency"];
        for path in paths {
            let answer = lab.delete(path).await;
            assert_eq!(answer.status, 409, "{path}");
            assert_snapshot!("dimension_in_use", lab.server.show(&answer));
            lab.get(path).await.expect(200);
        }
        assert_eq!((lab.total("branches").await, lab.total("testbeds").await, lab.total("measures").await), (1, 1, 1));
        lab.delete(&format!("thresholds/{threshold}")).await.expect(204);
        for path in paths {
            lab.delete(path).await.expect(204);
        }
        assert_eq!((lab.total("branches").await, lab.total("testbeds").await, lab.total("measures").await), (0, 0, 0));
    }

    async fn a_project_key_changes_all_but_the_name(server: TestServer) {
        let lab = Lab::open(server).await;
        let key = lab.post("keys", json!({ "name": "ci" })).await.expect(201).text("/key");
        for noun in DIMENSIONS {
            let path = format!("/v0/projects/lab/{noun}");
            lab.server.post(&path, &key, named(noun, "one")).await.expect(201);
            let path = format!("{path}/one");
            for change in [json!({ "name": "two" }), json!({ "slug": "two" }), json!({ "name": "one", "archived": true })] {
                let answer = lab.server.patch(&path, &key, change).await;
                assert_eq!(answer.status, 403);
                assert_snapshot!("dimension_key_renames", lab.server.show(&answer));
            }
            lab.server.patch(&path, &key, json!({ "archived": true })).await.expect(200);
            lab.server.patch(&path, &key, json!({ "archived": false })).await.expect(200);
            lab.server.delete(&path, &key).await.expect(403);
        }
        let units = json!({ "units": "minutes (min)" });
        let answer = lab.server.patch("/v0/projects/lab/measures/one", &key, units).await.expect(200);
        assert_eq!(answer.text("/units"), "minutes (min)");
        lab.server.patch("/v0/projects/lab/branches/one", &key, json!({ "start_point": { "reset": true } })).await.expect(200);
        lab.server.patch("/v0/projects/lab/testbeds/one", &key, json!({ "spec": null })).await.expect(200);
    }

    async fn lists_show_the_newest_run(server: TestServer) {
        let lab = Lab::open(server).await;
        for noun in ["branches", "testbeds", "measures"] {
            lab.make(noun, "Unused").await;
        }
        let run = async |day: u32, branch: &str, testbed: &str| {
            lab.alarm(day, &[&["a"]], json!({ "branch": branch, "testbed": testbed })).await.text("/uuid")
        };
        // A run that began earlier is sent later.
        let third = run(3, "main", "ci").await;
        let first = run(1, "main", "metal").await;
        let fifth = run(5, "pr", "ci").await;
        let newest = async |list: &str| -> Vec<(String, Value)> {
            let rows = lab.get(list).await.expect(200).body;
            let row = |row: &Value| (row["name"].as_str().unwrap().to_owned(), row["newest_run"]["report"].clone());
            rows.as_array().unwrap().iter().map(row).collect()
        };
        let named = |name: &str, report: &str| (name.to_owned(), json!(report));
        let unused = ("Unused".to_owned(), Value::Null);
        assert_eq!(newest("branches?sort=newest_run").await, [named("pr", &fifth), named("main", &third), unused.clone()]);
        assert_eq!(newest("branches").await, [named("main", &third), named("pr", &fifth), unused.clone()]);
        assert_eq!(newest("testbeds?sort=newest_run&direction=asc").await, [named("metal", &first), named("ci", &fifth), unused.clone()]);
        assert_eq!(newest("measures?sort=newest_run").await, [named("Latency", &fifth), unused.clone()]);
        assert_eq!(newest("branches?sort=newest_run&search=n&per_page=1&page=2").await, slice::from_ref(&unused));
        assert_eq!(newest("testbeds?sort=newest_run&name=metal").await, [named("metal", &first)]);
        assert_eq!(newest("testbeds?sort=newest_run&archived=true").await, []);
        assert_snapshot!("newest_run", lab.server.show(&lab.get("measures?sort=newest_run").await));
        lab.get("benchmarks?sort=newest_run").await.expect(400);
        // The next run is the newest after a report is deleted.
        lab.delete(&format!("reports/{fifth}")).await.expect(204);
        let none = ("pr".to_owned(), Value::Null);
        assert_eq!(newest("branches?sort=newest_run").await, [named("main", &third), none, unused.clone()]);
        assert_eq!(newest("testbeds?sort=newest_run").await, [named("ci", &third), named("metal", &first), unused.clone()]);
        assert_eq!(newest("measures").await, [named("Latency", &third), unused]);
    }
}
