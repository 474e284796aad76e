//! A session of a probe between its client, which measures, and its server.
//!
//! Both hold a conversation of one JSON object a line over a control connection ([`protocol`]).
//! Messages that are measured travel elsewhere: over data connections, UDP sockets ([`datagrams`]),
//! or what two processes on one host share ([`medium`]).

pub mod acceptor;
pub mod arrival;
mod caller;
pub mod client;
pub mod context;
pub mod datagrams;
mod descriptors;
pub mod limits;
pub mod medium;
mod pipe;
pub mod protocol;
pub mod token;
mod unix_address;
mod unix_socket;
