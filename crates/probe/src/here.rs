//! Client and server on this host.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};

use super::server::{Conversations, serve};
use crosstalk_work::peer::Deadline;
use crosstalk_work::peer::socket::{closed_fault, listen};

/// Serves on the loopback, and calls `measure` with the server's address.
///
/// # Errors
/// Those of `measure`; where the server hung up, the server's own.
pub fn with_local_server<T>(
    until: &Deadline,
    measure: impl FnOnce(SocketAddr) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let listener = listen(([127, 0, 0, 1], 0).into())?;
    let target = listener
        .local_addr()
        .map_err(|e| Fault::environment(format!("a listener without an address: {e}")))?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let until = Deadline::new(Seconds(until.time_left().as_secs_f64()), &done);
            serve(&listener, Conversations::Once, &until, &mut |_| ())
        });
        let measured = measure(target);
        done.store(true, Ordering::Relaxed);
        let served = serving.join().map_err(|_| Fault::attempt("the server panicked"))?;
        match (measured, served) {
            // The server knows why it hung up, the client only that it did.
            (Err(client), Err(server))
                if server.kind != FaultKind::Interrupted
                    && client.message == closed_fault(target).message =>
            {
                Err(server)
            }
            (measured, _) => measured,
        }
    })
}
