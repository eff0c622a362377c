//! The functions of the store that find or create what a report names.

use std::collections::HashSet;

use serde_json::json;
use tidemark_api::{BUILT_IN, Benchmark, Branch, Measure, NameId, Testbed};
use tidemark_store::{BenchmarkId, Dimension, Error, MeasureId, Tx, benchmark, branch, measure, testbed};

use crate::{Lab, both};

impl Lab {
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.server.app.db.write(work).await
    }

    async fn ensure_benchmarks(&self, names: &[&str]) -> Result<Vec<BenchmarkId>, Error> {
        let (fresh, project, wanted) = (self.server.app.fresh(), self.id, names_of(names));
        self.write(move |tx| benchmark::ensure(tx, &fresh, project, &any(&wanted))).await
    }

    async fn ensure_measures(&self, names: &[&str]) -> Result<Vec<MeasureId>, Error> {
        let (fresh, project, wanted) = (self.server.app.fresh(), self.id, names_of(names));
        let wanted = move |tx: &mut Tx<'_>| {
            let wanted: Vec<_> = wanted.iter().map(|(key, name)| (key, name, None)).collect();
            measure::ensure(tx, &fresh, project, &wanted)
        };
        self.write(wanted).await
    }

    /// Returns the names of these benchmarks, in their order.
    async fn benchmarks(&self, keys: Vec<BenchmarkId>) -> Vec<String> {
        let read = move |tx: &mut Tx<'_>| {
            keys.into_iter().map(|key| Ok(Benchmark::view(tx, key)?.name.to_string())).collect()
        };
        self.server.app.db.read::<_, Error, _>(read).await.unwrap()
    }
}

fn names_of<N: std::str::FromStr<Err: std::fmt::Debug>>(names: &[&str]) -> Vec<(NameId, N)> {
    names.iter().map(|name| (name.parse().unwrap(), name.parse().unwrap())).collect()
}

/// Returns references that may be a UUID, a slug or a name.
fn any<N>(wanted: &[(NameId, N)]) -> Vec<(Option<&NameId>, &N)> {
    wanted.iter().map(|(reference, name)| (Some(reference), name)).collect()
}

both! {
    async fn references_are_tried_in_turn(server: TestServer) {
        let lab = Lab::open(server).await;
        let crossed = [("Alpha", "beta"), ("beta", "gamma"), ("gamma", "delta")];
        for (name, slug) in crossed {
            lab.post("benchmarks", json!({ "name": name, "slug": slug })).await.expect(201);
        }
        let uuid = lab.get("benchmarks/delta").await.text("/uuid");
        let wanted = ["beta", "gamma", "delta", "Alpha", &uuid, &uuid.replace('-', "").to_uppercase()];
        let keys = lab.ensure_benchmarks(&wanted).await.unwrap();
        assert_eq!(lab.benchmarks(keys).await, ["Alpha", "beta", "gamma", "Alpha", "gamma", "gamma"]);
        assert_eq!(lab.total("benchmarks").await, 3, "nothing was made");
        let unknown = lab.ensure_benchmarks(&["new", "0190a000-0000-7000-8000-000000000000"]).await;
        assert!(matches!(unknown, Err(Error::NotFound("benchmark"))), "{unknown:?}");
        assert_eq!(lab.total("benchmarks").await, 3, "not even the other one");
        // A name may look like a UUID if a benchmark has this name.
        let odd = "67e5504410b1426f9247bb680e5fe0c8";
        lab.make("benchmarks", odd).await;
        let keys = lab.ensure_benchmarks(&[odd]).await.unwrap();
        assert_eq!(lab.benchmarks(keys).await, [odd]);
    }

    async fn missing_ones_are_made(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.post("benchmarks", json!({ "name": "other", "slug": "fib-20" })).await.expect(201);
        let long = "x".repeat(100);
        let wanted = ["fib(20)", "sort", "fib(20)", "###", &long, "a b", "a.b"];
        let keys = lab.ensure_benchmarks(&wanted).await.unwrap();
        assert_eq!(lab.benchmarks(keys.clone()).await, wanted);
        assert_eq!(keys[0], keys[2], "the same name is one benchmark");
        assert_eq!(lab.ensure_benchmarks(&wanted).await.unwrap(), keys);
        assert_eq!(lab.total("benchmarks").await, 7);
        let list = lab.get("benchmarks").await.body;
        let slug = |name: &str| {
            let one = list.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
            (one["slug"].as_str().unwrap().to_owned(), one["uuid"].as_str().unwrap().to_owned())
        };
        assert!(slug("fib(20)").0.starts_with("fib-20-"));
        assert_eq!(slug("sort").0, "sort");
        assert_eq!(slug("###").0, slug("###").1);
        assert_eq!(slug(&long).0, slug(&long).1);
        assert!(slug("a b").0 == "a-b" && slug("a.b").0.starts_with("a-b-"));

        let (fresh, project) = (lab.server.app.fresh(), lab.id);
        let make = move |tx: &mut Tx<'_>| {
            let (name, reference) = ("feature/x".parse().unwrap(), "feature/x".parse().unwrap());
            let made = branch::ensure(tx, &fresh, project, &reference, &name, None)?;
            let again = branch::ensure(tx, &fresh, project, &"feature-x".parse().unwrap(), &"feature-x".parse().unwrap(), None)?;
            let machine = testbed::ensure(tx, &fresh, project, &"My Box".parse().unwrap(), &"My Box".parse().unwrap())?;
            Ok((made == again, Branch::view(tx, made)?, Testbed::view(tx, machine)?))
        };
        let (same, made, machine) = lab.write(make).await.unwrap();
        assert!(same && made.head.replaced.is_none());
        assert_eq!((made.slug.as_str(), machine.slug.as_str()), ("feature-x", "my-box"));
        assert_eq!((lab.total("branches").await, lab.total("testbeds").await), (1, 1));
    }

    async fn two_spellings_are_one(server: TestServer) {
        let lab = Lab::open(server).await;
        let keys = lab.ensure_benchmarks(&["my-bench", "My Bench"]).await.unwrap();
        assert_eq!(lab.benchmarks(keys).await, ["My Bench", "My Bench"]);
        let keys = lab.ensure_benchmarks(&["my-bench", "My Bench", "MY BENCH"]).await.unwrap();
        assert_eq!(lab.benchmarks(keys).await, ["My Bench", "My Bench", "MY BENCH"]);
        assert_eq!(lab.total("benchmarks").await, 2);
    }

    async fn archived_ones_are_revived(server: TestServer) {
        let lab = Lab::open(server).await;
        for (name, slug) in [("one", "one"), ("two", "two"), ("x", "three"), ("three", "y"), ("four", "four")] {
            lab.post("benchmarks", json!({ "name": name, "slug": slug })).await.expect(201);
            lab.patch(&format!("benchmarks/{slug}"), json!({ "archived": true })).await.expect(200);
        }
        lab.server.pass(60);
        // `three` matches a slug first: the benchmark that only has this name stays archived.
        lab.ensure_benchmarks(&["one", "two", "one", "three", "five"]).await.unwrap();
        assert_eq!(lab.names("benchmarks").await, ["five", "one", "two", "x"]);
        assert_eq!(lab.names("benchmarks?archived=true").await, ["four", "three"]);
        assert_eq!((lab.total("benchmarks").await, lab.total("benchmarks?archived=true").await), (4, 2));
        let one = lab.get("benchmarks/one").await;
        assert!(one.text("/modified") > one.text("/created"));
    }

    async fn built_in_measures_introduce_themselves(server: TestServer) {
        let lab = Lab::open(server).await;
        let slugs: Vec<_> = BUILT_IN.iter().map(|one| one.slug).collect();
        let names: Vec<_> = BUILT_IN.iter().map(|one| one.name).collect();
        let keys = lab.ensure_measures(&slugs).await.unwrap();
        assert_eq!(lab.ensure_measures(&names).await.unwrap(), keys);
        assert_eq!(keys.iter().map(|key| key.get()).collect::<HashSet<_>>().len(), BUILT_IN.len());
        let read = move |tx: &mut Tx<'_>| keys.into_iter().map(|key| Measure::view(tx, key)).collect::<Result<Vec<_>, _>>();
        for (made, known) in lab.server.app.db.read(read).await.unwrap().iter().zip(BUILT_IN) {
            assert_eq!((made.slug.as_str(), made.name.as_str(), made.units.as_str()), (known.slug, known.name, known.units));
        }
        let keys = lab.ensure_measures(&["latency", "Latency", "Errors", "my-own"]).await.unwrap();
        assert_eq!(keys[0], keys[1]);
        let own = lab.get("measures/my-own").await;
        assert_eq!((own.text("/name"), own.text("/units")), ("my-own".into(), "Measure (units)".into()));
    }

    async fn racing_creators_agree(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.make("benchmarks", "bench 7").await;
        lab.patch("benchmarks/bench-7", json!({ "archived": true })).await.expect(200);
        let names: Vec<String> = (0..200).map(|number| format!("bench {number}")).collect();
        let racers = (0..8).map(|racer| {
            let (app, project) = (lab.server.app.clone(), lab.id);
            let mut wanted: Vec<_> = names.iter().enumerate().map(|(place, name)| (place, name.clone())).collect();
            // Each task uses a different order.
            wanted.rotate_left(racer * 25);
            if racer % 2 == 1 {
                wanted.reverse();
            }
            tokio::spawn(async move {
                let fresh = app.fresh();
                let references = names_of(&wanted.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>());
                let made = app.db.write(move |tx| benchmark::ensure(tx, &fresh, project, &any(&references))).await;
                let mut keys: Vec<_> = wanted.iter().map(|(place, _)| *place).zip(made.unwrap()).collect();
                keys.sort_by_key(|(place, _)| *place);
                keys.into_iter().map(|(_, key)| key).collect::<Vec<_>>()
            })
        });
        let mut answers = Vec::new();
        for racer in racers.collect::<Vec<_>>() {
            answers.push(racer.await.unwrap());
        }
        assert!(answers.iter().all(|keys| *keys == answers[0]));
        assert_eq!(lab.benchmarks(answers.swap_remove(0)).await, names);
        assert_eq!((lab.total("benchmarks").await, lab.total("benchmarks?archived=true").await), (200, 0));
        assert_eq!(lab.total("benchmarks?search=bench").await, 200);
    }

    async fn racing_branches_share_a_head(server: TestServer) {
        let lab = Lab::open(server).await;
        let make = async || {
            let (fresh, project) = (lab.server.app.fresh(), lab.id);
            let ensure = move |tx: &mut Tx<'_>| branch::ensure(tx, &fresh, project, &"main".parse().unwrap(), &"main".parse().unwrap(), None);
            lab.write(ensure).await.unwrap()
        };
        let keys = tokio::join!(make(), make(), make(), make());
        assert!(keys.0 == keys.1 && keys.1 == keys.2 && keys.2 == keys.3);
        assert_eq!(lab.total("branches").await, 1);
        lab.get("branches/main").await.expect(200);
    }

    async fn the_cost_does_not_grow(server: TestServer) {
        let lab = Lab::open(server).await;
        let cost = async |count: usize| {
            let names = move |round| (0..count).map(|number| format!("{count}-{round}-{number}")).collect::<Vec<_>>();
            let make = async |round| {
                let names: Vec<String> = names(round);
                lab.ensure_benchmarks(&names.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
            };
            (lab.cost(make).await, lab.cost(make).await)
        };
        assert_eq!(cost(10).await, cost(1_000).await);
    }
}
