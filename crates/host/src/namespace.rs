//! Namespaces: a separate network, process table, mount table, host name and message queues
//! (namespaces(7), user_namespaces(7)).
//!
//! None is bound to a file. Each ends with its last process, so that none is left behind.

use crosstalk_core::Fault;
use std::ffi::CString;
use std::path::Path;
use std::{fs, io, ptr};

use crate::errno::check;
use crate::refusal;

/// Kinds of Linux namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds(libc::c_int);

impl Kinds {
    /// Namespaces of network devices, addresses, routes and sockets.
    pub const NET: Kinds = Kinds(libc::CLONE_NEWNET);
    /// Process ids. It applies to the children of the caller. When the first of them ends, the
    /// kernel kills all others.
    pub const PID: Kinds = Kinds(libc::CLONE_NEWPID);
    /// Namespaces of mounts.
    pub const MOUNT: Kinds = Kinds(libc::CLONE_NEWNS);
    /// Namespaces of the host name.
    pub const UTS: Kinds = Kinds(libc::CLONE_NEWUTS);
    /// Namespaces of System V and POSIX message queues, semaphores and shared memory.
    pub const IPC: Kinds = Kinds(libc::CLONE_NEWIPC);

    /// These kinds and the other ones.
    #[must_use]
    pub const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

/// Whether this process is in the machine's initial PID namespace, and so sees every process by the
/// id that the kernel uses.
pub fn sees_all_processes() -> bool {
    // PROC_PID_INIT_INO (include/linux/proc_ns.h).
    const INITIAL: &str = "pid:[4026531836]";
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.to_str() == Some(INITIAL))
}

/// Moves the caller into new namespaces.
///
/// # Errors
/// When the kernel refuses; the fault names the setting that forbids it.
pub fn enter(kinds: Kinds) -> Result<(), Fault> {
    unshare(kinds.0).map_err(|e| refusal::fault("make namespaces", e))
}

/// Moves the caller into new namespaces, and into a new user namespace, in which it is root. It needs no
/// privileges.
///
/// # Errors
/// When the kernel refuses; the fault names the setting that forbids it.
pub fn enter_as_user(kinds: Kinds) -> Result<(), Fault> {
    // SAFETY: both only read this process's credentials.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    unshare(libc::CLONE_NEWUSER | kinds.0).map_err(|e| refusal::fault("make a user namespace", e))?;
    // Without giving up setgroups(2) an unprivileged user may not map a group (user_namespaces(7)).
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write("/proc/self/gid_map", &format!("0 {group} 1"))
}

fn write(path: &str, text: &str) -> Result<(), Fault> {
    fs::write(path, text).map_err(|e| refusal::fault(&format!("become root in a user namespace ({path})"), e))
}

/// Moves the calling thread into the network namespace of an open `file`.
///
/// # Errors
/// If the kernel refuses, or the file is no network namespace.
pub fn join(file: &fs::File) -> Result<(), Fault> {
    use std::os::fd::AsRawFd;
    // SAFETY: setns takes an open descriptor and an integer.
    check(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) })
        .map(drop)
        .map_err(|e| refusal::fault("enter a network namespace", e))
}

fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: unshare takes an integer and touches no memory of ours.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Creates a PID namespace for the *next* child of the caller, which is its first process. To be called
/// before each such fork. `own` is the caller's PID namespace.
///
/// # Errors
/// When the kernel refuses.
pub fn next_child_in_new_pid_namespace(own: &fs::File) -> Result<(), Fault> {
    use std::os::fd::AsRawFd;
    // A second unshare is refused until the namespace for children is the caller's again (pid_namespaces(7)).
    // SAFETY: setns takes an open descriptor and an integer.
    check(unsafe { libc::setns(own.as_raw_fd(), libc::CLONE_NEWPID) })
        .and_then(|_| unshare(libc::CLONE_NEWPID))
        .map_err(|e| refusal::fault("make a PID namespace", e))
}

/// Separates mounts: those of this namespace are not visible outside, and later ones outside are not visible here.
///
/// # Errors
/// When the kernel refuses.
pub fn keep_mounts_private() -> Result<(), Fault> {
    mount("none", "/", None, libc::MS_REC | libc::MS_PRIVATE, None)
        .map_err(|e| refusal::fault("keep mounts private", e))
}

/// Mounts a `/proc` that shows the processes of this PID namespace.
///
/// # Errors
/// When the kernel refuses, as it does in containers that hide parts of `/proc`.
pub fn mount_proc() -> Result<(), Fault> {
    mount("proc", "/proc", Some("proc"), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC, None)
        .map_err(|e| refusal::fault("mount /proc", e))
}

/// Mounts an overlay (overlayfs.rst) over the folder `over`: what is written there goes into `own`, an existing
/// folder of the same file system. To be called in a mount namespace whose mounts are private.
///
/// # Errors
/// When the kernel refuses, or a path has a character that separates options: `,`, `:` or a backslash.
pub fn mount_overlay(over: &Path, own: &Path) -> Result<(), Fault> {
    let failed = |e: io::Error| refusal::fault("mount an overlay", e);
    let (upper, work) = (own.join("upper"), own.join("work"));
    [&upper, &work].into_iter().try_for_each(fs::create_dir_all).map_err(failed)?;
    let [lower, upper, work] = [over, &upper, &work].map(Path::to_string_lossy);
    if let Some(path) = [&lower, &upper].into_iter().find(|path| path.contains([',', ':', '\\'])) {
        return Err(Fault::environment("expected a path without `,`, `:` and backslash for an overlay")
            .at(path.to_string())
            .remedy("set TMPDIR to another folder"));
    }
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    mount("overlay", &lower, Some("overlay"), 0, Some(&options)).map_err(|e| match e.raw_os_error() {
        Some(libc::ENODEV) => {
            Fault::environment("this kernel has no overlay file system").remedy("as root: modprobe overlay")
        }
        _ => failed(e),
    })
}

fn mount(
    source: &str,
    target: &str,
    kind: Option<&str>,
    flags: libc::c_ulong,
    options: Option<&str>,
) -> io::Result<()> {
    let [source, target] = [source, target].map(CString::new);
    let (source, target) = (source?, target?);
    let [kind, options] = [kind, options].map(|text| text.map(CString::new).transpose());
    let (kind, options) = (kind?, options?);
    let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    // SAFETY: all strings end in a zero and outlive the call.
    check(unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), pointer(&kind), flags, pointer(&options).cast())
    })
    .map(drop)
}

/// Sets the host name of this UTS namespace.
///
/// # Errors
/// When the kernel refuses.
pub fn set_host_name(name: &str) -> Result<(), Fault> {
    // SAFETY: pointer and length describe the live string.
    check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) })
        .map(drop)
        .map_err(|e| refusal::fault("name the host", e))
}
