//! The process that holds a virtual cluster: a fresh program with one thread,
//! because namespace work must not happen in a copy of a busy one.

use crosstalk_core::Fault;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::packet::Packets;
use crosstalk_host::process::{self, Fork};
use std::process::ExitCode;

use super::protocol::{Answer, ToHolder, ToNode};
use super::switch::Switch;
use crosstalk_host::Launcher;

/// The hidden verb that [`holder_main`] stands behind.
pub(super) const VERB: &str = "hold";

/// What the hidden verb `hold` does: makes and holds one virtual cluster as
/// told over its standard input, until that ends.
pub fn holder_main(_: &[String]) -> ExitCode {
    process::rename("crosstalk-hold");
    // Ctrl-C is the owner's business, who closes its journal first.
    process::leave_session();
    match Packets::from_stdin().and_then(hold) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(4),
    }
}

fn hold(control: Packets) -> Result<(), Fault> {
    // Before this order nothing lasting is done, so an owner that ends while
    // its ledger is being written leaves nothing behind.
    let Some((ToHolder::Raise { nodes, program, args }, _)) = control.receive(None)? else { return Ok(()) };
    let launcher = Launcher { program: program.into(), args: args.into_iter().map(Into::into).collect() };
    if let Err(fault) = enter() {
        return control.send(&Answer::from(fault), None);
    }
    let child = process::fork().map_err(|e| Fault::environment(format!("cannot fork: {e}")));
    match child {
        Ok(Fork::Parent(pid)) => {
            drop(control);
            process::wait_for(pid);
            Ok(())
        }
        Ok(Fork::Child) => {
            process::die_with_parent();
            process::rename("crosstalk-switch");
            let served = serve(&control, nodes, launcher);
            // The end of the first process of a PID namespace is the end of all.
            std::process::exit(if served.is_ok() { 0 } else { 4 })
        }
        Err(fault) => control.send(&Answer::from(fault), None),
    }
}

/// Into namespaces for the whole cluster: as root plainly, else (or where
/// root's rights were cut down, as in containers) within a user namespace.
fn enter() -> Result<(), Fault> {
    let kinds = Kinds::NET.and(Kinds::PID).and(Kinds::MOUNT).and(Kinds::UTS).and(Kinds::IPC);
    if namespace::is_root() && namespace::enter(kinds).is_ok() {
        return Ok(());
    }
    namespace::enter_as_user(kinds)
}

fn serve(control: &Packets, nodes: usize, launcher: Launcher) -> Result<(), Fault> {
    let (mut switch, notes) = match Switch::raise(nodes, launcher, control) {
        Ok(raised) => raised,
        Err(fault) => return control.send(&Answer::from(fault), None),
    };
    control.send(&Answer::Done { notes }, None)?;
    let events = process::child_events().map_err(|e| Fault::environment(e.to_string()))?;
    loop {
        let ready = process::wait_readable(&[control, &events], None)
            .map_err(|e| Fault::environment(e.to_string()))?;
        if ready[1] {
            process::reap_events(&events);
        }
        if ready[0] {
            let Some((order, file)) = control.receive(None)? else { return Ok(()) };
            let answer = match (order, file) {
                (ToHolder::Attach { node, place, folder }, Some(file)) => {
                    let order = ToNode::Attach { place, folder };
                    switch.attach(node, &order, &file, control).map(|()| Vec::new())
                }
                (ToHolder::Shape { rate }, _) => switch.shape(rate),
                (order, _) => Err(Fault::environment(format!("unexpected order {order:?}"))),
            };
            control.send(&Answer::from(answer), None)?;
        }
    }
}
