//! The guard's numbers as OpenMetrics text (the OpenMetrics specification 1.0), in SI units.

use crosstalk_policy::{Decision, Probe, Snapshot, Sums};

/// The text's media type.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A family of one sample, or of several that differ in a label: its type, its name without what all begin with, and its
/// unit, if it has one; what it is.
type Family = (&'static str, &'static str, Vec<(String, f64)>);

/// The text.
pub fn text(decision: &Decision, snapshot: &Snapshot, sums: &Sums, budget: f64) -> String {
    let (grant, why, now) = (&decision.grant, &decision.why, snapshot);
    let one = |value: f64| vec![(String::new(), value)];
    let kinds = Probe::KINDS.map(|kind| format!("{{kind=\"{}\"}}", kind.trim_start_matches("memory ")));
    let of_kinds = |values: [f64; 3]| -> Vec<_> { kinds.iter().cloned().zip(values).collect() };
    let mut probe = of_kinds(now.probe.as_ref().map(Probe::times).unwrap_or_default());
    probe.retain(|(_, time)| *time > 0.0);
    let (busy, grade) = (f64::from(u8::from(why.busy)), f64::from(decision.grade as u8));
    let (cores, memory) = (grant.cores as f64, now.background_memory as f64);
    let families: [Family; 21] = [
        ("gauge slowdown_agreed ratio", "Agreed slowdown of foreground work.", one(budget)),
        ("gauge slowdown_expected ratio", "Expected slowdown of foreground work.", one(why.expected)),
        ("gauge foreground_processors", "Processors that foreground work uses.", one(now.foreground_cpu)),
        ("gauge background_processors", "Processors that background work uses.", one(now.background_cpu)),
        ("gauge stolen_processors", "Processors that other machines take.", one(now.stolen)),
        ("gauge granted_time ratio", "Share of the time that background work may run.", one(grant.share)),
        ("gauge granted_processors", "Processors that background work may use.", one(cores)),
        ("gauge foreground_busy", "Whether foreground work is active.", one(busy)),
        ("gauge grade", "0 idle class, 1 fewer processors, 2 duty cycle, 3 paused.", one(grade)),
        (
            "gauge contention ratio",
            "Time of a probe while background work runs / paused.",
            of_kinds(why.ratios),
        ),
        ("gauge probe seconds", "What a batch of the last probe took.", probe),
        (
            "gauge foreground_memory_stall ratio",
            "Least share of time it waits for memory.",
            one(now.memory_stall),
        ),
        ("gauge foreground_io_stall ratio", "Least share of time it waits for devices.", one(now.io_stall)),
        ("gauge foreground_refaults", "Pages a second that it fetches again.", one(now.refaults)),
        ("gauge background_memory bytes", "Memory that background work has.", one(memory)),
        ("gauge wake_up_lateness seconds", "How late the guard woke up.", one(now.lateness)),
        ("counter foreground_cpu seconds", "CPU time of foreground work.", one(sums.foreground)),
        ("counter background_cpu seconds", "CPU time of background work.", one(sums.background)),
        ("counter paused seconds", "Time for which background work was paused.", one(sums.paused)),
        ("counter cost_cpu seconds", "CPU time of the guard itself.", one(sums.cost)),
        ("counter samples", "How often the guard sampled.", one(sums.samples as f64)),
    ];
    families.into_iter().map(written).collect::<String>() + "# EOF\n"
}

fn written((what, help, samples): Family) -> String {
    let mut words = what.split(' ');
    let (kind, name, unit) =
        (words.next().unwrap_or_default(), words.next().unwrap_or_default(), words.next());
    if samples.is_empty() {
        return String::new();
    }
    let full = format!("crosstalk_guard_{name}{}", unit.map_or_else(String::new, |unit| format!("_{unit}")));
    let unit = unit.map_or_else(String::new, |unit| format!("# UNIT {full} {unit}\n"));
    let suffix = if kind == "counter" { "_total" } else { "" };
    let line = |(labels, value): &(String, f64)| format!("{full}{suffix}{labels} {value}\n");
    let samples: String = samples.iter().map(line).collect();
    format!("# TYPE {full} {kind}\n{unit}# HELP {full} {help}\n{samples}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_policy::Contract;
    use crosstalk_policy::{Offers, Policy};
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn each_family_is_there_once_with_its_type_and_the_end_is_marked() {
        let offers = Offers { idle: true, duty_cycle: true, pause: true, cores: true };
        let mut policy = Policy::new(Contract { slowdown: 0.01, busy: 0.05 }, offers, 2);
        let probe = Probe { compute: 1e-6, latency: 2e-6, bandwidth: 3e-6 };
        let snapshot = Snapshot { probe: Some(probe), ..Snapshot::quiet(2, 0.05) };
        let decision = policy.step(Duration::from_secs(1), &snapshot);
        let text = text(&decision, &snapshot, &Sums::default(), 0.01);
        assert!(text.ends_with("\n# EOF\n") && !text.contains("\n\n"));
        let mut families = BTreeSet::new();
        let mut family = String::new();
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(typed) = line.strip_prefix("# TYPE ") {
                family = typed.split(' ').next().expect("a name").to_string();
                assert!(families.insert(family.clone()), "{family} twice");
            } else if line.starts_with('#') {
                assert_eq!(line.split(' ').nth(2), Some(family.as_str()), "{line}");
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a value");
                assert!(name.starts_with(&family), "{line} in {family}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert!(text.contains("crosstalk_guard_background_cpu_seconds_total 0\n"));
        assert!(text.contains("crosstalk_guard_contention_ratio{kind=\"latency\"} 1\n"));
    }
}
