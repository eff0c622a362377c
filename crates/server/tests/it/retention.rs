//! Retention: what the server deletes automatically, and what it keeps.

use std::{collections::BTreeSet, fs};

use serde_json::json;
use tidemark_store::Tx;

use crate::{TestServer, both, until};

const DAY: i64 = 86_400;

/// Returns the names of the files in a subfolder of the data folder.
fn files(server: &TestServer, folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(server.folder().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the number of entries of the audit log and of invitations.
async fn rows(server: &TestServer) -> (i64, i64) {
    let read = |tx: &mut Tx<'_>| {
        let audit = tx.value("select count(*) from audit", &[])?;
        Ok::<_, tidemark_store::Error>((audit, tx.value("select count(*) from invitation", &[])?))
    };
    server.app.db.read(read).await.unwrap()
}

/// Fills a server with an open and a revoked invitation, three backups and mail.
async fn fill(server: &TestServer) {
    let ada = server.person("Ada").await;
    server.organization(&ada, "Acme").await;
    server.invite("acme", &ada, "dan@example.org", "member").await;
    let list = server.get("/v0/organizations/acme/invitations", &ada.token).await.expect(200);
    let path = format!("/v0/organizations/acme/invitations/{}", list.text("/0/uuid"));
    server.delete(&path, &ada.token).await.expect(204);
    server.invite("acme", &ada, "eve@example.org", "member").await;
    for _ in 0..3 {
        server.pass(1);
        server.post("/v0/server/backup", &ada.token, json!({})).await.expect(201);
    }
    fs::write(server.folder().join("backups/mine.db"), "").unwrap();
    // The original messages were read and deleted.
    for name in ["20260101T000000.000Z-900.eml", "20260101T000000.000Z-901.eml", "notes.txt"] {
        fs::write(server.folder().join("outbox").join(name), "").unwrap();
    }
    server.wait_for_due_work().await;
}

both! {
    async fn what_is_older_than_the_operator_wants_is_deleted(
        server: TestServer = "[retention]\naudit_days = 20\ninvitation_days = 20\nmail_days = 20\nbackups = 2\n"
    ) {
        fill(&server).await;
        let (backups, mail, before) = (files(&server, "backups"), files(&server, "outbox"), rows(&server).await);
        assert_eq!((backups.len(), before.1), (4, 2));
        assert!(mail.len() > 2 && before.0 > 3, "{mail:?} {before:?}");

        // After ten days, only one backup is deleted.
        server.pass(10 * DAY);
        server.app.background.wake();
        let left = until("the oldest backup is still there", async || {
            Some(files(&server, "backups")).filter(|left| left.len() == 3)
        })
        .await;
        let oldest = backups.iter().find(|name| name.starts_with("tidemark-")).unwrap();
        assert!(!left.contains(oldest) && left.contains("mine.db"), "{left:?}");
        assert_eq!((files(&server, "outbox"), rows(&server).await), (mail, before));

        // After 21 days, the audit log and the mail are deleted, and with them the revoked invitation; the other
        // invitation expired less than 20 days ago.
        server.pass(11 * DAY);
        server.app.background.wake();
        until("the mail is still there", async || (files(&server, "outbox").len() == 1).then_some(())).await;
        assert_eq!(files(&server, "outbox"), ["notes.txt".to_owned()].into());
        assert_eq!(rows(&server).await, (0, 1));
        assert_eq!(files(&server, "backups"), left);
    }

    async fn zero_keeps_everything(
        server: TestServer = "[retention]\naudit_days = 0\ninvitation_days = 0\nmail_days = 0\nbackups = 0\n"
    ) {
        fill(&server).await;
        let before = (files(&server, "backups"), files(&server, "outbox"), rows(&server).await);
        let sessions = |tx: &mut Tx<'_>| tx.value::<i64>("select count(*) from session", &[]);
        server.pass(10_000 * DAY);
        server.app.background.wake();
        until("the worker has not come by", async || {
            (server.app.db.read(sessions).await.unwrap() == 0).then_some(())
        })
        .await;
        server.stop_workers().await;
        assert_eq!((files(&server, "backups"), files(&server, "outbox"), rows(&server).await), before);
    }
}
