//! Accepts connections, and retries when the system refuses to open more.

use std::{io, net::SocketAddr, time::Duration};

use axum::extract::connect_info::Connected;
use axum_server::{AddrListener, Address};
use tokio::{net::TcpListener, time::sleep};

use super::{Connection, Connections};

/// Delay after the first failed accept. Each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(10);
/// Maximum delay between two attempts to accept.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The socket address of a client, in the form that `axum_server` requires.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

impl Address for Peer {
    type Stream = Connection;
    type Listener = Listener;
}

impl Connected<Peer> for SocketAddr {
    fn connect_info(peer: Peer) -> Self {
        peer.0
    }
}

/// A listening socket and its connections.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    connections: Connections,
}

impl Listener {
    /// Accepts connections on a bound socket.
    pub fn new(listener: std::net::TcpListener, connections: Connections) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::from_std(listener)?, connections })
    }
}

impl AddrListener<Connection, Peer> for Listener {
    async fn bind_to(_: Peer) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "bind the port first, then call Listener::new"))
    }

    async fn accept_stream(&self) -> io::Result<(Connection, Peer)> {
        let mut wait = FIRST_WAIT;
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    if let Some(slot) = self.connections.admit(peer.ip()) {
                        // Without TCP_NODELAY, small responses would wait for the acknowledgement of the previous packet.
                        if let Err(error) = stream.set_nodelay(true) {
                            tracing::debug!(%error, "setting TCP_NODELAY failed");
                        }
                        return Ok((Connection::new(stream, slot), Peer(peer)));
                    }
                }
                Err(error) if is_of_one_connection(&error) => {
                    tracing::debug!(%error, "connection closed before it was accepted");
                }
                Err(error) => {
                    self.connections.handle_accept_error(&error);
                    sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
        }
    }

    fn get_local_addr(&self) -> io::Result<Peer> {
        self.listener.local_addr().map(Peer)
    }
}

/// Whether the error concerns one connection only, so that the next one can be accepted immediately.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
