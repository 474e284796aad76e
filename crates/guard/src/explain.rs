//! What the guard sees, did and why, in plain words.

use crosstalk_core::units::{digits, human};

use crosstalk_policy::{Decision, Grade, Pause, Probe, Program, Report, Shortage, Snapshot, Sums};

/// One sentence, or two: what is done now, and why. `largest` are foreground work's programs that use most.
pub fn explain(decision: &Decision, snapshot: &Snapshot, largest: &[Program], budget: f64) -> String {
    let percent = |value: f64| format!("{} %", digits(value * 100.0));
    let why = &decision.why;
    let (kind, ratio) = worst(&why.ratios);
    let grant = &decision.grant;
    if !snapshot.background_there {
        return "No background work is guarded: there is none, or none that can be.".into();
    }
    // Work that waits for devices hardly computes.
    let devices = matches!(decision.grade, Grade::DutyCycle | Grade::Paused);
    if !why.busy && !devices {
        let then = if why.yields {
            "yields by itself to whatever wakes up"
        } else {
            "is held back as soon as foreground work is seen to begin"
        };
        return format!(
            "Foreground work is quiet (it uses {}): background work runs on what is idle, and {then}.",
            processors(snapshot.foreground_cpu, snapshot)
        );
    }
    // A program that ends soon is not among them.
    let known: f64 = largest.iter().map(|program| program.cpu).sum();
    let word = if 2.0 * known >= snapshot.foreground_cpu { "mostly" } else { "among it" };
    let mostly = if largest.is_empty() { String::new() } else { format!(" ({word} {})", names(largest)) };
    let foreground =
        format!("Foreground work uses {}{mostly}.", processors(snapshot.foreground_cpu, snapshot));
    match decision.grade {
        Grade::Base if ratio > 1.0 => format!(
            "{foreground} While background work runs, {kind} takes {} longer, which keeps within the {} agreed on: background work runs.",
            percent(ratio - 1.0), percent(budget)
        ),
        Grade::Base if !why.yields => format!(
            "{foreground} Background work shares them with it by weight, and runs."
        ),
        Grade::Base => format!(
            "{foreground} Background work yields to it, and slows neither computing nor memory: it runs on the rest."
        ),
        Grade::Cores => format!("Background work is kept to {} of {} processors, so that foreground work has those that it uses.", grant.cores, snapshot.cores),
        Grade::DutyCycle => {
            let at_devices = !why.busy || why.devices > why.waiting.max(ratio - 1.0);
            let cause = if at_devices {
                format!("foreground work waits for devices and takes {} longer", percent(why.devices))
            } else if why.waiting > ratio - 1.0 {
                format!("foreground work waits for processors and takes {} longer", percent(why.waiting))
            } else {
                format!("{kind} takes {} longer", percent(ratio - 1.0))
            };
            let promise = if at_devices { " (at devices that is aimed at, not promised)" } else { "" };
            format!(
                "While background work runs, {cause}: background work runs {} of the time, so that foreground work is slower by {} at most{promise}.",
                percent(grant.share),
                percent(budget)
            )
        }
        Grade::Paused => match why.pause {
            Some(Pause::Trial) => "Background work is paused for a moment, to see whether foreground work would use more processors.".into(),
            Some(Pause::Devices) => "Background work is paused for a moment, to see whether devices would serve foreground work faster.".into(),
            Some(Pause::Memory) => format!(
                "Memory is short, and background work takes what foreground work needs{}: background work is paused.",
                why.shortage.map_or_else(String::new, |shortage| format!(" ({})", lacks(shortage)))
            ),
            _ => format!("Foreground work uses all processors{mostly}: background work would get nothing and only be in its way. It is paused until there is room."),
        },
    }
}

/// What foreground work lacked memory for when the pause began.
fn lacks(shortage: Shortage) -> String {
    match shortage {
        Shortage::Refaults(pages) => format!("that fetched {} pages a second again", digits(pages)),
        Shortage::Stall(share) => format!("that waited for memory {} % of the time", digits(100.0 * share)),
        Shortage::Growth(bytes) => format!("that grew by {} in a moment", human(bytes as f64, "B")),
    }
}

/// Who uses most of what foreground work does.
fn names(largest: &[Program]) -> String {
    let all: Vec<String> = largest.iter().map(|one| format!("{} {}", one.name, one.pid)).collect();
    all.join(", ")
}

/// Processors of all that there are.
fn processors(used: f64, snapshot: &Snapshot) -> String {
    format!("{used:.2} of {} processors", snapshot.cores)
}

/// What adds up, in a sentence.
pub fn summary(sums: &Sums) -> String {
    let share = |part: f64| format!("{} %", digits(100.0 * part / sums.seconds.max(1e-9)));
    format!(
        "In {} background work used {} of CPU time; foreground work used {}, and was at work {} of the time. Background work was \
         paused {} of the time. The guard itself took {} of a processor.",
        human(sums.seconds, "s"),
        human(sums.background, "s"),
        human(sums.foreground, "s"),
        share(sums.busy),
        share(sums.paused),
        share(sums.cost),
    )
}

/// The kind of probe that is slowed most, and its ratio.
fn worst(ratios: &[f64; 3]) -> (&'static str, f64) {
    let mut all = Probe::KINDS.into_iter().zip(*ratios);
    let first = all.next().unwrap_or((Probe::KINDS[0], 1.0));
    all.fold(first, |worst, one| if one.1 > worst.1 { one } else { worst })
}

/// The live view: a few lines that fit into `width`.
pub fn view(report: &Report<'_>, budget: f64, width: usize) -> Vec<String> {
    let Report { decision, snapshot, largest, sums, .. } = *report;
    // 40 columns are for words.
    let long = width.saturating_sub(40).clamp(6, 20);
    let bar = |share: f64| {
        let cells = (share.clamp(0.0, 1.0) * long as f64).round() as usize;
        format!("{}{}", "█".repeat(cells), "░".repeat(long - cells))
    };
    let cores = snapshot.cores as f64;
    let kinds = [("computing", 0), ("latency", 1), ("bandwidth", 2)];
    let ratios: Vec<String> =
        kinds.iter().map(|(name, kind)| format!("{name} {}×", digits(decision.why.ratios[*kind]))).collect();
    let mut lines = vec![
        format!(
            "foreground {} {:.2} of {cores} processors  {}",
            bar(snapshot.foreground_cpu / cores),
            snapshot.foreground_cpu,
            names(largest)
        ),
        format!(
            "background {} {:.2}, {} of CPU time",
            bar(snapshot.background_cpu / cores),
            snapshot.background_cpu,
            human(sums.background, "s")
        ),
        format!(
            "may run    {} {} % of the time",
            bar(decision.grant.share),
            digits(100.0 * decision.grant.share)
        ),
        format!("while it runs: {} (of {} pairs)", ratios.join(", "), decision.why.pairs),
        format!(
            "refaults {}/s, waits for memory {} %, for devices {} %",
            digits(snapshot.refaults),
            digits(100.0 * snapshot.memory_stall),
            digits(100.0 * snapshot.io_stall)
        ),
        format!(
            "the guard takes {} % of a processor, wakes up {} late",
            digits(100.0 * sums.cost / sums.seconds.max(1e-9)),
            human(snapshot.lateness, "s")
        ),
    ];
    lines.extend(wrap(&explain(decision, snapshot, largest, budget), width));
    // A line that the terminal breaks would not be taken away again.
    lines.into_iter().map(|line| line.chars().take(width).collect()).collect()
}

/// The words in lines of at most `width`.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let fits = lines
            .last()
            .is_some_and(|line| line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width);
        match lines.last_mut() {
            Some(line) if fits => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_policy::{Grant, Why};
    use std::time::Duration;

    fn decision(grade: Grade) -> Decision {
        let grant = Grant { share: 0.25, cores: 1 };
        let why = Why {
            busy: true,
            yields: true,
            pause: None,
            shortage: None,
            ratios: [1.0, 1.4, 1.1],
            pairs: 9,
            waiting: 0.0,
            devices: 0.1,
            expected: 0.01,
        };
        Decision { grant, run: true, grade, wake: Duration::from_millis(50), probe: false, why }
    }

    #[test]
    fn every_grade_is_explained() {
        let snapshot = Snapshot { foreground_cpu: 1.0, refaults: 300.0, ..Snapshot::quiet(2, 0.05) };
        let words = |grade| explain(&decision(grade), &snapshot, &[], 0.01);
        assert!(words(Grade::DutyCycle).starts_with(
            "While background work runs, memory latency takes 40.0 % longer: background work runs 25.0 % of the time,"
        ));
        assert!(words(Grade::DutyCycle).contains("by 1.00 % at most."));
        assert!(words(Grade::Cores).contains("1 of 2 processors"));
        let mut waits = decision(Grade::DutyCycle);
        waits.why.devices = 1.5;
        let waits = explain(&waits, &snapshot, &[], 0.01);
        assert!(waits.contains("waits for devices and takes 150 % longer") && waits.contains("not promised"));
        let mut paused = decision(Grade::Paused);
        paused.why.pause = Some(Pause::Memory);
        for (cause, says) in [
            (Shortage::Refaults(500.0), "that fetched 500 pages a second again"),
            (Shortage::Stall(0.125), "that waited for memory 12.5 % of the time"),
            (Shortage::Growth(64 << 20), "that grew by 64 MiB in a moment"),
        ] {
            paused.why.shortage = Some(cause);
            let said = explain(&paused, &snapshot, &[], 0.01);
            assert!(said.contains(says), "{said}");
        }
        let program = |name: &str, pid| Program { pid, name: name.into(), cpu: 0.5 };
        let largest = [program("sysbench", 4711), program("sh", 12)];
        let named = explain(&decision(Grade::Paused), &snapshot, &largest, 0.01);
        assert!(named.contains("all processors (mostly sysbench 4711, sh 12):"), "{named}");
        let more = Snapshot { foreground_cpu: 2.1, ..snapshot };
        let named = explain(&decision(Grade::Paused), &more, &largest, 0.01);
        assert!(named.contains("(among it sysbench 4711, sh 12)"), "{named}");
        assert!(words(Grade::Base).contains("keeps within"));
        let quiet =
            Decision { why: Why { busy: false, ..decision(Grade::Base).why }, ..decision(Grade::Base) };
        let words = |quiet: &Decision| explain(quiet, &Snapshot::quiet(2, 0.05), &[], 0.01);
        assert!(
            words(&quiet).starts_with("Foreground work is quiet")
                && words(&quiet).contains("yields by itself")
        );
        let competes = Decision { why: Why { yields: false, ..quiet.why }, ..quiet };
        assert!(!words(&competes).contains("yields"), "the idle class does not reach");
    }

    #[test]
    fn the_view_fits() {
        let snapshot = Snapshot { foreground_cpu: 1.0, ..Snapshot::quiet(2, 0.05) };
        let (decision, sums) = (decision(Grade::DutyCycle), Sums::default());
        let (at, largest) = (Duration::ZERO, [Program { pid: 1, name: "x".repeat(99), cpu: 1.0 }]);
        let report = Report {
            at,
            snapshot: &snapshot,
            decision: &decision,
            largest: &largest,
            notes: &[],
            sums: &sums,
        };
        let lines = view(&report, 0.01, 72);
        assert!(lines.len() >= 7 && lines.iter().all(|line| line.chars().count() <= 72), "{lines:?}");
    }
}
