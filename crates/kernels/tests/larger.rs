//! All kernels of classes W and A against the official results, on several ranks, in real and in virtual time: minutes, so
//! they run with `--ignored` (bench/README.md has the command).

use crate::common::{Clock, bits, run, verified};
use crosstalk_kernels::{Check, Class, KERNELS, Ranks};

#[test]
#[ignore = "minutes: run with --ignored"]
fn larger_classes_verify_with_the_same_results_by_both_clocks() {
    let (mut verified, mut all) = (0, 0);
    for kernel in KERNELS {
        let of_w: &[usize] = if kernel.ranks == Ranks::Square { &[1, 4, 9] } else { &[1, 2, 4] };
        for (class, ranks) in
            of_w.iter().map(|ranks| (Class::W, *ranks)).chain([(Class::A, 1), (Class::A, 4)])
        {
            let results = [Clock::Real, Clock::Virtual].map(|clock| {
                let results = run(kernel.name, class, ranks, clock);
                let checks = &results[0].checks;
                let wrong = checks.iter().filter_map(|check| Check::verify(check).err()).next();
                all += 1;
                match wrong {
                    None if !checks.is_empty() => verified += 1,
                    wrong => println!("{} {} on {ranks}, {clock:?}: {wrong:?}", kernel.name, class.letter()),
                }
                bits(&results)
            });
            assert_eq!(results[0], results[1], "{} {} on {ranks}", kernel.name, class.letter());
        }
    }
    println!("verified {verified} of {all}");
    assert_eq!(verified, all);
}

#[test]
#[ignore = "minutes: run with --ignored"]
fn more_ranks_than_usual_verify() {
    for (kernel, class, ranks) in [
        ("cg", Class::A, 8),
        ("ft", Class::W, 32),
        ("ft", Class::W, 64),
        ("lu", Class::W, 8),
        ("mg", Class::W, 8),
        ("mg", Class::S, 64),
    ] {
        verified(kernel, class, ranks, Clock::Real);
    }
}
