//! Protocols: HTTP API, container registry (OCI), MCP, the channel of runners, the console, the manual, connections; and the router and the
//! middleware of all of them.

pub(crate) mod channel;
pub mod connection;
pub(crate) mod console;
pub mod http;
pub(crate) mod manual;
pub mod mcp;
mod middleware;
pub(crate) mod oci;
pub mod openapi;
pub mod router;
