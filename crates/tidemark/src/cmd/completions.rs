//! `tidemark completions` and `tidemark man`: generated from the table of commands.

use std::{fs, path::PathBuf};

use clap::Command;
use clap_complete::Shell;

use crate::{
    failure::{Failure, Result, print},
    manifest,
};

/// Arguments of `tidemark completions`.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// Shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, mut table: Command) -> Result {
        manifest::ignore();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut table, "tidemark", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}

/// Arguments of `tidemark man`.
#[derive(clap::Args)]
pub(crate) struct Man {
    /// Folder for the pages, one page per command
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Man {
    pub(crate) fn run(&self, table: Command) -> Result {
        manifest::ignore();
        let failed = |error| {
            Failure::new(format!("The manual pages cannot be written to {} ({error}).", self.out.display()))
        };
        fs::create_dir_all(&self.out).map_err(failed)?;
        clap_mangen::generate_to(table, &self.out).map_err(failed)
    }
}
