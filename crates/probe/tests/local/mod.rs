//! Client and server of a probe on this host.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;
use crosstalk_probe::{Deadline, listen, with_local_server};

/// The result of `measure` with a server on this host.
pub fn on_this_host<T>(measure: impl FnOnce(SocketAddr, &Deadline) -> Result<T, Fault>) -> Result<T, Fault> {
    let flag = AtomicBool::new(false);
    let until = Deadline::new(Seconds(20.0), &flag);
    with_local_server(&until, |target| measure(target, &until))
}

/// The result of `measure` where nobody listens.
#[allow(dead_code, reason = "not every test file uses it")]
pub fn where_nobody_listens<T>(
    measure: impl FnOnce(SocketAddr, &Deadline) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let target = listen(([127, 0, 0, 1], 0).into())?.local_addr().expect("has one");
    let flag = AtomicBool::new(false);
    measure(target, &Deadline::new(Seconds(5.0), &flag))
}
