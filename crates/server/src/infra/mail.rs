//! Mail: enqueued in the transaction that causes it, composed and sent by the background worker (`background.rs`).
//!
//! The outbox contains recipients and content, but no tokens: tokens are signed when a message is composed. `message.rs` and
//! `content.rs` define the content, `transport.rs` sends it.

mod content;
mod message;
mod transport;

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use lettre::message::{
    Body, Mailbox, MultiPart,
    header::{ContentTransferEncoding, HeaderName, HeaderValue},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tidemark_api::{Email, InvitationUuid, Jwt, OrganizationRole, OrganizationUuid, Timestamp};
use tidemark_store::{self as store, Tx, outbox};
use url::Url;
use uuid::Uuid;

use self::content::MailContent;
pub use self::{
    message::{Invitation, Link, Message, invitation_url},
    transport::{DeliveryError, Transport},
};

pub(crate) use self::transport::{FOLDER, file_stamp};

/// Kind of outbox rows that are mail.
pub const KIND: &str = "mail";

/// Signs the tokens in messages.
pub trait TokenSigner: Send + Sync {
    /// Returns the token of a sign-in link.
    fn sign_in(&self, uuid: Uuid, email: &Email, created: Timestamp, expires: Timestamp) -> Jwt;

    /// Returns the token of an invitation.
    fn invitation(
        &self,
        uuid: InvitationUuid,
        email: &Email,
        organization: OrganizationUuid,
        role: OrganizationRole,
        created: Timestamp,
        expires: Timestamp,
    ) -> Jwt;
}

/// Outbox payload of one mail.
#[derive(Deserialize, Serialize)]
struct Envelope {
    to: Email,
    message: Message,
}

/// Enqueues a mail in the transaction that causes it.
pub fn enqueue(tx: &mut Tx<'_>, now: Timestamp, to: &Email, message: &Message) -> store::Result<()> {
    outbox::add(tx, KIND, &payload(to, message)?, None, now)
}

/// Enqueues the same mail to several recipients.
pub fn enqueue_to_all<'a>(
    tx: &mut Tx<'_>,
    now: Timestamp,
    to: impl IntoIterator<Item = &'a Email>,
    message: &Message,
) -> store::Result<()> {
    let payloads =
        to.into_iter().map(|to| Ok((payload(to, message)?, None))).collect::<store::Result<Vec<_>>>()?;
    outbox::add_many(tx, KIND, &payloads, now)
}

fn payload(to: &Email, message: &Message) -> store::Result<String> {
    let envelope = Envelope { to: to.clone(), message: message.clone() };
    serde_json::to_string(&envelope).map_err(|error| store::Error::Engine(error.into()))
}

/// Composes a mail, as plain text and as HTML with the same content.
///
/// Everything except the boundary between the parts is determined by the arguments, so that a retry sends the same mail.
fn compose(
    content: &MailContent,
    from: &Mailbox,
    to: &Email,
    id: &str,
    date: Timestamp,
    eight_bit: bool,
) -> Result<lettre::Message, lettre::error::Error> {
    let since_1970 = Duration::from_micros(u64::try_from(date.micros()).unwrap_or_default());
    // Prevents replies of vacation responders.
    let automatic =
        HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned());
    lettre::Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, transport::address(to)))
        .subject(content.subject.replace(char::is_control, " "))
        .message_id(Some(format!("<{id}@{}>", from.email.domain())))
        .date(UNIX_EPOCH + since_1970)
        .raw_header(automatic)
        .multipart(MultiPart::alternative_plain_html(
            unencoded_body(content.text(), eight_bit),
            content.html(),
        ))
}

/// Maximum length of a line in a mail, without its line ending.
const MAX_LINE_LENGTH: usize = 998;

/// Returns text without a transfer encoding if possible, so that a link can be copied from a mail file.
fn unencoded_body(text: String, eight_bit: bool) -> Body {
    let fits = text.lines().all(|line| line.len() <= MAX_LINE_LENGTH);
    let encoding = match text.is_ascii() {
        true if fits => ContentTransferEncoding::SevenBit,
        false if fits && eight_bit => ContentTransferEncoding::EightBit,
        _ => return Body::new(text),
    };
    Body::dangerous_pre_encoded(text.replace('\n', "\r\n").into_bytes(), encoding)
}

/// Delivers mail from the outbox.
#[derive(Clone)]
pub struct Mailer {
    from: Mailbox,
    console: Url,
    tokens: Arc<dyn TokenSigner>,
    transport: Transport,
}

impl Mailer {
    /// Creates a mailer whose links point to the console at this URL.
    pub fn new(transport: Transport, console: Url, tokens: Arc<dyn TokenSigner>) -> Self {
        Self { from: transport.sender(), console, tokens, transport }
    }

    /// Sends one mail of the outbox. A mail that is sent twice has the same message ID, so that mail programs show it once.
    pub async fn deliver(&self, item: &outbox::OutboxItem, now: Timestamp) -> Result<(), DeliveryError> {
        let Envelope { to, message } = serde_json::from_str(&item.payload).map_err(|error| {
            DeliveryError::Permanent(format!("the stored mail cannot be read by this release: {error}"))
        })?;
        if message.expires().is_some_and(|expires| expires <= now) {
            return Err(DeliveryError::Permanent(
                "its link expired before the mail could be sent".to_owned(),
            ));
        }
        let content = message.content(&to, &self.console, self.tokens.as_ref());
        let eight_bit = self.transport.is_eight_bit();
        let mail = compose(&content, &self.from, &to, &message_id(item), item.created, eight_bit)
            .map_err(|error| DeliveryError::Permanent(format!("the mail cannot be written: {error}")))?;
        self.transport.send(item, &to, &content, mail).await
    }
}

/// Returns the message ID: the same for every attempt, unique per mail, and without information about its content.
fn message_id(item: &outbox::OutboxItem) -> String {
    let digest = Sha256::new()
        .chain_update(item.id.to_le_bytes())
        .chain_update(item.created.micros().to_le_bytes())
        .chain_update(&item.payload)
        .finalize();
    hex::encode(&digest[..16])
}

#[cfg(test)]
mod tests;
