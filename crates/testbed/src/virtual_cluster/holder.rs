//! The holder: the process that keeps a virtual cluster. It is a fresh process with one
//! thread, as namespaces must not be set up in a forked copy of a process with many threads.

use crosstalk_core::Fault;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::packet::PacketSocket;
use crosstalk_host::process::{self, Fork};
use std::process::ExitCode;

use super::protocol::{Answer, ToHolder, ToNode};
use super::switch::Switch;
use crosstalk_host::{Launcher, user};

/// The hidden verb that runs [`holder_main`].
pub(super) const VERB: &str = "hold";

/// Runs a holder, for the hidden verb `hold`. It creates and keeps one virtual cluster, by
/// the orders on its standard input, until that ends.
pub fn holder_main(_: &[String]) -> ExitCode {
    process::set_process_name("crosstalk-hold");
    // Ctrl-C reaches the owner only, which closes its journal first.
    process::leave_session();
    match PacketSocket::from_stdin().and_then(hold) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(4),
    }
}

fn hold(control: PacketSocket) -> Result<(), Fault> {
    // Nothing is changed before this order. So an owner that ends while it writes its ledger
    // leaves nothing behind.
    let Some((ToHolder::Create { nodes, program, args }, _)) = control.receive(None)? else { return Ok(()) };
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
            process::set_process_name("crosstalk-switch");
            let served = serve(&control, nodes, launcher);
            // The kernel ends all processes of a PID namespace with its first one.
            std::process::exit(if served.is_ok() { 0 } else { 4 })
        }
        Err(fault) => control.send(&Answer::from(fault), None),
    }
}

/// Enters namespaces for the whole cluster. Without root, or if root's privileges are
/// restricted as in containers, it uses a user namespace.
fn enter() -> Result<(), Fault> {
    let kinds = Kinds::NET.and(Kinds::PID).and(Kinds::MOUNT).and(Kinds::UTS).and(Kinds::IPC);
    if user::is_root() && namespace::enter(kinds).is_ok() {
        return Ok(());
    }
    namespace::enter_as_user(kinds)
}

fn serve(control: &PacketSocket, nodes: usize, launcher: Launcher) -> Result<(), Fault> {
    let (mut switch, notes) = match Switch::create(nodes, launcher, control) {
        Ok(created) => created,
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
                (ToHolder::StartAgent { node, slot, folder }, Some(file)) => {
                    let order = ToNode::StartAgent { slot, folder };
                    switch.start_agent(node, &order, &file, control).map(|()| Vec::new())
                }
                (ToHolder::Shape { rate }, _) => switch.shape(rate),
                (order, _) => Err(Fault::environment(format!("unexpected order {order:?}"))),
            };
            control.send(&Answer::from(answer), None)?;
        }
    }
}
