//! Measures: their units.

use serde_json::json;

use crate::{Lab, both};

both! {
    async fn units_are_needed_and_changed(server: TestServer) {
        let lab = Lab::open(server).await;
        lab.post("measures", json!({ "name": "Speed" })).await.expect(400);
        for units in ["", " m", &"x".repeat(65)] {
            lab.post("measures", json!({ "name": "Speed", "units": units })).await.expect(400);
        }
        // A measure that a user creates keeps the given units, even if its name is built in.
        let made = lab.post("measures", json!({ "name": "Latency", "units": "years" })).await.expect(201);
        assert_eq!((made.text("/slug"), made.text("/units")), ("latency".into(), "years".into()));
        lab.server.pass(60);
        let changed = lab.patch("measures/latency", json!({ "units": "days" })).await.expect(200);
        assert_eq!(changed.text("/units"), "days");
        assert!(changed.text("/modified") > made.text("/modified"));
        lab.make("measures", "taken").await;
        lab.patch("measures/latency", json!({ "units": "weeks", "name": "taken" })).await.expect(409);
        assert_eq!(lab.get("measures/latency").await.text("/units"), "days");
    }
}
