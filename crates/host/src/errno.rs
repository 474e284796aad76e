//! Converts return values of system calls to `Result`.

use std::io;

/// The value, or the error in `errno` if it is −1.
pub(crate) fn check(value: libc::c_int) -> io::Result<libc::c_int> {
    if value == -1 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// The same for calls that return a size.
pub(crate) fn check_size(value: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(value).map_err(|_| io::Error::last_os_error())
}
