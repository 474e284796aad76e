//! Full servers, servers that die, counts that are impossible: each ends in a fault that names the server and the file.

use crate::common::{Local, SLOW, attempt, emulation, params, ranks};
use crosstalk_comm::Rank;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_files::{Client, Remote, Roles, Server, Servers, Site, Sync, serve};

const SITE: Site = Site { servers: 2, stripe: 10, capacity: 100, sync: Sync::None };

#[test]
fn a_full_server_refuses_and_the_rest_stays_as_it_was() {
    let mut client = Client(Local::new(SITE));
    let full = client.create("full").expect("makes");
    let kept = client.create("kept").expect("makes");
    client.write(&kept, 0, &[7; 60]).expect("there is room");
    let refused = client.write(&full, 0, &[1; 150]).expect_err("is full").to_string();
    assert!(
        refused.contains("file `full`: no space left on server 0: it holds 30 B of at most 100 B, and the write needs 80 B more"),
        "{refused}"
    );
    assert!(refused.contains("`capacity`"), "{refused}");
    // The other server has written its stripes, as after a short write; other files are as they were.
    assert_eq!((client.stat("full"), client.stat("kept")), (Ok(140), Ok(60)));
    let contents = |client: &mut Client<Local>| {
        let mut read = vec![0; 60];
        client.read(&kept, 0, &mut read).map(|()| read)
    };
    assert_eq!(contents(&mut client), Ok(vec![7; 60]));
    // Where there is room, all goes on: names, what takes no more room, and what fits.
    client.rename("kept", "still").expect("renames");
    client.write(&kept, 0, &[8; 60]).expect("takes no more room");
    client.write(&full, 0, &[1; 140]).expect("fits");
    assert!(client.write(&full, 140, &[1; 1]).is_err());
    client.remove("full").expect("removes");
    assert_eq!(client.held(), Ok(60));
    let again = client.create("again").expect("makes");
    client.write(&again, 0, &[2; 140]).expect("there is room again");
    assert_eq!(contents(&mut client), Ok(vec![8; 60]));
}

#[test]
fn a_client_learns_that_a_server_is_full_and_all_ranks_end() {
    for emulation in [None, Some(emulation(4, 1, SLOW, None))] {
        for layout in ["shared", "file-per-process"] {
            let pairs = [("servers", "2"), ("layout", layout), ("block", "512 KiB"), ("capacity", "300 KiB")];
            let outcome = attempt(&params(&pairs), 4, emulation.as_ref(), 1);
            assert!(!outcome.faults.is_empty(), "{layout}");
            for fault in outcome.faults {
                let text = fault.to_string();
                assert!(text.contains("file `data") && text.contains("no space left on server"), "{text}");
                assert!(text.contains("of at most 300 KiB") && fault.remedy.is_some(), "{text}");
            }
        }
    }
}

/// A client on rank 2 writes until it fails, or for `patience` seconds; servers are ranks 0 and 1, of which the second
/// one does `last`.
fn write_until_it_fails(
    virtual_time: bool,
    patience: f64,
    last: impl Fn(Rank) -> Result<(), Fault> + std::marker::Sync,
) -> Fault {
    let emulation = virtual_time.then(|| emulation(3, 1, SLOW, None));
    let roles = Roles::new(3, 1, 2).expect("are possible");
    let site = Site { capacity: u64::MAX, ..SITE };
    let program = |mut rank: Rank| match rank.id() {
        0 => serve(&mut Server::new(0, site), 1, &mut rank),
        1 => last(rank),
        _ => {
            let mut client = Client(Remote::new(&mut rank, &roles));
            let file = client.create("victim")?;
            (0..1000).try_for_each(|index| client.write(&file, index * 40, &[1; 40]))
        }
    };
    let mut results = ranks(3, emulation.as_ref(), |rank| if rank == 2 { patience } else { 60.0 }, program);
    results.pop().expect("there are three").expect_err("cannot go on")
}

/// Answers a few writes, and then dies in the middle of the next one: it has received it, and answers no more.
fn die(mut rank: Rank) -> Result<(), Fault> {
    let mut server = Server::new(1, SITE);
    for _ in 0..2 {
        let (from, request) = rank.world().recv_any::<u8>(1)?;
        rank.world().send(from, 2, &server.answer(&request).answer)?;
    }
    rank.world().recv_any::<u8>(1).map(drop)
}

#[test]
fn a_server_that_dies_in_mid_write_is_named_with_the_file() {
    for virtual_time in [false, true] {
        let fault = write_until_it_fails(virtual_time, 60.0, die);
        assert_eq!((fault.kind, fault.node()), (FaultKind::Gone, Some(1)), "{fault}");
        let text = fault.to_string();
        assert!(text.contains("file `victim`: server 1 is gone, on rank 1"), "{text}");
    }
}

#[test]
fn a_server_that_hangs_ends_at_the_deadline() {
    let hang = |mut rank: Rank| rank.world().recv::<u8>(2, 9).map(drop);
    let fault = write_until_it_fails(false, 1.0, hang).to_string();
    assert!(fault.contains("file `victim`: the deadline passed"), "{fault}");
}

#[test]
fn impossible_counts_and_disks_are_refused_before_anything_runs() {
    for (pairs, nodes, each, name, why) in [
        (&[("servers", "3")][..], 2, 2, "servers", "3 servers on 2 nodes"),
        (&[("servers", "2")], 2, 1, "servers", "no rank is left for a client"),
        (&[("sync", "all")], 2, 1, "sync", "have no disk"),
        (&[("block", "1 TiB"), ("transfer", "1 GiB")], 2, 1, "block", "are free"),
    ] {
        let emulation = emulation(nodes, each, SLOW, None);
        let outcome = attempt(&params(pairs), nodes, Some(&emulation), 1);
        assert_eq!(outcome.faults.len(), nodes, "each node refuses");
        let fault = &outcome.faults[0];
        assert_eq!((fault.kind, fault.parameter.as_deref()), (FaultKind::Usage, Some(name)), "{fault}");
        assert!(fault.message.contains(why), "{fault}");
    }
}

#[test]
fn what_is_no_request_is_refused() {
    let mut local = Local::new(SITE);
    let answer = local.0[1].answer(b"?").answer;
    assert_eq!(answer[0], 4, "not understood");
    // Names are the first server's alone.
    let create = crosstalk_files::Request::Create("a");
    let answers = local.exchange(&[(1, create.clone())]).expect("answers");
    let answer = crosstalk_files::Answer::decode(&answers[0], &create);
    assert_eq!(answer, Ok(crosstalk_files::Answer::Refused(crosstalk_files::Refusal::NotUnderstood)));
}
