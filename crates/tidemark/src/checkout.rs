//! States of a repository to measure: the work tree, and temporary checkouts of commits outside of it. The checkouts are always
//! removed, also when the program is interrupted. `measurement.rs` runs commands in them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    failure::{Failure, Result},
    interrupt::{Guard, on_interrupt, wait_for_exit},
};

/// A state of the repository.
pub(crate) enum Revision {
    /// A commit, by any git revision.
    Commit(String),
    /// The work tree with uncommitted modifications.
    WorkTree,
}

/// A state of the repository that is ready to run.
pub(crate) struct Checkout {
    /// Value of the variable `TIDEMARK_SIDE`, for example `base`; also the name of the folder.
    pub(crate) label: String,
    /// Name for messages: the given revision.
    pub(crate) name: String,
    /// Working directory of the command.
    pub(crate) folder: PathBuf,
    /// Root of the repository, and root of this checkout.
    root: (PathBuf, PathBuf),
}

impl Checkout {
    /// Returns the path of a file in this checkout.
    pub(crate) fn file(&self, file: &Path) -> PathBuf {
        let (repository, root) = &self.root;
        match file.strip_prefix(repository) {
            Ok(inside) => root.join(inside),
            Err(_) => self.folder.join(file),
        }
    }

    /// Returns the label and the name, for messages.
    pub(crate) fn title(&self) -> String {
        format!("{} ({})", self.label, self.name)
    }
}

/// Temporary checkouts of commits. They are removed at the end, and when the program is interrupted.
pub(crate) struct Checkouts {
    repository: PathBuf,
    /// Path of the current folder in the repository.
    prefix: String,
    folder: Arc<Mutex<Option<TempDir>>>,
    _guard: Guard,
}

impl Checkouts {
    /// Prepares checkouts for this folder of a repository.
    pub(crate) fn open(here: &Path) -> Result<Self> {
        git(here, &["--version"])?;
        let repository = git(here, &["rev-parse", "--show-toplevel"]).map_err(|_| {
            Failure::usage("This is not a git repository; run the command in a git repository.")
        })?;
        let repository = PathBuf::from(repository);
        let prefix = git(here, &["rev-parse", "--show-prefix"])?;
        let folder = TempDir::with_prefix("tidemark-").map_err(|error| {
            Failure::new(format!("The folder for a checkout cannot be created ({error})."))
        })?;
        let folder = Arc::new(Mutex::new(Some(folder)));
        let guard = on_interrupt({
            let (repository, folder) = (repository.clone(), Arc::clone(&folder));
            move || {
                remove(&repository, &folder);
            }
        })?;
        Ok(Self { repository, prefix, folder, _guard: guard })
    }

    /// Checks out a revision, or returns the work tree. The label must differ from the labels of other checkouts.
    pub(crate) fn prepare(&self, label: &str, revision: &Revision) -> Result<Checkout> {
        let label = label.to_owned();
        let Revision::Commit(reference) = revision else {
            let folder = self.repository.join(&self.prefix);
            let root = (self.repository.clone(), self.repository.clone());
            return Ok(Checkout { label, name: "work tree".to_owned(), folder, root });
        };
        let commit = self.commit(reference)?;
        let folder = match &*lock(&self.folder) {
            Some(folder) => folder.path().join(&label),
            None => return Err(Failure::new("The comparison was interrupted.")),
        };
        let path = folder.to_string_lossy().into_owned();
        git(&self.repository, &["worktree", "add", "--quiet", "--detach", &path, &commit])?;
        let root = (self.repository.clone(), folder.clone());
        let folder = folder.join(&self.prefix);
        if !folder.is_dir() {
            return Err(Failure::usage(format!(
                "{reference} has no folder {}; run the command in a folder that both sides have.",
                self.prefix
            )));
        }
        Ok(Checkout { label, name: reference.clone(), folder, root })
    }

    /// Returns the hash of a commit.
    pub(crate) fn commit(&self, reference: &str) -> Result<String> {
        commit(&self.repository, reference)
    }

    /// Removes a checkout that is no longer needed. Does not touch the work tree.
    pub(crate) fn discard(&self, checkout: &Checkout) {
        let (repository, root) = &checkout.root;
        if repository != root && lock(&self.folder).is_some() {
            let path = root.to_string_lossy();
            if git(repository, &["worktree", "remove", "--force", "--force", &path]).is_err() {
                let _ = fs::remove_dir_all(root);
            }
        }
    }
}

impl Drop for Checkouts {
    fn drop(&mut self) {
        if !remove(&self.repository, &self.folder) {
            // The interrupt handler has removed the folder and ends the program.
            wait_for_exit();
        }
    }
}

/// Removes the checkouts and prunes them in git; returns whether they still existed. Holds the lock meanwhile. A process that is
/// being stopped may still write to the folder, so the removal is retried.
fn remove(repository: &Path, folder: &Mutex<Option<TempDir>>) -> bool {
    let mut folder = lock(folder);
    let Some(folder) = folder.take() else { return false };
    let path = folder.keep();
    for _ in 0..20 {
        if fs::remove_dir_all(&path).is_ok() || !path.exists() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let _ = git(repository, &["worktree", "prune"]);
    if path.exists() {
        message!("warning: The checkout {} could not be removed.", path.display());
    }
    true
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the hash of the commit that a revision names.
pub(crate) fn commit(repository: &Path, reference: &str) -> Result<String> {
    let object = format!("{reference}^{{commit}}");
    git(repository, &["rev-parse", "--verify", "--quiet", "--end-of-options", &object]).map_err(|_| {
        Failure::usage(format!(
            "git has no commit `{reference}`; in a shallow clone, fetch the whole history."
        ))
    })
}

/// Whether the work tree has modifications that are not committed. Files that git does not track do not count.
pub(crate) fn is_modified(repository: &Path) -> Result<bool> {
    git(repository, &["status", "--porcelain", "--untracked-files=no"]).map(|changed| !changed.is_empty())
}

/// Runs git and returns its output, or a failure with its error message.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| Failure::new(format!("git cannot be started ({error}); install git.")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let reason = reason.lines().next().unwrap_or("it printed no error message").trim_start_matches("fatal: ");
    Err(Failure::new(format!("git {} failed: {reason}.", arguments.first().copied().unwrap_or_default())))
}
