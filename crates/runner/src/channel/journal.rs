//! Journal of a runner, which survives a kill: the job that has begun, and the ends of jobs that the server has not
//! acknowledged. Each job has one file with the message about its end and one file with the results of its runs.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufWriter, ErrorKind, Write},
    mem,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tidemark_api::{JobUuid, channel::FromRunner};

use super::job_end;
use crate::{
    error::{Explain, Result},
    measure,
};

/// Extension of files with results.
const RESULTS_EXTENSION: &str = "results";

/// Folder of the files, and their content.
pub(super) struct Journal {
    folder: PathBuf,
    /// `None` for a job that has begun and not ended.
    jobs: BTreeMap<JobUuid, Option<EndedJob>>,
}

/// A job whose end the server has not acknowledged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EndedJob {
    /// Message about the end, without results.
    #[serde(flatten)]
    pub(super) message: FromRunner,
    /// Number of failed attempts to upload the results.
    #[serde(default)]
    pub(super) failed_uploads: u32,
}

impl Journal {
    /// Reads the journal that an earlier runner process left.
    pub(super) fn open(folder: PathBuf) -> Result<Self> {
        let what = || "The journal of the runner cannot be read";
        fs::create_dir_all(&folder).explain(what)?;
        let (mut journal, mut orphans) = (Self { folder, jobs: BTreeMap::new() }, Vec::new());
        for entry in fs::read_dir(&journal.folder).explain(what)? {
            let path = entry.explain(what)?.path();
            let job = path.file_stem().and_then(|name| name.to_str()?.parse().ok());
            match (job, path.extension().and_then(|extension| extension.to_str())) {
                (Some(job), Some("json")) => {
                    let text = fs::read(&path).explain(what)?;
                    journal.jobs.insert(job, serde_json::from_slice(&text).ok());
                }
                (Some(job), Some(RESULTS_EXTENSION)) => orphans.push((job, path)),
                // Skip files that were not written completely.
                _ => {}
            }
        }
        for (job, path) in orphans {
            if !journal.jobs.contains_key(&job) {
                fs::remove_file(path).explain(|| "The results of an acknowledged job cannot be removed")?;
            }
        }
        journal.move_results()?;
        Ok(journal)
    }

    /// Moves results out of messages, where earlier versions of this program kept them.
    fn move_results(&mut self) -> Result<()> {
        let ended = self.jobs.values_mut().flatten();
        let moved: Vec<_> = ended
            .filter_map(|ended| {
                let results = mem::take(job_end::results(&mut ended.message)?);
                (!results.is_empty()).then(|| (ended.clone(), results))
            })
            .collect();
        for (ended, results) in moved {
            let write = || {
                let mut file = BufWriter::new(File::create(self.results(job_end::job(&ended.message)))?);
                measure::write_all(&mut file, &results)
            };
            write().explain(|| "The results of a job cannot be moved")?;
            self.write_end(ended)?;
        }
        Ok(())
    }

    /// Returns the jobs that have begun and not ended.
    pub(super) fn unfinished(&self) -> Vec<JobUuid> {
        self.jobs.iter().filter(|(_, end)| end.is_none()).map(|(job, _)| *job).collect()
    }

    /// Returns an end that the server has not acknowledged.
    pub(super) fn first(&self) -> Option<&EndedJob> {
        self.jobs.values().flatten().next()
    }

    /// Returns the path of the file with the results of a job.
    pub(super) fn results(&self, job: JobUuid) -> PathBuf {
        self.folder.join(format!("{job}.{RESULTS_EXTENSION}"))
    }

    /// Records that a job has begun.
    pub(super) fn begin(&mut self, job: JobUuid) -> Result<()> {
        self.write(job, b"begun")?;
        self.jobs.insert(job, None);
        Ok(())
    }

    /// Records the end of a job. The results are in their own file, not in the message.
    pub(super) fn end(&mut self, message: FromRunner) -> Result<()> {
        self.write_end(EndedJob { message, failed_uploads: 0 })
    }

    /// Records the end of a job and deletes its results.
    pub(super) fn end_without_results(&mut self, message: FromRunner) -> Result<()> {
        let path = self.results(job_end::job(&message));
        self.end(message)?;
        remove_if_exists(&path)
    }

    /// Counts a failed attempt to upload the results of a job, and returns the number of failed attempts.
    pub(super) fn count_failed_upload(&mut self, job: JobUuid) -> Result<u32> {
        let Some(Some(ended)) = self.jobs.get(&job) else { return Ok(0) };
        let failed_uploads = ended.failed_uploads + 1;
        self.write_end(EndedJob { failed_uploads, ..ended.clone() })?;
        Ok(failed_uploads)
    }

    /// Removes a job whose end the server has acknowledged.
    pub(super) fn remove(&mut self, job: JobUuid) -> Result<()> {
        self.jobs.remove(&job);
        fs::remove_file(self.path(job)).explain(|| "A journal entry cannot be removed")?;
        remove_if_exists(&self.results(job))
    }

    fn path(&self, job: JobUuid) -> PathBuf {
        self.folder.join(format!("{job}.json"))
    }

    fn write_end(&mut self, ended: EndedJob) -> Result<()> {
        let job = job_end::job(&ended.message);
        let synced = match File::open(self.results(job)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            file => file.and_then(|file| file.sync_all()),
        };
        synced.explain(|| "The results of the job cannot be synced to disk")?;
        let text = serde_json::to_vec(&ended).unwrap_or_default();
        self.write(job, &text)?;
        self.jobs.insert(job, Some(ended));
        Ok(())
    }

    /// Writes a file atomically, even if the power fails.
    fn write(&self, job: JobUuid, bytes: &[u8]) -> Result<()> {
        let write = || {
            let new = self.folder.join(format!("{job}.new"));
            let mut file = File::create(&new)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(new, self.path(job))?;
            File::open(&self.folder)?.sync_all()
        };
        write().explain(|| "The journal of the runner cannot be written")
    }
}

fn remove_if_exists(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).explain(|| "The results of an acknowledged job cannot be removed")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use tidemark_api::JobIteration;
    use uuid::Uuid;

    use super::*;

    fn jobs<const COUNT: usize>() -> [JobUuid; COUNT] {
        std::array::from_fn(|number| JobUuid::from(Uuid::from_u128(number as u128 + 1)))
    }

    #[test]
    fn started_and_ended_jobs_are_known_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Journal::open(folder.path().to_owned()).unwrap();
        let [one, two, three] = jobs();
        let mut journal = open();
        journal.begin(one).unwrap();
        journal.begin(two).unwrap();
        let end = FromRunner::Completed { job: one, results: Vec::new(), uploaded: false };
        fs::write(journal.results(one), "{}").unwrap();
        fs::write(journal.results(three), "{}").unwrap();
        journal.end(end.clone()).unwrap();
        assert_eq!(journal.count_failed_upload(one).unwrap(), 1);
        fs::write(folder.path().join("half.new"), "{").unwrap();
        drop(journal);

        let mut journal = open();
        assert_eq!(journal.unfinished(), [two]);
        assert_eq!(journal.first(), Some(&EndedJob { message: end, failed_uploads: 1 }));
        assert!(journal.results(one).exists() && !journal.results(three).exists());
        journal.remove(one).unwrap();
        assert!(!journal.results(one).exists());
        assert_eq!(open().first(), None);
    }

    #[test]
    fn results_in_the_message_of_an_earlier_version_are_moved() {
        let folder = tempfile::tempdir().unwrap();
        let [job] = jobs();
        let results = vec![JobIteration { exit_code: 1, ..JobIteration::default() }; 2];
        let old = FromRunner::Completed { job, results: results.clone(), uploaded: false };
        fs::write(folder.path().join(format!("{job}.json")), serde_json::to_vec(&old).unwrap()).unwrap();
        for _ in 0..2 {
            let journal = Journal::open(folder.path().to_owned()).unwrap();
            let message = FromRunner::Completed { job, results: Vec::new(), uploaded: false };
            assert_eq!(journal.first(), Some(&EndedJob { message, failed_uploads: 0 }));
            let file = File::open(journal.results(job)).unwrap();
            assert_eq!(measure::parse(&file).unwrap(), results);
        }
    }
}
