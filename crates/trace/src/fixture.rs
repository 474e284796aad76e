//! An exchange for tests.

use crosstalk_observe::service::{Exchange, Stamp};

/// An exchange with stamps 10 ns apart, from 1,000 on, each as `change` makes it; 0: missing.
pub fn exchange_fixture(change: impl Fn(Stamp, u64) -> u64) -> Exchange {
    let at = Stamp::ALL.map(|stamp| change(stamp, 1000 + 10 * stamp as u64));
    Exchange {
        client: "127.0.0.1:40000".parse().expect("an address"),
        port: 6379,
        at,
        off: Some(4),
        reader: 7,
        asker: Some(9),
        packets: 1,
        cpu: 0,
        queue: None,
        read_cpu: 1,
    }
}
