//! Parts of the ranks exchange messages under numbers of their own, apart from others.

use crate::common::{emulation, fabric, run};
use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;

fn in_both(nodes: usize, program: impl Fn(&mut Rank) -> Result<(), Fault> + Sync) {
    run(nodes, None, &program);
    let fabric = fabric(5000.0, 500.0, 500.0, 1.0, 0.1);
    run(nodes, Some(&emulation(nodes, &fabric)), &program);
}

#[test]
fn a_split_puts_ranks_of_a_color_together_in_the_order_of_their_keys() {
    in_both(6, |rank| {
        let id = rank.id();
        let part = rank.world().split(Some(id as u32 % 2), -(id as i64))?.expect("all have a color");
        assert_eq!((part.size(), part.id()), (3, 2 - id / 2));
        let mut sum = [id as i64];
        rank.within(&part).allreduce(&mut sum, ReduceOp::Sum)?;
        assert_eq!(sum, [if id % 2 == 0 { 6 } else { 9 }]);
        let all = rank.within(&part).allgather(&[id as i32])?;
        let base = (id % 2) as i32;
        assert_eq!(all, [4 + base, 2 + base, base]);
        Ok(())
    });
}

#[test]
fn who_has_no_color_is_in_no_part_and_others_go_on() {
    in_both(3, |rank| {
        let color = (rank.id() != 1).then_some(0);
        let part = rank.world().split(color, 0)?;
        assert_eq!(part.as_ref().map(|part| part.size()), color.map(|_| 2));
        if let Some(part) = part {
            rank.within(&part).barrier()?;
        }
        rank.world().barrier()
    });
}

#[test]
fn messages_of_a_copy_are_apart() {
    in_both(2, |rank| {
        let copy = rank.world().dup()?;
        if rank.id() == 0 {
            rank.world().send(1, 0, &[1_i32])?;
            return rank.within(&copy).send(1, 0, &[2_i32]);
        }
        assert_eq!(rank.within(&copy).recv::<i32>(0, 0)?, [2]);
        assert_eq!(rank.world().recv_any::<i32>(0)?, (0, vec![1]));
        Ok(())
    });
}

#[test]
fn ranks_on_a_grid_pass_on_to_their_neighbours() {
    in_both(7, |rank| {
        let grid = rank.world().cartesian(&[2, 3], &[false, true])?;
        let Some(grid) = grid else {
            assert_eq!(rank.id(), 6);
            return Ok(());
        };
        let on = grid.communicator().clone();
        let (left, right) = grid.shift(1, 1);
        let (left, right) = (left.expect("goes round"), right.expect("goes round"));
        let mut got = [0_i32];
        rank.within(&on).sendrecv(right, &[on.id() as i32], left, &mut got, 0)?;
        assert_eq!(got, [left as i32]);
        assert!(rank.within(&on).cartesian(&[7], &[false]).is_err(), "more places than ranks");
        Ok(())
    });
}
