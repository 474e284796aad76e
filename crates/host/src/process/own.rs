//! How this process stands among others: its session, its name, its signals.

/// Leaves the terminal's session: Ctrl-C there does not reach this process.
pub fn leave_session() {
    // SAFETY: setsid takes no arguments; it fails harmlessly for a session leader.
    unsafe { libc::setsid() };
}

/// Names this process in `ps` and `top`; 15 bytes are kept.
pub fn rename(name: &str) {
    let mut bytes = [0u8; 16];
    let length = name.len().min(15);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    // SAFETY: the buffer holds 16 bytes and ends in a zero, as prctl asks.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
}

/// Turns these signals off; programs started later inherit that.
pub fn ignore_signals(signals: &[i32]) {
    for &signal in signals {
        // SAFETY: SIG_IGN is a valid disposition and no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
