//! A series of files, one per run, for example of pyperf or Google Benchmark. Date and commit come from the content, or else from
//! the name and the date of the file.

use std::{path::Path, time::UNIX_EPOCH};

use serde_json::Value;
use tidemark_api::{Adapter, GitHash, Timestamp};

use super::{Content, ImportedRun, files};
use crate::{
    failure::{Exit, Failure, Result},
    input::ToolOutput,
};

/// Number of digits of a commit hash.
const HASH: usize = 40;

/// Reads the JSON files of a folder.
pub(super) fn read_folder(folder: &Path) -> Result<Vec<ImportedRun>> {
    files(folder, "json")?.iter().map(|file| read(file, ToolOutput::from_file(file)?)).collect()
}

/// Reads a file.
pub(super) fn read(path: &Path, output: ToolOutput) -> Result<ImportedRun> {
    let ToolOutput { name, text, .. } = output;
    let results = tidemark_adapters::parse(Adapter::Magic, &text, None)
        .map_err(|error| Failure::with(Exit::Unreadable, format!("{name}: {error}")))?;
    let document: Value = serde_json::from_str(&text).unwrap_or_default();
    let metadata = Metadata(&document);
    let dated = || {
        let time = modified(path)?;
        message!("warning: {name} contains no date; the command uses the date of the file, {time}.");
        Some(time)
    };
    let time = metadata.time().or_else(dated).ok_or_else(|| {
        Failure::with(
            Exit::Unreadable,
            format!("{name}: The file contains no date and has no modification time."),
        )
    })?;
    Ok(ImportedRun {
        hash: metadata.hash().or_else(|| hash_in(path.file_name()?.to_str()?)),
        testbed: metadata.first(&["host_name", "hostname"]).map(str::to_owned),
        time,
        content: Content::Printed { adapter: results.adapter, text },
    })
}

/// Metadata of a document: the context of Google Benchmark or the metadata of pyperf.
struct Metadata<'a>(&'a Value);

impl Metadata<'_> {
    fn first(&self, names: &[&str]) -> Option<&str> {
        let Self(document) = self;
        let benchmark = &document["benchmarks"][0];
        let places = [
            &document["context"],
            &document["metadata"],
            &benchmark["metadata"],
            &benchmark["runs"][0]["metadata"],
        ];
        names.iter().find_map(|name| places.iter().find_map(|place| place[*name].as_str()))
    }

    fn hash(&self) -> Option<GitHash> {
        self.first(&["commit_id", "git_hash", "commit"])?.parse().ok()
    }

    /// Returns the time; a time without a time zone, as in pyperf, is UTC.
    fn time(&self) -> Option<Timestamp> {
        let text = self.first(&["date"])?;
        text.parse().or_else(|_| format!("{}Z", text.replacen(' ', "T", 1)).parse()).ok()
    }
}

/// Returns the commit hash in a file name.
fn hash_in(name: &str) -> Option<GitHash> {
    let words = name.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| word.len() == HASH).find_map(|word| word.parse().ok())
}

fn modified(path: &Path) -> Option<Timestamp> {
    let since = path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_micros(i64::try_from(since.as_micros()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_and_commit_are_read_from_the_metadata() {
        let google = serde_json::json!({ "context": { "date": "2026-11-15T09:46:24+02:00" } });
        assert_eq!(Metadata(&google).time().unwrap().to_string(), "2026-11-15T07:46:24.000Z");
        let pyperf = serde_json::json!({
            "benchmarks": [{ "runs": [{ "metadata": { "date": "2026-11-15 07:48:54.195828" } }] }],
            "metadata": { "commit_id": "0123456789012345678901234567890123456789" },
        });
        let metadata = Metadata(&pyperf);
        assert_eq!(metadata.time().unwrap().to_string(), "2026-11-15T07:48:54.195Z");
        assert!(metadata.hash().is_some());
        assert!(hash_in("run-0123456789012345678901234567890123456789.json").is_some());
        assert!(hash_in("run-7.json").is_none());
    }
}
