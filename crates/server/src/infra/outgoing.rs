//! Outgoing requests to URLs that users configure. They reach only the public network, unless the operator allows other
//! networks: otherwise users could send requests to the internal network through the server.

use std::{
    io::{self, Read},
    net::IpAddr,
    sync::{Arc, LazyLock},
    time::Duration,
};

use ipnet::IpNet;
use ureq::{
    Agent, Body, Error,
    config::Config,
    http::Uri,
    tls::{Certificate, RootCerts, TlsConfig},
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

/// Timeout of a whole request.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Networks that are not public: loopback, private, link-local and reserved networks.
static NOT_PUBLIC: LazyLock<Vec<IpNet>> = LazyLock::new(|| {
    let networks = [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    ];
    networks.iter().filter_map(|network| network.parse().ok()).collect()
});

/// Whether an address is on the public network.
pub(crate) fn is_public(address: IpAddr) -> bool {
    let address = address.to_canonical();
    !NOT_PUBLIC.iter().any(|network| network.contains(&address))
}

/// Returns the reason why a URL cannot be requested, as far as it is known without a connection.
pub(crate) fn rejection_reason(address: &str, allows_private: bool) -> Option<&'static str> {
    let url = url::Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let address = match url.as_ref().and_then(url::Url::host) {
        None => return Some("`url` is not an HTTP or HTTPS URL"),
        Some(url::Host::Domain(_)) => return None,
        Some(url::Host::Ipv4(address)) => address.into(),
        Some(url::Host::Ipv6(address)) => address.into(),
    };
    let is_allowed = allows_private || is_public(address);
    (!is_allowed).then_some("the address of `url` is not public, and this server calls only public addresses")
}

/// Returns an HTTP client for the host of a URL. Creating it and waiting for responses blocks: use it on blocking threads. It
/// uses no proxy, follows no redirects and trusts the certificates of the system.
pub(crate) fn agent(base: &str, allows_private: bool) -> Agent {
    let mut config = Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .user_agent(concat!("tidemark/", env!("CARGO_PKG_VERSION")))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None);
    if base.starts_with("https:") {
        config = config.tls_config(tls());
    }
    Agent::with_parts(
        config.build(),
        DefaultConnector::default(),
        AddressFilterResolver { names: DefaultResolver::default(), allows_private },
    )
}

/// Reads the body of a response. The limit counts decompressed bytes: a small response can expand to gigabytes.
pub(crate) fn read_body(body: &mut Body, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    body.as_reader().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(Error::BodyExceedsLimit(limit)) } else { Ok(bytes) }
}

/// Resolves names and removes addresses that are not public. It runs for every connection, so that a name that resolves to
/// another address later is checked again.
#[derive(Debug)]
struct AddressFilterResolver {
    names: DefaultResolver,
    allows_private: bool,
}

impl Resolver for AddressFilterResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.names.resolve(uri, config, timeout).map_err(|error| match error {
            Error::HostNotFound | Error::Io(_) => unreachable_host(io::ErrorKind::NotFound),
            other => other,
        })?;
        let mut allowed = self.empty();
        for address in found.iter().filter(|address| self.allows_private || is_public(address.ip())) {
            allowed.push(*address);
        }
        if allowed.is_empty() {
            return Err(unreachable_host(io::ErrorKind::PermissionDenied));
        }
        Ok(allowed)
    }
}

/// Returns the same error for a name that does not exist and a name with a private address: otherwise users could list the
/// names of the operator's network.
fn unreachable_host(kind: io::ErrorKind) -> Error {
    Error::Io(io::Error::new(kind, "the host has no public address"))
}

fn tls() -> TlsConfig {
    // Certificates of the system that cannot be parsed are skipped.
    let certificates = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<Certificate<'static>> =
        certificates.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .build()
}

#[cfg(test)]
mod tests {
    use tidemark_test_support::Stub;

    use super::*;

    /// 64 KiB of zeros, compressed with gzip.
    const BOMB: &str = "1f8b08000000000002ffedc101010000008090feafee080a0000000000000000000000000000000000000000000000000000\
        000000000000000000000000000000000000000000000000000000000000000000000000006aeb8e97d700000100";

    #[test]
    fn the_limit_of_an_answer_counts_decompressed_bytes() {
        let bytes = hex::decode(BOMB).unwrap();
        let stub = Stub::start(move |_| ([("content-encoding", "gzip")], bytes.clone()));
        let url = &stub.address;
        let read = |limit: u64| {
            let mut answer = agent(url, true).get(url).call().unwrap();
            read_body(answer.body_mut(), limit).map(|bytes| bytes.len())
        };
        assert_eq!(read(64 << 10).unwrap(), 64 << 10);
        assert!(matches!(read(1 << 10), Err(Error::BodyExceedsLimit(1024))));
    }

    #[test]
    fn every_network_of_the_table_is_one() {
        assert_eq!(NOT_PUBLIC.len(), 28);
    }

    #[test]
    fn neighbors_are_not_public() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "100.100.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "::1",
            "::",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "fd00::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["140.82.112.3", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn a_name_of_this_host_is_not_asked() {
        for address in ["http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9"] {
            let error = agent(address, false).get(address).call().unwrap_err();
            assert!(error.to_string().contains("no public address"), "{address}: {error}");
        }
    }
}
