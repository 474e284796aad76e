//! A service is followed on every socket that it listens on.

use std::net::{SocketAddr, TcpListener};

use crosstalk_trace::Traced;
use rustix::net;

use super::service::{Work, requests, serve_all};
use super::{by_port, may_trace, traced};

#[test]
fn a_service_on_ipv6_is_followed_over_ipv4() {
    let Some(_alone) = may_trace() else { return };
    let Ok(listener) = TcpListener::bind("[::]:0") else {
        eprintln!("skipped: this machine has no IPv6");
        return;
    };
    let port = listener.local_addr().expect("has one").port();
    serve_all(vec![listener], Work::None);
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let (Traced { trace, .. }, ()) = traced(by_port(address), || requests(address, 2, 100));
    assert_eq!(trace.requests, 200, "{trace:#?}");
    assert!(trace.followed >= 195, "{trace:#?}");
}

#[test]
fn a_service_with_several_listeners_on_a_port_is_followed() {
    let Some(_alone) = may_trace() else { return };
    let listen = |port: u16| {
        let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).expect("opens");
        net::sockopt::set_socket_reuseport(&socket, true).expect("sets");
        net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], port))).expect("is free");
        net::listen(&socket, 64).expect("is bound");
        TcpListener::from(socket)
    };
    let first = listen(0);
    let address = first.local_addr().expect("has one");
    serve_all(vec![first, listen(address.port())], Work::None);
    let (Traced { trace, .. }, ()) = traced(by_port(address), || requests(address, 16, 20));
    assert_eq!(trace.requests, 320, "{trace:#?}");
    assert!(trace.followed >= 310, "{trace:#?}");
}
