//! What protection does to a group and to the others, in numbers and sentences. Nothing is said before there are enough readings
//! of both states, and then with an interval.

use crosstalk_core::units::human;
use crosstalk_groups::{Change, Comparison, GroupName, Measure, Medians, Rates, readings_needed, table};

use super::view::{GroupReading, NONE, delay, rate, share};

/// A table of medians: off and on, side by side.
pub fn side_by_side<'a>(
    counted: impl Iterator<Item = &'a GroupReading>,
    comparison: &Comparison,
) -> Vec<String> {
    let cells = |one: &GroupReading| {
        let name = &one.standing.name;
        let [off, on] = [false, true].map(|is_on| comparison.medians(is_on, name));
        let cell = |state: &Option<Medians>, print: fn(&Rates) -> String| {
            state.as_ref().map_or(NONE.into(), |medians| print(&medians.rates))
        };
        let pair = |print: fn(&Rates) -> String| format!("{} | {}", cell(&off, print), cell(&on, print));
        let counts = [off, on].map(|state| state.map_or(0, |medians| medians.n).to_string());
        [
            name.to_string(),
            counts.join(" | "),
            pair(|rates| delay(rates.delay)),
            pair(|rates| share(rates.waits.cpu)),
            pair(|rates| share(rates.waits.memory)),
            pair(|rates| rate(rates.refaults)),
            pair(|rates| rates.processors.map_or(NONE.into(), |cpu| format!("{cpu:.2}"))),
        ]
    };
    let rows: Vec<[String; 7]> = counted.map(cells).collect();
    let head = ["medians, off | on", "seconds", "delay", "waits for CPU", "for memory", "refaults", "CPU"];
    table(head, &rows)
}

/// What protection of `chosen` does to it, and what it costs the `others`.
pub fn sentences(chosen: &GroupName, others: &[&GroupName], comparison: &Comparison) -> Vec<String> {
    let [off, on] =
        [false, true].map(|is_on| comparison.medians(is_on, chosen).map_or(0, |medians| medians.n));
    let so_far = format!("{on} s protected, {off} s not");
    let is_early = |needed| off.min(on) < needed;
    let of_one = readings_needed(Measure::ALL.len());
    if is_early(of_one) {
        return vec![format!("Too early to compare: {so_far}; {of_one} s of each are needed")];
    }
    let changes = Measure::ALL.into_iter().filter_map(|measure| {
        let change = comparison.change(chosen, measure, Measure::ALL.len())?;
        is_felt(&change).then(|| sentence(chosen, &change))
    });
    let mut lines: Vec<String> = changes.collect();
    if lines.is_empty() {
        lines.push(format!("{chosen} waits for nothing, protected or not"));
    }
    if others.is_empty() {
        return lines;
    }
    let questions = others.len() * Measure::ALL.len();
    let of_others = readings_needed(questions);
    if is_early(of_others) {
        lines.push(format!(
            "Too early for the cost to the others: {so_far}; {of_others} s of each are needed"
        ));
        return lines;
    }
    let costs = costs(others, comparison, questions);
    if costs.is_empty() {
        lines.push("Cost to the others: none of them waits measurably more".into());
    }
    lines.extend(costs.iter().map(|(name, change)| format!("Cost: {}", sentence(name, change))));
    lines
}

/// The largest rises of the others, beyond doubt: of delays, of waits, and of refaults.
fn costs<'a>(
    others: &[&'a GroupName],
    comparison: &Comparison,
    questions: usize,
) -> Vec<(&'a GroupName, Change)> {
    let of_one_unit =
        [&[Measure::Delay][..], &[Measure::Cpu, Measure::Memory, Measure::Disk], &[Measure::Refaults]];
    let largest = |measures: &[Measure]| {
        let each = others.iter().flat_map(|name| {
            measures.iter().filter_map(|measure| Some((*name, comparison.change(name, *measure, questions)?)))
        });
        each.filter(|(_, change)| change.low > 0.0).max_by(|(_, a), (_, b)| a.rise().total_cmp(&b.rise()))
    };
    of_one_unit.into_iter().filter_map(largest).collect()
}

/// Whether there is anything to say: the group may never wait.
fn is_felt(change: &Change) -> bool {
    change.low != 0.0 || change.high != 0.0
}

fn sentence(name: &GroupName, change: &Change) -> String {
    let what = match change.measure {
        Measure::Delay => "wait of a ready thread for a processor",
        Measure::Cpu => "time with a task waiting for the CPU",
        Measure::Memory => "time with a task waiting for memory",
        Measure::Disk => "time with a task waiting for a disk",
        Measure::Refaults => "refaults",
    };
    let number = |value: f64| match change.measure {
        Measure::Delay => human(value, "s"),
        Measure::Refaults => human(value, "1/s"),
        Measure::Cpu | Measure::Memory | Measure::Disk => format!("{:.1}", value * 100.0),
    };
    let unit = match change.measure {
        Measure::Delay | Measure::Refaults => "",
        Measure::Cpu | Measure::Memory | Measure::Disk => " percentage points",
    };
    let (low, high) = (change.low, change.high);
    let difference = if change.may_be_none() {
        format!("no difference within {}{unit}", number(high.max(-low)))
    } else if low > 0.0 {
        format!("{} to {}{unit} more with protection", number(low), number(high))
    } else {
        format!("{} to {}{unit} less with protection", number(-high), number(-low))
    };
    format!("{name}, {what}: {difference}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> GroupName {
        name.parse().expect("is a name")
    }

    /// So many readings of each state: shares of the time in which the group waits for the CPU.
    fn add(comparison: &mut Comparison, name: &GroupName, readings: usize, shares: [f64; 2]) {
        for (is_on, share) in [(false, shares[0]), (true, shares[1])] {
            for at in 0..readings {
                let mut rates = Rates::default();
                rates.waits.cpu = Some(share + 0.002 * at as f64);
                comparison.add(is_on, name, rates);
            }
        }
    }

    #[test]
    fn nothing_is_said_too_early() {
        let (lab, mut comparison) = (name("lab"), Comparison::default());
        add(&mut comparison, &lab, 4, [0.10, 0.11]);
        assert_eq!(
            sentences(&lab, &[], &comparison),
            ["Too early to compare: 4 s protected, 4 s not; 10 s of each are needed"]
        );
    }

    #[test]
    fn noise_is_no_effect() {
        let (lab, mut comparison) = (name("lab"), Comparison::default());
        add(&mut comparison, &lab, 10, [0.10, 0.11]);
        assert_eq!(
            sentences(&lab, &[], &comparison),
            ["lab, time with a task waiting for the CPU: no difference within 2.8 percentage points"]
        );
    }

    #[test]
    fn an_effect_and_what_it_costs_have_intervals() {
        let (lab, web, db, mut comparison) = (name("lab"), name("web"), name("db"), Comparison::default());
        add(&mut comparison, &lab, 12, [0.50, 0.10]);
        add(&mut comparison, &web, 12, [0.20, 0.60]);
        add(&mut comparison, &db, 12, [0.20, 0.30]);
        assert_eq!(
            sentences(&lab, &[&web, &db], &comparison),
            [
                "lab, time with a task waiting for the CPU: 37.8 to 42.2 percentage points less with protection",
                "Cost: web, time with a task waiting for the CPU: 37.8 to 42.2 percentage points more with protection",
            ]
        );
        add(&mut comparison, &web, 12, [0.60, 0.20]);
        assert_eq!(
            sentences(&lab, &[&web], &comparison)[1],
            "Cost to the others: none of them waits measurably more"
        );
    }

    #[test]
    fn many_others_take_more_readings() {
        let (lab, mut comparison) = (name("lab"), Comparison::default());
        add(&mut comparison, &lab, 12, [0.5, 0.1]);
        let all: Vec<GroupName> = (0..35).map(|number| name(&format!("web{number}"))).collect();
        assert_eq!(
            sentences(&lab, &all.iter().collect::<Vec<_>>(), &comparison)[1],
            "Too early for the cost to the others: 12 s protected, 12 s not; 14 s of each are needed"
        );
    }
}
