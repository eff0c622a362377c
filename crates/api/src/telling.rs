//! How a report is told to people who look elsewhere: in comments and checks of code hosts, and in notices. The
//! command tells the runs that it waits for, and a server the jobs that nobody waits for, in the same words.
//!
//! Nothing here speaks with anybody: requests to a code host go through [`code_host::CodeHost`], which whoever sends
//! them brings along.

pub mod code_host;
pub mod comment;
pub mod links;
pub mod markup;
pub mod notice;
pub mod outcome;
pub mod shown;
pub mod verdict;
