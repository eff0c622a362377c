//! Plans and payments, against localstripe with additions to its API (`payments.py`): even if messages are lost or
//! repeated, the provider and this server must end in the same state.

use std::{
    env,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use axum::{body::Body, extract::Request, http::header};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_server::transport::router::router;
use tidemark_store::outbox;

use crate::{
    Engine, Person, TestServer, both,
    job::{image, run_body},
    report::report_body,
    spec::spec,
    until,
};

/// Start of the test clock, in seconds.
const NOW: i64 = 1_767_225_600;

/// A payment provider, and a server that bills with it and receives its events.
struct Shop {
    process: Child,
    url: String,
    server: TestServer,
    address: SocketAddr,
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Shop {
    async fn open(engine: Engine, settings: &str) -> Self {
        let python = env::var("TIDEMARK_TEST_LOCALSTRIPE").expect(
            "TIDEMARK_TEST_LOCALSTRIPE names a Python with localstripe; `cargo xtask test` installs one",
        );
        let mut process = Command::new(python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/payments.py"))
            .arg(NOW.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}", port.trim());
        let settings = format!(
            "[plus.billing]\nurl = '{url}'\nsecret_key = 'sk_test_1'\nwebhook_secret = 'whsec_test'\n{settings}\n\
             [plus.billing.levels.pro]\nprices = ['price_pro']\n\
             [plus.billing.levels.team]\nprices = ['price_team']\nlicense = 'price_license'\n"
        );
        let server = TestServer::start_with(engine, &settings).await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = router(server.app.clone());
        tokio::spawn(async move {
            axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await.unwrap();
        });
        let shop = Self { process, url, server, address };
        for (id, interval) in [("price_pro", "month"), ("price_team", "month"), ("price_license", "year")] {
            let form = format!("id={id}&amount=2000&currency=eur&interval={interval}&product[name]={id}");
            shop.form("/v1/plans", form).await;
        }
        shop
    }

    /// Sends a request to the provider, as the server does.
    async fn form(&self, path: &str, form: String) -> Value {
        let url = format!("{}{path}", self.url);
        let sent = tokio::task::spawn_blocking(move || {
            let sent = ureq::post(url)
                .header("authorization", "Bearer sk_test_1")
                .content_type("application/x-www-form-urlencoded")
                .send(form);
            serde_json::from_slice(&sent.unwrap().body_mut().read_to_vec().unwrap()).unwrap()
        });
        sent.await.unwrap()
    }

    /// Simulates an action of users, the network or time at the provider.
    async fn play(&self, path: &str, body: Option<Value>) -> Value {
        let url = format!("{}/_config/{path}", self.url);
        let sent = tokio::task::spawn_blocking(move || {
            let agent: ureq::Agent = ureq::Agent::config_builder().max_redirects(0).build().into();
            let mut answer = match body {
                Some(body) => {
                    agent.post(url).content_type("application/json").send(body.to_string()).unwrap()
                }
                None => agent.get(url).call().unwrap(),
            };
            serde_json::from_slice(&answer.body_mut().read_to_vec().unwrap()).unwrap_or(Value::Null)
        });
        sent.await.unwrap()
    }

    /// Registers this server as a receiver of the provider's events.
    async fn listen(&self) {
        let url = format!("http://{}/v0/billing/events", self.address);
        self.play("webhooks/here", Some(json!({ "url": url, "secret": "whsec_test" }))).await;
    }

    async fn checkout(&self, person: &Person, organization: &str, level: &str) -> String {
        let body = json!({ "organization": organization, "level": level });
        self.server.post("/v0/checkout", &person.token, body).await.expect(201).text("/session")
    }

    /// Pays at the provider and confirms the checkout.
    async fn buy(&self, person: &Person, organization: &str, level: &str) -> Value {
        let session = self.checkout(person, organization, level).await;
        self.play(&format!("pay/{session}"), Some(json!({}))).await;
        let body = json!({ "checkout": session, "level": level });
        self.server
            .post(&format!("/v0/organizations/{organization}/plan"), &person.token, body)
            .await
            .expect(201)
            .body
    }

    /// Waits until all enqueued work is done, with retries.
    async fn settle(&self) {
        until("the outbox is not worked off", async || {
            self.server.pass_to_work().await;
            self.play("trouble", Some(json!({ "clock": self.server.app.clock.now().seconds() }))).await;
            (self.server.app.db.read(outbox::depth).await.unwrap() == 0).then_some(())
        })
        .await;
    }

    /// Returns the subscriptions of an organization at the provider, each with its status.
    async fn truth(&self, organization: &str) -> Vec<(String, String)> {
        let all = self.play("subscriptions", None).await;
        let of_organization = |one: &&Value| one["metadata"]["organization"] == organization;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        all.as_array()
            .unwrap()
            .iter()
            .filter(of_organization)
            .map(|one| (text(&one["id"]), text(&one["status"])))
            .collect()
    }

    async fn metered(&self) -> Value {
        let all = self.play("metered", None).await;
        let mut sums = json!({});
        for (key, sum) in all.as_object().unwrap() {
            sums[key.split_once(' ').unwrap().1] = sum.clone();
        }
        sums
    }

    async fn uuid(&self, person: &Person, organization: &str) -> String {
        self.server
            .get(&format!("/v0/organizations/{organization}"), &person.token)
            .await
            .expect(200)
            .text("/uuid")
    }

    async fn status(&self, person: &Person) -> String {
        let path = format!("/v0/organizations/{}/plan", person.slug);
        self.server.get(&path, &person.token).await.expect(200).text("/status")
    }

    /// Waits until a field of the plan of a user's personal organization has this value.
    async fn until(&self, person: &Person, pointer: &str, wanted: impl Into<Value>) {
        let (path, wanted) = (format!("/v0/organizations/{}/plan", person.slug), wanted.into());
        until(&format!("{pointer} is not {wanted}"), async || {
            let plan = self.server.get(&path, &person.token).await.body;
            (plan.pointer(pointer) == Some(&wanted)).then_some(())
        })
        .await;
    }
}

/// Defines a test with a provider and a server on each engine.
macro_rules! shops {
    ($(async fn $name:ident($shop:ident: Shop $(= $settings:expr)?) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn run($shop: Shop) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                run(Shop::open(Engine::Sqlite, concat!($($settings)?)).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                run(Shop::open(Engine::Postgres, concat!($($settings)?)).await).await;
            }
        }
    )*};
}

/// The private key that signs licenses, and the public key that verifies them.
macro_rules! license_settings {
    () => {
        r#"[plus.license]
private_key = """
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9VNVlA9oGRLLV2l/
LSJMLADSjNjycsi7tszKdnu/NjehRANCAATR3BSXIU3OImI5gLwXxITwLLBYFuGK
th1LyMFmjSMC96aFJozLq4JpFQZKJ58yKjgocHKejBtp+NA2W5Gda2bf
-----END PRIVATE KEY-----
"""
public_key = """
-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0dwUlyFNziJiOYC8F8SE8CywWBbh
irYdS8jBZo0jAvemhSaMy6uCaRUGSiefMio4KHBynowbafjQNluRnWtm3w==
-----END PUBLIC KEY-----
"""
"#
    };
}

/// Returns a report with this number of metrics.
fn metrics(count: usize) -> Value {
    let times = json!({ "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:00Z" });
    let results: serde_json::Map<String, Value> = (0..count)
        .map(|number| (format!("bench {number}"), json!({ "latency": { "value": 1.0 } })))
        .collect();
    report_body(json!([Value::Object(results).to_string()]), times)
}

both! {
    async fn without_billing_there_are_no_plans_and_no_limits(server: TestServer) {
        let ada = server.person("Ada").await;
        let plan = "/v0/organizations/ada/plan";
        assert_snapshot!("billing_off", server.show(&server.get(plan, &ada.token).await));
        let new = json!({ "checkout": "cs_1", "level": "pro" });
        server.post(plan, &ada.token, new).await.expect(404);
        server.patch(plan, &ada.token, json!({ "cancel_at_period_end": true })).await.expect(404);
        server.delete(plan, &ada.token).await.expect(404);
        let wanted = json!({ "organization": "ada", "level": "pro" });
        server.post("/v0/checkout", &ada.token, wanted).await.expect(404);
        server.post("/v0/billing/events", "", json!({})).await.expect(404);
        server.project(&ada, json!({ "name": "Lab", "visibility": "private" })).await;
        server.post("/v0/projects/lab/reports", &ada.token, metrics(1)).await.expect(201);
        let usage = server.get("/v0/organizations/ada/usage", &ada.token).await.expect(200).body;
        assert_eq!((&usage["kind"], &usage["metrics"]), (&json!("self_hosted_free"), &json!(1)));
    }
}

shops! {
    async fn a_plan_is_paid_for_used_and_ended(shop: Shop = "[plus.rate_limiting]\nclaimed_limit = 3") {
        let server = &shop.server;
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        let (plan, usage) = ("/v0/organizations/ada/plan", "/v0/organizations/ada/usage");
        let secret = json!({ "name": "Secret", "visibility": "private" });
        let projects = "/v0/organizations/ada/projects";
        let refused = server.post(projects, &ada.token, secret.clone()).await;
        assert_snapshot!("billing_private_without_plan", server.show(&refused));
        server.project(&ada, json!({ "name": "Lab" })).await;
        server.patch("/v0/projects/lab", &ada.token, json!({ "visibility": "private" })).await.expect(402);
        assert_eq!(server.get(usage, &ada.token).await.expect(200).body["kind"], "cloud_free");
        assert_snapshot!("billing_no_plan", server.show(&server.get(plan, &ada.token).await));
        for _ in 0..2 {
            server.post("/v0/projects/lab/reports", &ada.token, metrics(2)).await.expect(201);
        }
        let limited = server.post("/v0/projects/lab/reports", &ada.token, metrics(2)).await;
        assert_snapshot!("billing_limited", server.show(&limited));
        server.get(plan, "").await.expect(401);
        server.get(plan, &bob.token).await.expect(404);
        let pro = json!({ "organization": "ada", "level": "pro" });
        server.post("/v0/checkout", "", pro.clone()).await.expect(401);
        server.post("/v0/checkout", &bob.token, pro).await.expect(404);
        let free = json!({ "organization": "ada", "level": "free" });
        assert_snapshot!("billing_free", server.show(&server.post("/v0/checkout", &ada.token, free).await));
        for half in [json!({ "entitlements": 5 }), json!({ "self_hosted": ada.uuid })] {
            let mut body = json!({ "organization": "ada", "level": "team" });
            body.as_object_mut().unwrap().extend(half.as_object().unwrap().clone());
            server.post("/v0/checkout", &ada.token, body).await.expect(400);
        }

        let session = shop.checkout(&ada, "ada", "team").await;
        let new = json!({ "checkout": session, "level": "team" });
        assert_snapshot!("billing_unpaid", server.show(&server.post(plan, &ada.token, new.clone()).await));
        shop.play(&format!("pay/{session}"), Some(json!({}))).await;
        server.post("/v0/organizations/bob/plan", &bob.token, new.clone()).await.expect(404);
        server.post(plan, &ada.token, json!({ "checkout": "cs_no", "level": "team" })).await.expect(404);
        server.post(plan, &ada.token, json!({ "checkout": "../x?", "level": "team" })).await.expect(404);
        let begun = server.post(plan, &ada.token, new.clone()).await;
        assert_snapshot!("billing_plan", server.show(&begun));
        // Loading the page again returns the same plan.
        assert_eq!(server.post(plan, &ada.token, new).await.expect(201).body, begun.body);
        let again = json!({ "organization": "ada", "level": "pro" });
        assert_snapshot!("billing_has_plan", server.show(&server.post("/v0/checkout", &ada.token, again).await));

        server.post(projects, &ada.token, secret).await.expect(201);
        // Two metrics each: more than organizations without a plan may have.
        for _ in 0..3 {
            server.post("/v0/projects/secret/reports", &ada.token, metrics(2)).await.expect(201);
        }
        let answer = server.get(usage, &ada.token).await;
        assert_snapshot!("billing_usage", server.show(&answer));
        shop.settle().await;
        assert_eq!(shop.metered().await, json!({ "metrics": { "events": 3, "value": 6 } }));

        let key = server.post("/v0/users/ada/keys", &ada.token, json!({ "name": "ci" })).await.expect(201).text("/key");
        let ends = json!({ "cancel_at_period_end": true });
        server.patch(plan, &key, ends.clone()).await.expect(403);
        let changed = server.patch(plan, &ada.token, ends).await.expect(200).body;
        assert_eq!(changed["cancel_at_period_end"], true);
        let here = shop.play("subscriptions", None).await;
        assert_eq!(here[0]["cancel_at_period_end"], true);
        server.patch(plan, &ada.token, json!({ "cancel_at_period_end": false })).await.expect(200);

        // A running plan cannot be deleted only on this server.
        server.delete(&format!("{plan}?remote=false"), &ada.token).await.expect(409);
        server.delete(plan, &ada.token).await.expect(204);
        let uuid = shop.uuid(&ada, "ada").await;
        assert_eq!(shop.truth(&uuid).await[0].1, "canceled");
        server.get(plan, &ada.token).await.expect(404);
        server.post("/v0/projects/secret/reports", &ada.token, metrics(1)).await.expect(402);
        assert_eq!(server.get("/v0/projects/secret", &ada.token).await.expect(200).body["visibility"], "private");
        let actions = server.get("/v0/organizations/ada/audit", &ada.token).await.expect(200).each("action");
        assert!(["plan.create", "plan.update", "plan.delete"].iter().all(|one| actions.contains(&(*one).to_owned())));
    }

    async fn an_event_is_verified_at_the_provider(shop: Shop) {
        let server = &shop.server;
        shop.listen().await;
        let ada = server.person("Ada").await;
        let uuid = shop.uuid(&ada, "ada").await;
        // The user pays but does not return to the console.
        let session = shop.checkout(&ada, "ada", "pro").await;
        shop.play(&format!("pay/{session}"), Some(json!({}))).await;
        let plan = "/v0/organizations/ada/plan";
        shop.until(&ada, "/status", "active").await;
        let subscription = shop.truth(&uuid).await[0].0.clone();
        let change = async |status: &str| {
            shop.play(&format!("change/{subscription}"), Some(json!({ "status": status }))).await;
        };
        server.project(&ada, json!({ "name": "Lab", "visibility": "private" })).await;
        change("past_due").await;
        shop.until(&ada, "/status", "past_due").await;
        let lapsed = server.post("/v0/projects/lab/reports", &ada.token, metrics(1)).await;
        assert_snapshot!("billing_lapsed", server.show(&lapsed));
        change("active").await;
        shop.until(&ada, "/status", "active").await;
        // All events again, the newest first: the current state stays.
        assert!(shop.play("repeat", Some(json!({}))).await.as_i64().unwrap() > 4);
        shop.settle().await;
        assert_eq!(shop.status(&ada).await, "active");
        // The event of the end is lost; the hourly check finds the end.
        shop.play("trouble", Some(json!({ "lose_events": 1 }))).await;
        change("canceled").await;
        assert_eq!(shop.status(&ada).await, "active");
        server.pass(3_601);
        server.app.background.wake();
        shop.until(&ada, "/status", "canceled").await;
        server.post("/v0/projects/lab/reports", &ada.token, metrics(1)).await.expect(402);
        // The event of a payment is lost as well.
        shop.play("trouble", Some(json!({ "lose_events": 3 }))).await;
        let session = shop.checkout(&ada, "ada", "team").await;
        shop.play(&format!("pay/{session}"), Some(json!({}))).await;
        server.pass(3_601);
        server.app.background.wake();
        shop.until(&ada, "/status", "active").await;
        assert_eq!(server.get(plan, &ada.token).await.expect(200).body["level"], "team");
        // A repeated old event of the end does not end the new plan.
        shop.play("trouble", Some(json!({ "clock": server.app.clock.now().seconds() }))).await;
        shop.play("repeat", Some(json!({}))).await;
        shop.settle().await;
        assert_eq!(shop.status(&ada).await, "active");
    }

    async fn events_must_be_signed(shop: Shop) {
        let server = &shop.server;
        let send = async |signature: &str, body: &str| {
            let request = Request::post("/v0/billing/events")
                .header(header::CONTENT_TYPE, "application/json")
                .header("stripe-signature", signature);
            server.send(request.body(Body::from(body.to_owned())).unwrap()).await
        };
        let event = r#"{"type":"customer.subscription.updated","data":{"object":{"id":"sub_1"}}}"#;
        let refused = send("", event).await;
        assert_snapshot!("billing_unsigned", server.show(&refused));
        let sign = |seconds: i64, body: &str| {
            use hmac::{Hmac, KeyInit as _, Mac as _};
            let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"whsec_test").unwrap();
            mac.update(format!("{seconds}.{body}").as_bytes());
            let hex = hex::encode(mac.finalize().into_bytes());
            format!("t={seconds},v1={hex}")
        };
        send(&sign(NOW - 301, event), event).await.expect(401);
        send(&sign(NOW, "{}"), event).await.expect(401);
        send(&sign(NOW, "{}"), "{}").await.expect(400);
        send(&sign(NOW, event), event).await.expect(202);
        let other = r#"{"type":"product.created","data":{"object":{"id":"prod_1"}}}"#;
        send(&sign(NOW, other), other).await.expect(202);
        shop.settle().await;
    }

    async fn a_provider_out_of_reach_changes_nothing(shop: Shop) {
        let server = &shop.server;
        let ada = server.person("Ada").await;
        let uuid = shop.uuid(&ada, "ada").await;
        let plan = "/v0/organizations/ada/plan";
        let deaf = async |times: i64| shop.play("trouble", Some(json!({ "deaf": times }))).await;
        let lose = async |times: i64| shop.play("trouble", Some(json!({ "lose_answers": times }))).await;
        deaf(1).await;
        let wanted = json!({ "organization": "ada", "level": "team" });
        assert_snapshot!("billing_silent", server.show(&server.post("/v0/checkout", &ada.token, wanted.clone()).await));
        // The provider creates the customer, but the response is lost: the next attempt uses the same customer.
        lose(1).await;
        server.post("/v0/checkout", &ada.token, wanted).await.expect(502);
        shop.buy(&ada, "ada", "team").await;
        let customers = shop.play("metered", None).await;
        assert_eq!(customers, json!({}));
        deaf(1).await;
        let before = server.get(plan, &ada.token).await.expect(200).body;
        server.patch(plan, &ada.token, json!({ "cancel_at_period_end": true })).await.expect(502);
        assert_eq!(server.get(plan, &ada.token).await.expect(200).body, before);
        // The provider applies the change, but the response is lost: the next check finds it.
        lose(1).await;
        server.patch(plan, &ada.token, json!({ "cancel_at_period_end": true })).await.expect(502);
        server.pass(3_601);
        server.app.background.wake();
        shop.until(&ada, "/cancel_at_period_end", true).await;
        // Usage is reported once, even if messages are lost.
        server.project(&ada, json!({ "name": "Lab" })).await;
        deaf(2).await;
        lose(1).await;
        server.post("/v0/projects/lab/reports", &ada.token, metrics(1)).await.expect(201);
        server.post("/v0/projects/lab/reports", &ada.token, metrics(1)).await.expect(201);
        shop.settle().await;
        assert_eq!(shop.metered().await, json!({ "metrics": { "events": 2, "value": 2 } }));
        deaf(1).await;
        server.delete(plan, &ada.token).await.expect(502);
        assert_eq!(shop.truth(&uuid).await[0].1, "active");
        server.get(plan, &ada.token).await.expect(200);
        // The organization is deleted at once; its plan ends as soon as the provider is reachable.
        deaf(3).await;
        server.delete("/v0/organizations/ada", &ada.token).await.expect(204);
        shop.settle().await;
        assert_eq!(shop.truth(&uuid).await[0].1, "canceled");
    }

    async fn no_organization_pays_twice(shop: Shop) {
        let server = &shop.server;
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        server.join("ada", &ada, &bob, "leader").await;
        let uuid = shop.uuid(&ada, "ada").await;
        let (first, second) = (shop.checkout(&ada, "ada", "pro").await, shop.checkout(&bob, "ada", "team").await);
        for session in [&first, &second] {
            shop.play(&format!("pay/{session}"), Some(json!({}))).await;
        }
        let plan = "/v0/organizations/ada/plan";
        let new = |session: &str, level: &str| json!({ "checkout": session, "level": level });
        server.post(plan, &ada.token, new(&first, "pro")).await.expect(201);
        server.post(plan, &bob.token, new(&second, "team")).await.expect(409);
        // The hourly check finds the second payment, which has no effect.
        server.pass(3_601);
        server.app.background.wake();
        let statuses = async || {
            let mut all: Vec<String> = shop.truth(&uuid).await.into_iter().map(|(_, status)| status).collect();
            all.sort();
            all
        };
        until("what was paid in vain is kept", async || {
            (statuses().await == ["active", "canceled"]).then_some(())
        })
        .await;
        assert_eq!(server.get(plan, &ada.token).await.expect(200).body["level"], "pro");

        // A payment after the organization was deleted permanently is refunded as well.
        let late = shop.checkout(&bob, "bob", "pro").await;
        let uuid = shop.uuid(&bob, "bob").await;
        server.delete("/v0/organizations/bob?hard=true", &ada.token).await.expect(204);
        shop.play(&format!("pay/{late}"), Some(json!({}))).await;
        server.pass(3_601);
        server.app.background.wake();
        until("what was paid too late is kept", async || {
            (shop.truth(&uuid).await[0].1 == "canceled").then_some(())
        })
        .await;
    }

    async fn a_first_plan_can_be_tried(shop: Shop = "trial_days = 30") {
        let server = &shop.server;
        let ada = server.person("Ada").await;
        assert_eq!(shop.buy(&ada, "ada", "pro").await["status"], "trialing");
        server.organization(&ada, "Other").await;
        assert_eq!(shop.buy(&ada, "other", "pro").await["status"], "active");
        server.project(&ada, json!({ "name": "Lab" })).await;
        server.post("/v0/projects/lab/reports", &ada.token, metrics(1)).await.expect(201);
        let usage = server.get("/v0/organizations/ada/usage", &ada.token).await.expect(200).body;
        assert_eq!((&usage["metrics"], &usage["active_series"]), (&Value::Null, &json!(1)));
    }

    async fn a_license_can_be_bought(shop: Shop = license_settings!()) {
        let server = &shop.server;
        let ada = server.person("Ada").await;
        let uuid = shop.uuid(&ada, "ada").await;
        let wanted = json!({ "organization": "ada", "level": "pro", "entitlements": 500, "self_hosted": uuid });
        server.post("/v0/checkout", &ada.token, wanted.clone()).await.expect(400);
        let mut wanted = wanted;
        wanted["level"] = json!("team");
        let session = server.post("/v0/checkout", &ada.token, wanted).await.expect(201).text("/session");
        shop.play(&format!("pay/{session}"), Some(json!({}))).await;
        let new = json!({ "checkout": session, "level": "team", "entitlements": 500, "self_hosted": uuid });
        let plan = server.post("/v0/organizations/ada/plan", &ada.token, new).await.expect(201).body;
        assert_eq!(plan["license"]["entitlements"], 500);
        assert_eq!(plan["license"]["expiration"], plan["current_period_end"]);
        // The license is for an organization of this server, which accepts it.
        let license = json!({ "license": plan["license"]["key"] });
        server.patch("/v0/organizations/ada", &ada.token, license).await.expect(200);
        let usage = server.get("/v0/organizations/ada/usage", &ada.token).await.expect(200).body;
        assert_eq!((&usage["kind"], &usage["metrics"]), (&json!("cloud_self_hosted_licensed"), &Value::Null));
        let ends = json!({ "cancel_at_period_end": true });
        server.patch("/v0/organizations/ada/plan", &ada.token, ends).await.expect(400);
    }

    async fn jobs_that_are_paid_for_come_first(shop: Shop) {
        let server = &shop.server;
        let ada = server.person("Ada").await;
        let bob = server.person("Bob").await;
        spec(server, &ada, "Metal", json!({ "fallback": true })).await;
        for (person, name) in [(&ada, "Lab"), (&bob, "Shed")] {
            server.project(person, json!({ "name": name })).await;
            image(server, &name.to_lowercase(), "").await;
        }
        let ask = async |person: &Person, project: &str, timeout: u32| {
            let job = json!({ "image": format!("{project}:v1"), "timeout": timeout });
            let body = run_body(job, json!({ "project": project }));
            let uuid = server.post("/v0/run", &person.token, body).await.expect(201).text("/job");
            format!("/v0/projects/{project}/jobs/{uuid}")
        };
        let first = ask(&ada, "lab", 3_600).await;
        let waiting = ask(&bob, "shed", 3_600).await;
        let place = async |job: &str, person: &Person| {
            server.get(job, &person.token).await.expect(200).body["position"].clone()
        };
        assert_eq!((place(&first, &ada).await, place(&waiting, &bob).await), (json!(1), json!(2)));
        // Waiting jobs move up with the plan.
        shop.buy(&bob, "bob", "pro").await;
        assert_eq!((place(&first, &ada).await, place(&waiting, &bob).await), (json!(2), json!(1)));
        let second = ask(&bob, "shed", 3_600).await;
        assert_eq!((place(&first, &ada).await, place(&second, &bob).await), (json!(3), json!(2)));
        let timeouts = server
            .app
            .db
            .read::<_, tidemark_store::Error, _>(|tx| {
                let jobs: Vec<(i64, String)> =
                    tx.fetch_all("select rank, config from job order by id", &[])?;
                let timeout = |config: &str| {
                    serde_json::from_str::<Value>(config).unwrap()["timeout"].as_u64().unwrap()
                };
                Ok(jobs.into_iter().map(|(rank, config)| (rank, timeout(&config))).collect::<Vec<_>>())
            })
            .await
            .unwrap();
        assert_eq!(timeouts, [(100, 300), (200, 300), (200, 3_600)]);
    }
}
