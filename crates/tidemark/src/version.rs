//! Compares the version of the server with the version of this command, and warns once if they differ. The first response has the
//! version in a header; only a server without this header gets a request for its version.

use std::{
    cmp::Ordering,
    sync::{Mutex, Once, PoisonError},
    time::Duration,
};

use tidemark_api::CONTRACT_VERSION;
use tidemark_client::{Client, server};

use crate::output;

/// Version of this command.
const OWN: &str = env!("CARGO_PKG_VERSION");
/// Time limit of the version request. Without a response there is no warning.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Warns on standard error if the server is older than this command or incompatible with it, once per command.
pub(crate) fn check(client: &Client, server_version: Option<&str>) {
    static WARNED: Once = Once::new();
    if let Some(warning) = compare(client, server_version) {
        WARNED.call_once(|| message!("warning: {warning}"));
    }
}

/// Logs the same warning, once per version: a runner outlives upgrades of its server.
pub(crate) fn log(client: &Client, server_version: Option<&str>) {
    static WARNED: Mutex<String> = Mutex::new(String::new());
    if let Some(warning) = compare(client, server_version) {
        let mut last = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != warning {
            tracing::warn!("{warning}");
            *last = warning;
        }
    }
}

fn compare(client: &Client, server_version: Option<&str>) -> Option<String> {
    match server_version {
        Some(version) => warning("runs Tidemark", version, OWN),
        None => {
            let answer = server::version(&client.without_retries(TIMEOUT)).ok()?;
            warning("has the API version", &answer.version, CONTRACT_VERSION)
        }
    }
}

/// Returns the warning about the version of the server; `None` if only the patch version differs, or if the server is newer and
/// compatible.
fn warning(does: &str, theirs: &str, ours: &str) -> Option<String> {
    let (their_release, our_release) = (release(theirs)?, release(ours)?);
    let shown = format!("The server {does} {}", output::plain(theirs));
    // Before 1.0, each minor version may be incompatible.
    let is_compatible = their_release.0 == our_release.0 && their_release.0 > 0;
    match their_release.cmp(&our_release) {
        Ordering::Less => Some(format!(
            "{shown}, which is older than the version {ours} of this command: commands may fail. Upgrade the server, or \
             use a command of its version."
        )),
        Ordering::Greater if !is_compatible => Some(format!(
            "{shown}, which may be incompatible with the version {ours} of this command. Upgrade this \
             command."
        )),
        Ordering::Greater | Ordering::Equal => None,
    }
}

/// Returns the major and the minor version.
fn release(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_older_or_incompatible_server_causes_a_warning() {
        for (theirs, ours, older) in
            [("0.5.9", "0.6.13", true), ("1.1.9", "1.2.0", true), ("0.9.0", "1.0.0", true)]
        {
            let warning = warning("runs Tidemark", theirs, ours).unwrap();
            assert_eq!(warning.contains("older"), older, "{warning}");
        }
        for (theirs, ours) in [("0.7.0", "0.6.13"), ("2.0.0", "1.9.3")] {
            let warning = warning("runs Tidemark", theirs, ours).unwrap();
            assert!(warning.contains("Upgrade this command"), "{warning}");
        }
        for (theirs, ours) in [
            ("0.6.12", "0.6.13"),
            ("0.6.14", "0.6.13"),
            ("1.3.0", "1.2.9"),
            ("1.2", "1.2.3"),
            ("next", "1.0.0"),
        ] {
            assert_eq!(warning("runs Tidemark", theirs, ours), None, "{theirs} {ours}");
        }
    }
}
