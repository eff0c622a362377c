//! `/v0/runners/{runner}/channel`: the WebSocket on which a runner waits for jobs and reports their progress, and the upload of
//! outputs that are too large for a message. `channel/conversation.rs` handles the messages.

mod conversation;

use std::time::Duration;

use axum::{
    extract::{
        FromRequestParts, Request, State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{header, request::Parts},
    response::Response,
};
use serde::Deserialize;
use tidemark_api::{
    JobUuid, ResourceId, RunnerUuid,
    channel::{Envelope, FromRunner, MESSAGE_MAX, ToRunner},
};
use tidemark_store::{RunnerId, Tx, job, runner};
use tokio::{
    sync::{broadcast::error::RecvError, watch},
    time::{Instant, sleep_until},
};
use utoipa::IntoParams;

use self::conversation::{Conversation, Reply};
use crate::{
    domain::{
        app::App,
        auth::{caller::Credential, key::KeyKind},
        error::{Error, Result},
        jobs::{output, wait_for_shutdown},
    },
    infra::limits::Rule,
    transport::http::{
        answer::Deleted,
        body::{Path, segment},
    },
};

/// Maximum interval between two checks of the queue for a waiting runner. Signals trigger earlier checks.
const QUEUE_POLL_INTERVAL: Duration = Duration::from_secs(15);
/// Codes of close frames: normal closure, server shutdown, policy violation.
const CLOSE_NORMAL: u16 = 1000;
const CLOSE_GOING_AWAY: u16 = 1001;
const CLOSE_POLICY_VIOLATION: u16 = 1008;

/// A runner, authenticated by its key.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    /// Database key.
    pub(crate) id: RunnerId,
    /// UUID.
    pub(crate) uuid: RunnerUuid,
    /// Hash of the key that the runner connected with.
    pub(crate) hash: Vec<u8>,
}

impl FromRequestParts<App> for Runner {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let wanted: ResourceId = segment(parts, "runner").await?;
        let Credential::Key(KeyKind::Runner, hash) = Credential::read(parts, app, app.clock.now()) else {
            return Err(Error::Unauthorized(
                "This operation requires a runner key; send the header Authorization: Bearer with the key."
                    .into(),
            ));
        };
        let looked_up = hash.clone();
        let found = app.db.read(move |tx| runner::authenticate(tx, &looked_up)).await?;
        let Some((id, uuid, slug)) = found else {
            return Err(Error::Unauthorized(
                "The runner key is not valid: it was replaced, or the runner is archived; use the current \
                 key."
                    .into(),
            ));
        };
        app.limits.check(Rule::RunnerRequests, &uuid.to_string(), app.clock.now()).await?;
        let is_meant = match &wanted {
            ResourceId::Uuid(wanted) => *wanted == uuid.uuid(),
            ResourceId::Slug(wanted) => *wanted == slug,
        };
        if is_meant { Ok(Self { id, uuid, hash }) } else { Err(Error::not_found("runner")) }
    }
}

/// Path parameter: runner.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct ChannelPath {
    /// The slug or UUID of a runner.
    #[serde(rename = "runner")]
    #[param(rename = "runner")]
    _runner: ResourceId,
}

/// Path parameters: runner and job.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct OutputPath {
    /// The slug or UUID of a runner.
    #[serde(rename = "runner")]
    #[param(rename = "runner")]
    _runner: ResourceId,
    /// The UUID of a job.
    #[param(inline)]
    job: JobUuid,
}

/// Open the channel of a runner. Requires the key of the runner.
#[utoipa::path(get, path = "/v0/runners/{runner}/channel", operation_id = "runner_channel", tag = "runners",
    params(ChannelPath), responses((status = 101, description = "A WebSocket.")),
    extensions(("x-right" = json!("runner"))))]
pub(crate) async fn open(
    State(app): State<App>,
    runner: Runner,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response> {
    let upgrade = upgrade.map_err(|_| {
        Error::Invalid(
            "This endpoint is a WebSocket; send the upgrade headers of WebSocket version 13.".into(),
        )
    })?;
    let upgrade = upgrade.max_message_size(MESSAGE_MAX).max_frame_size(MESSAGE_MAX);
    Ok(upgrade.on_upgrade(move |socket| serve(app, runner, socket)))
}

/// Upload the output of a job that is too large for a message. Requires the key of the runner.
#[utoipa::path(put, path = "/v0/runners/{runner}/jobs/{job}/output", operation_id = "runner_job_output_put",
    tag = "runners", params(OutputPath), request_body = tidemark_api::JobOutput, responses((status = 204)),
    extensions(("x-right" = json!("runner"))))]
pub(crate) async fn upload(
    State(app): State<App>,
    runner: Runner,
    Path(path): Path<OutputPath>,
    request: Request,
) -> Result<Deleted> {
    let (id, job) = (runner.id, path.job);
    let (head, body) = request.into_parts();
    let is_its_own = move |tx: &mut Tx<'_>| {
        let found = job::find(tx, job)?;
        if found.runner == Some(id) { Ok(found) } else { Err(Error::not_found("job")) }
    };
    app.db.read(is_its_own).await?;
    let announced =
        head.headers.get(header::CONTENT_LENGTH).and_then(|size| size.to_str().ok()?.parse().ok());
    let object = output::receive(&app, body, announced).await?;
    let stored = app.db.write(move |tx| {
        let found = is_its_own(tx)?;
        Ok::<_, Error>(job::upload(tx, found.id, object)?)
    });
    match stored.await {
        Ok(true) => Ok(Deleted),
        Ok(false) => {
            app.blobs.discard(object).await;
            Err(Error::Conflict("The output of the job was already uploaded.".into()))
        }
        Err(error) => {
            app.blobs.discard(object).await;
            Err(error)
        }
    }
}

/// Handles the connection of a runner until either side closes it.
async fn serve(app: App, runner: Runner, mut socket: WebSocket) {
    let uuid = runner.uuid;
    tracing::info!(runner = %uuid, "runner connected");
    let mut stopped = app.jobs.stopped();
    let end = exchange_messages(&app, runner, &mut socket, &mut stopped).await;
    let close = match end {
        Ok(close) => close,
        Err(error) => {
            let cause = error.cause();
            tracing::warn!(runner = %uuid, cause, "runner channel failed");
            None
        }
    };
    if let Some((code, reason)) = close {
        // The client may have disconnected already.
        drop(socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await);
    }
    tracing::info!(runner = %uuid, "runner disconnected");
}

/// Why the server closes a connection: code and reason of the close frame.
type Close = Option<(u16, &'static str)>;

async fn exchange_messages(
    app: &App,
    runner: Runner,
    socket: &mut WebSocket,
    stopped: &mut watch::Receiver<bool>,
) -> Result<Close> {
    let silence = Duration::from_secs(app.config.plus.runners.heartbeat_timeout.into());
    let mut signals = app.jobs.signals();
    let mut conversation = Conversation::new(app.clone(), runner);
    let mut heard = Instant::now();
    loop {
        let wake = conversation
            .wait_deadline()
            .map_or(heard + silence, |ends| ends.min(Instant::now() + QUEUE_POLL_INTERVAL));
        let reply = tokio::select! {
            () = wait_for_shutdown(stopped) => return Ok(Some((CLOSE_GOING_AWAY, "the server is shutting down"))),
            received = socket.recv() => match received {
                None | Some(Err(_) | Ok(Message::Close(_))) => return Ok(None),
                Some(Ok(Message::Text(text))) => {
                    let Ok(message) = serde_json::from_str::<Envelope<FromRunner>>(&text) else {
                        return Ok(Some((CLOSE_POLICY_VIOLATION, "the message is not a valid runner message")));
                    };
                    heard = Instant::now();
                    conversation.handle_message(message).await?
                }
                // The library responds to pings. They do not count as messages of the runner.
                Some(Ok(_)) => Reply::None,
            },
            signal = signals.recv() => match signal {
                Ok(signal) => conversation.handle_signal(signal).await?,
                Err(RecvError::Lagged(_)) => conversation.check_queue().await?,
                Err(RecvError::Closed) => return Ok(Some((CLOSE_GOING_AWAY, "the server is shutting down"))),
            },
            () = sleep_until(wake) => {
                if !conversation.is_waiting() && heard.elapsed() >= silence {
                    return Ok(Some((CLOSE_NORMAL, "\"heartbeat_timeout\"")));
                }
                conversation.check_queue().await?
            }
        };
        match reply {
            Reply::None => {}
            Reply::InvalidKey => {
                return Ok(Some((CLOSE_POLICY_VIOLATION, "the key of the runner is no longer valid")));
            }
            Reply::Send(answer) => {
                let ordered = matches!(answer.message, ToRunner::Job(_));
                if !send(socket, &answer).await {
                    if ordered {
                        conversation.return_job().await?;
                    }
                    return Ok(None);
                }
                // Restart the timeout: the runner has just received a message and needs time to act on it.
                heard = Instant::now();
            }
        }
    }
}

/// Sends a message. Returns `false` if the connection is closed.
async fn send(socket: &mut WebSocket, message: &Envelope<ToRunner>) -> bool {
    match serde_json::to_string(message) {
        Ok(text) => socket.send(Message::Text(text.into())).await.is_ok(),
        Err(_) => false,
    }
}
