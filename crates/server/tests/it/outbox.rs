//! The outbox: which work is claimed, and that slow receivers do not delay other work.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tidemark_api::Timestamp;
use tidemark_store::{
    OrganizationId, Tx,
    outbox::{self, ClaimOptions, OutboxItem},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    Lab, both,
    notice::PRIVATE,
    report::{bench, report_body},
    until,
};

/// More receivers than the server has workers.
const RECEIVERS: usize = 64;

/// Number of webhooks of another organization, whose receiver responds.
const QUICK: usize = 48;

/// Starts a receiver that never responds. Returns its address and its number of requests so far.
async fn open_silent_receiver() -> (String, Arc<AtomicUsize>) {
    open_receiver(b"").await
}

/// Starts a receiver that sends this response, on a socket because a `Stub` always responds. Returns its address and its number of requests so far.
async fn open_receiver(answer: &'static [u8]) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let _ = stream.readable().await;
                let _ = stream.write_all(answer).await;
                stream.read_to_end(&mut Vec::new()).await
            });
        }
    });
    (address, requests)
}

both! {
    async fn slow_webhooks_delay_no_mail(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (address, requests) = open_silent_receiver().await;
        lab.calm().await;
        for number in 0..RECEIVERS {
            lab.webhook(&address, json!({ "name": format!("Webhook {number}") })).await;
        }
        lab.alarmed().await;
        until("no webhook is called", async || (requests.load(Ordering::Relaxed) > 0).then_some(())).await;
        let signup = json!({ "name": "Ben", "email": "ben@example.org", "i_agree": true });
        lab.server.post("/v0/auth/signup", "", signup).await.expect(202);
        lab.server.mail("ben@example.org").await;
        // Each webhook takes 10 s. In one queue, the mail would come after all webhooks.
        assert!(requests.load(Ordering::Relaxed) < RECEIVERS);
    }

    async fn slow_webhooks_delay_no_other_organization(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (address, slow) = open_silent_receiver().await;
        lab.calm().await;
        for number in 0..RECEIVERS {
            lab.webhook(&address, json!({ "name": format!("Webhook {number}") })).await;
        }
        lab.alarmed().await;
        until("no webhook is called", async || (slow.load(Ordering::Relaxed) > 0).then_some(())).await;

        let ben = lab.server.person("Ben").await;
        let project = lab.server.project(&ben, json!({ "name": "Yard" })).await;
        let alerts = json!({ "notifies": "alerts" });
        lab.server.patch(&format!("{project}/detection"), &ben.token, alerts).await.expect(200);
        let (address, quick) = open_receiver(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await;
        for number in 0..QUICK {
            let webhook = json!({ "name": format!("Webhook {number}"), "kind": "webhook", "url": address });
            lab.server.post(&format!("{project}/notices"), &ben.token, webhook).await.expect(201);
        }
        let model = json!({ "test": "percentage", "upper_boundary": 0.1 });
        let thresholds = json!({ "thresholds": { "models": { "latency": model } } });
        for (value, more) in [(100.0, thresholds), (200.0, json!({}))] {
            let report = report_body(json!([bench(value)]), more);
            lab.server.post(&format!("{project}/reports"), &ben.token, report).await.expect(201);
        }
        until("a webhook is not called", async || (quick.load(Ordering::Relaxed) >= QUICK).then_some(())).await;
        // Each slow webhook takes 10 s, and two per organization are called at a time. A worker that waited for the
        // slowest of its claimed webhooks would call two slow webhooks for every two quick ones.
        let called = slow.load(Ordering::Relaxed);
        assert!(called < QUICK - 2, "{called} slow webhooks were called");
    }

    async fn an_owner_has_only_so_much_claimed_at_a_time(server: TestServer) {
        server.person("Ann").await;
        server.person("Ben").await;
        server.wait_for_due_work().await;
        server.stop_workers().await;
        let now = server.app.clock.now();
        let enqueue = move |tx: &mut Tx<'_>| {
            let owners = tx.fetch_all::<OrganizationId>("select id from organization order by id", &[])?;
            let [ann, ben] = owners[..] else { panic!("{owners:?}") };
            let work = [("ann 0", ann), ("ann 1", ann), ("ann 2", ann), ("ann 3", ann), ("ben", ben)];
            for (payload, owner) in work {
                outbox::add(tx, "x", payload, Some(owner), now)?;
            }
            outbox::add(tx, "y", "another queue", Some(ben), now)?;
            for payload in ["none 0", "none 1", "none 2"] {
                outbox::add(tx, "x", payload, None, now)?;
            }
            Ok::<_, tidemark_store::Error>(())
        };
        server.app.db.write(enqueue).await.unwrap();
        let claim = async |count: usize, now: Timestamp| -> Vec<OutboxItem> {
            let claim = ClaimOptions { kinds: &["x"], count, per_owner: 2, lease: now.plus_seconds(60) };
            server.app.db.write(move |tx: &mut Tx<'_>| outbox::claim(tx, &claim, now)).await.unwrap()
        };
        let payloads = |items: Vec<OutboxItem>| items.into_iter().map(|item| item.payload).collect::<Vec<_>>();
        let first = claim(4, now).await;
        let done = first[0].id;
        assert_eq!(payloads(first), ["ann 0", "ann 1", "ben", "none 0"]);
        assert_eq!(payloads(claim(10, now).await), ["none 1", "none 2"]);
        // Finished work makes room for the next work of its owner.
        server.app.db.write(move |tx| outbox::delete(tx, done)).await.unwrap();
        assert_eq!(payloads(claim(10, now).await), ["ann 2"]);
        // Expired claims count as waiting.
        assert_eq!(payloads(claim(3, now.plus_seconds(60)).await), ["ann 1", "ann 3", "ben"]);
    }
}
