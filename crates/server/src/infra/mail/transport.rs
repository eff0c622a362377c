//! Sends composed mail: over SMTP, or to a file if no mail server is configured.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use lettre::{
    Address, AsyncSmtpTransport, AsyncTransport, Tokio1Executor,
    message::Mailbox,
    transport::smtp::{
        self, PoolConfig,
        authentication::Credentials,
        client::{Tls, TlsParameters},
        response::{Category, Severity},
    },
};
use tidemark_api::{Email, Timestamp};
use tidemark_store::outbox::OutboxItem;

use super::content::MailContent;
use crate::infra::{
    config::{Encryption, Smtp},
    file_mode,
};

/// Maximum time to wait for the mail server.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of idle connections to the mail server.
const MAX_IDLE_CONNECTIONS: u32 = 4;

/// The folder in the data folder for mail if no mail server is configured.
pub(crate) const FOLDER: &str = "outbox";

/// Returns the start of the name of a mail file. The names sort by time.
pub(crate) fn file_stamp(created: Timestamp) -> String {
    created.to_string().replace(['-', ':'], "")
}

/// Transport for mail.
#[derive(Clone)]
pub struct Transport(TransportKind);

#[derive(Clone)]
enum TransportKind {
    Smtp { pool: AsyncSmtpTransport<Tokio1Executor>, from: Mailbox },
    Files { folder: PathBuf, terminal: bool },
}

/// Why a mail or another outbox item was not delivered: one sentence without addresses.
#[derive(Clone, Debug)]
pub enum DeliveryError {
    /// Temporary failure: retry.
    Temporary(String),
    /// Permanent failure.
    Permanent(String),
    /// Not due before this time.
    NotDue(Timestamp),
}

impl Transport {
    /// Creates a transport over SMTP. Connects with the first mail.
    pub fn smtp(settings: &Smtp) -> Result<Self, smtp::Error> {
        let tls = || {
            TlsParameters::builder(settings.hostname.clone())
                .dangerous_accept_invalid_certs(settings.insecure_host)
                .dangerous_accept_invalid_hostnames(settings.insecure_host)
                .build_rustls()
        };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&settings.hostname)
            .port(settings.port())
            .timeout(Some(TIMEOUT))
            .pool_config(PoolConfig::new().max_size(MAX_IDLE_CONNECTIONS));
        builder = match settings.encryption() {
            Encryption::StartTls => builder.tls(Tls::Required(tls()?)),
            Encryption::Tls => builder.tls(Tls::Wrapper(tls()?)),
            Encryption::Plain => builder.tls(Tls::None),
        };
        if let (Some(username), Some(secret)) = (&settings.username, &settings.secret) {
            builder = builder.credentials(Credentials::new(username.clone(), secret.expose().to_owned()));
        }
        let from = Mailbox::new(Some(settings.from_name.clone()), address(&settings.from_email));
        Ok(Self(TransportKind::Smtp { pool: builder.build(), from }))
    }

    /// Creates a transport to the folder `outbox` in the data folder. It also prints links if stderr is a terminal.
    pub fn files(data: &Path) -> io::Result<Self> {
        let folder = data.join(FOLDER);
        file_mode::create_folder(&folder)?;
        Ok(Self(TransportKind::Files { folder, terminal: io::stderr().is_terminal() }))
    }

    /// Returns the sender.
    pub(super) fn sender(&self) -> Mailbox {
        match &self.0 {
            TransportKind::Smtp { from, .. } => from.clone(),
            TransportKind::Files { .. } => {
                Mailbox::new(Some("Tidemark".to_owned()), Address::new_dangerous("tidemark", "localhost"))
            }
        }
    }

    /// Whether text may contain 8-bit characters without encoding. Not every mail server accepts them.
    pub(super) fn is_eight_bit(&self) -> bool {
        matches!(self.0, TransportKind::Files { .. })
    }

    /// Sends a composed mail.
    pub(super) async fn send(
        &self,
        item: &OutboxItem,
        to: &Email,
        content: &MailContent,
        mail: lettre::Message,
    ) -> Result<(), DeliveryError> {
        match &self.0 {
            TransportKind::Smtp { pool, .. } => {
                pool.send(mail).await.map(|_| ()).map_err(|error| delivery_error(&error, to))
            }
            TransportKind::Files { folder, terminal } => {
                let file = folder.join(format!("{}-{}.eml", file_stamp(item.created), item.id));
                let later = |error: &dyn std::fmt::Display| {
                    DeliveryError::Temporary(format!(
                        "the file in the outbox folder cannot be written: {error}"
                    ))
                };
                let target = file.clone();
                tokio::task::spawn_blocking(move || write(&target, &mail.formatted()))
                    .await
                    .map_err(|error| later(&error))?
                    .map_err(|error| later(&error))?;
                if *terminal {
                    print_link(&file, to, content);
                }
                Ok(())
            }
        }
    }
}

/// Converts an address to the type of the mail library. [`Email`] has the same syntax rules.
pub(super) fn address(email: &Email) -> Address {
    let (user, domain) = email.as_str().rsplit_once('@').unwrap_or((email.as_str(), ""));
    Address::new_dangerous(user, domain)
}

/// Returns the reason of a failure, without the addresses that mail servers repeat in their messages.
fn delivery_error(error: &smtp::Error, to: &Email) -> DeliveryError {
    let reason = error_chain(error).replace(to.as_str(), &to.masked());
    let reason: Vec<_> =
        reason.split_whitespace().map(|word| if is_address(word) { "(an address)" } else { word }).collect();
    let reason = reason.join(" ");
    // Status 55x concerns the mailbox or the message; the operator can fix other failures, for example a wrong password.
    let is_permanent = error.status().is_some_and(|code| {
        code.severity == Severity::PermanentNegativeCompletion && code.category == Category::MailSystem
    });
    if is_permanent { DeliveryError::Permanent(reason) } else { DeliveryError::Temporary(reason) }
}

fn is_address(word: &str) -> bool {
    word.contains('@') && !word.contains("***@")
}

fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let part = error.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        source = error.source();
    }
    text
}

/// Writes a file atomically, accessible to its owner only.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = file.with_extension("tmp");
    let mut handle = file_mode::create_file(&draft)?;
    handle.write_all(bytes)?;
    handle.sync_all()?;
    fs::rename(&draft, file)
}

/// Prints a link on the terminal. Not as a log message, because the link gives access to an account.
fn print_link(file: &Path, to: &Email, content: &MailContent) {
    let Some(action) = &content.action else { return };
    // The terminal may be gone; the mail is in the file.
    let _ = writeln!(
        io::stderr(),
        "\n  {} ({})\n\n    {}\n\n  The whole mail is in {}\n",
        content.subject,
        to.masked(),
        action.url,
        file.display()
    );
}
