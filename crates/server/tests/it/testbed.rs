//! Testbeds: their spec.

use insta::assert_snapshot;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Lab, both};

const METAL: &str = "0190a000-0000-7000-8000-000000000001";
const RETIRED: &str = "0190a000-0000-7000-8000-000000000002";

async fn with_specs(lab: &Lab) {
    for (uuid, slug, archived) in [(METAL, "metal", None::<i64>), (RETIRED, "retired", Some(1))] {
        lab.sql(
            "insert into spec (uuid, name, slug, os, architecture, cpu, memory, disk, network, created, modified, archived)
             values ($1, $2, $2, 'linux', 'x86_64', 4, 8589934592, 10737418240, $3, 0, 0, $4)",
            vec![Box::new(Uuid::parse_str(uuid).unwrap()), Box::new(slug.to_owned()), Box::new(false), Box::new(archived)],
        )
        .await;
    }
}

both! {
    async fn a_spec_is_given_and_taken(server: TestServer) {
        let lab = Lab::open(server).await;
        with_specs(&lab).await;
        let made = lab.post("testbeds", json!({ "name": "box", "spec": "metal" })).await;
        assert_snapshot!("testbed_with_spec", lab.server.show(&made));
        assert_eq!(lab.get("testbeds").await.body, json!([made.body]));
        for spec in ["missing", "retired", RETIRED] {
            let answer = lab.post("testbeds", json!({ "name": "other", "spec": spec })).await;
            assert_snapshot!("testbed_no_spec", lab.server.show(&answer));
            lab.patch("testbeds/box", json!({ "name": "renamed", "spec": spec })).await.expect(404);
        }
        assert_eq!(lab.names("testbeds").await, ["box"]);

        let bare = lab.patch("testbeds/box", json!({ "spec": null })).await.expect(200);
        assert_eq!(bare.body["spec"], Value::Null);
        // The testbed can be shown with any spec, whether it had this spec or not.
        for uuid in [METAL, RETIRED] {
            let shown = lab.get(&format!("testbeds/box?spec={uuid}")).await.expect(200);
            assert_eq!(shown.text("/spec/uuid"), uuid);
        }
        assert_eq!(lab.get("testbeds/box").await.body["spec"], Value::Null);
        lab.get(&format!("testbeds/box?spec={}", Uuid::nil())).await.expect(404);
        lab.get("testbeds/box?spec=metal").await.expect(400);
        let again = lab.patch("testbeds/box", json!({ "spec": METAL })).await.expect(200);
        assert_eq!(again.text("/spec/slug"), "metal");
        let kept = lab.patch("testbeds/box", json!({ "name": "Box" })).await.expect(200);
        assert_eq!(kept.text("/spec/slug"), "metal");
    }

    async fn a_change_is_strict(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.make("testbeds", "box").await;
        for patch in [json!({ "name": null }), json!({ "archived": null }), json!({ "colour": "red" }), json!({ "spec": 1 })] {
            lab.patch("testbeds/box", patch).await.expect(400);
        }
        for name in ["", " a", "a ", &"x".repeat(65)] {
            lab.post("testbeds", json!({ "name": name })).await.expect(400);
        }
        lab.post("testbeds", json!({})).await.expect(400);
    }
}
