//! The addresses of a probe's server, as written on the command line.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};

use crosstalk_core::Fault;
use crosstalk_probe::listen;

/// The default port.
pub const PORT: u16 = 7700;

/// `HOST:PORT`, or without a port; an IPv6 address needs brackets only before a port.
///
/// # Errors
/// A usage fault at `flag` if it is neither an address nor a known host.
pub fn resolve(address: &str, flag: &str) -> Result<SocketAddr, Fault> {
    let wrong = |why: String, remedy: &str| Fault::usage(why).at(flag).remedy(remedy);
    let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok((ip, PORT).into());
    }
    if let Ok(whole) = address.parse() {
        return Ok(whole);
    }
    let (host, port) = match address.split_once(':') {
        None => (address, PORT),
        Some((host, port)) => match port.parse() {
            Ok(port) => (host, port),
            Err(_) => {
                let why = format!("expected HOST or HOST:PORT, found `{address}`");
                return Err(wrong(why, "write for example 10.0.0.2:7700 or [fd00::2]:7700"));
            }
        },
    };
    let found = if host.is_empty() { None } else { (host, port).to_socket_addrs().ok() };
    found.and_then(|mut found| found.next()).ok_or_else(|| {
        let why = format!("no address is known for the host `{host}`");
        wrong(why, "give HOST or HOST:PORT, such as 10.0.0.2:7700; names are looked up in /etc/hosts and DNS")
    })
}

/// Listens at the address. Without IPv6, `[::]` means all addresses of IPv4.
///
/// # Errors
/// If the port is taken, or this host has no such address.
pub fn listener(address: SocketAddr) -> Result<TcpListener, Fault> {
    let listening = listen(address);
    if listening.is_err() && address.ip() == IpAddr::from(std::net::Ipv6Addr::UNSPECIFIED) {
        let of_ipv4: SocketAddr = (Ipv4Addr::UNSPECIFIED, address.port()).into();
        return listen(of_ipv4).or(listening);
    }
    listening
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_may_be_left_out() {
        let read = |text: &str| resolve(text, "--to").map(|address| address.to_string());
        assert_eq!(read("10.0.0.2").as_deref(), Ok("10.0.0.2:7700"));
        assert_eq!(read("10.0.0.2:1").as_deref(), Ok("10.0.0.2:1"));
        assert_eq!(read("::1").as_deref(), Ok("[::1]:7700"));
        assert_eq!(read("[::1]").as_deref(), Ok("[::1]:7700"));
        assert_eq!(read("[::1]:1").as_deref(), Ok("[::1]:1"));
        assert_eq!(read("::ffff:10.0.0.2").as_deref(), Ok("[::ffff:10.0.0.2]:7700"));
        for bad in ["", ":7700", "h:70000", "h:x", "[::1"] {
            assert!(read(bad).is_err_and(|fault| fault.place.as_deref() == Some("--to")), "{bad}");
        }
    }
}
