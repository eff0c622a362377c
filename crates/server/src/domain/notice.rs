//! Delivers notifications about alerts or changes to webhooks, chats and mail addresses. A notification is enqueued with its
//! report, and `background.rs` calls this module, for each notice one event of a project after the other. The texts are in
//! `crates/render/src/notification.rs`.
//!
//! A receiver may get an event twice if a server crashes after the delivery and before it is recorded. Both have the same id.
//! Requests to webhooks follow the Standard Webhooks specification, so that receivers can verify them with existing libraries.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use tidemark_api::{DeliveryStatus, Digest, Email, NoticeKind, Notifies, PlainKey, Report, Timestamp, Url};
use tidemark_render::{
    notification::{Notification, NotificationContent},
    test_notification::TestNotification,
};
use tidemark_store::{
    self as store, Db, ReportId, Tx, WriteContext, bisection, change, confirmation,
    delivery::{self, PendingDelivery},
    detection, notice, outbox, project, report,
};
use tokio::task::spawn_blocking;
use ureq::http::{Request, header};

use crate::{
    domain::{
        error::{Error, Result},
        mute::Mutes,
    },
    infra::{
        mail::{self, DeliveryError, Message},
        outgoing,
    },
};

/// Maximum delivery attempts per event, over most of a working day.
const MAX_ATTEMPTS: i64 = 16;
/// Maximum delivery attempts if the previous event failed, so that an unreachable receiver does not block the queue.
const MAX_ATTEMPTS_AFTER_FAILURE: i64 = 3;
/// Seconds of a day.
const DAY: i64 = 24 * 60 * 60;
/// Prefix of the secrets of webhooks, and the number of Base64 characters after it.
const SECRET: (&str, usize) = ("whsec_", 40);

/// Creates a secret for a webhook.
pub(crate) fn new_secret(fresh: &WriteContext) -> Result<PlainKey> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let (prefix, length) = SECRET;
    let secret = format!("{prefix}{}", fresh.random_text(alphabet, length));
    secret.parse().map_err(|error: tidemark_api::Invalid| Error::Internal(error.into()))
}

/// Delivers notifications about alerts and changes.
#[derive(Clone)]
pub(crate) struct Notifier {
    /// The database.
    pub(crate) db: Db,
    /// Base URL of the console, for links to reports.
    pub(crate) console: Url,
    /// Whether addresses that are not public are allowed.
    pub(crate) allows_private: bool,
}

/// A request to a receiver.
struct WebhookRequest {
    url: Url,
    body: String,
    /// The signature and its parameters.
    headers: Vec<(&'static str, String)>,
}

/// The next step of a pending delivery.
enum DeliveryStep {
    /// Drop the delivery, with this reason.
    Drop(&'static str),
    /// Enqueue this mail.
    Mail(Email, Message),
    /// Send this request.
    Send(WebhookRequest),
}

impl Notifier {
    /// Delivers the event of an outbox item, if it is due.
    pub(crate) async fn deliver(
        &self,
        item: &outbox::OutboxItem,
        now: Timestamp,
    ) -> Result<(), DeliveryError> {
        let uuid = item
            .payload
            .parse()
            .map_err(|_| DeliveryError::Permanent("it does not name a delivery".into()))?;
        let later = |error: store::Error| DeliveryError::Temporary(error.to_string());
        let found = self.db.read(move |tx| delivery::find_waiting(tx, uuid)).await.map_err(later)?;
        let Some(pending) = found else { return Ok(()) };
        let due = due(&pending, now);
        if due > now {
            return Err(DeliveryError::NotDue(due));
        }
        if pending.notice.notice.digest == Digest::Daily && !pending.again && !pending.is_test {
            let own = pending.clone();
            let gather = move |tx: &mut Tx<'_>| delivery::merge_waiting(tx, &own, end_of_day(own.enqueued));
            self.db.write(gather).await.map_err(later)?;
        }
        let (own, console) = (pending.clone(), self.console.clone());
        let step = self.db.read(move |tx| compose(tx, &own, &console, now)).await.map_err(later)?;
        let request = match step {
            DeliveryStep::Send(request) => request,
            other => {
                let end = move |tx: &mut Tx<'_>| other.end(tx, &pending, now);
                return self.db.write(end).await.map_err(later);
            }
        };
        let allows_private = self.allows_private;
        let sent = spawn_blocking(move || request.send(allows_private)).await;
        let outcome = sent.unwrap_or_else(|error| Err(error.to_string()));
        let max_attempts = match pending.before {
            Some(DeliveryStatus::Failed) => MAX_ATTEMPTS_AFTER_FAILURE,
            _ => MAX_ATTEMPTS,
        };
        // A user waits for the result of a test.
        let is_last = pending.is_test || item.attempts >= max_attempts;
        let recorded = outcome.clone();
        let record = move |tx: &mut Tx<'_>| match &recorded {
            Ok(()) => delivery::complete(tx, &pending, DeliveryStatus::Delivered, None, now).map(drop),
            Err(error) if is_last => {
                delivery::complete(tx, &pending, DeliveryStatus::Failed, Some(error), now).map(drop)
            }
            Err(error) => delivery::record_failed_attempt(tx, &pending, error, now),
        };
        self.db.write(record).await.map_err(later)?;
        outcome.map_err(|reason| match is_last {
            true => DeliveryError::Permanent(reason),
            false => DeliveryError::Temporary(reason),
        })
    }
}

/// Returns when a delivery is due: after the day of its digest, and after the quiet hours.
fn due(pending: &PendingDelivery, now: Timestamp) -> Timestamp {
    if pending.again || pending.is_test {
        return now;
    }
    let notice = &pending.notice.notice;
    let due = match notice.digest {
        Digest::None => now,
        Digest::Daily => now.max(end_of_day(pending.enqueued)),
    };
    notice.quiet.as_ref().and_then(|quiet| quiet.end(due)).unwrap_or(due)
}

fn end_of_day(time: Timestamp) -> Timestamp {
    Timestamp::from_micros((time.seconds().div_euclid(DAY) + 1) * DAY * 1_000_000)
}

impl DeliveryStep {
    /// Completes a step without a request to a receiver. A mail counts as delivered when it is enqueued.
    fn end(self, tx: &mut Tx<'_>, pending: &PendingDelivery, now: Timestamp) -> store::Result<()> {
        match self {
            Self::Drop(reason) => {
                delivery::complete(tx, pending, DeliveryStatus::Dropped, Some(reason), now)?;
            }
            Self::Mail(email, message) => {
                if delivery::complete(tx, pending, DeliveryStatus::Delivered, None, now)? {
                    mail::enqueue(tx, now, &email, &message)?;
                }
            }
            Self::Send(_) => {}
        }
        Ok(())
    }
}

/// Composes the notification, or returns the reason to drop the delivery.
fn compose(
    tx: &mut Tx<'_>,
    pending: &PendingDelivery,
    console: &Url,
    now: Timestamp,
) -> store::Result<DeliveryStep> {
    let notice = &pending.notice.notice;
    if pending.is_gone {
        return Ok(DeliveryStep::Drop("The project was deleted."));
    }
    if let Some(user) = pending.user
        && !project::is_visible_to(tx, pending.project, user)?
    {
        return Ok(DeliveryStep::Drop("The user may no longer view the project."));
    }
    if pending.is_test {
        let project = project::by_id(tx, pending.project)?.project;
        let test =
            TestNotification { event: pending.event, time: pending.enqueued, project: &project, notice };
        return address(
            tx,
            pending,
            now,
            || (test.title(), test.plain()),
            || match notice.kind {
                NoticeKind::Slack => test.slack(),
                NoticeKind::Mattermost => test.mattermost(),
                NoticeKind::Discord => test.discord(),
                NoticeKind::Webhook | NoticeKind::Email => test.webhook(),
            },
        );
    }
    let mut reports = reports(tx, pending)?;
    if reports.is_empty() {
        return Ok(DeliveryStep::Drop("The report was deleted."));
    }
    // A mute can be created while the delivery waits.
    let mutes = Mutes::read(tx, pending.project, now)?;
    let mut is_muted = false;
    for (_, report) in &mut reports {
        mutes.mark_alerts(report);
        is_muted |= report.alerts.iter().flatten().any(|alert| alert.muted.is_some());
    }
    let mut changes;
    let bisections;
    let ids: Vec<i64> = reports.iter().map(|(id, _)| id.get()).collect();
    let content = match detection::settings(tx, pending.project)?.notifies {
        Notifies::Alerts => {
            bisections = bisection::of_alerts(tx, pending.project, &ids)?;
            NotificationContent::Alerts
        }
        Notifies::Changes => {
            changes = change::raised_with(tx, pending.project, &ids)?;
            mutes.mark_changes(changes.iter_mut().map(|(_, change)| change));
            is_muted |= changes.iter().any(|(_, change)| change.muted.is_some());
            changes.retain(|(_, change)| change.muted.is_none());
            bisections = bisection::raised_with(tx, pending.project, &ids)?;
            NotificationContent::Changes(&changes)
        }
    };
    let confirmations = confirmation::of_reports(tx, &ids)?;
    let reports: Vec<Report> = reports.into_iter().map(|(_, report)| report).collect();
    let filter = notice.filter();
    let notification =
        Notification::new(pending.event, pending.enqueued, &reports, content, &filter, console)
            .map(|notification| notification.with_confirmations(&confirmations));
    let Some(notification) = notification else {
        return Ok(DeliveryStep::Drop(match is_muted {
            true => "The alerts or changes of the report are muted.",
            false => "The report has no alert or change that matches the filter of the notice.",
        }));
    };
    let notification = notification.with_bisections(&bisections);
    address(
        tx,
        pending,
        now,
        || (notification.title(), notification.plain()),
        || match notice.kind {
            NoticeKind::Slack => notification.slack(),
            NoticeKind::Mattermost => notification.mattermost(),
            NoticeKind::Discord => notification.discord(),
            NoticeKind::Webhook | NoticeKind::Email => notification.webhook(),
        },
    )
}

/// Addresses a notification: as a mail with this title and text, or as a request with this body.
fn address(
    tx: &mut Tx<'_>,
    pending: &PendingDelivery,
    now: Timestamp,
    mail: impl FnOnce() -> (String, String),
    body: impl FnOnce() -> Value,
) -> store::Result<DeliveryStep> {
    let notice = &pending.notice.notice;
    if notice.kind == NoticeKind::Email {
        let Some(email) = notice.email.clone() else {
            return Ok(DeliveryStep::Drop("The notice has no address."));
        };
        let own = pending.user.is_some();
        if !own && !notice::is_member(tx, pending.organization, &email)? {
            return Ok(DeliveryStep::Drop("The address no longer belongs to a member of the organization."));
        }
        let ((title, text), notice) = (mail(), notice.name.clone());
        return Ok(DeliveryStep::Mail(email, Message::Alerts { title, text, notice, own }));
    }
    let Some(url) = pending.notice.url.clone() else {
        return Ok(DeliveryStep::Drop("The notice has no address."));
    };
    let body = body().to_string();
    let headers = pending
        .secret
        .as_ref()
        .map(|secret| signature_headers(secret, &pending.event.to_string(), now, &body));
    Ok(DeliveryStep::Send(WebhookRequest { url, body, headers: headers.unwrap_or_default() }))
}

/// Returns the reports of an event, with their results and alerts.
fn reports(tx: &mut Tx<'_>, pending: &PendingDelivery) -> store::Result<Vec<(ReportId, Report)>> {
    let ids = delivery::reports(tx, pending.notice.id, pending.event)?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let project_view = project::by_id(tx, pending.project)?.project;
    let mut found = report::summaries(tx, &project_view, &ids)?;
    report::expand(tx, &mut found)?;
    Ok(found.into_iter().map(|found| (found.id, found.report)).collect())
}

/// Returns the headers that identify and sign an event.
fn signature_headers(
    secret: &PlainKey,
    event: &str,
    now: Timestamp,
    body: &str,
) -> Vec<(&'static str, String)> {
    let seconds = now.seconds().to_string();
    let key = STANDARD.decode(secret.as_str().trim_start_matches(SECRET.0)).unwrap_or_default();
    let mut headers = vec![("webhook-id", event.to_owned()), ("webhook-timestamp", seconds.clone())];
    // HMAC accepts a key of any length.
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) {
        mac.update(format!("{event}.{seconds}.{body}").as_bytes());
        headers.push(("webhook-signature", format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))));
    }
    headers
}

impl WebhookRequest {
    /// Sends the request. Returns the reason of a failure.
    fn send(self, allows_private: bool) -> Result<(), String> {
        let Self { url, body, headers } = self;
        let mut request = Request::post(url.as_str()).header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let agent = outgoing::agent(url.as_str(), allows_private);
        let answer = request.body(body).map_err(ureq::Error::from).and_then(|request| agent.run(request));
        match answer.map(|answer| answer.status().as_u16()) {
            Ok(200..300) => Ok(()),
            Ok(status) => Err(format!("The receiver answered with the status {status}.")),
            Err(error) => Err(format!("The receiver could not be reached: {error}.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn signatures_are_those_of_the_specification() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let now = Timestamp::from_micros(1_614_265_330_000_000);
        let headers =
            signature_headers(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", now, r#"{"test": 2432232314}"#);
        let signature = ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".to_owned());
        assert!(headers.contains(&signature), "{headers:?}");
    }
}
