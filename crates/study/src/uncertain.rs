//! How sure an emulated cluster is: the parameters of systems and fabrics that carry a range, and clusters with other
//! values of them.

use std::collections::BTreeMap;
use std::fmt;

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Fabric, Source};
use crosstalk_core::quoted;
use crosstalk_core::range::Range;
use crosstalk_core::units::Seconds;

use crate::catalogue::Catalogues;
use crate::cost::{COSTS, Cost, SETTINGS, Setting};
use crate::node_number::{NODE_NUMBERS, NodeNumber, ends_of_rate};
use crate::ranged_parameter::{FACTOR, RangedParameter};

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
    /// Of a system: a number of its nodes.
    Node {
        /// The system's name, without a network.
        system: String,
        /// Which of its numbers.
        number: NodeNumber,
    },
    /// Of a system's network: the rate of the links of its boards.
    Uplink {
        /// The system's name, with the network.
        system: String,
    },
    /// Of a message-passing library.
    Setting {
        /// The library's name.
        library: String,
        /// Which of its numbers.
        setting: Setting,
    },
}

/// Reads the ends of a range, in base units.
type Ends = dyn Fn(&Range) -> Result<(f64, f64), Fault>;

/// What a file says of a parameter.
struct Entry<'a> {
    value: f64,
    source: Option<&'a Source>,
    /// The ends of a range that does not follow another, in base units.
    ends: Box<Ends>,
}

impl Parameter {
    /// The unit of its values.
    fn unit(&self) -> &'static str {
        match self {
            Parameter::Cost { .. } => "s",
            Parameter::Node { number, .. } => number.unit(),
            Parameter::Uplink { .. } => "bit/s",
            Parameter::Setting { setting, .. } => setting.unit(),
        }
    }

    /// The same parameter of another file.
    fn of_file(&self, name: &str) -> Self {
        let name = name.to_string();
        match self {
            Parameter::Cost { cost, .. } => Parameter::Cost { fabric: name, cost: *cost },
            Parameter::Node { number, .. } => Parameter::Node { system: name, number: *number },
            Parameter::Uplink { .. } => Parameter::Uplink { system: name },
            Parameter::Setting { setting, .. } => Parameter::Setting { library: name, setting: *setting },
        }
    }

    /// What its file says of it; `None` where it has no such number.
    fn entry<'a>(&self, catalogues: &'a Catalogues) -> Result<Option<Entry<'a>>, Fault> {
        Ok(Some(match self {
            Parameter::Cost { fabric, cost } => {
                let fabric = catalogues.find_fabric(fabric)?;
                let seconds = |range: &Range| range.quantities::<Seconds>().map(|(a, b)| (a.0, b.0));
                Entry {
                    value: cost.of(&mut fabric.costs.clone()).0,
                    source: fabric.source.get(cost.name()),
                    ends: Box::new(seconds),
                }
            }
            Parameter::Node { system, number } => {
                let number = *number;
                let known = catalogues.systems().find(|known| known.name == *system);
                let system = known.ok_or_else(|| {
                    Fault::usage(format!("there is no system `{}` to follow", quoted(system)))
                })?;
                let Some(value) = number.of(&system.node) else { return Ok(None) };
                let source = system.source.get(number.name());
                Entry { value, source, ends: Box::new(move |range| number.ends(range)) }
            }
            Parameter::Uplink { system } => {
                let (system, network) = catalogues.find_system(system)?;
                let Some(rate) = network.uplink else { return Ok(None) };
                let source = system.source.get("uplink");
                Entry { value: rate.0, source, ends: Box::new(ends_of_rate) }
            }
            Parameter::Setting { library, setting } => {
                let (library, setting) = (catalogues.find_mpi(library)?, *setting);
                let Some(value) = setting.of(library) else { return Ok(None) };
                let source = library.source.get(setting.name());
                Entry { value, source, ends: Box::new(move |range| setting.ends(range)) }
            }
        }))
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Parameter::Cost { fabric, cost } => write!(f, "fabric {fabric}: {}", cost.name()),
            Parameter::Node { system, number } => write!(f, "system {system}: {}", number.name()),
            Parameter::Uplink { system } => write!(f, "system {system}: uplink"),
            Parameter::Setting { library, setting } => write!(f, "mpi {library}: {}", setting.name()),
        }
    }
}

/// What is uncertain of some emulated clusters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Uncertainty {
    /// Parameters that carry a range, in the order of their names.
    pub parameters: Vec<(Parameter, RangedParameter)>,
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
                for cost in COSTS {
                    found.add(catalogues, Parameter::Cost { fabric: fabric.name.clone(), cost })?;
                }
            }
            if let Some(library) = &cluster.mpi {
                for setting in SETTINGS {
                    found.add(catalogues, Parameter::Setting { library: library.name.clone(), setting })?;
                }
            }
            let system = catalogues.find_system(&cluster.system)?.0.name.clone();
            for number in NODE_NUMBERS {
                found.add(catalogues, Parameter::Node { system: system.clone(), number })?;
            }
            found.add(catalogues, Parameter::Uplink { system: cluster.system.clone() })?;
        }
        found.parameters.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// Adds a parameter, once, and what it follows.
    fn add(&mut self, catalogues: &Catalogues, parameter: Parameter) -> Result<(), Fault> {
        let Some(Entry { value, source, ends }) = parameter.entry(catalogues)? else { return Ok(()) };
        if self.values.insert(parameter.clone(), value).is_some() {
            return Ok(());
        }
        let follows = source.and_then(|source| source.follows.as_ref());
        if let Some(range) = source.and_then(|source| source.range.as_ref()) {
            let unit = if follows.is_none() { parameter.unit() } else { FACTOR };
            let (value, (low, high)) = match follows {
                Some(_) => (1.0, range.numbers()?),
                None => (value, ends(range)?),
            };
            let name = match follows {
                Some(other) => format!("{parameter} relative to {other}"),
                None => parameter.to_string(),
            };
            let ranged = RangedParameter { name, value, low, high, unit: unit.into() };
            self.parameters.push((parameter.clone(), ranged));
        }
        if let Some(other) = follows {
            let followed = parameter.of_file(other);
            let there =
                followed.entry(catalogues).map_err(|fault| fault.at(format!("{parameter}: follows")))?;
            refuse_chain(there.and_then(|entry| entry.source), other)?;
            self.add(catalogues, followed.clone())?;
            self.follows.insert(parameter, followed);
        }
        Ok(())
    }

    /// The points at which all parameters have their values.
    pub fn values(&self) -> Vec<f64> {
        self.parameters.iter().map(|(_, ranged)| ranged.own_point()).collect()
    }

    /// A cluster with other values: parameter by parameter at a point of its range, from 0 to 1.
    pub fn at(&self, points: &[f64], cluster: &Emulation, system: &str) -> Emulation {
        debug_assert_eq!(points.len(), self.parameters.len());
        let now: BTreeMap<&Parameter, f64> = self
            .parameters
            .iter()
            .zip(points)
            .map(|((parameter, ranged), point)| (parameter, ranged.at(*point)))
            .collect();
        let changed = |mut fabric: Fabric| {
            for cost in COSTS {
                let parameter = Parameter::Cost { fabric: fabric.name.clone(), cost };
                let change = self.change(&parameter, &now);
                fabric.all_costs().for_each(|costs| change.apply(&mut cost.of(costs).0));
            }
            fabric
        };
        let mut node = cluster.node.clone();
        for number in NODE_NUMBERS {
            let Some(mut value) = number.of(&node) else { continue };
            let parameter = Parameter::Node { system: system.into(), number };
            // A disk that a study sets is not uncertain, unless it is the system's.
            if self.values.get(&parameter) == Some(&value) {
                self.change(&parameter, &now).apply(&mut value);
                number.set(&mut node, value);
            }
        }
        let mut uplink = cluster.uplink;
        let of_boards = Parameter::Uplink { system: cluster.system.clone() };
        // Nor is a board's link.
        if let Some(rate) = uplink.as_mut().filter(|rate| self.values.get(&of_boards) == Some(&rate.0)) {
            self.change(&of_boards, &now).apply(&mut rate.0);
        }
        let mut mpi = cluster.mpi.clone();
        if let Some(library) = &mut mpi {
            for setting in SETTINGS {
                let Some(mut value) = setting.of(library) else { continue };
                let parameter = Parameter::Setting { library: library.name.clone(), setting };
                self.change(&parameter, &now).apply(&mut value);
                setting.set(library, value);
            }
        }
        Emulation {
            within: changed(cluster.within.clone()),
            across: changed(cluster.across.clone()),
            memory: cluster.memory.clone().map(changed),
            node,
            uplink,
            mpi,
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
    use crosstalk_core::units::BitRate;

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
        let names: Vec<String> =
            uncertainty.parameters.iter().map(|(_, ranged)| ranged.name.clone()).collect();
        assert_eq!(
            names,
            ["fabric first: L", "fabric first: g", "system one: speed", "system two: speed relative to one"]
        );
        assert_eq!(uncertainty.parameters[3].1.value, 1.0, "a factor");
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
    fn the_rate_of_boards_links_is_uncertain_where_it_is_the_systems_own() {
        let mut all = catalogues(FOLLOWS);
        let text = "title = \"T\"\nnode = { cpu = \"c\", cores = 1, clock = \"1 GHz\", speed = 0.2, memory = \"1 GB\" }\n\
                    boards = { count = 2, nodes = 4 }\n\
                    network.a = { within = \"second\", across = \"second\", uplink = \"4 Gbit/s\" }\n\
                    network.b = { within = \"second\", across = \"second\" }\n\
                    [source]\nuplink = { text = \"t\", range = [\"2 Gbit/s\", \"8 Gbit/s\"] }";
        all.add_system("three", text, "s.toml").expect("reads");
        let cluster = |name| emulated_place(&all, name, None, 1, 8).expect("fits on full boards").1;
        let (shared, unshared) = (cluster("three-a"), cluster("three-b"));
        let set = Emulation { uplink: Some(BitRate(1e9)), ..shared.clone() };
        let uncertainty = Uncertainty::of(&all, [&shared, &unshared, &set]).expect("are there");
        let names: Vec<&str> =
            uncertainty.parameters.iter().map(|(_, ranged)| ranged.name.as_str()).collect();
        assert_eq!(names, ["fabric first: L", "system three-a: uplink"]);
        let rate = |point, cluster| {
            let uplink = uncertainty.at(&[0.5, point], cluster, "three").uplink;
            uplink.map(|rate| (rate.0 / 1e6).round())
        };
        let rates =
            [0.0, 0.5, 1.0].map(|point| [&shared, &unshared, &set].map(|cluster| rate(point, cluster)));
        assert_eq!(rates.map(|all| all[0]), [Some(2e3), Some(4e3), Some(8e3)]);
        assert_eq!(rates.map(|all| (all[1], all[2])), [(None, Some(1e3)); 3], "none, and one that is set");
    }

    #[test]
    fn cores_and_disks_move_within_their_ranges() {
        let mut all = catalogues(FOLLOWS);
        let system = |disk: &str, scaling: &str, rate: &str| {
            format!(
                "title = \"T\"\nnode = {{ cpu = \"c\", cores = 8, clock = \"1 GHz\", speed = 0.2, memory = \"1 GB\"{disk} }}\n\
                 boards = {{ count = 1, nodes = 4 }}\nnetwork.n = {{ within = \"second\", across = \"second\" }}\n[source]\n\
                 scaling = {{ text = \"t\"{scaling} }}\n\"disk.rate\" = {{ text = \"t\"{rate} }}"
            )
        };
        let disk = ", disk = { rate = \"100 MB/s\", latency = \"10 ms\" }";
        let first = system(disk, ", range = [0.5, 1]", ", range = [\"50 MB/s\", \"200 MB/s\"]");
        all.add_system("three", &first, "s.toml").expect("reads");
        let second = system(disk, ", follows = \"three\"", ", follows = \"three\"");
        all.add_system("four", &second, "s.toml").expect("reads");
        all.add_system("none", &system("", "", ", follows = \"three\""), "s.toml").expect("reads");
        let clusters =
            ["three", "four", "none"].map(|name| emulated_place(&all, name, None, 1, 2).expect("fits").1);
        let uncertainty = Uncertainty::of(&all, &clusters).expect("are there");
        let names: Vec<&str> =
            uncertainty.parameters.iter().map(|(_, ranged)| ranged.name.as_str()).collect();
        assert_eq!(names, ["fabric first: L", "system three: scaling", "system three: disk.rate"]);
        assert_eq!(uncertainty.parameters[2].1.value_at(1.0), "1.60 Gbit/s");
        for (cluster, name) in clusters.iter().zip(["three", "four"]) {
            let at = uncertainty.at(&[0.5, 0.0, 1.0], cluster, name).node;
            assert!((at.scaling - 0.5).abs() < 1e-12 && at.speed == 0.2, "{at:?}");
            let disk = at.disk.expect("has one");
            assert!((disk.rate.0 - 1.6e9).abs() < 1.0 && disk.latency == Seconds(0.01), "{disk:?}");
        }
        let without = uncertainty.at(&[0.5, 0.0, 1.0], &clusters[2], "none").node;
        assert_eq!((without.scaling, without.disk), (1.0, None));
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
