//! Data sets for the applications: what they are, on which terms, and how to get them from where their authors
//! publish them.
//!
//! | file | holds |
//! |---|---|
//! | `catalogue` | the list, `datasets/datasets.toml` |
//! | `download` | a file over HTTPS, by the system's `curl` or `wget`, checked as it arrives |
//! | `local` | what is on this machine, checked |
//! | `place` | where the files go, whole or not at all |
//! | `zip` | members of a zip archive |

mod catalogue;
mod download;
mod local;
mod place;
mod zip;

pub use catalogue::{Catalogue, DataSet, Files, Supply};
pub use local::{VARIABLE, checked_set, directory};
pub use place::install;
