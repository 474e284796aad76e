//! The costs of a message by their letters, and the ranges that they may carry.

use std::collections::BTreeMap;

use crosstalk_core::Fault;
use crosstalk_core::fabric::{Costs, Fabric, Source};
use crosstalk_core::mpi::Mpi;
use crosstalk_core::name::unknown;
use crosstalk_core::quoted;
use crosstalk_core::range::Range;
use crosstalk_core::units::{Bytes, Seconds, human};

/// A cost of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "`Costs` has what they mean")]
pub enum Cost {
    Latency,
    Overhead,
    Gap,
    GapPerByte,
    OverheadPerByte,
}

/// All costs, in the order in which they are printed.
pub const COSTS: [Cost; 5] =
    [Cost::Latency, Cost::Overhead, Cost::Gap, Cost::GapPerByte, Cost::OverheadPerByte];

impl Cost {
    /// Its letter.
    pub fn name(self) -> &'static str {
        match self {
            Cost::Latency => "L",
            Cost::Overhead => "o",
            Cost::Gap => "g",
            Cost::GapPerByte => "G",
            Cost::OverheadPerByte => "O",
        }
    }

    /// Where it stands.
    pub fn of(self, costs: &mut Costs) -> &mut Seconds {
        match self {
            Cost::Latency => &mut costs.latency,
            Cost::Overhead => &mut costs.overhead,
            Cost::Gap => &mut costs.gap,
            Cost::GapPerByte => &mut costs.gap_per_byte,
            Cost::OverheadPerByte => &mut costs.overhead_per_byte,
        }
    }
}

/// A number of a message-passing library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "`Mpi` has what they mean")]
pub enum Setting {
    EagerLimit,
    Overhead,
    EagerCopy,
    Rendezvous,
}

/// All numbers of a library.
pub const SETTINGS: [Setting; 4] =
    [Setting::EagerLimit, Setting::Overhead, Setting::EagerCopy, Setting::Rendezvous];

impl Setting {
    /// Its key.
    pub fn name(self) -> &'static str {
        match self {
            Setting::EagerLimit => "eager_limit",
            Setting::Overhead => "overhead",
            Setting::EagerCopy => "eager_copy",
            Setting::Rendezvous => "rendezvous",
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        if self == Setting::EagerLimit { "B" } else { "s" }
    }

    /// Its value in base units; `None` where the library has none.
    pub fn of(self, library: &Mpi) -> Option<f64> {
        Some(match self {
            Setting::EagerLimit => library.eager_limit?.0 as f64,
            Setting::Overhead => library.overhead.0,
            Setting::EagerCopy => library.eager_copy.0,
            Setting::Rendezvous => library.rendezvous.0,
        })
    }

    /// Changes it.
    pub fn set(self, library: &mut Mpi, value: f64) {
        match self {
            Setting::EagerLimit => library.eager_limit = Some(Bytes(value.round() as u64)),
            Setting::Overhead => library.overhead = Seconds(value),
            Setting::EagerCopy => library.eager_copy = Seconds(value),
            Setting::Rendezvous => library.rendezvous = Seconds(value),
        }
    }

    /// The ends of its range, in base units.
    ///
    /// # Errors
    /// A usage fault where they are no such quantities, or in the wrong order.
    pub fn ends(self, range: &Range) -> Result<(f64, f64), Fault> {
        match self {
            Setting::EagerLimit => {
                range.quantities::<Bytes>().map(|(low, high)| (low.0 as f64, high.0 as f64))
            }
            _ => range.quantities::<Seconds>().map(|(low, high)| (low.0, high.0)),
        }
    }
}

/// Checks the ranges of a library's numbers.
///
/// # Errors
/// As [`check_fabric`].
pub(crate) fn check_library(library: &Mpi, at: impl Fn(&str) -> String) -> Result<(), Fault> {
    let ranged = "eager_limit, overhead, eager_copy and rendezvous";
    check(&library.source, ranged, at, |name, range| {
        let setting = SETTINGS.into_iter().find(|setting| setting.name() == name)?;
        let value = setting.of(library)?;
        let in_words = |value: f64| human(value, setting.unit());
        Some(setting.ends(range).and_then(|ends| contains(ends, value, in_words)))
    })
}

/// Checks the ranges of a fabric's costs. `at` says where a key stands.
///
/// # Errors
/// A usage fault: a range that does not contain the value, or of what can have none.
pub(crate) fn check_fabric(fabric: &Fabric, at: impl Fn(&str) -> String) -> Result<(), Fault> {
    if fabric.node_speed.is_some_and(|speed| !(speed > 0.0 && speed.is_finite())) {
        return Err(Fault::usage("expected a speed above zero")
            .at(at("node_speed"))
            .remedy("write the speed of the system on which o and O were found, or leave it out"));
    }
    let mut costs = fabric.costs;
    check(&fabric.source, "L, o, g, G and O", at, |name, range| {
        let cost = COSTS.into_iter().find(|cost| cost.name() == name)?;
        let in_words = |value: f64| human(value, "s");
        Some(
            range
                .quantities::<Seconds>()
                .and_then(|(low, high)| contains((low.0, high.0), cost.of(&mut costs).0, in_words)),
        )
    })
}

/// What of a fabric has a source.
pub(crate) const FABRIC_SOURCES: &[&str] = &["rate", "L", "o", "g", "G", "O", "node_speed", "step"];

/// What of a library has a source.
pub(crate) const LIBRARY_SOURCES: &[&str] =
    &["eager_limit", "overhead", "eager_copy", "rendezvous", "collective"];

/// Refuses the source of what has none, such as a misspelled parameter.
pub(crate) fn check_names(
    sources: &BTreeMap<String, Source>,
    known: &[&str],
    at: impl Fn(&str) -> String,
) -> Result<(), Fault> {
    match sources.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            Err(unknown("parameter", name, known.iter().copied()).at(at(&format!("source.{name}"))))
        }
        None => Ok(()),
    }
}

/// Checks the ranges of a file. `which` parameters can have one, in words. `checked`: what is wrong with the range of a
/// parameter; `None` where it is no parameter that has one.
pub(crate) fn check(
    sources: &BTreeMap<String, Source>,
    which: &str,
    at: impl Fn(&str) -> String,
    mut checked: impl FnMut(&str, &Range) -> Option<Result<(), Fault>>,
) -> Result<(), Fault> {
    for (name, source) in sources {
        if source.text.trim().is_empty() {
            return Err(Fault::usage(format!("the source of `{}` is empty", quoted(name)))
                .at(at(&format!("source.{name}")))
                .remedy("write where the number comes from, or that it is assumed"));
        }
        let range = source.range.as_ref();
        let result = match (range, &source.follows) {
            (None, _) => Ok(()),
            (Some(range), Some(_)) => range.numbers().and_then(|ends| match ends.0 > 0.0 {
                true => contains(ends, 1.0, |value| value.to_string()),
                false => Err(Fault::usage("expected a range of factors above zero")),
            }),
            (Some(range), None) => checked(name, range).unwrap_or_else(|| {
                Err(Fault::usage(format!("`{}` has a range", quoted(name)))
                    .remedy(format!("leave it out: {which} can have one")))
            }),
        };
        result.map_err(|fault| fault.at(at(&format!("source.{name}"))))?;
    }
    Ok(())
}

pub(crate) fn contains(
    (low, high): (f64, f64),
    value: f64,
    in_words: impl Fn(f64) -> String,
) -> Result<(), Fault> {
    // Text of a quantity is rounded: a value that stands at an end is in its range.
    let slack = 1e-9 * high.abs();
    match low - slack <= value && value <= high + slack {
        true => Ok(()),
        false => Err(Fault::usage(format!(
            "the range from {} to {} does not contain the value {}",
            in_words(low),
            in_words(high),
            in_words(value)
        ))
        .remedy("widen the range, or correct the value")),
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue::Catalogues;

    fn fabric(source: &str) -> Result<(), String> {
        let text = format!(
            "title = \"T\"\nrate = \"1 Gbit/s\"\ncosts = {{ L = \"20 µs\", o = \"1 µs\", g = \"0 s\", G = \"8 ns\" }}\n[source]\n{source}"
        );
        Catalogues::new().add_fabric("f", &text, "f.toml").map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_source_is_of_a_parameter_that_there_is_with_two_ends_of_its_range() {
        assert_eq!(
            fabric("o = { text = \"t\", range = [\"0.5 µs\", \"2 µs\"] }\nstep = { text = \"t\" }"),
            Ok(())
        );
        let fault = fabric("GG = { text = \"t\" }").expect_err("misspelled");
        assert!(fault.contains("f.toml:5") && fault.contains("unknown parameter `GG`"), "{fault}");
        let text = "title = \"T\"\nrate = \"1 Gbit/s\"\n\
                    costs = { L = \"20 µs\", o = \"1 µs\", g = \"0 s\", G = \"8 ns\" }\n[source]\nGG = { text = \"t\" }";
        let mut of_a_run = Catalogues::new().recorded();
        assert_eq!(of_a_run.add_fabric("f", text, "f.toml"), Ok(()), "it has run with it");
        let fault = fabric("o = { text = \"t\", range = [\"0.5 µs\"] }").expect_err("one end");
        assert!(fault.contains("expected a list of 2 values, found 1"), "{fault}");
    }

    #[test]
    fn the_range_of_boards_links_holds_those_of_all_networks() {
        let system = |a: &str, source: &str| {
            let text = format!(
                "title = \"T\"\nnode = {{ cpu = \"c\", cores = 1, clock = \"1 GHz\", speed = 0.2, memory = \"1 GB\" }}\n\
                 boards = {{ count = 2, nodes = 4 }}\nnetwork.a = {{ within = \"f\", across = \"f\"{a} }}\n\
                 network.b = {{ within = \"f\", across = \"f\" }}\n[source]\nuplink = {{ text = \"t\"{source} }}"
            );
            Catalogues::new().add_system("s", &text, "s.toml").map_err(|fault| fault.to_string())
        };
        let (shared, range) = (", uplink = \"4 Gbit/s\"", ", range = [\"2 Gbit/s\", \"8 Gbit/s\"]");
        assert_eq!((system(shared, range), system(shared, ""), system("", "")), (Ok(()), Ok(()), Ok(())));
        for (uplink, range, why) in [
            ("", range, "`uplink` has a range"),
            (", uplink = \"9 Gbit/s\"", range, "does not contain the value 9.00 Gbit/s"),
            (", uplink = \"0 bit/s\"", "", "above zero"),
            (shared, ", range = [\"0 bit/s\", \"8 Gbit/s\"]", "rates above zero"),
            (shared, ", range = [1, 8]", "s.toml:"),
        ] {
            let fault = system(uplink, range).expect_err(why);
            assert!(fault.contains(why) && fault.contains("s.toml:"), "{fault}");
        }
    }

    #[test]
    fn a_range_holds_its_value() {
        for good in [
            r#"L = { text = "t", range = ["10 µs", "20 µs"] }"#,
            r#"g = { text = "t", range = [0, "1 µs"] }"#,
            r#"L = { text = "t", follows = "other", range = [0.5, 2] }"#,
        ] {
            assert_eq!(fabric(good), Ok(()));
        }
        for (bad, why) in [
            (r#"L = { text = "t", range = ["21 µs", "30 µs"] }"#, "does not contain the value 20.0 µs"),
            (r#"L = { text = "t", range = ["30 µs", "10 µs"] }"#, "lower end"),
            (r#"L = { text = "t", range = ["10 m", "30 µs"] }"#, "unit"),
            (r#"rate = { text = "t", range = ["1 Gbit/s", "2 Gbit/s"] }"#, "L, o, g, G and O can have one"),
            (r#"L = { text = "t", follows = "other", range = [1.1, 2] }"#, "does not contain the value 1"),
            (r#"L = { range = ["10 µs", "30 µs"] }"#, "text"),
        ] {
            let fault = fabric(bad).expect_err(bad);
            assert!(fault.contains(why) && fault.contains("f.toml:"), "{fault}");
        }
    }
}
