//! The WebSocket of the channel. `channel.rs` defines which messages are sent.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tidemark_api::{
    SERVER_VERSION_HEADER,
    channel::{Envelope, FromRunner, ToRunner},
};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{
        self, Message,
        client::IntoClientRequest,
        http::{Response, StatusCode, header::AUTHORIZATION},
    },
};

use super::Settings;

/// Timeout of connecting.
const CONNECT: Duration = Duration::from_secs(30);

/// A connection.
pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// Why connecting failed.
pub(super) enum Refusal {
    /// Temporary: retry.
    ForNow(String),
    /// Permanent: do not retry.
    ForGood(String),
}

impl Socket {
    pub(super) async fn connect(settings: &Settings) -> Result<Self, Refusal> {
        // Another part of the program may have installed a provider before, which works as well.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let base = settings.host.as_ref().trim_end_matches('/');
        let address = format!("ws{}/v0/runners/{}/channel", base.trim_start_matches("http"), settings.runner);
        let wrong = |error: &dyn std::fmt::Display| {
            Refusal::ForGood(format!("The address of the server or the key cannot be used ({error})."))
        };
        let mut request = address.into_client_request().map_err(|error| wrong(&error))?;
        let key = format!("Bearer {}", settings.key).parse().map_err(|error| wrong(&error))?;
        request.headers_mut().insert(AUTHORIZATION, key);
        match timeout(CONNECT, connect_async(request)).await {
            Ok(Ok((stream, answer))) => {
                tell_version(settings, &answer);
                Ok(Self(stream))
            }
            Ok(Err(tungstenite::Error::Http(answer))) => {
                tell_version(settings, &answer);
                Err(refusal(&answer))
            }
            Ok(Err(error)) => Err(Refusal::ForNow(error.to_string())),
            Err(_) => Err(Refusal::ForNow("it takes too long to connect".to_owned())),
        }
    }

    /// Sends a message. Returns `false` if the connection is closed.
    pub(super) async fn say(&mut self, message: &Envelope<FromRunner>) -> bool {
        match serde_json::to_string(message) {
            Ok(text) => self.0.send(Message::Text(text.into())).await.is_ok(),
            Err(_) => false,
        }
    }

    /// Waits for the next message. Returns `None` for a message of an unknown type.
    pub(super) async fn receive(&mut self) -> Result<Option<Envelope<ToRunner>>, String> {
        match self.0.next().await {
            Some(Ok(Message::Text(text))) => Ok(serde_json::from_str(&text).ok()),
            Some(Ok(Message::Close(Some(frame)))) => {
                Err(format!("the server has closed it: {}", frame.reason))
            }
            Some(Ok(Message::Close(None))) | None => Err("the connection is gone".to_owned()),
            Some(Ok(_)) => Ok(None),
            Some(Err(error)) => Err(error.to_string()),
        }
    }

    pub(super) async fn close(&mut self) {
        // The connection may be closed already.
        drop(timeout(Duration::from_secs(1), self.0.close(None)).await);
    }
}

fn tell_version(settings: &Settings, answer: &Response<Option<Vec<u8>>>) {
    let version = answer.headers().get(SERVER_VERSION_HEADER).and_then(|value| value.to_str().ok());
    // A failed response without a version may come from a proxy.
    if version.is_some() || answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        (settings.on_version)(version);
    }
}

/// Returns the refusal for a response that is not a WebSocket upgrade.
fn refusal(answer: &Response<Option<Vec<u8>>>) -> Refusal {
    let message = answer.body().as_ref().and_then(|body| {
        let body: serde_json::Value = serde_json::from_slice(body).ok()?;
        Some(body["message"].as_str()?.to_owned())
    });
    let status = answer.status().as_u16();
    let said = message.unwrap_or_else(|| format!("it answered {status}"));
    match status {
        400 | 401 | 403 | 404 => {
            Refusal::ForGood(format!("The server refuses this runner ({status}): {said}"))
        }
        _ => Refusal::ForNow(said),
    }
}
