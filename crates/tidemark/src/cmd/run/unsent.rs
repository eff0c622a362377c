//! Unsent runs: if the server does not accept a run, it is saved to a file, because measuring again may take hours.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidemark_api::{NewRun, Report, ReportIdempotencyKey};
use tidemark_client::{Client, run};
use tidemark_server::infra::config::Flags;
use uuid::Uuid;

use crate::{
    failure::{Failure, Result},
    settings,
};

/// Folder of unsent runs, in the data folder.
const FOLDER: &str = "unsent";

/// Flags for unsent runs.
#[derive(clap::Args)]
pub(crate) struct UnsentFlags {
    /// Send the results that an earlier run saved to this file because the server did not accept them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "image", "ab", "dry_run"])]
    pub(super) resend: Option<PathBuf>,
}

/// Reads an unsent run.
pub(super) fn read(file: &Path) -> Result<NewRun> {
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("{} cannot be read ({error}).", file.display())))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{} is not a run that `tidemark run` saved ({error}).", file.display()))
    })
}

/// Sends a run; saves it to a file if the server does not accept it. The server records the run once.
pub(super) fn send(client: &Client, mut new: NewRun) -> Result<Report> {
    let key = new.idempotency_key.get_or_insert_with(|| ReportIdempotencyKey(Uuid::new_v4())).0;
    run::send(client, new.clone()).map(show_claim).map_err(|error| {
        let failure = Failure::from(error);
        match save(key, &new) {
            Ok(file) => {
                let file = file.display();
                failure.and(&format!(
                    "The results are saved in {file}; send them with `tidemark run --resend {file}`."
                ))
            }
            Err(second) => failure.and(&format!("The results could not be saved either: {second}")),
        }
    })
}

/// Shows how to claim the project that a run without a credential has created, and returns the report.
pub(super) fn show_claim(sent: run::RecordedRun) -> Report {
    if let Some(token) = sent.claim_token {
        let organization = sent.report.project.organization;
        message!(
            "This run created an unclaimed project. `tidemark organization claim {organization} --claim-token {token}` makes it \
             yours; the token is shown only once."
        );
    }
    sent.report
}

fn save(key: Uuid, new: &NewRun) -> Result<PathBuf> {
    let folder = settings::load(settings::named_file(), &Flags::default())?.data_dir.join(FOLDER);
    let file = folder.join(format!("{key}.json"));
    let text = serde_json::to_string(new)
        .map_err(|error| Failure::new(format!("it cannot be written as JSON ({error}).")))?;
    settings::write_for_owner(&file, &text)
        .map_err(|error| Failure::new(format!("{} cannot be written ({error}).", file.display())))?;
    Ok(file)
}
