//! Notices of users: what they are notified of, and that notifications end with their rights.

use serde_json::{Value, json};

use crate::{
    Answer, Lab, Person, both,
    notice::{PRIVATE, Receiver, reports},
    report::with,
    until,
};

/// Adds a member to the organization of the lab, and returns the member and the path of their notices.
async fn bob(lab: &Lab) -> (Person, String) {
    let bob = lab.server.person("Bob").await;
    let ada = lab.owner().await;
    lab.server.join("ada", &ada, &bob, "member").await;
    let path = format!("/v0/users/{}/notices", bob.slug);
    (bob, path)
}

impl Lab {
    async fn owner(&self) -> Person {
        let ada = self.server.get("/v0/users/ada", &self.token).await.expect(200);
        let [uuid, slug, email] = ["/uuid", "/slug", "/email"].map(|field| ada.text(field));
        Person { uuid, slug, email, token: self.token.clone() }
    }

    /// Raises an alert in a second project of the same organization.
    async fn alarm_elsewhere(&self) -> String {
        let path = "/v0/projects/other/reports";
        let model = json!({ "test": "static", "upper_boundary": 0 });
        let results = json!({ "bench": { "latency": { "value": 1 } } }).to_string();
        let more = json!({ "thresholds": { "models": { "latency": model } } });
        let body = crate::report::report_body(json!([results]), more);
        self.server.post(path, &self.token, body).await.expect(201).text("/uuid")
    }

    async fn until_settled(&self, path: &str, person: &Person) -> Vec<Value> {
        until("something still waits", async || {
            let log =
                self.server.get(&format!("{path}/deliveries?direction=asc"), &person.token).await.expect(200);
            let log = log.body.as_array().unwrap().clone();
            (!log.is_empty() && log.iter().all(|one| one["status"] != "waiting")).then_some(log)
        })
        .await
    }
}

fn webhook(url: &str, more: Value) -> Value {
    with(json!({ "name": "Mine", "kind": "webhook", "url": url }), more)
}

fn at(path: &str, created: &Answer) -> String {
    format!("{path}/{}", created.text("/uuid"))
}

both! {
    async fn a_user_is_notified_about_one_project_or_all(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        lab.server.post("/v0/organizations/ada/projects", &lab.token, json!({ "name": "Other" })).await.expect(201);
        let alerts = json!({ "notifies": "alerts" });
        lab.server.patch("/v0/projects/other/detection", &lab.token, alerts).await.expect(200);
        let (bob, path) = bob(&lab).await;
        let one = webhook(&format!("{address}/one"), json!({ "project": "lab" }));
        let one = lab.server.post(&path, &bob.token, one).await.expect(201);
        let all = webhook(&format!("{address}/all"), json!({}));
        let all = lab.server.post(&path, &bob.token, all).await.expect(201);
        assert!(all.body["project"].is_null() && one.body["project"].is_string());
        assert_eq!((all.text("/user"), one.text("/user")), (bob.uuid.clone(), bob.uuid.clone()));
        // The project does not list the notices of its viewers.
        assert_eq!((lab.total("notices").await, lab.server.get(&path, &bob.token).await.total()), (0, 2));
        lab.get(&format!("notices/{}", one.text("/uuid"))).await.expect(404);

        let [here, there] = [lab.alarmed().await, lab.alarm_elsewhere().await];
        let received = receiver.wait_for_with_retries(&lab, 3).await;
        let mut received: Vec<_> = received.iter().map(|received| (received.uri.path().to_owned(), reports(received).remove(0))).collect();
        received.sort();
        let mut wanted = [("/all".into(), here.clone()), ("/all".into(), there), ("/one".into(), here)];
        wanted.sort();
        assert_eq!(received, wanted);

        // A failure in one project does not delay other projects.
        lab.server.patch(&at(&path, &one), &bob.token, json!({ "archived": true })).await.expect(200);
        *receiver.trouble.lock().unwrap() = vec![500];
        let first = lab.alarmed().await;
        receiver.wait_for(&lab, 1).await;
        let second = lab.alarmed().await;
        let third = lab.alarm_elsewhere().await;
        let received = receiver.wait_for_with_retries(&lab, 3).await;
        let mut order: Vec<_> = received.iter().map(|received| reports(received).remove(0)).collect();
        order.retain(|report| *report != third);
        assert_eq!(order, [first, second]);
    }

    async fn a_user_who_may_not_view_a_project_is_not_notified(server: TestServer = PRIVATE) {
        let lab = Lab::with_alerts(server).await;
        let (receiver, address) = Receiver::open();
        lab.calm().await;
        let eve = lab.server.person("Eve").await;
        let (bob, path) = bob(&lab).await;
        let theirs = format!("/v0/users/{}/notices", eve.slug);
        let wanted = webhook(&address, json!({ "project": "lab" }));
        lab.server.post(&theirs, &eve.token, webhook(&address, json!({}))).await.expect(201);
        lab.server.post(&theirs, &eve.token, wanted.clone()).await.expect(201);
        lab.server.patch("/v0/projects/lab", &lab.token, json!({ "visibility": "private" })).await.expect(200);
        lab.server.post(&theirs, &eve.token, wanted.clone()).await.expect(404);
        lab.server.post(&theirs, &bob.token, wanted.clone()).await.expect(404);
        let mine = lab.server.post(&path, &bob.token, wanted).await.expect(201);

        let report = lab.alarmed().await;
        assert_eq!(reports(&receiver.wait_for_with_retries(&lab, 1).await[0]), [report]);
        lab.server.delete(&format!("/v0/organizations/ada/members/{}", bob.slug), &lab.token).await.expect(204);
        lab.alarmed().await;
        let log = lab.until_settled(&at(&path, &mine), &bob).await;
        let statuses: Vec<_> = log.iter().map(|one| one["status"].as_str().unwrap()).collect();
        assert_eq!(statuses, ["delivered", "dropped"]);
        assert_eq!(log[1]["error"], "The user may no longer view the project.");
        receiver.is_left_alone(&lab).await;
    }

    async fn mails_go_to_the_address_of_the_account(server: TestServer) {
        let lab = Lab::with_alerts(server).await;
        lab.calm().await;
        let (bob, path) = bob(&lab).await;
        let mail = json!({ "name": "Mine", "kind": "email" });
        lab.server.post(&path, &bob.token, with(mail.clone(), json!({ "email": "eve@example.com" }))).await.expect(400);
        let created = lab.server.post(&path, &bob.token, mail.clone()).await.expect(201);
        assert_eq!(created.text("/email"), bob.email);
        let mine = at(&path, &created);
        lab.server.patch(&mine, &bob.token, json!({ "email": "eve@example.com" })).await.expect(400);
        assert_eq!(lab.server.patch(&mine, &bob.token, json!({ "name": "x" })).await.expect(200).text("/email"), bob.email);
        lab.post("notices", with(mail, json!({ "project": "lab", "email": bob.email }))).await.expect(400);
        lab.alarmed().await;
        let letter = lab.server.mail(&bob.email).await;
        assert!(letter.contains("+900.00") && letter.contains("of your account"), "{letter}");
        let log = lab.until_settled(&mine, &bob).await;
        let again = format!("{mine}/deliveries/{}", log[0]["uuid"].as_str().unwrap());
        lab.server.get(&again, &bob.token).await.expect(200);
        lab.server.post(&again, &bob.token, json!(null)).await.expect(201);
        lab.server.mail(&bob.email).await;
        lab.server.delete(&mine, &bob.token).await.expect(204);
        lab.server.get(&mine, &bob.token).await.expect(404);
    }
}
