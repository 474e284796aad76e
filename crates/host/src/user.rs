//! The user of this process.

/// The effective user id of this process.
pub(crate) fn id() -> u32 {
    // SAFETY: only reads this process's credentials.
    unsafe { libc::geteuid() }
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    id() == 0
}
