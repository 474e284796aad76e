//! Virtual time does not depend on the host: the same program takes the same
//! time on one core and on two, idle and beside a busy loop, within 3 %.

mod common;

use common::{cores, emulation, fabric, pin, run};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const NODES: usize = 6;
/// The least of this many runs is compared: what strikes from outside only
/// adds, and where it strikes often, of few runs none is spared. So there are
/// more while the least still differ, which mends only what strikes at random:
/// what belongs to a placement is in each of its runs.
const REPEATS: std::ops::RangeInclusive<usize> = 20..=100;
/// The most by which the times may differ, as a ratio.
const ALIKE: f64 = 1.03;

/// Passes over 64 KiB of numbers, each depending on the one before.
fn compute(numbers: &mut [u64], passes: usize) {
    for _ in 0..passes {
        let mut last = 1;
        for number in numbers.iter_mut() {
            last = number.wrapping_mul(last | 1).rotate_left(7);
            *number = last;
        }
    }
    black_box(numbers);
}

/// Computes unequally and exchanges, ten times over; the latest rank's clock.
fn program() -> f64 {
    let emulation = emulation(NODES, &fabric(20_000.0, 4_000.0, 9_000.0, 8.0, 0.3));
    let ends = run(NODES, Some(&emulation), |rank| {
        let mut numbers = vec![7; 8192];
        compute(&mut numbers, 20);
        rank.restart_clock()?;
        for turn in 0..10 {
            compute(&mut numbers, 80 + 20 * ((rank.id() + turn) % NODES));
            let parts = rank.serialise(|| vec![vec![1; 10_000]; NODES]);
            rank.alltoallv(parts)?;
        }
        Ok(rank.now().0)
    });
    ends.into_iter().fold(0.0, f64::max)
}

/// Runs `work` beside a thread that never rests.
fn beside_a_hog<R>(work: impl FnOnce() -> R) -> R {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                black_box(0);
            }
        });
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn one_core_two_cores_and_a_busy_neighbour_give_the_same_time() {
    let all = cores();
    if all.len() < 2 {
        eprintln!("skipped: needs two cores, found {}", all.len());
        return;
    }
    let on = |cores: &[usize], hog: bool| {
        pin(cores);
        let time = if hog { beside_a_hog(program) } else { program() };
        pin(&all);
        time
    };
    let mut least = [f64::MAX; 4];
    let mut ratio = f64::MAX;
    for repeat in 1..=*REPEATS.end() {
        let times = [on(&all[..1], false), on(&all[..2], false), on(&all[..1], true), on(&all[..2], true)];
        least.iter_mut().zip(times).for_each(|(least, time)| *least = least.min(time));
        let (low, high) = least.iter().fold((f64::MAX, 0.0f64), |(l, h), t| (l.min(*t), h.max(*t)));
        ratio = high / low;
        if REPEATS.contains(&repeat) && ratio < ALIKE {
            eprintln!("{repeat} runs of each");
            break;
        }
    }
    eprintln!("one core, two cores, one and a hog, two and a hog: {least:?} s");
    assert!(ratio < ALIKE, "differ by {:.1} %: {least:?}", 100.0 * (ratio - 1.0));
}
