//! Benchmarks: nearly any name is allowed.

use serde_json::json;

use crate::{Lab, both};

both! {
    async fn names_are_free(server: TestServer) {
        let lab = Lab::open(server).await;
        let longest = "é".repeat(512);
        for name in [" ", " a ", "a\nb", "tests::fib(20)", "\u{1}", &longest] {
            let made = lab.post("benchmarks", json!({ "name": name })).await.expect(201);
            assert_eq!(made.text("/name"), name);
            assert_eq!(lab.get(&format!("benchmarks/{}", made.text("/slug"))).await.expect(200).body, made.body);
        }
        for name in ["", "a\0b", &format!("{longest}x")] {
            lab.post("benchmarks", json!({ "name": name })).await.expect(400);
        }
        assert_eq!(lab.names("benchmarks?name=%20a%20").await, [" a "]);
    }
}
