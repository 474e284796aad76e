//! How much the time of a replay depends on parameters that are not known exactly.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::units::human;
use crosstalk_model::schedule::Schedule;
use crosstalk_stats::latin::hypercube;
use crosstalk_stats::rng::Rng;
use crosstalk_study::Catalogues;
use crosstalk_study::uncertain::Uncertainty;
use serde_json::{Value, json};

/// The shares of the clusters below the two ends that are printed.
const ENDS: [f64; 2] = [0.025, 0.975];

/// Times over the ranges of a cluster's parameters, in seconds.
pub struct Ranges {
    samples: usize,
    /// The ends between which 95 % of the clusters lie.
    ends: [f64; 2],
    /// By parameter: the times at both ends of its own range, all others at their values. The one that changes most comes
    /// first.
    parameters: Vec<(String, [f64; 2])>,
}

/// Replays a schedule on clusters whose parameters are drawn from their ranges.
pub fn over(
    schedule: &Schedule,
    catalogues: &Catalogues,
    cluster: &Emulation,
    samples: usize,
) -> Result<Ranges, Fault> {
    let uncertainty = Uncertainty::of(catalogues, [cluster])?;
    if uncertainty.parameters.is_empty() {
        return Err(Fault::usage(format!("no parameter of `{}` has a range", cluster.system))
            .at("--ranges")
            .remedy("take another system (`crosstalk show systems/kosmos` prints ranges), or add `range = [low, high]` to sources in a copy of its files, and name their folder by --catalogue"));
    }
    let system = &catalogues.find_system(&cluster.system)?.0.name;
    let time = |points: &[f64]| -> Result<f64, Fault> {
        let clocks = schedule.replay(&uncertainty.at(points, cluster, system))?;
        Ok(clocks.iter().map(|clock| clock.total().seconds().0).fold(0.0, f64::max))
    };
    let points = hypercube(uncertainty.parameters.len(), samples, &mut Rng::seeded(1));
    let mut times = points.iter().map(|point| time(point)).collect::<Result<Vec<f64>, _>>()?;
    times.sort_by(f64::total_cmp);
    let ends = ENDS.map(|share| times[((samples - 1) as f64 * share).round() as usize]);
    let mut parameters = Vec::new();
    for (at, (_, ranged)) in uncertainty.parameters.iter().enumerate() {
        let alone = |end: f64| {
            let mut points = uncertainty.values();
            points[at] = end;
            time(&points)
        };
        parameters.push((ranged.name.clone(), [alone(0.0)?, alone(1.0)?]));
    }
    let spread = |[low, high]: [f64; 2]| (high - low).abs();
    parameters.sort_by(|a, b| spread(b.1).total_cmp(&spread(a.1)));
    Ok(Ranges { samples, ends, parameters })
}

impl Ranges {
    /// For people.
    pub fn table(&self) -> String {
        let seconds = |value: f64| human(value, "s");
        let widest = self.parameters.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let head = format!(
            "\nby its parameters' ranges the total lies between {} and {} (95 % of {} clusters)\n{:widest$}  {:>10}  {:>10}",
            seconds(self.ends[0]),
            seconds(self.ends[1]),
            self.samples,
            "at the ends of",
            "lower",
            "upper"
        );
        let line = |(name, [low, high]): &(String, [f64; 2])| {
            format!("{name:widest$}  {:>10}  {:>10}", seconds(*low), seconds(*high))
        };
        std::iter::once(head).chain(self.parameters.iter().map(line)).collect::<Vec<_>>().join("\n")
    }

    /// For programs.
    pub fn record(&self) -> Value {
        let parameters = self
            .parameters
            .iter()
            .map(|(name, [low, high])| json!({ "parameter": name, "at_lower": low, "at_upper": high }));
        json!({
            "samples": self.samples, "low": self.ends[0], "high": self.ends[1],
            "parameters": parameters.collect::<Vec<_>>(),
        })
    }
}
