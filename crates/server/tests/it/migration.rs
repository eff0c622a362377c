//! Databases of an earlier release: the effect of the newest migration on existing rows.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tidemark_store::{Error, job};

use crate::{
    Lab, TestServer,
    access::send,
    both,
    job::{ask, set_up},
    server::OWN_DATABASE,
};

/// Statements that revert the tables to migration 11.
const BACK: [&str; 50] = [
    "drop table bisection_search",
    "alter table report drop column average",
    "alter table job drop column warnings",
    "drop table confirmation",
    "alter table project drop column confirm",
    "drop table pair_series",
    "drop table code_host_command",
    "drop table code_host",
    "drop table bisection",
    "drop table measure_report",
    "alter table measure drop column direction",
    "drop index organization_unclaimed",
    "alter table organization drop column claim_hash",
    "alter table organization drop column report_bytes",
    "alter table organization drop column metrics",
    "alter table organization drop column active",
    "alter table oauth drop column has_challenge",
    "alter table job drop column env",
    "alter table session drop column agent",
    "alter table session drop column address",
    "alter table project drop column notifies_host",
    "alter table report drop column host",
    "alter table lane drop column deleted",
    "drop index alert_mute_id",
    "drop index alert_muted",
    "alter table alert drop column mute_id",
    "drop table mute",
    "alter table delivery drop column test",
    "alter table notice drop column min_change",
    "alter table notice drop column benchmark",
    "alter table notice drop column testbed",
    "alter table notice drop column branch",
    "alter table notice rename column direction to event",
    "drop table event_series",
    "alter table alert drop column dismissed_by_event",
    "drop index alert_event_id",
    "alter table alert drop column event_id",
    "drop index change_event_id",
    "alter table change drop column event_id",
    "alter table change drop column recovered",
    "alter table change add column status text not null default 'active'",
    "alter table change add column note text",
    "drop table event_action",
    "drop table event",
    "drop table report_factor",
    "alter table lane add column noise_values integer not null default 0",
    "alter table lane add column noise_alarms integer not null default 0",
    "alter table lane add column noise_margins real not null default 0",
    "alter table lane add column sampled integer not null default 0",
    "delete from migration where number >= 12",
];

/// Reverts the database to the previous release. Then a job has its environment in its configuration, even after its end, and a
/// statement changes what only that release had.
async fn go_back(server: &TestServer, configs: &[(String, Value)], statement: Option<&'static str>) {
    loop {
        let configs = configs.to_vec();
        let reverted = server.app.db.write::<_, Error, _>(move |tx| {
            BACK.iter().try_for_each(|statement| tx.execute(statement, &[]).map(drop))?;
            for (uuid, more) in &configs {
                let sql = "select config from job where cast(uuid as text) = $1";
                let mut config: Value = serde_json::from_str(&tx.value::<String>(sql, &[uuid])?).unwrap();
                config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                let sql = "update job set config = $2 where cast(uuid as text) = $1";
                assert_eq!(tx.execute(sql, &[uuid, &config.to_string()])?, 1);
            }
            statement.map_or(Ok(0), |statement| tx.execute(statement, &[]))
        });
        match reverted.await {
            // A deadlock with a background task of the server.
            Err(Error::Busy(_)) => {}
            reverted => {
                reverted.unwrap();
                return;
            }
        }
    }
}

both! {
    async fn rows_of_the_release_before_are_kept(server: TestServer = "[access.unclaimed]\nmetrics = 3\n[database]\n") {
        let ada = set_up(&server).await;
        let waiting = ask(&server, &ada, json!({})).await;
        let plain = ask(&server, &ada, json!({})).await;
        let ended = ask(&server, &ada, json!({})).await;
        server.delete(&format!("/v0/projects/lab/jobs/{ended}"), &ada.token).await.expect(204);
        send(&server, "", "loose", 2).await.expect(201);
        server.idle().await;
        let env = json!({ "TOKEN": "s3cret" });
        let configs = vec![
            (waiting.clone(), json!({ "env": env, "cmd": ["a", "\u{e9}\"\\"] })),
            // Earlier releases accepted a NUL, which JSON in PostgreSQL cannot contain.
            (ended.clone(), json!({ "env": env, "cmd": ["a\0b"] })),
        ];
        go_back(&server, &configs, None).await;

        let server = server.restart().await;
        let mut shown = String::new();
        for (name, uuid) in [("waiting", &waiting), ("plain", &plain), ("ended", &ended)] {
            let id = uuid.parse().unwrap();
            let mut found = server.app.db.read(move |tx| job::find(tx, id)).await.unwrap();
            let view = server.get(&format!("/v0/projects/lab/jobs/{uuid}"), &ada.token).await.expect(200);
            let env = found.config.env.take().map(|env| serde_json::to_value(env).unwrap());
            let status = view.text("/status");
            let cmd = found.config.cmd.filter(|_| status == "pending");
            shown.push_str(&format!("{name}: {status}, cmd {cmd:?}, env {env:?}\n"));
        }
        // The session still exists, and shows no address.
        let sessions = server.get("/v0/users/ada/sessions", &ada.token).await.expect(200);
        shown.push_str(&server.show(&sessions));
        // The existing metrics of an unclaimed project count.
        shown.push_str(&format!("\n{}\n", send(&server, "", "loose", 2).await.line()));
        assert_snapshot!("migrated_rows", shown);
        send(&server, "", "loose", 1).await.expect(201);
        let left = "select count(*) from job where config like '%s3cret%'";
        assert_eq!(server.app.db.read(|tx| tx.value::<i64>(left, &[])).await.unwrap(), 0);
    }

    async fn changes_of_the_release_before_become_events(server: TestServer = OWN_DATABASE) {
        let Lab { server, token, id } = {
            let lab = Lab::open(server).await;
            lab.stay(0..40, 100.0).await;
            lab.stay(40..60, 120.0).await;
            lab.changes("", 1).await;
            lab
        };
        server.idle().await;
        go_back(&server, &[], Some("update change set status = 'expected', note = 'A new allocator'")).await;
        let lab = Lab { server: server.restart().await, token, id };
        let change = lab.changes("?status=expected", 1).await.remove(0);
        let events = lab.get("events").await.expect(200);
        assert_eq!((events.total(), &events.body[0]["uuid"]), (1, &change["event"]));
        assert_eq!((&events.body[0]["status"], &events.body[0]["note"]), (&json!("expected"), &json!("A new allocator")));
        assert_eq!((&events.body[0]["regressions"], &events.body[0]["changes"][0]), (&json!(1), &change));
        // Detection continues with the same event.
        lab.stay(60..80, 120.0).await;
        let change = lab.changes("", 1).await.remove(0);
        assert_eq!(change["event"], events.body[0]["uuid"]);
    }

    async fn alerts_of_the_release_before_belong_to_events(server: TestServer = OWN_DATABASE) {
        let Lab { server, token, id } = {
            let lab = Lab::open(server).await;
            lab.measure(0, &[("a", 100.0), ("b", 100.0), ("c", 100.0)]).await;
            lab.limit("localhost", 130.0).await;
            lab.measure(1, &[("a", 140.0), ("b", 150.0)]).await;
            lab.measure(2, &[("a", 160.0), ("c", 150.0)]).await;
            lab.settled().await;
            lab
        };
        server.idle().await;
        go_back(&server, &[], Some("update alert set status = 'dismissed' where value = 160")).await;
        let lab = Lab { server: server.restart().await, token, id };
        let shown = async |lab: &Lab| {
            let events = lab.events("?direction=asc").await;
            events.iter().map(|event| (event["total_alerts"].clone(), event["candidates"][0]["number"].clone(), event["status"].clone())).collect::<Vec<_>>()
        };
        let open = || json!("open");
        assert_eq!(shown(&lab).await, [(json!(2), json!(1), open()), (json!(1), json!(2), open())]);
        // The next reports continue with the same events.
        lab.measure(3, &[("b", 150.0), ("c", 100.0)]).await;
        assert_eq!(shown(&lab).await, [(json!(3), json!(1), open()), (json!(1), json!(2), json!("recovered"))]);
    }
}
