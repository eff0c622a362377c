//! Authentication: credentials, the tokens that this server signs, and keys.

pub mod caller;
pub mod cookie;
pub mod jwt;
pub mod key;
