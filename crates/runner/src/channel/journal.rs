//! What a runner must not forget when it is killed: which job it has begun, and how jobs ended that the server does not
//! know of yet. A file for each job.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    path::PathBuf,
};

use tidemark_api::{JobUuid, channel::FromRunner};

use crate::error::{Explain, Result};

/// The folder of the files, and what is in it.
pub(super) struct Journal {
    folder: PathBuf,
    /// Nothing for a job that has begun.
    jobs: BTreeMap<JobUuid, Option<FromRunner>>,
}

/// The job that a message about an end is about.
pub(super) fn job(message: &FromRunner) -> JobUuid {
    match message {
        FromRunner::Completed { job, .. }
        | FromRunner::Failed { job, .. }
        | FromRunner::Canceled { job, .. } => *job,
        _ => JobUuid::from(uuid::Uuid::nil()),
    }
}

impl Journal {
    /// Reads what an earlier runner has left.
    pub(super) fn open(folder: PathBuf) -> Result<Self> {
        let what = || "What an earlier runner has to tell cannot be read";
        fs::create_dir_all(&folder).explain(what)?;
        let mut jobs = BTreeMap::new();
        for entry in fs::read_dir(&folder).explain(what)? {
            let path = entry.explain(what)?.path();
            let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json")?.parse().ok());
            // What was not written to its end is not put in its place.
            let Some(job) = name else { continue };
            let text = fs::read(&path).explain(what)?;
            jobs.insert(job, serde_json::from_slice(&text).ok());
        }
        Ok(Self { folder, jobs })
    }

    /// The jobs that have begun.
    pub(super) fn begun(&self) -> Vec<JobUuid> {
        self.jobs.iter().filter(|(_, end)| end.is_none()).map(|(job, _)| *job).collect()
    }

    /// An end that the server does not know of.
    pub(super) fn first(&self) -> Option<&FromRunner> {
        self.jobs.values().flatten().next()
    }

    /// Writes down that a job begins.
    pub(super) fn begin(&mut self, job: JobUuid) -> Result<()> {
        self.write(job, b"begun")?;
        self.jobs.insert(job, None);
        Ok(())
    }

    /// Writes down how a job has ended.
    pub(super) fn end(&mut self, message: &FromRunner) -> Result<()> {
        let job = job(message);
        let text = serde_json::to_vec(message).unwrap_or_default();
        self.write(job, &text)?;
        self.jobs.insert(job, Some(message.clone()));
        Ok(())
    }

    /// Forgets a job, as the server knows how it ended.
    pub(super) fn remove(&mut self, job: JobUuid) -> Result<()> {
        self.jobs.remove(&job);
        fs::remove_file(self.path(job)).explain(|| "What the server knows cannot be forgotten")
    }

    fn path(&self, job: JobUuid) -> PathBuf {
        self.folder.join(format!("{job}.json"))
    }

    /// Writes a file whole, even if the power fails.
    fn write(&self, job: JobUuid, bytes: &[u8]) -> Result<()> {
        let write = || {
            let new = self.folder.join(format!("{job}.new"));
            let mut file = File::create(&new)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(new, self.path(job))?;
            File::open(&self.folder)?.sync_all()
        };
        write().explain(|| "What the server has to know cannot be written down")
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_was_begun_and_ended_is_known_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Journal::open(folder.path().to_owned()).unwrap();
        let [one, two] = [1, 2].map(|number| JobUuid::from(Uuid::from_u128(number)));
        let mut journal = open();
        journal.begin(one).unwrap();
        journal.begin(two).unwrap();
        let end = FromRunner::Completed { job: one, results: Vec::new(), uploaded: false };
        journal.end(&end).unwrap();
        fs::write(folder.path().join("half.new"), "{").unwrap();
        drop(journal);

        let mut journal = open();
        assert_eq!((journal.begun(), journal.first()), (vec![two], Some(&end)));
        journal.remove(one).unwrap();
        assert_eq!(open().first(), None);
    }
}
