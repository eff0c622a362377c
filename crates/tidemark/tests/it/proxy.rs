//! Proxies between a runner and its server: TLS termination, and connections that break.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};
use tokio_rustls::TlsAcceptor;

/// Forwards connections between clients and a server until it is dropped.
pub(crate) struct Proxy {
    /// Address that it listens on.
    pub(crate) address: SocketAddr,
    _runtime: Runtime,
    broken: Arc<AtomicBool>,
}

impl Proxy {
    /// Terminates TLS, with a certificate for `localhost` that it writes to a file for clients that must trust it.
    pub(crate) fn tls(server: &str, trusted: &Path) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(trusted, made.cert.pem()).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self::listen(server, move |client, mut server, _| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(mut client) = acceptor.accept(client).await else { return };
                drop(copy_bidirectional(&mut client, &mut server).await);
            }
        })
    }

    /// Breaks the first connection on which the server sends `word`, without forwarding it.
    pub(crate) fn breaking(server: &str, word: &'static str) -> Self {
        Self::listen(server, move |mut client, mut server, broken| async move {
            let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
                (client.split(), server.split());
            let back = async {
                let (mut said, mut piece) = (Vec::new(), [0; 4096]);
                while let Ok(read @ 1..) = from_server.read(&mut piece).await {
                    said.extend_from_slice(&piece[..read]);
                    let is_said = said.windows(word.len()).any(|part| part == word.as_bytes());
                    if is_said && !broken.swap(true, Ordering::AcqRel) {
                        return;
                    }
                    if to_client.write_all(&piece[..read]).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = back => {}
                _ = copy(&mut from_client, &mut to_server) => {}
            }
        })
    }

    /// Whether a connection was broken.
    pub(crate) fn has_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    fn listen<F>(
        server: &str,
        pass_on: impl Fn(TcpStream, TcpStream, Arc<AtomicBool>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (runtime, broken) = (Runtime::new().unwrap(), Arc::new(AtomicBool::new(false)));
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let (server, flag) = (server.to_owned(), Arc::clone(&broken));
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // If the server is down, the connection ends.
                let Ok(server) = TcpStream::connect(&server).await else { continue };
                tokio::spawn(pass_on(client, server, Arc::clone(&flag)));
            }
        });
        Self { address, _runtime: runtime, broken }
    }
}
