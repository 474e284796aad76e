//! A striped parallel file system over `comm`, in the shape of PVFS2 (P. H. Carns, W. B. Ligon III, R. B. Ross and
//! R. Thakur, "PVFS: a parallel file system for Linux clusters", 4th Annual Linux Showcase, 2000; the second version's
//! documentation, 2003–2006): clients learn at a metadata server where a file's bytes are, and then ask the I/O servers
//! directly. Nothing is cached at a client, and nothing is locked.
//!
//! | file | holds |
//! |---|---|
//! | `layout` | stripes: which byte is on which server |
//! | `message` | requests and answers |
//! | `directory`, `store`, `server` | a server |
//! | `client` | a client |
//! | `remote` | both over `comm` |
//! | `roles` | which rank is what |
//! | `pattern` | contents that show every mistake |
//! | `inject` | writes that are corrupted on purpose |
//! | `job`, `metadata`, `data` | what a client does in a test |
//! | `run` | what a rank does in a run |
//! | `spec`, `report`, `workload` | the workload `files` |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod client;
mod data;
mod directory;
mod inject;
mod job;
mod layout;
mod message;
mod metadata;
mod pattern;
mod remote;
mod report;
mod roles;
mod run;
mod server;
mod spec;
mod store;
mod workload;

use crosstalk_core::scene::Workload;

pub use client::{Client, File, Servers};
pub use data::DataJob;
pub use inject::{Corruption, Injected, Injection};
pub use job::{Job, Member};
pub use layout::{Layout, Share};
pub use message::{Answer, HEADER, Refusal, Request};
pub use metadata::MetadataJob;
pub use pattern::Pattern;
pub use remote::{Remote, serve};
pub use roles::{Role, Roles};
pub use run::{Done, run};
pub use server::{PAGE, Reply, Server, Site, Sync};
pub use spec::{Direction, Metadata, PARAMETERS, Spec, Test, Transfers};
pub use workload::FILES;

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(FILES)]
}
