//! What the kinds of test check, and their faults.

use std::{fmt, io};

use crosstalk_core::Fault;

/// Passes if a result is as it must be.
///
/// # Errors
/// An attempt fault if it is not.
pub(super) fn expect<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Fault> {
    if found == expected {
        return Ok(());
    }
    Err(Fault::attempt(format!("{what}: expected {expected:?}, found {found:?}")))
}

/// Makes the fault of an operation that the kernel refused.
pub(super) fn cannot<E: Into<io::Error>>(what: &str) -> impl Fn(E) -> Fault {
    move |error| crosstalk_host::process::cannot(what, &error.into())
}
