//! How sure an emulated cluster is: the parameters of systems and fabrics that carry a range, and clusters with other
//! values of them.

use std::collections::BTreeMap;
use std::fmt;

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Fabric, Source};
use crosstalk_core::quoted;
use crosstalk_core::range::Range;
use crosstalk_core::system::{NodeKind, System};
use crosstalk_core::units::Seconds;

use crate::catalogue::Catalogues;
use crate::cost::{COSTS, Cost};

/// A parameter of a file of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// Of a fabric: a cost of its messages.
    Cost {
        /// The fabric's name.
        fabric: String,
        /// Which of its costs.
        cost: Cost,
    },
    /// Of a system: the speed of a core.
    Speed {
        /// The system's name, without a network.
        system: String,
    },
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parameter::Cost { fabric, cost } => write!(f, "fabric {fabric}: {}", cost.name()),
            Parameter::Speed { system } => write!(f, "system {system}: speed"),
        }
    }
}

/// A parameter with its range; of one that follows another, as a factor of what it is then, whose value is 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncertain {
    /// Which it is.
    pub parameter: Parameter,
    /// Its value, in base units.
    pub value: f64,
    /// The ends of its range.
    pub range: (f64, f64),
}

impl Uncertain {
    /// Where its value stands: [`Uncertain::at`] of it is the value.
    fn point(&self) -> f64 {
        let (low, high) = self.range;
        match () {
            () if high <= low => 0.0,
            () if low > 0.0 => (self.value / low).ln() / (high / low).ln(),
            () => (self.value - low) / (high - low),
        }
    }

    /// The value at a point of the range: 0 is the lower end, 1 the upper one; equal steps are equal factors, where the
    /// lower end is above zero.
    fn at(&self, point: f64) -> f64 {
        let (low, high) = self.range;
        match low > 0.0 {
            true => low * (high / low).powf(point),
            false => low + (high - low) * point,
        }
    }
}

/// What is uncertain of some emulated clusters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Uncertainty {
    /// Parameters that carry a range, in the order of their names.
    pub parameters: Vec<Uncertain>,
    /// The parameter that another one follows.
    follows: BTreeMap<Parameter, Parameter>,
    /// The values of all of these.
    values: BTreeMap<Parameter, f64>,
}

impl Uncertainty {
    /// What is uncertain of clusters: their fabrics and nodes, and whatever these follow.
    ///
    /// # Errors
    /// A usage fault where a parameter follows one that is not there or follows another.
    pub fn of<'a>(
        catalogues: &Catalogues,
        clusters: impl IntoIterator<Item = &'a Emulation>,
    ) -> Result<Self, Fault> {
        let mut found = Uncertainty::default();
        for cluster in clusters {
            let fabrics = [Some(&cluster.within), Some(&cluster.across), cluster.memory.as_ref()];
            for fabric in fabrics.into_iter().flatten() {
                let fabric = catalogues.find_fabric(&fabric.name)?;
                COSTS.into_iter().try_for_each(|cost| found.add_cost(catalogues, fabric, cost))?;
            }
            found.add_speed(catalogues, catalogues.find_system(&cluster.system)?.0)?;
        }
        found.parameters.sort_by(|a, b| a.parameter.cmp(&b.parameter));
        Ok(found)
    }

    fn add_cost(&mut self, catalogues: &Catalogues, fabric: &Fabric, cost: Cost) -> Result<(), Fault> {
        let parameter = Parameter::Cost { fabric: fabric.name.clone(), cost };
        let value = cost.of(&mut fabric.costs.clone()).0;
        let source = fabric.source.get(cost.name());
        if let Some(other) = self
            .add(parameter, value, source, |range| range.quantities::<Seconds>().map(|(a, b)| (a.0, b.0)))?
        {
            let other = catalogues.find_fabric(&other)?;
            refuse_chain(other.source.get(cost.name()), &other.name)?;
            self.add_cost(catalogues, other, cost)?;
            self.note(fabric.name.clone(), other.name.clone(), |fabric| Parameter::Cost { fabric, cost });
        }
        Ok(())
    }

    fn add_speed(&mut self, catalogues: &Catalogues, system: &System) -> Result<(), Fault> {
        let parameter = Parameter::Speed { system: system.name.clone() };
        let followed = self.add(parameter, system.node.speed, system.source.get("speed"), Range::numbers)?;
        if let Some(other) = followed {
            let other = catalogues.systems().find(|known| known.name == other);
            let other = other.ok_or_else(|| {
                Fault::usage(format!("system `{}` follows a system that is not there", quoted(&system.name)))
            })?;
            refuse_chain(other.source.get("speed"), &other.name)?;
            self.add_speed(catalogues, other)?;
            self.note(system.name.clone(), other.name.clone(), |system| Parameter::Speed { system });
        }
        Ok(())
    }

    /// Adds a parameter, once. Returns the name of the entry that it follows.
    fn add(
        &mut self,
        parameter: Parameter,
        value: f64,
        source: Option<&Source>,
        ends: impl Fn(&Range) -> Result<(f64, f64), Fault>,
    ) -> Result<Option<String>, Fault> {
        if self.values.insert(parameter.clone(), value).is_some() {
            return Ok(None);
        }
        let follows = source.and_then(|source| source.follows.clone());
        if let Some(range) = source.and_then(|source| source.range.as_ref()) {
            let (value, range) = match follows {
                Some(_) => (1.0, range.numbers()?),
                None => (value, ends(range)?),
            };
            self.parameters.push(Uncertain { parameter, value, range });
        }
        Ok(follows)
    }

    fn note(&mut self, own: String, other: String, parameter: impl Fn(String) -> Parameter) {
        self.follows.insert(parameter(own), parameter(other));
    }

    /// The points at which all parameters have their values.
    pub fn values(&self) -> Vec<f64> {
        self.parameters.iter().map(Uncertain::point).collect()
    }

    /// A cluster with other values: parameter by parameter at a point of its range, from 0 to 1.
    pub fn at(&self, points: &[f64], cluster: &Emulation, system: &str) -> Emulation {
        debug_assert_eq!(points.len(), self.parameters.len());
        let now: BTreeMap<&Parameter, f64> = self
            .parameters
            .iter()
            .zip(points)
            .map(|(uncertain, point)| (&uncertain.parameter, uncertain.at(*point)))
            .collect();
        let changed = |mut fabric: Fabric| {
            for cost in COSTS {
                let parameter = Parameter::Cost { fabric: fabric.name.clone(), cost };
                let change = self.change(&parameter, &now);
                let steps = fabric.step.iter_mut().map(|step| &mut step.costs);
                std::iter::once(&mut fabric.costs)
                    .chain(steps)
                    .for_each(|costs| change.apply(&mut cost.of(costs).0));
            }
            fabric
        };
        let mut speed = cluster.node.speed;
        self.change(&Parameter::Speed { system: system.into() }, &now).apply(&mut speed);
        Emulation {
            within: changed(cluster.within.clone()),
            across: changed(cluster.across.clone()),
            memory: cluster.memory.clone().map(changed),
            node: NodeKind { speed, ..cluster.node.clone() },
            ..cluster.clone()
        }
    }

    /// How a parameter differs from its value.
    fn change(&self, parameter: &Parameter, now: &BTreeMap<&Parameter, f64>) -> Change {
        let own = |parameter: &Parameter| {
            let value = self.values.get(parameter).copied().unwrap_or_default();
            now.get(parameter).map_or(Change::NONE, |other| Change::between(value, *other))
        };
        match self.follows.get(parameter) {
            None => own(parameter),
            Some(followed) => {
                let factor = now.get(parameter).copied().unwrap_or(1.0);
                let Change { factor: with, more } = own(followed);
                Change { factor: factor * with, more: factor * more }
            }
        }
    }
}

/// A parameter that is followed has to stand by itself.
fn refuse_chain(source: Option<&Source>, name: &str) -> Result<(), Fault> {
    match source.and_then(|source| source.follows.as_ref()) {
        None => Ok(()),
        Some(next) => Err(Fault::usage(format!(
            "`{}` is followed, and follows `{}` itself",
            quoted(name),
            quoted(next)
        ))
        .remedy(format!("follow `{}`", quoted(next)))),
    }
}

/// A number times a factor, and so much more.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Change {
    factor: f64,
    more: f64,
}

impl Change {
    const NONE: Change = Change { factor: 1.0, more: 0.0 };

    /// From a value to another: a factor, or of zero a sum.
    fn between(value: f64, now: f64) -> Self {
        match value > 0.0 {
            true => Change { factor: now / value, more: 0.0 },
            false => Change { factor: 1.0, more: now - value },
        }
    }

    fn apply(self, number: &mut f64) {
        *number = *number * self.factor + self.more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::emulated_place;

    fn catalogues(of_second: &str) -> Catalogues {
        let mut all = Catalogues::new();
        let fabric = |title: &str, sources: &str| {
            format!(
                "title = \"{title}\"\nrate = \"1 Gbit/s\"\ncosts = {{ L = \"20 µs\", o = \"1 µs\", g = \"0 s\", G = \"8 ns\" }}\n\
                 step = [{{ from = \"1 KiB\", L = \"40 µs\", o = \"1 µs\", g = \"0 s\", G = \"8 ns\" }}]\n[source]\n{sources}"
            )
        };
        let first = r#"L = { text = "t", range = ["10 µs", "40 µs"] }
g = { text = "t", range = ["0 s", "1 µs"] }"#;
        all.add_fabric("first", &fabric("First", first), "f.toml").expect("reads");
        all.add_fabric("second", &fabric("Second", of_second), "f.toml").expect("reads");
        for (name, fabric) in [("one", "first"), ("two", "second")] {
            let follows =
                if name == "two" { ", follows = \"one\", range = [0.5, 2]" } else { ", range = [0.1, 0.4]" };
            let text = format!(
                "title = \"T\"\nnode = {{ cpu = \"c\", cores = 1, clock = \"1 GHz\", speed = 0.2, memory = \"1 GB\" }}\n\
                 boards = {{ count = 1, nodes = 4 }}\nnetwork.n = {{ within = \"{fabric}\", across = \"{fabric}\" }}\n\
                 [source]\nspeed = {{ text = \"t\"{follows} }}"
            );
            all.add_system(name, &text, "s.toml").expect("reads");
        }
        all
    }

    fn clusters(all: &Catalogues) -> [Emulation; 2] {
        ["one", "two"].map(|name| emulated_place(all, name, None, 1, 2).expect("fits").1)
    }

    const FOLLOWS: &str = r#"L = { text = "t", follows = "first" }"#;

    #[test]
    fn ranges_of_fabrics_and_nodes_are_found_once_by_name() {
        let all = catalogues(FOLLOWS);
        let uncertainty = Uncertainty::of(&all, &clusters(&all)).expect("are there");
        let names: Vec<String> = uncertainty.parameters.iter().map(|one| one.parameter.to_string()).collect();
        assert_eq!(names, ["fabric first: L", "fabric first: g", "system one: speed", "system two: speed"]);
        assert_eq!(uncertainty.parameters[3].value, 1.0, "a factor");
    }

    #[test]
    fn ends_are_those_of_the_ranges_and_equal_steps_are_equal_factors() {
        let all = catalogues(FOLLOWS);
        let [one, two] = clusters(&all);
        let uncertainty = Uncertainty::of(&all, [&one, &two]).expect("are there");
        let unchanged = uncertainty.at(&uncertainty.values(), &one, "one");
        assert!((unchanged.node.speed - 0.2).abs() < 1e-12);
        assert!(
            (unchanged.within.costs.latency.0 - 20e-6).abs() < 1e-15 && unchanged.within.costs.gap.0 == 0.0
        );
        let latency = |points: [f64; 4]| uncertainty.at(&points, &one, "one").within.costs.latency.0;
        for (point, expected) in [(0.0, 10e-6), (0.5, 20e-6), (1.0, 40e-6)] {
            assert!((latency([point, 0.0, 0.5, 0.5]) - expected).abs() < 1e-15);
        }
        let changed = uncertainty.at(&[1.0, 1.0, 0.0, 0.5], &one, "one");
        assert!((changed.within.step[0].costs.latency.0 - 80e-6).abs() < 1e-15, "steps by the same factor");
        assert!(
            (changed.within.costs.gap.0 - 1e-6).abs() < 1e-15 && changed.within.costs.gap_per_byte.0 == 8e-9
        );
        assert!((changed.node.speed - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_parameter_that_follows_moves_with_the_other() {
        let all = catalogues(FOLLOWS);
        let [one, two] = clusters(&all);
        let uncertainty = Uncertainty::of(&all, [&one, &two]).expect("are there");
        let [one, two] =
            [(&one, "one"), (&two, "two")].map(|(of, name)| uncertainty.at(&[1.0, 0.0, 1.0, 1.0], of, name));
        assert_eq!(one.within.costs.latency, two.within.costs.latency);
        assert_eq!(two.within.costs.gap, Seconds(0.0), "which follows nothing");
        assert!((two.node.speed / one.node.speed - 2.0).abs() < 1e-12, "but for its own range");
    }

    #[test]
    fn what_follows_another_that_follows_is_refused() {
        let mut all = catalogues(r#"L = { text = "t", follows = "third" }"#);
        let text = "title = \"T\"\nrate = \"1 Gbit/s\"\ncosts = { L = \"1 µs\", o = \"1 µs\", g = \"0 s\", G = \"8 ns\" }\n\
                    [source]\nL = { text = \"t\", follows = \"first\" }";
        let [one, two] = clusters(&all);
        assert!(Uncertainty::of(&all, [&one, &two]).expect_err("not there").to_string().contains("third"));
        all.add_fabric("third", text, "f.toml").expect("reads");
        let fault = Uncertainty::of(&all, [&one, &two]).expect_err("a chain");
        assert_eq!(fault.remedy.as_deref(), Some("follow `first`"));
    }
}
