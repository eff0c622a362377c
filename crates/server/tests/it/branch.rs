//! Branches: names, heads and start points.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_store::Tx;
use uuid::Uuid;

use crate::{Lab, both};

/// Returns the hash of a commit of the branch with this digit.
fn hash(digit: char, number: i64) -> String {
    format!("{}{number:032x}", digit.to_string().repeat(8))
}

impl Lab {
    /// Adds versions with these numbers to the current head of a branch, each with a hash if there is a digit.
    async fn grow(&self, branch: &str, numbers: std::ops::Range<i64>, digit: Option<char>) {
        let branch = branch.to_owned();
        let grow = move |tx: &mut Tx<'_>| {
            let head: i64 = tx.value(
                "select head.id from head join branch on branch.id = head.branch_id
                 where branch.name = $1 and head.replaced is null",
                &[&branch],
            )?;
            for number in numbers {
                tx.execute(
                    "insert into version (head_id, number, hash, created) values ($1, $2, $3, 0)",
                    &[&head, &number, &digit.map(|digit| hash(digit, number))],
                )?;
            }
            Ok(())
        };
        self.server.app.db.write::<_, tidemark_store::Error, _>(grow).await.unwrap();
    }

    /// Returns the lineage of the current head: the branch of each source, with the first and the last number.
    async fn lineage(&self, branch: &str) -> Vec<(String, i64, i64)> {
        let branch = branch.to_owned();
        let read = move |tx: &mut Tx<'_>| {
            let rows: Vec<((String, i64), i64)> = tx.fetch_all(
                "select source.name, segment.first_number, segment.last_number from segment
                 join head on head.id = segment.head_id and head.replaced is null
                 join branch on branch.id = head.branch_id
                 join head as source_head on source_head.id = segment.source_head_id
                 join branch as source on source.id = source_head.branch_id
                 where branch.name = $1 order by segment.first_number",
                &[&branch],
            )?;
            Ok(rows.into_iter().map(|((name, first), last)| (name, first, last)).collect())
        };
        self.server.app.db.read::<_, tidemark_store::Error, _>(read).await.unwrap()
    }

    /// Creates a branch with a start point.
    async fn branch(&self, name: &str, start_point: Value) -> Value {
        self.post("branches", json!({ "name": name, "start_point": start_point })).await.expect(201).body
    }

    /// Patches the start point; returns the branch and whether it got a new head.
    async fn restart(&self, branch: &str, start_point: Value) -> (Value, bool) {
        let path = format!("branches/{branch}");
        let before = self.get(&path).await.expect(200);
        let after = self.patch(&path, json!({ "start_point": start_point })).await.expect(200);
        let moved = before.text("/head/uuid") != after.text("/head/uuid");
        (after.body, moved)
    }

    async fn count(&self, sql: &'static str) -> i64 {
        let count = move |tx: &mut Tx<'_>| tx.value(sql, &[]);
        self.server.app.db.read::<_, tidemark_store::Error, _>(count).await.unwrap()
    }

    /// Returns the thresholds of a branch: testbed, boundary of the current model, and the UUID of the model.
    async fn thresholds(&self, branch: &str) -> Vec<(String, Option<f64>, Option<String>)> {
        let list = self.get(&format!("thresholds?per_page=255&branch={branch}")).await.expect(200).body;
        let mut found: Vec<_> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                let model = &one["model"];
                let testbed = one["testbed"]["name"].as_str().unwrap().to_owned();
                (testbed, model["upper_boundary"].as_f64(), model["uuid"].as_str().map(str::to_owned))
            })
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    }
}

both! {
    async fn a_name_is_a_git_reference(server: TestServer) {
        let lab = Lab::open(server).await;
        let [longest, too_long] = [256, 257].map(|length| "x".repeat(length));
        for name in ["main", "MAIN", "refs/heads/main", "a/b-c", "x#y", "größe/北京", &longest] {
            assert_eq!(lab.make("branches", name).await.text("/name"), name);
        }
        for name in [
            "", "/a", "a/", "a//b", "a..b", "a@{b", "a*", "a b", "a~b", "a^b", "a:b", "a?b", "a[b", "a\\b",
            "a\u{1}b", "a\u{7f}", ".a", "a.", "a/.b", "a.lock", "a.lock/b", &too_long, &"é".repeat(129),
        ] {
            let answer = lab.post("branches", json!({ "name": name })).await;
            assert_eq!(answer.status, 400, "{name:?}");
            let answer = lab.patch("branches/main", json!({ "name": name })).await;
            assert_eq!(answer.status, 400, "{name:?}");
        }
        let answer = lab.post("branches", json!({ "name": "a b" })).await;
        assert_snapshot!("branch_bad_name", lab.server.show(&answer));
        let answer = lab.get("branches?name=a%20b").await;
        assert_snapshot!("branch_bad_name_filter", lab.server.show(&answer));
    }

    async fn a_start_point_is_found(server: TestServer) {
        let lab = Lab::open(server).await;
        let segment = |name: &str, first, last| (name.to_owned(), first, last);
        for name in ["main", "empty"] {
            lab.make("branches", name).await;
        }
        lab.grow("main", 0..10, Some('a')).await;
        let a = lab.branch("a", json!({ "branch": "main" })).await;
        assert_eq!(a["head"]["start_point"]["version"], json!({ "number": 9, "hash": hash('a', 9) }));
        assert_eq!(lab.lineage("a").await, [segment("main", 0, 9)]);

        // The hash in upper case, the branch by its UUID.
        lab.grow("a", 10..15, Some('b')).await;
        let b = lab.branch("b", json!({ "branch": a["uuid"], "hash": hash('b', 12).to_uppercase() })).await;
        assert_eq!(b["head"]["start_point"]["version"]["number"], 12);
        assert_eq!(lab.lineage("b").await, [segment("main", 0, 9), segment("a", 10, 12)]);

        lab.grow("b", 13..16, Some('c')).await;
        lab.branch("c", json!({ "branch": "b", "max_versions": 5 })).await;
        assert_eq!(lab.lineage("c").await, [segment("a", 11, 12), segment("b", 13, 15)]);
        lab.branch("most", json!({ "branch": "b", "max_versions": u32::MAX })).await;
        assert_eq!(lab.lineage("most").await, [segment("main", 0, 9), segment("a", 10, 12), segment("b", 13, 15)]);

        // A version that the source itself inherited.
        let d = lab.branch("d", json!({ "branch": "b", "hash": hash('a', 4) })).await;
        assert_eq!(
            d["head"]["start_point"],
            json!({
                "branch": b["uuid"], "head": b["head"]["uuid"],
                "version": { "number": 4, "hash": hash('a', 4) },
            })
        );
        assert_eq!(lab.lineage("d").await, [segment("main", 0, 4)]);
        // The source has this version, but only up to its own start point.
        let e = lab.branch("e", json!({ "branch": "b", "hash": hash('b', 14) })).await;
        assert_eq!(e["head"]["start_point"]["version"]["number"], 15);

        for (name, hash) in [("none", Value::Null), ("none-inherited", json!(hash('a', 4)))] {
            let none = lab.branch(name, json!({ "branch": "b", "hash": hash, "max_versions": 0 })).await;
            assert!(none["head"]["start_point"].is_object(), "{none}");
            assert_eq!(lab.lineage(name).await, []);
        }
        let unknown = lab.branch("unknown", json!({ "branch": "main", "hash": hash('f', 1) })).await;
        assert_eq!(unknown["head"]["start_point"]["version"]["number"], 9);
        for source in ["missing", "empty", "0190a000-0000-7000-8000-000000000000"] {
            let ignored = lab.branch(&format!("from-{source}"), json!({ "branch": source })).await;
            assert_eq!(ignored["head"]["start_point"], Value::Null);
        }

        // A slug takes precedence over a name.
        lab.post("branches", json!({ "name": "Feature", "slug": "topic" })).await.expect(201);
        lab.post("branches", json!({ "name": "topic", "slug": "feature" })).await.expect(201);
        lab.grow("Feature", 0..1, None).await;
        lab.grow("topic", 0..2, None).await;
        for (wanted, number) in [("topic", 0), ("Feature", 0), ("feature", 1)] {
            let found = lab.branch(&format!("of-{wanted}"), json!({ "branch": wanted })).await;
            assert_eq!(found["head"]["start_point"]["version"]["number"], number, "{wanted}");
        }

        lab.make("branches", "long").await;
        lab.grow("long", 0..300, Some('d')).await;
        lab.branch("default", json!({ "branch": "long" })).await;
        assert_eq!(lab.lineage("default").await, [segment("long", 45, 299)]);
    }

    async fn a_start_point_moves_a_head_or_not(server: TestServer) {
        let lab = Lab::open(server).await;
        for name in ["target", "empty", "one", "two", "plain"] {
            lab.make("branches", name).await;
        }
        lab.grow("one", 0..2, Some('a')).await;
        lab.grow("two", 0..1, Some('b')).await;
        lab.grow("plain", 0..1, None).await;
        let moved = async |start_point: Value| lab.restart("target", start_point).await.1;

        for nothing in [json!({}), json!({ "branch": "missing" }), json!({ "branch": "empty" }), json!({ "reset": false })] {
            assert!(!moved(nothing.clone()).await, "{nothing}");
        }
        let (branch, is_moved) = lab.restart("target", json!({ "branch": "one" })).await;
        assert!(is_moved, "no start point before");
        assert_eq!(branch["head"]["start_point"]["version"]["number"], 1);
        lab.grow("one", 2..3, Some('a')).await;
        assert!(!moved(json!({ "branch": "one" })).await, "the source has moved on");
        assert!(!moved(json!({ "branch": "one", "hash": hash('a', 1) })).await, "the same hash");
        assert!(moved(json!({ "branch": "one", "hash": hash('a', 0) })).await, "another hash");
        assert!(!moved(json!({ "branch": "one", "hash": hash('f', 0) })).await, "a hash that the source does not have");
        lab.grow("one", 3..4, None).await;
        assert!(!moved(json!({ "branch": "one", "hash": hash('f', 0) })).await, "the source has moved on");
        assert!(moved(json!({ "branch": "plain" })).await, "another branch");
        lab.grow("plain", 1..2, Some('c')).await;
        assert!(!moved(json!({ "branch": "plain" })).await, "no hash was given");
        assert!(moved(json!({ "branch": "plain", "hash": hash('c', 1) })).await, "the first hash");
        assert!(moved(json!({ "branch": "two" })).await, "another branch with a hash");

        // The version that it started from is no longer on the source.
        lab.restart("two", json!({ "reset": true })).await;
        lab.grow("two", 0..1, Some('d')).await;
        assert!(!moved(json!({ "branch": "two", "hash": hash('b', 0) })).await, "the same hash, gone since");

        let (branch, is_moved) = lab.restart("target", json!({ "branch": "two", "reset": true })).await;
        assert!(is_moved, "reset");
        assert_eq!(branch["head"]["start_point"]["version"]["hash"], hash('d', 0));
        assert!(moved(json!({ "branch": "two", "reset": true })).await, "reset again");
        let (branch, is_moved) = lab.restart("target", json!({ "reset": true })).await;
        assert!(is_moved, "reset to nothing");
        assert_eq!(branch["head"]["start_point"], Value::Null);
        assert_eq!(lab.lineage("target").await, []);
        assert!(moved(json!({ "reset": true })).await, "reset of an empty head");
    }

    async fn replaced_heads_are_kept(server: TestServer) {
        let lab = Lab::open(server).await;
        let first = lab.make("branches", "main").await;
        let other = lab.make("branches", "other").await;
        lab.grow("other", 0..3, Some('a')).await;
        lab.server.pass(60);
        lab.restart("main", json!({ "branch": "other" })).await;
        assert_snapshot!("branch_new_head", lab.server.show(&lab.get("branches/main").await));
        let old = first.text("/head/uuid");
        assert_snapshot!("branch_old_head", lab.server.show(&lab.get(&format!("branches/main?head={old}")).await));
        for (head, status) in [(other.text("/head/uuid"), 404), (Uuid::nil().to_string(), 404), ("x".into(), 400)] {
            lab.get(&format!("branches/main?head={head}")).await.expect(status);
        }
        assert_snapshot!("branch_no_head", lab.server.show(&lab.get(&format!("branches/other?head={old}")).await));
        // Deleting the source removes the start point.
        lab.delete("branches/other").await.expect(204);
        assert_eq!(lab.get("branches/main").await.body["head"]["start_point"], Value::Null);
    }

    async fn a_change_is_all_or_nothing(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.make("branches", "taken").await;
        let before = lab.make("branches", "main").await.body;
        lab.server.pass(60);
        for change in [json!({ "name": "taken" }), json!({ "slug": "taken" })] {
            let mut patch = change.clone();
            patch["start_point"] = json!({ "reset": true });
            patch["archived"] = json!(true);
            lab.patch("branches/main", patch).await.expect(409);
            assert_eq!(lab.get("branches/main").await.body, before);
        }
        let patch = json!({ "name": "trunk", "slug": "root", "archived": true, "start_point": { "reset": true } });
        lab.patch("branches/main", patch).await.expect(200);
        let after = lab.get("branches/root").await.expect(200).body;
        assert_ne!(after["head"]["uuid"], before["head"]["uuid"]);
        assert_eq!((&after["name"], &after["modified"]), (&json!("trunk"), &after["archived"]));
    }

    async fn thresholds_are_cloned(server: TestServer) {
        let lab = Lab::open(server).await;
        for name in ["source", "target"] {
            lab.make("branches", name).await;
        }
        lab.grow("source", 0..1, None).await;
        lab.make("measures", "Latency").await;
        let put = async |branch: &str, testbed: &str, boundary: Option<f64>| {
            let threshold = json!({
                "branch": branch, "testbed": testbed, "measure": "latency",
                "test": "static", "upper_boundary": boundary.unwrap_or(1.0),
            });
            let made = lab.post("thresholds", threshold).await.expect(201).text("/uuid");
            if boundary.is_none() {
                let path = format!("/v0/projects/lab/thresholds/{made}");
                lab.server.call(axum::http::Method::PUT, &path, &lab.token, Some(json!({ "test": null }))).await.expect(200);
            }
        };
        for (testbed, source, target) in [
            ("1 missing", Some(Some(10.0)), None),
            ("2 same", Some(Some(10.0)), Some(Some(10.0))),
            ("3 other", Some(Some(10.0)), Some(Some(20.0))),
            ("4 without", Some(Some(10.0)), Some(None)),
            ("5 removed", Some(None), Some(Some(20.0))),
            ("6 absent", None, Some(Some(20.0))),
            ("7 both without", Some(None), Some(None)),
        ] {
            lab.make("testbeds", testbed).await;
            for (branch, boundary) in [("source", source), ("target", target)] {
                if let Some(boundary) = boundary {
                    put(branch, testbed, boundary).await;
                }
            }
        }
        let before = lab.thresholds("target").await;
        lab.restart("target", json!({ "branch": "source" })).await;
        assert_eq!(lab.thresholds("target").await, before, "no thresholds were requested");

        // The head stays, but the thresholds are still cloned.
        let (_, moved) = lab.restart("target", json!({ "branch": "source", "clone_thresholds": true })).await;
        assert!(!moved);
        let after = lab.thresholds("target").await;
        let boundaries: Vec<_> = after.iter().map(|(testbed, boundary, _)| (testbed.as_str(), *boundary)).collect();
        assert_eq!(
            boundaries,
            [
                ("1 missing", Some(10.0)), ("2 same", Some(10.0)), ("3 other", Some(10.0)), ("4 without", Some(10.0)),
                ("5 removed", None), ("6 absent", None), ("7 both without", None),
            ]
        );
        assert_eq!(after[1], before[0], "the same model is left alone");
        lab.restart("target", json!({ "branch": "source", "clone_thresholds": true })).await;
        assert_eq!(lab.thresholds("target").await, after, "a second time changes nothing");

        lab.branch("child", json!({ "branch": "source", "clone_thresholds": true })).await;
        let child: Vec<_> = lab.thresholds("child").await.into_iter().map(|(testbed, boundary, _)| (testbed, boundary)).collect();
        let source: Vec<_> = lab.thresholds("source").await.into_iter().map(|(testbed, boundary, _)| (testbed, boundary)).collect();
        assert_eq!(child, source);
        lab.branch("bare", json!({ "branch": "source" })).await;
        assert_eq!(lab.thresholds("bare").await, []);
    }

    async fn a_head_costs_the_same_whatever_its_history(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.make("branches", "main").await;
        lab.make("branches", "other").await;
        let post = async |prefix: &str| {
            let start_point = json!({ "branch": "main", "hash": hash('a', 1), "max_versions": u32::MAX });
            lab.cost(async |round| {
                lab.branch(&format!("{prefix}-{round}"), start_point.clone()).await;
            })
            .await
        };
        let patch = async || {
            lab.cost(async |_| {
                lab.restart("other", json!({ "branch": "main", "reset": true })).await;
            })
            .await
        };
        lab.grow("main", 0..3, Some('a')).await;
        let short = (post("short").await, patch().await);
        lab.grow("main", 3..3_000, Some('a')).await;
        assert_eq!((post("long").await, patch().await), short);
        assert_eq!(lab.lineage("other").await, [("main".to_owned(), 2_745, 2_999)]);
    }

    async fn of_many_new_heads_one_is_in_force(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.make("branches", "main").await;
        let reset = async || lab.patch("branches/main", json!({ "start_point": { "reset": true } })).await.expect(200);
        let heads = tokio::join!(reset(), reset(), reset(), reset());
        let current = lab.get("branches/main").await.text("/head/uuid");
        assert!([heads.0, heads.1, heads.2, heads.3].iter().any(|answer| answer.text("/head/uuid") == current));
        assert_eq!(lab.count("select count(*) from head where replaced is null").await, 1);
        assert_eq!(lab.count("select count(*) from head").await, 5);
    }
}
