//! Virtual time does not depend on the host: a program takes the same time on one
//! core and on two, alone and while a busy loop runs, within 3 %.

mod common;

use common::{cores, emulation, fabric, pin, run};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const NODES: usize = 6;
/// The shortest of this many runs is compared: disturbances only add time, and if
/// they are frequent, none of a few runs is free of them. Runs are added while the
/// shortest times differ. That removes random disturbances only; an effect of the
/// placement is in every run.
const REPEATS: std::ops::RangeInclusive<usize> = 20..=100;
/// The largest ratio of two times.
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

/// Computes for unequal times and exchanges, ten times. Returns the latest rank's clock.
fn program() -> f64 {
    let emulation = emulation(NODES, &fabric(20_000.0, 4_000.0, 9_000.0, 8.0, 0.3));
    let ends = run(NODES, Some(&emulation), |rank| {
        let mut numbers = vec![7; 8192];
        compute(&mut numbers, 20);
        rank.restart_clock()?;
        for round in 0..10 {
            compute(&mut numbers, 80 + 20 * ((rank.id() + round) % NODES));
            let parts = rank.serialise(|| vec![vec![1; 10_000]; NODES]);
            rank.world().alltoallv(parts)?;
        }
        Ok(rank.now()?.0)
    });
    ends.into_iter().fold(0.0, f64::max)
}

/// Runs `work` while another thread runs a busy loop.
fn with_busy_loop<R>(work: impl FnOnce() -> R) -> R {
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
fn one_core_two_cores_and_a_busy_loop_give_the_same_time() {
    let all = cores();
    if all.len() < 2 {
        eprintln!("skipped: needs two cores, found {}", all.len());
        return;
    }
    let on = |cores: &[usize], busy_loop: bool| {
        pin(cores);
        let time = if busy_loop { with_busy_loop(program) } else { program() };
        pin(&all);
        time
    };
    let mut shortest = [f64::MAX; 4];
    let mut ratio = f64::MAX;
    for repeat in 1..=*REPEATS.end() {
        let times = [on(&all[..1], false), on(&all[..2], false), on(&all[..1], true), on(&all[..2], true)];
        shortest.iter_mut().zip(times).for_each(|(shortest, time)| *shortest = shortest.min(time));
        let (low, high) = shortest.iter().fold((f64::MAX, 0.0f64), |(l, h), t| (l.min(*t), h.max(*t)));
        ratio = high / low;
        if REPEATS.contains(&repeat) && ratio < ALIKE {
            eprintln!("{repeat} runs of each");
            break;
        }
    }
    eprintln!("one core, two cores, the same with a busy loop: {shortest:?} s");
    assert!(ratio < ALIKE, "differ by {:.1} %: {shortest:?}", 100.0 * (ratio - 1.0));
}
