//! `/v0/projects/{project}/plots`

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Answer, Person, TestServer, both};

const PROJECT: &str = "/v0/projects/lab";
const PLOTS: &str = "/v0/projects/lab/plots";

/// Returns Ada, her project, and the body of a plot with two of each dimension.
async fn lab(server: &TestServer) -> (Person, Value) {
    let ada = server.person("Ada").await;
    server.project(&ada, json!({ "name": "Lab" })).await;
    let mut plot = json!({
        "lower_value": true, "upper_value": false, "lower_boundary": false, "upper_boundary": true,
        "x_axis": "date_time", "window": 2_592_000,
    });
    for kind in ["branches", "testbeds", "benchmarks", "measures"] {
        let two = [
            server.dimension(&ada, PROJECT, kind, "two").await,
            server.dimension(&ada, PROJECT, kind, "one").await,
        ];
        plot[kind] = json!(two);
    }
    (ada, plot)
}

fn with(plot: &Value, field: &str, value: Value) -> Value {
    let mut plot = plot.clone();
    plot[field] = value;
    plot
}

fn titled(plot: &Value, title: &str) -> Value {
    with(plot, "title", json!(title))
}

fn path(plot: &Answer) -> String {
    format!("{PLOTS}/{}", plot.text("/uuid"))
}

async fn titles(server: &TestServer, query: &str) -> Vec<Value> {
    let list = server.get(&format!("{PLOTS}?{query}"), "").await.expect(200);
    list.body.as_array().unwrap().iter().map(|plot| plot["title"].clone()).collect()
}

both! {
    async fn a_plot_is_pinned(server: TestServer) {
        let (ada, plot) = lab(&server).await;
        let pinned = server.post(PLOTS, &ada.token, plot.clone()).await;
        assert_snapshot!("plot_create", server.show(&pinned));
        assert_eq!(server.get(&path(&pinned), "").await.expect(200).body, pinned.body);
        assert_eq!(pinned.body["branches"], plot["branches"], "in the order that was given");

        let (one, two) = (&plot["measures"][0], &plot["measures"][1]);
        let twice = with(&plot, "measures", json!([two, one, two, two, one]));
        let twice = server.post(PLOTS, &ada.token, twice).await.expect(201);
        assert_eq!(twice.body["measures"], json!([two, one]));

        let elsewhere = server.project(&ada, json!({ "name": "Elsewhere" })).await;
        let foreign = server.dimension(&ada, &elsewhere, "branches", "main").await;
        let mut lines = Vec::new();
        for (field, value) in [
            ("branches", json!([])),
            ("measures", json!([])),
            ("branches", json!([foreign])),
            ("benchmarks", json!([one])),
            ("testbeds", json!(["localhost"])),
            ("testbeds", Value::Null),
            ("index", json!(65)),
            ("index", json!(-1)),
            ("window", json!(0)),
            ("x_axis", json!("time")),
            ("y_axis", json!("sqrt")),
            ("title", json!("")),
            ("title", json!("x".repeat(65))),
            ("lower_value", json!("yes")),
        ] {
            lines.push(server.post(PLOTS, &ada.token, with(&plot, field, value)).await.line());
        }
        let foreign_path = format!("{elsewhere}/plots/{}", pinned.text("/uuid"));
        lines.push(server.get(&foreign_path, &ada.token).await.line());
        lines.push(server.patch(&foreign_path, &ada.token, json!({})).await.line());
        lines.push(server.delete(&foreign_path, &ada.token).await.line());
        lines.push(server.get(&format!("{PLOTS}/first"), "").await.line());
        assert_snapshot!("plot_wrong", lines.join("\n"));
        assert_eq!(server.get(PLOTS, "").await.total(), 2);

        server.delete(&path(&pinned), &ada.token).await.expect(204);
        server.delete(&path(&pinned), &ada.token).await.expect(404);
        assert_eq!(server.get(PLOTS, "").await.total(), 1);
    }

    async fn plots_stand_where_they_were_put(server: TestServer) {
        let (ada, plot) = lab(&server).await;
        let mut made = Vec::new();
        for (title, index) in [("a", None), ("b", None), ("c", Some(64)), ("d", Some(1)), ("e", Some(3)), ("f", Some(0))] {
            let body = with(&titled(&plot, title), "index", json!(index));
            made.push(server.post(PLOTS, &ada.token, body).await.expect(201));
        }
        assert_eq!(titles(&server, "").await, ["f", "b", "d", "a", "e", "c"]);
        assert_eq!(titles(&server, "direction=desc&per_page=2").await, ["c", "e"]);
        let (a, f) = (path(&made[0]), path(&made[5]));
        for (plot, index, order) in [
            (&a, 0, ["a", "f", "b", "d", "e", "c"]),
            (&a, 5, ["f", "b", "d", "e", "c", "a"]),
            (&a, 64, ["f", "b", "d", "e", "c", "a"]),
            (&f, 2, ["b", "d", "f", "e", "c", "a"]),
            (&f, 2, ["b", "d", "f", "e", "c", "a"]),
            (&a, 1, ["b", "a", "d", "f", "e", "c"]),
        ] {
            server.patch(plot, &ada.token, json!({ "index": index })).await.expect(200);
            assert_eq!(titles(&server, "").await, order);
        }
        server.delete(&path(&made[3]), &ada.token).await.expect(204);
        let body = with(&titled(&plot, "g"), "index", json!(2));
        server.post(PLOTS, &ada.token, body).await.expect(201);
        assert_eq!(titles(&server, "").await, ["b", "a", "g", "f", "e", "c"]);
        let untouched = server.get(&path(&made[4]), "").await;
        assert_eq!(untouched.text("/modified"), made[4].text("/modified"), "moving others does not touch it");
    }

    async fn a_plot_changes_in_its_place(server: TestServer) {
        let (ada, plot) = lab(&server).await;
        let first = server.post(PLOTS, &ada.token, titled(&plot, "first")).await.expect(201);
        server.post(PLOTS, &ada.token, titled(&plot, "front")).await.expect(201);
        server.pass(60);
        let path = path(&first);
        let mut expected = first.body.clone();
        expected["modified"] = json!("2026-01-01T00:01:00.000Z");
        assert_eq!(server.patch(&path, &ada.token, json!({})).await.expect(200).body, expected);
        let change = json!({
            "title": null, "lower_value": false, "upper_value": true, "lower_boundary": true, "upper_boundary": false,
            "x_axis": "version", "y_axis": "log", "window": 60, "benchmarks": [plot["benchmarks"][1]],
            "branches": [plot["branches"][1], plot["branches"][0], plot["branches"][1]],
        });
        assert_snapshot!("plot_patch", server.show(&server.patch(&path, &ada.token, change).await));
        assert_eq!(titles(&server, "").await, [json!("front"), Value::Null]);

        let before = server.get(&path, "").await.body;
        let elsewhere = server.project(&ada, json!({ "name": "Elsewhere" })).await;
        let foreign = server.dimension(&ada, &elsewhere, "measures", "main").await;
        let mut lines = Vec::new();
        for patch in [
            json!({ "title": "new", "branches": [] }),
            json!({ "title": "new", "index": 0, "measures": [foreign] }),
            json!({ "branches": null }),
            json!({ "index": null }),
            json!({ "index": 65 }),
            json!({ "window": null }),
            json!({ "lower_value": null }),
            json!({ "y_axis": null }),
            json!({ "project": "elsewhere" }),
        ] {
            lines.push(server.patch(&path, &ada.token, patch).await.line());
        }
        assert_snapshot!("plot_patch_wrong", lines.join("\n"));
        assert_eq!(server.get(&path, "").await.body, before);
        assert_eq!(titles(&server, "").await, [json!("front"), Value::Null]);
    }

    async fn plots_are_searched_and_sorted_by_title(server: TestServer) {
        let (ada, plot) = lab(&server).await;
        server.post(PLOTS, &ada.token, plot.clone()).await.expect(201);
        for title in ["beta", "Alpha", "100%", "beta"] {
            server.post(PLOTS, &ada.token, titled(&plot, title)).await.expect(201);
        }
        let uuid = server.get(PLOTS, "").await.text("/0/uuid");
        for (query, expected) in [
            ("sort=index", json!(["beta", "100%", "Alpha", "beta", null])),
            ("sort=title", json!([null, "100%", "Alpha", "beta", "beta"])),
            ("sort=title&direction=desc&per_page=3", json!(["beta", "beta", "Alpha"])),
            ("title=beta", json!(["beta", "beta"])),
            ("title=alpha", json!([])),
            ("search=ALP", json!(["Alpha"])),
            ("search=%25", json!(["100%"])),
            (&format!("search={uuid}"), json!(["beta"])),
        ] {
            assert_eq!(json!(titles(&server, query).await), expected, "{query}");
        }
        assert_eq!(server.get(&format!("{PLOTS}?per_page=2&title=beta"), "").await.total(), 2);
        for query in ["sort=name", "title=", "direction=left"] {
            server.get(&format!("{PLOTS}?{query}"), "").await.expect(400);
        }
    }

    async fn a_project_has_at_most_64_plots(server: TestServer) {
        let (ada, plot) = lab(&server).await;
        let mut last = None;
        for _ in 0..64 {
            last = Some(server.post(PLOTS, &ada.token, plot.clone()).await.expect(201));
        }
        assert_snapshot!("plot_too_many", server.show(&server.post(PLOTS, &ada.token, plot.clone()).await));
        server.delete(&path(&last.unwrap()), &ada.token).await.expect(204);
        server.post(PLOTS, &ada.token, plot).await.expect(201);
    }

    async fn a_plot_loses_a_deleted_dimension(server: TestServer) {
        let (ada, mut plot) = lab(&server).await;
        for kind in ["branches", "testbeds", "benchmarks", "measures"] {
            let pinned = server.post(PLOTS, &ada.token, plot.clone()).await.expect(201);
            let single = with(&plot, kind, json!([plot[kind][0]]));
            let single = server.post(PLOTS, &ada.token, single).await.expect(201);
            server.delete(&format!("{PROJECT}/{kind}/two"), &ada.token).await.expect(204);
            plot[kind] = json!([plot[kind][1]]);
            assert_eq!(server.get(&path(&pinned), "").await.expect(200).body[kind], plot[kind]);
            server.get(&path(&single), "").await.expect(404);
        }
        assert_eq!(server.get(PLOTS, "").await.total(), 4);
        server.delete(&format!("{PROJECT}/testbeds/one"), &ada.token).await.expect(204);
        assert_eq!(server.get(PLOTS, "").await.total(), 0);
    }
}
