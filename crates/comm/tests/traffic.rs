//! What a program sends is counted alike by both clocks, by whichever call it sends.

use crate::common::{emulation, fabric, run};
use crosstalk_comm::{Counted, Envelope, ReduceOp};
use crosstalk_core::mpi::Operation;

#[test]
fn every_kind_of_message_is_counted_once() {
    let virtual_time = emulation(2, &fabric(20_000.0, 4_000.0, 9_000.0, 8.0, 0.3));
    for emulation in [None, Some(&virtual_time)] {
        let counted = run(2, emulation, |rank| {
            let other = 1 - rank.id();
            rank.world().send(other, 1, &[1.0; 3])?;
            rank.restart_clock()?;
            rank.world().recv::<f64>(other, 1)?;
            rank.world().sendrecv(other, &[1.0; 10], other, &mut [0.0; 10], 2)?;
            let receive = rank.world().irecv(Envelope::exact(other, 3))?;
            let send = rank.world().isend(other, 3, &[1_i32; 5])?;
            rank.wait_all(vec![receive, send])?;
            rank.world().allreduce(&mut [1.0; 2], ReduceOp::Sum)?;
            Ok(rank.traffic().clone())
        });
        for traffic in counted {
            assert_eq!(traffic.messages, Counted { calls: 2, bytes: 100 }, "{emulation:?}");
            assert_eq!(traffic.collectives[&Operation::Allreduce], Counted { calls: 1, bytes: 16 });
            assert_eq!(traffic.collectives.len(), 1, "setting the clock to zero is no message");
        }
    }
}
