//! `tidemark server`: administration of a server. `tidemark serve` runs one.

use serde_json::Value;
use tidemark_api::{Backup, BackupCreated, Compression, Console, DataStore, ServerStats};
use tidemark_client::{server, server_audit};

use crate::{
    failure::{Result, print},
    output,
    resource::{Fields, PageFlags, Printable, Session, Verb, fixed_string_parser, optional, print_json},
    table::{Column, Table},
};

/// Verbs of `tidemark server`.
#[derive(clap::Subcommand)]
pub(crate) enum ServerVerb {
    /// Show the version of the API and of Tidemark
    Version,
    /// Print the OpenAPI description of the API
    Spec,
    /// Show the configuration
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Create a backup of the database; requires an administrator
    Backup {
        /// Compress the backup
        #[arg(long)]
        compress: bool,
        /// Compression method [default: gzip]
        #[arg(long, value_name = "HOW", value_parser = fixed_string_parser::<Compression>(), requires = "compress")]
        compression: Option<Compression>,
        /// Store to copy the backup to
        #[arg(long, value_name = "STORE", value_parser = fixed_string_parser::<DataStore>())]
        data_store: Option<DataStore>,
        /// Remove the backup from the server after copying it
        #[arg(long, alias = "rm", requires = "data_store")]
        remove: bool,
    },
    /// Show the statistics of the server; requires an administrator
    Stats,
    /// List the audit log of the server, the newest entries first; requires an administrator
    Audit(PageFlags),
}

/// Verbs of `tidemark server config`.
#[derive(clap::Subcommand)]
pub(crate) enum ConfigVerb {
    /// Show the whole configuration with masked secrets; requires an administrator
    #[command(visible_alias = "get")]
    View,
    /// Show the URL of the web console
    Console,
}

impl Verb for ServerVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::Version => show_versions(session),
            Self::Spec => {
                print(&format!("{}\n", output::pretty(session.client.fetch(&server::spec())?.json()?)))
            }
            Self::Config(ConfigVerb::View) => session.show(&server::config()),
            Self::Config(ConfigVerb::Console) => session.show(&server::console()),
            Self::Backup { compress, compression, data_store, remove } => {
                let backup = Backup {
                    compress: compress.then_some(true),
                    compression: *compression,
                    data_store: *data_store,
                    remove: remove.then_some(true),
                };
                session.show(&server::backup(&backup))
            }
            Self::Stats => session.show(&server::stats()),
            Self::Audit(page) => session.list(server_audit().list(&()), page),
        }
    }
}

/// Prints the version of the API, and of Tidemark if the server reports it.
fn show_versions(session: &Session) -> Result {
    let answer = session.client.fetch(&server::view_version())?;
    if session.json {
        return print_json(answer.json()?);
    }
    let mut table = Table::record();
    table.push(["API version".to_owned(), output::plain(&answer.read()?.version)]);
    if let Some(version) = &answer.server_version {
        table.push(["Tidemark version".to_owned(), output::plain(version)]);
    }
    print(&table.show())
}

impl Printable for Console {
    fn fields(&self) -> Fields {
        Fields::default().column("URL", &self.url)
    }
}

impl Printable for BackupCreated {
    fn fields(&self) -> Fields {
        Fields::default().column("Created", output::time(self.created))
    }
}

/// Configuration of the server.
impl Printable for Value {
    fn fields(&self) -> Fields {
        Fields::default()
    }

    fn footer(&self) -> String {
        let mut table = Table::record();
        settings(&mut table, "", self);
        table.show()
    }
}

fn settings(table: &mut Table, name: &str, value: &Value) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                settings(table, &name, value);
            }
        }
        Value::String(text) => table.push([name.to_owned(), output::plain(text)]),
        value => table.push([name.to_owned(), output::plain(&value.to_string())]),
    }
}

impl Printable for ServerStats {
    fn fields(&self) -> Fields {
        let admins: Vec<_> = self.admins.iter().flatten().map(|user| user.name.as_str()).collect();
        Fields::default()
            .detail("Server", self.server.uuid)
            .detail("API version", optional(self.server.version.as_ref()))
            .detail("Tidemark version", optional(self.server.tidemark_version.as_ref()))
            .detail("Since", output::time(self.server.created))
            .detail("Counted", output::time(self.timestamp))
            .detail("Organizations", optional(self.organizations.as_ref().map(Vec::len)))
            .detail("Administrators", admins.join(", "))
    }

    fn footer(&self) -> String {
        let columns = [
            Column::Left("Resource"),
            Column::Right("Last week"),
            Column::Right("Last month"),
            Column::Right("Total"),
        ];
        let mut table = Table::new(columns, &[]);
        for (name, cohort) in [
            ("Users", self.users),
            ("Projects", self.projects),
            ("Projects with reports", self.active_projects),
            ("Reports", self.reports),
            ("Metrics", self.metrics),
        ] {
            if let Some(cohort) = cohort {
                let count = |count: u64| tidemark_api::unit::group_thousands(&count.to_string());
                table.push([name.to_owned(), count(cohort.week), count(cohort.month), count(cohort.total)]);
            }
        }
        table.show()
    }
}
