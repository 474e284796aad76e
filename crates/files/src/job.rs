//! What a client does in a test, phase by phase. All clients, and all servers, end a phase together.

use crosstalk_core::Fault;

use crate::client::{Client, Servers};

/// A client's part of a test.
pub trait Job {
    /// What the timed phase has found, for [`Job::check`].
    type Found;

    /// Makes files.
    ///
    /// # Errors
    /// If a server refuses, or is gone; as of all phases.
    fn make<S: Servers>(&mut self, client: &mut Client<S>) -> Result<(), Fault>;

    /// Opens files, and fills those that the timed phase reads.
    ///
    /// # Errors
    /// As [`Job::make`].
    fn fill<S: Servers>(&mut self, client: &mut Client<S>) -> Result<(), Fault>;

    /// What is timed.
    ///
    /// # Errors
    /// As [`Job::make`].
    fn timed<S: Servers>(&mut self, client: &mut Client<S>) -> Result<Self::Found, Fault>;

    /// Checks what was found, and what there is now.
    ///
    /// # Errors
    /// Also if something is wrong: the fault names the file, what was expected and what was found.
    fn check<S: Servers>(&mut self, client: &mut Client<S>, found: Self::Found) -> Result<(), Fault>;
}

/// One of the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its number, from 0.
    pub number: usize,
    /// How many there are.
    pub clients: usize,
    /// The seed of contents and of orders, the same for all.
    pub seed: u64,
}

/// Compares a file's size.
pub(crate) fn same_size(name: &str, found: u64, expected: u64) -> Result<(), Fault> {
    match found == expected {
        true => Ok(()),
        false => Err(Fault::attempt(format!("wrong size: expected {expected} bytes, found {found}"))
            .at(format!("file `{name}`"))),
    }
}
