//! How often does a whole study err, and how often does it find a difference of
//! 5 %? Simulates studies on five kinds of machine in six situations.
//!
//! `cargo run --release -p crosstalk-stats --example false_verdicts -- [--studies N]
//! [--spread S] [--looks 12,24,48] [--seed N] [--json FILE]`

use crosstalk_stats::looks::Looks;
use crosstalk_stats::simulation::machine::NoiseKind;
use crosstalk_stats::simulation::study::{COMPARISONS, Situation};
use crosstalk_stats::simulation::{SimulationOutcome, simulate};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The greatest share of studies that may err, and the greatest upper bound of it.
const MOST_FALSE: (f64, f64) = (0.05, 0.065);
/// The least share of true differences that must be found.
const LEAST_POWER: f64 = 0.80;

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    println!(
        "{} studies a line, {COMPARISONS} primary comparisons each, looks at {:?} blocks, spread {} %",
        options.studies,
        options.looks.blocks(),
        100.0 * options.spread
    );
    let outcomes = simulate_all(&options);
    print_table(&outcomes);
    let passed = print_summary(&outcomes);
    if let Some(file) = &options.json {
        let text = format!("{:#}\n", report(&options, &outcomes, passed));
        if let Err(error) = std::fs::write(file, text) {
            eprintln!("{file}: {error}");
            return ExitCode::from(4);
        }
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Options {
    studies: u64,
    spread: f64,
    looks: Looks,
    seed: u64,
    json: Option<String>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options =
            Options { studies: 2_000, spread: 0.04, looks: parse_looks("12,24,48")?, seed: 1, json: None };
        while let Some(flag) = words.next() {
            let value = words.next().ok_or(format!("{flag}: expected a value"))?;
            match flag.as_str() {
                "--studies" => options.studies = parse(&flag, &value)?,
                "--spread" => options.spread = parse(&flag, &value)?,
                "--looks" => options.looks = parse_looks(&value)?,
                "--seed" => options.seed = parse(&flag, &value)?,
                "--json" => options.json = Some(value),
                _ => return Err(format!("{flag}: expected --studies, --spread, --looks, --seed or --json")),
            }
        }
        let sane = options.studies > 0 && options.spread > 0.0 && options.spread.is_finite();
        sane.then_some(options).ok_or("expected --studies and --spread above zero".into())
    }
}

fn parse<T: std::str::FromStr>(flag: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{flag}: expected a number, found `{value}`"))
}

fn parse_looks(value: &str) -> Result<Looks, String> {
    let blocks: Option<Vec<usize>> = value.split(',').map(|word| word.parse().ok()).collect();
    blocks
        .and_then(|blocks| Looks::new(&blocks, 0.05))
        .ok_or(format!("--looks: expected ascending numbers of blocks such as 12,24,48, found `{value}`"))
}

/// Uses one thread per kind of machine. The order of the results is always the same.
fn simulate_all(options: &Options) -> Vec<SimulationOutcome> {
    let of_kind = |kind: NoiseKind| {
        let one = |situation| {
            simulate(kind, situation, options.studies, options.spread, &options.looks, options.seed)
        };
        Situation::ALL.map(one)
    };
    std::thread::scope(|scope| {
        let threads = NoiseKind::ALL.map(|kind| scope.spawn(move || of_kind(kind)));
        threads.into_iter().flat_map(|t| t.join().expect("a simulation does not panic")).collect()
    })
}

fn print_table(outcomes: &[SimulationOutcome]) {
    println!(
        "{:<14}{:<8}{:>16}{:>10}{:>14}{:>15}{:>8}",
        "machine", "truth", "false studies", "≤ (95 %)", "5 % found", "inconclusive", "blocks"
    );
    for outcome in outcomes {
        let share = outcome.false_share().map_or(f64::NAN, |i| 100.0 * i.point);
        let bound = outcome.false_share().map_or(f64::NAN, |i| 100.0 * i.high);
        let power = outcome.power().map_or("–".into(), |i| format!("{:.1} %", 100.0 * i.point));
        let open = 100.0 * outcome.inconclusive as f64 / (outcome.studies as f64 * COMPARISONS as f64);
        println!(
            "{:<14}{:<8}{:>6} = {share:>5.2} %{bound:>8.2} %{power:>14}{open:>13.1} %{:>8.1}",
            outcome.kind.name(),
            outcome.situation.name(),
            outcome.false_studies,
            outcome.blocks
        );
    }
}

fn print_summary(outcomes: &[SimulationOutcome]) -> bool {
    let (share, bound) = worst_false(outcomes);
    let power = least_power(outcomes);
    println!(
        "worst: false verdicts in {:.2} % of studies (≤ {:.2} %); must be ≤ {} % (≤ {} %)",
        100.0 * share,
        100.0 * bound,
        100.0 * MOST_FALSE.0,
        100.0 * MOST_FALSE.1
    );
    println!(
        "worst: a true 5 % difference, beyond the A/A floor, found in {:.1} % (≥ {:.1} %); must be ≥ {} %",
        100.0 * power.0,
        100.0 * power.1,
        100.0 * LEAST_POWER
    );
    share <= MOST_FALSE.0 && bound <= MOST_FALSE.1 && power.1 >= LEAST_POWER
}

/// Share and upper bound for the machine and situation that err most.
fn worst_false(outcomes: &[SimulationOutcome]) -> (f64, f64) {
    outcomes
        .iter()
        .filter_map(SimulationOutcome::false_share)
        .map(|i| (i.point, i.high))
        .fold((0.0, 0.0), |worst, now| if now.1 > worst.1 { now } else { worst })
}

/// Power and its lower bound in the user's situation, on the machine with the least power.
fn least_power(outcomes: &[SimulationOutcome]) -> (f64, f64) {
    outcomes
        .iter()
        .filter(|o| o.situation == Situation::User)
        .filter_map(SimulationOutcome::power)
        .map(|i| (i.point, i.low))
        .fold((1.0, 1.0), |worst, now| if now.1 < worst.1 { now } else { worst })
}

fn report(options: &Options, outcomes: &[SimulationOutcome], passed: bool) -> Value {
    let line = |outcome: &SimulationOutcome| {
        json!({
            "machine": outcome.kind.name(),
            "truth": outcome.situation.name(),
            "false_studies": outcome.false_studies,
            "false_share": outcome.false_share().map(|i| i.point),
            "false_share_upper_95": outcome.false_share().map(|i| i.high),
            "differences": outcome.differences,
            "found": outcome.found,
            "power": outcome.power().map(|i| i.point),
            "power_lower_95": outcome.power().map(|i| i.low),
            "inconclusive": outcome.inconclusive,
            "mean_blocks": outcome.blocks,
        })
    };
    let (share, bound) = worst_false(outcomes);
    let (power, power_low) = least_power(outcomes);
    json!({
        "schema": "crosstalk.false-verdicts/1",
        "studies": options.studies,
        "comparisons": COMPARISONS,
        "looks": options.looks.blocks(),
        "alpha": options.looks.alpha(),
        "spread": options.spread,
        "seed": options.seed,
        "outcomes": outcomes.iter().map(line).collect::<Vec<_>>(),
        "worst_false_share": share,
        "worst_false_share_upper_95": bound,
        "power": power,
        "power_lower_95": power_low,
        "passed": passed,
    })
}
