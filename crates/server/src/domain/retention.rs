//! Retention: deletes old entries of the audit log, old invitations, idle unclaimed organizations, mail files and backups. The background worker calls it every
//! hour. The operator configures the retention of each.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tidemark_api::{Actor, ActorKind, Timestamp};
use tidemark_store::{self as store, Db, Tx, WriteContext, audit, invitation, unclaimed};
use tokio::task::spawn_blocking;

use crate::{
    domain::backup,
    infra::{config, mail},
};

const DAY: i64 = 24 * 3600;
/// Maximum number of unclaimed organizations that are deleted per hour.
const MAX_EXPIRED_PER_HOUR: u32 = 64;

/// Deletes data that is older than the configured retention.
#[derive(Clone)]
pub(crate) struct Retention {
    pub(crate) settings: config::Retention,
    pub(crate) data_dir: PathBuf,
}

impl Retention {
    /// Deletes old rows and files. A file that cannot be deleted is logged and retried in the next hour.
    pub(crate) async fn delete_old_data(&self, db: &Db, now: Timestamp) -> store::Result<()> {
        let (audit_before, invitations_before) =
            (before(now, self.settings.audit_days), before(now, self.settings.invitation_days));
        if audit_before.is_some() || invitations_before.is_some() {
            db.write(move |tx| {
                if let Some(before) = audit_before {
                    audit::purge(tx, before)?;
                }
                if let Some(before) = invitations_before {
                    invitation::purge(tx, before)?;
                }
                Ok::<_, store::Error>(())
            })
            .await?;
        }
        let own = self.clone();
        let cleared = spawn_blocking(move || own.delete_old_files(now)).await;
        if let Err(error) = cleared.map_err(io::Error::other).and_then(|cleared| cleared) {
            tracing::warn!(%error, "deleting old mail files and backups failed; retrying in an hour");
        }
        Ok(())
    }

    fn delete_old_files(&self, now: Timestamp) -> io::Result<()> {
        if let Some(before) = before(now, self.settings.mail_days) {
            let first_kept = mail::file_stamp(before);
            delete_files(&self.data_dir.join(mail::FOLDER), |names| {
                names.retain(|name| name.ends_with(".eml") && *name < first_kept);
            })?;
        }
        if self.settings.backups > 0 {
            let kept = usize::try_from(self.settings.backups).unwrap_or(usize::MAX);
            delete_files(&backup::folder(&self.data_dir), |names| {
                names.retain(|name| {
                    backup::time_of(name).is_some_and(|time| !backup::is_future(name, time, now))
                });
                // The names start with the time.
                names.sort_unstable();
                names.truncate(names.len().saturating_sub(kept));
            })?;
        }
        Ok(())
    }
}

/// Deletes unclaimed organizations without a run or push for `days` days.
pub(crate) fn expire_unclaimed(tx: &mut Tx<'_>, fresh: &WriteContext, days: u32) -> store::Result<()> {
    let expired =
        unclaimed::expire(tx, fresh.now.plus_seconds(-DAY * i64::from(days)), MAX_EXPIRED_PER_HOUR)?;
    if expired.is_empty() {
        return Ok(());
    }
    let slugs = expired.join(", ");
    tracing::info!(slugs, days, "deleted idle unclaimed organizations");
    let actor = Actor { kind: ActorKind::System, uuid: None, name: None };
    let (target, detail) = (format!("{} organizations", expired.len()), [("slugs", slugs.as_str())]);
    let entry = audit::NewAuditRow {
        actor: &actor,
        address: None,
        action: "organization.expire",
        target: &target,
        organization: None,
        detail: &detail,
    };
    audit::add(tx, fresh, &entry)
}

/// Returns the time before which data with a retention of `days` days is deleted; `None` for unlimited retention.
fn before(now: Timestamp, days: u32) -> Option<Timestamp> {
    (days > 0).then(|| now.plus_seconds(-i64::from(days) * DAY))
}

/// Deletes the files of a folder that `choose` selects. Does nothing if the folder does not exist.
fn delete_files(folder: &Path, choose: impl FnOnce(&mut Vec<String>)) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    choose(&mut names);
    for name in names {
        match fs::remove_file(folder.join(name)) {
            // Another process deleted the file first.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
