//! TCP's congestion control: which one a connection uses, and which ones this kernel has (tcp(7), `TCP_CONGESTION`).

use std::net::TcpListener;
use std::os::fd::AsFd;

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_host::sysctl;
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_congestion;

/// The kernel's settings that list its congestion controls.
const AVAILABLE: &str = "net.ipv4.tcp_available_congestion_control";
const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";

/// Sets the congestion control of a TCP socket. `side` is `sender` or `receiver`.
///
/// # Errors
/// Where the kernel lacks it or does not allow it to this user, with those that it has or allows.
pub fn set_congestion(socket: impl AsFd, name: &str, side: &str) -> Result<(), Fault> {
    set_tcp_congestion(socket, name).map_err(|errno| refusal(name, side, errno, &Known::of_this_kernel()))
}

/// What the congestion control `name` needs of this machine: a kernel that has it.
///
/// Whether a user may set it is known only in the node's own namespaces.
pub fn congestion_need(name: &str) -> Need {
    let what = format!("congestion control {name}");
    let tried = TcpListener::bind(("127.0.0.1", 0)).map(|socket| set_tcp_congestion(socket, name));
    match tried {
        Ok(Err(Errno::NOENT)) => {
            let fault = refusal(name, "sender", Errno::NOENT, &Known::of_this_kernel());
            Need::missing(what, fault.message, fault.remedy.unwrap_or_default())
        }
        _ => Need::found(what, "the kernel's"),
    }
}

/// The congestion controls of a kernel, as its settings list them; empty if they cannot be read.
#[derive(Default)]
struct Known {
    /// Those that are loaded.
    available: String,
    /// Those of them that a user without `CAP_NET_ADMIN` may set.
    allowed: String,
}

impl Known {
    fn of_this_kernel() -> Self {
        let setting = |name| sysctl::read(name).unwrap_or_default();
        Known { available: setting(AVAILABLE), allowed: setting(ALLOWED) }
    }
}

/// The fault for a congestion control that the kernel refuses.
fn refusal(name: &str, side: &str, errno: Errno, known: &Known) -> Fault {
    let one_of = |setting: &str, names: &str| match names {
        "" => format!("take one that `sysctl {setting}` lists"),
        names => format!("take one of: {}", names.replace(' ', ", ")),
    };
    let available = one_of(AVAILABLE, &known.available);
    let (why, remedy) = match errno {
        Errno::NOENT => (
            format!("the {side}'s kernel has no congestion control {name:?}"),
            format!("{available}; or load its module"),
        ),
        Errno::PERM => (
            format!("the {side} may not use the congestion control {name:?}: only root may"),
            format!("{}; or run it there as root", one_of(ALLOWED, &known.allowed)),
        ),
        other => (format!("the {side} cannot use the congestion control {name:?}: {other}"), available),
    };
    Fault::environment(why).of_parameter("congestion").remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        Known { available: "reno cubic".into(), allowed: "reno".into() }
    }

    #[test]
    fn a_refusal_names_the_side_and_what_it_has_instead() {
        let lacks = refusal("vegas", "receiver", Errno::NOENT, &known());
        assert_eq!(lacks.message, "the receiver's kernel has no congestion control \"vegas\"");
        assert_eq!(lacks.remedy.as_deref(), Some("take one of: reno, cubic; or load its module"));
        assert_eq!(lacks.parameter.as_deref(), Some("congestion"));

        let denied = refusal("cubic", "sender", Errno::PERM, &known());
        assert!(denied.message.contains("only root may"), "{denied}");
        assert_eq!(denied.remedy.as_deref(), Some("take one of: reno; or run it there as root"));
    }

    #[test]
    fn where_the_kernel_lists_none_the_setting_is_named() {
        let remedy = refusal("vegas", "sender", Errno::NOENT, &Known::default()).remedy.unwrap_or_default();
        assert!(remedy.contains("sysctl net.ipv4.tcp_available_congestion_control"), "{remedy}");
    }

    #[test]
    fn a_machine_has_what_its_kernel_lists_and_nothing_else() {
        for name in Known::of_this_kernel().available.split_whitespace() {
            assert!(congestion_need(name).is_found(), "{name}");
        }
        let unmet = congestion_need("no-such-control").unmet().expect("is missing");
        assert!(unmet.consequence.contains("no-such-control") && unmet.remedy.is_some(), "{unmet:?}");
    }
}
