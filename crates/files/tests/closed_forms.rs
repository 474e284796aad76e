//! In virtual time, without computing, tests take the time of their closed forms to the nanosecond. The forms are
//! written out here and share no code with what they test.
//!
//! Names: a message of `s` bytes takes `t = 2o + L + (s−1)·max(O, G)` end to end, the card `n = g + (s−1)·G`, the CPU
//! `c = o + (s−1)·O`. A request or an answer has 32 bytes, and names or data. The networks have `2c ≤ n` and `O ≤ G`.

use crate::common::{DISK, FAST, Net, SLOW, attempt, emulation, params};
use crosstalk_core::emulation::Emulation;
use crosstalk_core::mpi::Mpi;
use crosstalk_core::system::Disk;
use crosstalk_core::units::{Bytes, Seconds};

const NETS: [Net; 2] = [SLOW, FAST];
const H: u64 = 32;

fn t(net: Net, s: u64) -> f64 {
    2.0 * net.1 + net.0 + (s - 1) as f64 * net.3.max(net.4)
}
fn n(net: Net, s: u64) -> f64 {
    net.2 + (s - 1) as f64 * net.3
}
fn c(net: Net, s: u64) -> f64 {
    net.1 + (s - 1) as f64 * net.4
}
/// The disk's time for so many bytes, without and with a movement of its head.
fn sequential(bytes: u64) -> f64 {
    bytes as f64 * 10.0
}
fn seek(bytes: u64) -> f64 {
    1e7 + sequential(bytes)
}

fn time(pairs: &[(&str, &str)], nodes: usize, on: &Emulation) -> f64 {
    attempt(&params(pairs), nodes, Some(on), 1).value("completion_time") * 1e9
}

fn holds(case: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() < 1.0, "{case}: {found} ns instead of {expected}");
}

fn cluster(nodes: usize, net: Net) -> Emulation {
    emulation(nodes, 1, net, None)
}

/// A library that costs nothing but its rendezvous.
fn eager_up_to(limit: u64) -> Mpi {
    Mpi {
        name: "test".into(),
        title: "Test".into(),
        eager_limit: Some(Bytes(limit)),
        overhead: Seconds(0.0),
        eager_copy: Seconds(0.0),
        rendezvous: Seconds(0.0),
        collectives: Vec::new(),
        source: Default::default(),
        caveats: Vec::new(),
    }
}

fn with_disk(nodes: usize, net: Net) -> Emulation {
    emulation(nodes, 1, net, Some(Disk { ..DISK }))
}

/// Bytes of the names `file.0.0`, `file.0.1` … `file.0.11`.
const NAMES: [u64; 12] = [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 9, 9];

#[test]
fn an_operation_on_a_name_is_a_request_and_an_answer() {
    for net in NETS {
        let timed = |test| time(&[("test", test), ("files", "12")], 2, &cluster(2, net));
        let sum = |of: &dyn Fn(u64) -> f64| NAMES.iter().map(|name| of(*name)).sum::<f64>();
        holds("create", timed("create"), sum(&|name| t(net, H + name) + t(net, H)));
        // `renamed.0.0` has three bytes more.
        holds("rename", timed("rename"), sum(&|name| t(net, H + name + name + 3) + t(net, H)));
        holds("list", timed("list"), t(net, H) + t(net, H + NAMES.iter().map(|name| 4 + name).sum::<u64>()));
    }
}

#[test]
fn stat_and_remove_ask_the_metadata_server_and_then_all_servers() {
    for (net, servers) in NETS.into_iter().flat_map(|net| [1, 2, 5].map(|servers| (net, servers))) {
        let nodes = servers + 1;
        let timed = |test| {
            let pairs = [("test", test), ("files", "12"), ("servers", &*servers.to_string())];
            time(&pairs, nodes, &cluster(nodes, net))
        };
        let of =
            |name: u64| t(net, H + name) + t(net, H) + (servers - 1) as f64 * n(net, H) + 2.0 * t(net, H);
        let expected = NAMES.iter().map(|name| of(*name)).sum();
        holds("stat", timed("stat"), expected);
        holds("remove", timed("remove"), expected);
    }
}

#[test]
fn one_client_is_limited_by_its_card() {
    const TRANSFERS: u64 = 3;
    for (net, servers) in NETS.into_iter().flat_map(|net| [1_u64, 2, 4].map(|servers| (net, servers))) {
        let nodes = servers as usize + 1;
        for transfer in [servers << 16, 8 << 16] {
            let timed = |test, access| {
                let (count, transfer, block) =
                    (servers.to_string(), transfer.to_string(), (TRANSFERS * transfer).to_string());
                let pairs = [
                    ("test", test),
                    ("servers", &*count),
                    ("transfer", &*transfer),
                    ("block", &*block),
                    ("access", access),
                ];
                time(&pairs, nodes, &cluster(nodes, net))
            };
            let s = H + transfer / servers;
            let expected = TRANSFERS as f64 * (t(net, H) + (servers - 1) as f64 * n(net, s) + t(net, s));
            for access in ["sequential", "random"] {
                holds("write", timed("write", access), expected);
                holds("read", timed("read", access), expected);
            }
        }
    }
}

#[test]
fn several_clients_of_one_server_are_limited_by_its_card() {
    const TRANSFERS: u64 = 4;
    for (net, clients) in NETS.into_iter().flat_map(|net| [2_u64, 5].map(|clients| (net, clients))) {
        let nodes = clients as usize + 1;
        for layout in ["shared", "file-per-process"] {
            let timed = |test| {
                let pairs =
                    [("test", test), ("layout", layout), ("transfer", "128 KiB"), ("block", "512 KiB")];
                time(&pairs, nodes, &cluster(nodes, net))
            };
            let s = H + (128 << 10);
            // The card is never idle.
            let expected = t(net, H) + (clients * TRANSFERS - 1) as f64 * n(net, s) + t(net, s);
            holds("write", timed("write"), expected);
            holds("read", timed("read"), expected);
        }
    }
}

#[test]
fn a_disk_takes_its_latency_once_and_its_rate() {
    for net in NETS {
        let timed = |test, sync| {
            let pairs = [
                ("test", test),
                ("sync", sync),
                ("files", "12"),
                ("transfer", "128 KiB"),
                ("block", "512 KiB"),
            ];
            time(&pairs, 2, &with_disk(2, net))
        };
        let messages = 4.0 * (t(net, H) + t(net, H + (128 << 10)));
        for test in ["write", "read"] {
            holds(test, timed(test, "all"), messages + seek(512 << 10));
            holds(test, timed(test, "metadata"), messages);
        }
        let create = NAMES.iter().map(|name| t(net, H + name) + t(net, H) + seek(4096)).sum();
        holds("create", timed("create", "metadata"), create);
        holds("create", timed("create", "all"), create);
    }
}

#[test]
fn two_files_on_one_disk_move_its_head_each_time() {
    for net in NETS {
        let pairs =
            [("sync", "all"), ("layout", "file-per-process"), ("transfer", "128 KiB"), ("block", "512 KiB")];
        let s = H + (128 << 10);
        let (disk, transfers) = (seek(128 << 10), 8.0);
        // The server is busy with one request after the other.
        let one = c(net, s) + disk + c(net, H);
        let expected = t(net, s) + (transfers - 1.0) * one + disk + t(net, H);
        holds("write", time(&pairs, 3, &with_disk(3, net)), expected);
    }
}

#[test]
fn random_access_moves_the_head_more_often() {
    let timed = |access| {
        let pairs = [("sync", "all"), ("access", access), ("transfer", "64 KiB"), ("block", "1 MiB")];
        time(&pairs, 2, &with_disk(2, SLOW))
    };
    let movements = (timed("random") - timed("sequential")) / 1e7;
    assert!((movements - movements.round()).abs() < 1e-6, "{movements}");
    assert!((8.0..16.0).contains(&movements), "{movements} of 15");
}

#[test]
fn above_the_eager_limit_a_transfer_is_announced_first() {
    const RENDEZVOUS: f64 = 3_000.0;
    for net in NETS {
        let library = Mpi { rendezvous: Seconds(RENDEZVOUS * 1e-9), ..eager_up_to(4096) };
        let on = Emulation { mpi: Some(library), ..cluster(2, net) };
        let s = H + (128 << 10);
        // Receiver and sender agree by two more latencies.
        let expected = 4.0 * (t(net, s) + 2.0 * net.0 + RENDEZVOUS + t(net, H));
        for test in ["write", "read"] {
            holds(
                test,
                time(&[("test", test), ("transfer", "128 KiB"), ("block", "512 KiB")], 2, &on),
                expected,
            );
        }
    }
}
