//! `tidemark login`, `logout` and `whoami`: a stored key of a server.

use std::io::{self, IsTerminal, Read};

use serde_json::json;
use tidemark_api::{Caller, Jwt, PlainKey, Url};
use tidemark_client::caller;

use crate::{
    connection::{Connection, credential},
    failure::{Failure, Result, print},
    logins::Logins,
    output,
    resource::OutputFlags,
    table::Table,
};

/// Arguments of `tidemark login`.
#[derive(clap::Args)]
pub(crate) struct LogIn {
    #[command(flatten)]
    connection: Connection,
    /// Read the key from standard input [default: only if standard input is not a terminal]
    #[arg(long)]
    stdin: bool,
}

/// Arguments of `tidemark logout`.
#[derive(clap::Args)]
pub(crate) struct LogOut {
    /// Server whose key is deleted [default: the server of the last login]
    #[arg(long, value_name = "URL", env = "TIDEMARK_HOST")]
    host: Option<Url>,
}

/// Arguments of `tidemark whoami`.
#[derive(clap::Args)]
pub(crate) struct WhoAmI {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: OutputFlags,
}

impl LogIn {
    pub(crate) fn run(&self) -> Result {
        let (host, given) = self.connection.given()?;
        let key = match given {
            Some(key) => key,
            None => self.ask(&host)?,
        };
        let is_either = key.parse::<PlainKey>().is_ok() || key.parse::<Jwt>().is_ok();
        if !is_either {
            return Err(Failure::usage(
                "This is not a key: a key is svc_user_ and 30 letters and digits; create one with `tidemark \
                 user key create`.",
            ));
        }
        // Store only a key that works.
        let client = self.connection.client_for(host.clone(), Some(credential(&key)?));
        let caller = client.send(&caller())?;
        let mut logins = Logins::load()?;
        logins.add(&host, key);
        let file = logins.save()?;
        print(&format!(
            "Logged in to {host} as {}. The key is stored in {}.\n",
            title(&caller),
            file.display()
        ))
    }

    /// Prompts for a key without showing it, or reads it from standard input.
    fn ask(&self, host: &Url) -> Result<String> {
        let failed = |error: io::Error| Failure::new(format!("The key cannot be read ({error})."));
        let text = if self.stdin || !io::stdin().is_terminal() {
            let mut text = String::new();
            io::stdin().lock().read_to_string(&mut text).map_err(failed)?;
            text
        } else {
            rpassword::prompt_password(format!("Key for {host}: ")).map_err(failed)?
        };
        match text.trim() {
            "" => Err(Failure::usage("No key was given: type it, or pipe it in.")),
            key => Ok(key.to_owned()),
        }
    }
}

impl LogOut {
    pub(crate) fn run(&self) -> Result {
        let mut logins = Logins::load()?;
        let Some(host) = self.host.clone().or_else(|| logins.current()) else {
            return Err(Failure::new("There is no stored login; `tidemark login` stores one."));
        };
        if !logins.remove(&host) {
            return Err(Failure::new(format!("There is no stored login for {host}; check the address.")));
        }
        logins.save()?;
        print(&format!("Logged out of {host}. The key stays valid until it is revoked.\n"))
    }
}

impl WhoAmI {
    pub(crate) fn run(&self) -> Result {
        let target = self.connection.target()?;
        let (host, host_by) = target.host.unzip();
        let caller = match target.credential {
            Some(_) => Some(self.connection.client()?.send(&caller())?),
            None => None,
        };
        let credential_by = target.credential.map(|(_, source)| source.to_string());
        if self.format.json {
            let document = json!({
                "host": host, "host_by": host_by.map(|source| source.to_string()), "credential_by": credential_by,
                "user": caller.as_ref().and_then(|caller| caller.user.as_ref()),
                "project": caller.as_ref().and_then(|caller| caller.project.as_ref()),
            });
            return print(&format!("{document:#}\n"));
        }
        let who = caller.as_ref().map_or_else(|| "anonymous: there is no credential".to_owned(), title);
        let mut table = Table::record();
        table.push(["Caller".to_owned(), who]);
        if let Some(source) = credential_by {
            table.push(["Credential from".to_owned(), source]);
        }
        let server =
            host.map_or_else(|| "none: results stay on this machine".to_owned(), |host| host.to_string());
        table.push(["Server".to_owned(), server]);
        if let Some(source) = host_by {
            table.push(["Server from".to_owned(), source.to_string()]);
        }
        print(&table.show())
    }
}

/// Returns a short description of a caller.
fn title(caller: &Caller) -> String {
    match (&caller.user, &caller.project) {
        (Some(user), _) => {
            let admin = if user.admin { ", administrator" } else { "" };
            format!("{} ({}{admin})", output::plain(user.name.as_str()), user.slug)
        }
        (None, Some(project)) => {
            format!("the project {} ({})", output::plain(project.name.as_str()), project.slug)
        }
        (None, None) => "anonymous".to_owned(),
    }
}
