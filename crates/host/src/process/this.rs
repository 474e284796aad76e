//! Settings of this process: its session, its name, its signals.

/// Leaves the terminal's session, so that Ctrl-C there does not reach this process.
pub fn leave_session() {
    // SAFETY: setsid takes no arguments; it fails harmlessly for a session leader.
    unsafe { libc::setsid() };
}

/// Sets this process's name in `ps` and `top`, of at most 15 bytes.
pub fn set_process_name(name: &str) {
    let mut bytes = [0u8; 16];
    let length = name.len().min(15);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    // SAFETY: the buffer holds 16 bytes and ends in a zero, as prctl asks.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
}

/// Keeps what this process uses from now on in memory, so that no page of it is read from a device when others need
/// memory (mlockall(2), Linux 4.4). Without the privilege nothing changes.
pub fn keep_in_memory() {
    // SAFETY: takes an integer only.
    unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) };
}

/// Lets this process have as many open files as a process may (`fs.nr_open`, by default 2²⁰), or as its limit allows.
pub fn raise_file_limit() {
    const MOST: libc::rlim_t = 1 << 20;
    let set = |most| {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the limit is valid for reading.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0 }
    };
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is valid for writing.
    if !set(MOST) && unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut now) } == 0 {
        set(now.rlim_max);
    }
}

/// Ignores these signals; programs that are started later inherit that.
pub fn ignore_signals(signals: &[i32]) {
    for &signal in signals {
        // SAFETY: SIG_IGN is a valid disposition and no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
