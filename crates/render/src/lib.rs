//! Renders reports, verdicts and notifications for people: comments and checks of code hosts, chat messages, mail. The command
//! line renders the runs it waits for, and the server renders jobs and notifications, with the same texts.
//!
//! No I/O: requests to a code host go through the [`code_host::CodeHost`] of the caller.

pub mod code_host;
pub mod comment;
mod confirmation;
mod culprit;
pub mod format;
pub mod links;
pub mod markup;
pub mod metric;
pub mod notification;
mod style;
pub mod test_notification;
pub mod verdict;
