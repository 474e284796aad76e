//! Work that shares a machine: the owner's own, which ends by itself, and external work, which
//! lasts until it is told to stop.

pub mod burner;
mod lasting;
pub mod primes;
mod threads;
mod witness;

pub use lasting::Lasting;
pub(crate) use threads::threads;
