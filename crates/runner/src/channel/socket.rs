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

use super::ChannelSettings;

/// Timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection.
pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// Why connecting failed.
pub(super) enum ConnectError {
    /// Temporary: retry.
    Temporary(String),
    /// Permanent: do not retry.
    Permanent(String),
}

impl Socket {
    pub(super) async fn connect(settings: &ChannelSettings) -> Result<Self, ConnectError> {
        // Another part of the program may have installed a provider before, which works as well.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let base = settings.host.as_ref().trim_end_matches('/');
        let address = format!("ws{}/v0/runners/{}/channel", base.trim_start_matches("http"), settings.runner);
        let invalid = |error: &dyn std::fmt::Display| {
            ConnectError::Permanent(format!(
                "The URL of the server or the key of the runner is invalid ({error})."
            ))
        };
        let mut request = address.into_client_request().map_err(|error| invalid(&error))?;
        let key = format!("Bearer {}", settings.key).parse().map_err(|error| invalid(&error))?;
        request.headers_mut().insert(AUTHORIZATION, key);
        match timeout(CONNECT_TIMEOUT, connect_async(request)).await {
            Ok(Ok((stream, answer))) => {
                report_version(settings, &answer);
                Ok(Self(stream))
            }
            Ok(Err(tungstenite::Error::Http(answer))) => {
                report_version(settings, &answer);
                Err(connect_error(&answer))
            }
            Ok(Err(error)) => Err(ConnectError::Temporary(error.to_string())),
            Err(_) => Err(ConnectError::Temporary("connecting timed out".to_owned())),
        }
    }

    /// Sends a message. Returns `false` if the connection is closed.
    pub(super) async fn send(&mut self, message: &Envelope<FromRunner>) -> bool {
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
                Err(format!("the server closed the connection: {}", frame.reason))
            }
            Some(Ok(Message::Close(None))) | None => Err("the connection was closed".to_owned()),
            Some(Ok(_)) => Ok(None),
            Some(Err(error)) => Err(error.to_string()),
        }
    }

    pub(super) async fn close(&mut self) {
        // The connection may be closed already.
        drop(timeout(Duration::from_secs(1), self.0.close(None)).await);
    }
}

fn report_version(settings: &ChannelSettings, answer: &Response<Option<Vec<u8>>>) {
    let version = answer.headers().get(SERVER_VERSION_HEADER).and_then(|value| value.to_str().ok());
    // A failed response without a version may come from a proxy.
    if version.is_some() || answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        (settings.on_version)(version);
    }
}

/// Returns the error for a response that is not a WebSocket upgrade.
fn connect_error(answer: &Response<Option<Vec<u8>>>) -> ConnectError {
    let message = answer.body().as_ref().and_then(|body| {
        let body: serde_json::Value = serde_json::from_slice(body).ok()?;
        Some(body["message"].as_str()?.to_owned())
    });
    let status = answer.status().as_u16();
    let message = message.unwrap_or_else(|| format!("the server responded with status {status}"));
    match status {
        400 | 401 | 403 | 404 => ConnectError::Permanent(format!(
            "The server rejected this runner with status {status}: {message}"
        )),
        _ => ConnectError::Temporary(message),
    }
}
