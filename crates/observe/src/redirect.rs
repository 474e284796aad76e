//! Redirects frames from a network device to an AF_XDP socket, before the kernel's protocols
//! process them (`Documentation/networking/af_xdp.rst`).

use aya::maps::XskMap;
use aya::programs::{Xdp, XdpMode};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::object::{failed_fault, may_redirect};

/// The program of `bpf/redirect.bpf.c`, compiled by `tools/bpf`.
static PROGRAM: &[u8] = include_bytes_aligned!("../bpf/objects/redirect.o");

/// A device whose frames are redirected until this is dropped or the process ends.
pub struct Redirect {
    _program: Ebpf,
}

/// What redirecting needs: privileges.
pub fn need() -> Need {
    const WHAT: &str = "AF_XDP";
    let missing = |why: &str, remedy: &str| {
        Need::missing(WHAT, format!("frames cannot bypass the kernel's protocols: {why}"), remedy)
    };
    if !may_redirect() {
        return missing(
            "it takes privileges",
            "run as root, or give the program CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW",
        );
    }
    Need::found(WHAT, "the kernel's, in copy mode")
}

/// Redirects frames from the first queue of `device` to `socket`, which is bound to that queue.
/// The device is of the calling thread's network namespace. Its driver redirects if it can,
/// otherwise the kernel does (generic XDP).
///
/// # Errors
/// An environment fault: the kernel refuses to load or to attach the program.
pub fn redirect(device: &str, socket: BorrowedFd) -> Result<Redirect, Fault> {
    let mut program =
        EbpfLoader::new().load(PROGRAM).map_err(|e| failed_fault("load the program that redirects", &e))?;
    let map = program.map_mut("sockets").ok_or_else(|| Fault::environment("there is no map `sockets`"))?;
    let mut sockets = XskMap::try_from(map).map_err(|e| failed_fault("use the map of sockets", &e))?;
    sockets.set(0, socket.as_raw_fd(), 0).map_err(|e| failed_fault("redirect to the socket", &e))?;
    let redirect: &mut Xdp = program
        .program_mut("redirect")
        .ok_or_else(|| Fault::environment("there is no program `redirect`"))?
        .try_into()
        .map_err(|e| failed_fault("use the program that redirects", &e))?;
    redirect.load().map_err(|e| failed_fault("load the program that redirects", &e))?;
    redirect
        .attach(device, XdpMode::Default)
        .map_err(|e| failed_fault(&format!("redirect what arrives at {device}"), &e))?;
    Ok(Redirect { _program: program })
}
