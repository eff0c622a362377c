//! `tidemark admin`: creates the first administrator of a server and a key, directly in the database. A server may be running.

use std::{fs, io, path::PathBuf};

use tidemark_api::{Email, ResourceName, UserName};
use tidemark_server::{
    App,
    domain::{
        administrator::{self, Administrator, NewAdministrator},
        error::Error,
    },
    infra::config::{Config, Flags, LogFormat, LogLevel, Logging},
};
use tidemark_store::restore;
use tokio::runtime;

use crate::{
    cmd::serve,
    failure::{Failure, Result, print},
    logging, settings,
};

/// Verbs of `tidemark admin`.
#[derive(clap::Subcommand)]
pub(crate) enum AdminVerb {
    /// Create the first administrator and a key, and print the key
    Create(Create),
}

/// Arguments of `tidemark admin create`.
#[derive(clap::Args)]
pub(crate) struct Create {
    /// Mail address of the administrator
    #[arg(long)]
    email: Email,
    /// Name of the administrator [default: the part of the address before the @]
    #[arg(long)]
    name: Option<UserName>,
    /// Name of the key
    #[arg(long, default_value = "admin")]
    key_name: ResourceName,
    /// File for the key instead of standard output; a valid key in it is kept
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Revoke an existing key with this name and create a new key
    #[arg(long)]
    replace_key: bool,
    /// Configuration file
    #[arg(long, value_name = "FILE", env = "TIDEMARK_CONFIG")]
    config: Option<PathBuf>,
    /// Address that the server listens on, for the sign-in link
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// Data folder of the server [default: the data folder of the platform]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// PostgreSQL database of the server: postgres://user:password@host/name
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

impl AdminVerb {
    pub(crate) fn run(self) -> Result {
        match self {
            Self::Create(create) => create.run(),
        }
    }
}

impl Create {
    fn run(self) -> Result {
        let flags = Flags {
            bind: self.bind.clone(),
            data_dir: self.data_dir.clone(),
            database: self.database.clone(),
        };
        let config = settings::load(self.config.clone(), &flags)?;
        // Errors only, because the key is the output.
        logging::start(&Logging { level: LogLevel::Error, format: LogFormat::Human });
        config.create_folders()?;
        // Compatible with the lock of a server; a restore waits for it.
        let _lock = match config.database.url {
            Some(_) => None,
            None => Some(restore::lock_shared(&config.database.file).map_err(|error| {
                Failure::new(format!(
                    "The database {} cannot be locked ({error}); choose another folder with --data-dir.",
                    config.database.file.display()
                ))
            })?),
        };
        let wanted = self.wanted()?;
        let runtime = runtime::Builder::new_multi_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Failure::new(format!("The threads cannot be started ({error}).")))?;
        let created = runtime.block_on(create(config, wanted))?;
        let Administrator { user, is_new, key, link } = created;
        if is_new {
            message!("Created the administrator {}.", user.email);
        } else if key.is_some() {
            message!("Created a key of the administrator {}.", user.email);
        } else {
            message!("The administrator {} and the key exist already.", user.email);
        }
        message!("To sign in to the console, open this link within 30 minutes:\n{link}");
        let Some(key) = key else { return Ok(()) };
        match &self.key_file {
            Some(file) => settings::write_for_owner(file, &format!("{}\n", key.as_str())).map_err(|error| {
                Failure::new(format!(
                    "The key cannot be written to {} ({error}); repeat the command with --replace-key.",
                    file.display()
                ))
            }),
            None => print(&format!("{}\n", key.as_str())),
        }
    }

    /// Returns the wanted administrator, with the key in the file.
    fn wanted(&self) -> Result<NewAdministrator> {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => {
                let local = self.email.as_str().split('@').next().unwrap_or_default();
                local.parse().map_err(|_| {
                    Failure::usage(format!(
                        "`{local}` is not a valid name; name the administrator with --name."
                    ))
                })?
            }
        };
        let known_key = match self.key_file.as_ref().map(fs::read_to_string) {
            None => None,
            Some(Ok(text)) => Some(text.trim().to_owned()),
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Some(Err(error)) => return Err(Failure::new(format!("The key file cannot be read ({error})."))),
        };
        Ok(NewAdministrator {
            email: self.email.clone(),
            name,
            key_name: self.key_name.clone(),
            known_key,
            replaces_key: self.replace_key,
        })
    }
}

async fn create(config: Config, wanted: NewAdministrator) -> Result<Administrator> {
    let path = serve::database(&config);
    let app = App::embed(config).await.map_err(|error| explain(&path, &error))?;
    let created = administrator::create(&app, wanted).await;
    app.close().await;
    created.map_err(|error| explain(&path, &error))
}

fn explain(path: &str, error: &Error) -> Failure {
    match error {
        Error::Conflict(reason) | Error::Invalid(reason) => Failure::new(reason.clone()),
        error => match serve::why_not_open(error) {
            Ok(reason) => Failure::new(format!("The database {path} cannot be used: {reason}.")),
            Err(failure) => failure,
        },
    }
}
