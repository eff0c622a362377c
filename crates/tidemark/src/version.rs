//! Compares the version of the server with the version of this command, and warns once if they do not fit. The version
//! comes with the first answer of the server, in a header; only a server without the header is asked for its version.

use std::{
    cmp::Ordering,
    sync::{Mutex, Once, PoisonError},
    time::Duration,
};

use tidemark_api::CONTRACT_VERSION;
use tidemark_client::{Client, server};

use crate::output;

/// The version of Tidemark that this command is.
const OWN: &str = env!("CARGO_PKG_VERSION");
/// How long a server without the header may take to answer. Without an answer there is no warning.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Warns on standard error if the server is older than this command or incompatible with it, once for each command.
pub(crate) fn check(client: &Client, server_version: Option<&str>) {
    static WARNED: Once = Once::new();
    if let Some(warning) = compare(client, server_version) {
        WARNED.call_once(|| eprintln!("warning: {warning}"));
    }
}

/// The same in the log, once for each version: a runner outlives the upgrades of its server.
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
            warning("speaks the contract version", &answer.version, CONTRACT_VERSION)
        }
    }
}

/// The warning about a server of another version; none if only the patch differs, or if the server is newer and
/// compatible.
fn warning(does: &str, theirs: &str, ours: &str) -> Option<String> {
    let (their_release, our_release) = (release(theirs)?, release(ours)?);
    let shown = format!("The server {does} {}", output::plain(theirs));
    // Before 1.0, each minor version may break what came before.
    let is_compatible = their_release.0 == our_release.0 && their_release.0 > 0;
    match their_release.cmp(&our_release) {
        Ordering::Less => Some(format!(
            "{shown}, which is older than the version {ours} of this command: commands may fail. Upgrade the server, or \
             use a command of its version."
        )),
        Ordering::Greater if !is_compatible => Some(format!(
            "{shown}, which the version {ours} of this command may not understand. Upgrade this command."
        )),
        Ordering::Greater | Ordering::Equal => None,
    }
}

/// The major and the minor version.
fn release(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_older_or_incompatible_server_is_worth_a_warning() {
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
