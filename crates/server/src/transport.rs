//! Protocols: HTTP API, container registry (OCI), MCP, the channel of runners, the console, connections.

pub(crate) mod channel;
pub mod connection;
pub(crate) mod console;
pub mod http;
pub mod mcp;
pub(crate) mod oci;
