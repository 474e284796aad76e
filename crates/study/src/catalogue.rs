//! The catalogues: fabrics, systems, MPI profiles and published values by name.

use crate::cost::{FABRIC_SOURCES, LIBRARY_SOURCES, check_fabric, check_library, check_names};
use crate::key_lines::KeyLines;
use crate::mpi::{NO_MPI, check_collectives};
use crate::name::{file_name, stem};
use crate::node_number::{SYSTEM_SOURCES, check_system};
use crate::plan::{Place, Plan};
use crate::published::{PublishedValue, parse_published};
use crate::read::read;
use crosstalk_core::fabric::{Fabric, Source};
use crosstalk_core::interconnect::{Component, Components, Hop, Interconnect};
use crosstalk_core::mpi::Mpi;
use crosstalk_core::name::unknown;
use crosstalk_core::system::{Network, System};
use crosstalk_core::units::{Seconds, human};
use crosstalk_core::{Fault, quoted};
use std::collections::BTreeMap;

/// Fabrics, systems, MPI profiles, components, interconnects and published values that studies can name. A later entry
/// replaces an earlier one of the same name.
#[derive(Debug, Clone, Default)]
pub struct Catalogues {
    fabrics: BTreeMap<String, Fabric>,
    systems: BTreeMap<String, System>,
    mpi: BTreeMap<String, Mpi>,
    components: BTreeMap<String, Component>,
    interconnects: BTreeMap<String, Interconnect>,
    published: BTreeMap<String, PublishedValue>,
    /// Whether what is added was read by an earlier run, which may have been made before a rule.
    recorded: bool,
}

impl Catalogues {
    /// The same, to which files of an earlier run are added: the names of their sources are not checked.
    pub fn recorded(self) -> Self {
        Catalogues { recorded: true, ..self }
    }

    /// Refuses the source of what has none.
    fn named(
        &self,
        sources: &BTreeMap<String, Source>,
        known: &[&str],
        at: impl Fn(&str) -> String,
    ) -> Result<(), Fault> {
        if self.recorded { Ok(()) } else { check_names(sources, known, at) }
    }

    /// Empty catalogues.
    pub fn new() -> Self {
        Catalogues::default()
    }

    /// Adds the fabric in `text`, read at `place`; `name` is its name [default: the file's].
    ///
    /// # Errors
    /// A usage fault with file and line.
    pub fn add_fabric(&mut self, name: &str, text: &str, place: &str) -> Result<(), Fault> {
        let mut fabric: Fabric = read(text, place)?;
        if fabric.name.is_empty() {
            fabric.name = stem(name).to_string();
        }
        file_name("fabric", &fabric.name)
            .map_err(|fault| fault.at(KeyLines::parse(text, place).location_of("name")))?;
        // The kernel can shape a link from 8 bit/s on; `NaN` is not comparable.
        if fabric.rate.0.is_nan() || fabric.rate.0 < 8.0 {
            return Err(Fault::usage(format!(
                "expected a rate of at least 8 bit/s, found {}",
                human(fabric.rate.0, "bit/s")
            ))
            .at(KeyLines::parse(text, place).location_of("rate")));
        }
        if !fabric.step.windows(2).all(|pair| pair[0].from < pair[1].from) {
            return Err(Fault::usage("expected steps in ascending order of `from`").at(place));
        }
        if fabric.name == NO_FABRIC {
            return Err(Fault::usage("`none` is reserved: it means links that are not shaped")
                .at(place)
                .remedy("give the fabric another name"));
        }
        self.named(&fabric.source, FABRIC_SOURCES, |key| KeyLines::parse(text, place).location_of(key))?;
        check_fabric(&fabric, |key| KeyLines::parse(text, place).location_of(key))?;
        self.fabrics.insert(fabric.name.clone(), fabric);
        Ok(())
    }

    /// Adds the system in `text`, read at `place`; `name` is its name [default: the file's].
    ///
    /// # Errors
    /// A usage fault with file and line.
    pub fn add_system(&mut self, name: &str, text: &str, place: &str) -> Result<(), Fault> {
        let mut system: System = read(text, place)?;
        if system.name.is_empty() {
            system.name = stem(name).to_string();
        }
        file_name("system", &system.name)
            .map_err(|fault| fault.at(KeyLines::parse(text, place).location_of("name")))?;
        if system.network.is_empty() {
            return Err(Fault::usage("a system needs a network")
                .at(place)
                .remedy("add for example [network.ethernet] with within and across"));
        }
        check_node(&system).map_err(|fault| fault.at(KeyLines::parse(text, place).location_of("node")))?;
        self.named(&system.source, SYSTEM_SOURCES, |key| KeyLines::parse(text, place).location_of(key))?;
        check_system(&system, |key| KeyLines::parse(text, place).location_of(key))?;
        self.systems.insert(system.name.clone(), system);
        Ok(())
    }

    /// Adds the MPI profile in `text`, read at `place`; `name` is its name [default: the file's].
    ///
    /// # Errors
    /// A usage fault with file and line.
    pub fn add_mpi(&mut self, name: &str, text: &str, place: &str) -> Result<(), Fault> {
        let mut mpi: Mpi = read(text, place)?;
        if mpi.name.is_empty() {
            mpi.name = stem(name).to_string();
        }
        let at = |key: &str| KeyLines::parse(text, place).location_of(key);
        file_name("library", &mpi.name).map_err(|fault| fault.at(at("name")))?;
        if mpi.name == NO_MPI {
            return Err(Fault::usage("`none` is reserved: it means a library that costs nothing")
                .at(place)
                .remedy("give the MPI profile another name"));
        }
        check_collectives(&mpi.collectives, at)?;
        self.named(&mpi.source, LIBRARY_SOURCES, at)?;
        check_library(&mpi, at)?;
        self.mpi.insert(mpi.name.clone(), mpi);
        Ok(())
    }

    /// Adds the components in `text`, read at `place`.
    ///
    /// # Errors
    /// A usage fault with file and line.
    pub fn add_components(&mut self, text: &str, place: &str) -> Result<(), Fault> {
        let file: Components = read(text, place)?;
        for (name, component) in &file.component {
            let at = KeyLines::parse(text, place).location_of(&format!("component.{name}"));
            if name.contains(char::is_whitespace) {
                return Err(Fault::usage(format!(
                    "expected a component's name without blanks, found `{}`",
                    quoted(name)
                ))
                .at(at));
            }
            if component.high.is_some_and(|high| high < component.low) {
                return Err(Fault::usage("expected `high` to be no less than `low`").at(at));
            }
        }
        self.components.extend(file.component);
        Ok(())
    }

    /// Replaces the times of a component.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn replace_component(&mut self, name: &str, low: Seconds, high: Seconds) -> Result<(), Fault> {
        if let Some(component) = self.components.get_mut(name) {
            (component.low, component.high) = (low, Some(high));
            return Ok(());
        }
        Err(unknown("component", name, self.components.keys().map(String::as_str)))
    }

    /// Adds the interconnect in `text`, read at `place`; `name` is its name [default: the file's]. Its components are looked
    /// up by [`Catalogues::components_along`].
    ///
    /// # Errors
    /// A usage fault with file and line.
    pub fn add_interconnect(&mut self, name: &str, text: &str, place: &str) -> Result<(), Fault> {
        let mut interconnect: Interconnect = read(text, place)?;
        if interconnect.name.is_empty() {
            interconnect.name = stem(name).to_string();
        }
        let at = |key: &str| KeyLines::parse(text, place).location_of(key);
        file_name("interconnect", &interconnect.name).map_err(|fault| fault.at(at("name")))?;
        if interconnect.path.is_empty() {
            return Err(Fault::usage("a path leads through at least one component").at(at("path")));
        }
        self.interconnects.insert(interconnect.name.clone(), interconnect);
        Ok(())
    }

    /// Adds the published values in `text`, read at `place`.
    ///
    /// # Errors
    /// A usage fault with file and line.
    pub fn add_published_csv(&mut self, text: &str, place: &str) -> Result<(), Fault> {
        let values = parse_published(text, place)?;
        self.published.extend(values.into_iter().map(|value| (value.id.clone(), value)));
        Ok(())
    }

    /// The fabric of that name.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn find_fabric(&self, name: &str) -> Result<&Fabric, Fault> {
        self.fabrics.get(name).ok_or_else(|| unknown("fabric", name, self.fabrics.keys().map(String::as_str)))
    }

    /// The system and its network that a study calls `name`: `NAME` where the
    /// system has one network, `NAME-NETWORK` where it has several.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn find_system(&self, name: &str) -> Result<(&System, &Network), Fault> {
        let named = self.named_systems();
        match named.iter().find(|(known, _, _)| known == name) {
            Some((_, system, network)) => Ok((system, network)),
            None => Err(unknown("system", name, named.iter().map(|(known, _, _)| known.as_str()))),
        }
    }

    /// The MPI profile of that name.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn find_mpi(&self, name: &str) -> Result<&Mpi, Fault> {
        self.mpi.get(name).ok_or_else(|| unknown("MPI profile", name, self.mpi.keys().map(String::as_str)))
    }

    /// The name of the message-passing library on a system: the requested one, or else that of its network. `None`: it
    /// costs nothing.
    pub fn library_on(&self, system: &str, requested: Option<&str>) -> Option<String> {
        match requested {
            Some(NO_MPI) => None,
            Some(name) => Some(name.to_string()),
            None => self.find_system(system).ok().and_then(|(_, network)| network.mpi.clone()),
        }
    }

    /// Every system with its networks, by the name that studies use.
    pub fn named_systems(&self) -> Vec<(String, &System, &Network)> {
        let of = |system: &System, network: &str| match system.network.len() {
            1 => system.name.clone(),
            _ => format!("{}-{network}", system.name),
        };
        self.systems
            .values()
            .flat_map(|system| {
                system.network.iter().map(move |(name, network)| (of(system, name), system, network))
            })
            .collect()
    }

    /// The interconnect of that name.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn find_interconnect(&self, name: &str) -> Result<&Interconnect, Fault> {
        let known = self.interconnects.keys().map(String::as_str);
        self.interconnects.get(name).ok_or_else(|| unknown("interconnect", name, known))
    }

    /// The components that a path leads through, hop by hop.
    ///
    /// # Errors
    /// A usage fault with the nearest name; also where a cable has no length, or another component has one.
    pub fn components_along<'a>(&'a self, path: &'a [Hop]) -> Result<Vec<(&'a Hop, &'a Component)>, Fault> {
        path.iter()
            .map(|hop| {
                let known = self.components.keys().map(String::as_str);
                let component = self
                    .components
                    .get(&hop.component)
                    .ok_or_else(|| unknown("component", &hop.component, known))?;
                hop.check_length(component).map(|()| (hop, component))
            })
            .collect()
    }

    /// The least and the most that is published under an id, or under it with `/low` and `/high`, in base units.
    pub fn published_range(&self, id: &str) -> Option<(f64, Option<f64>)> {
        let value = |id: String| Some(self.published(&id)?.in_base_unit()?.0);
        if let Some(exact) = value(id.to_string()) {
            return Some((exact, Some(exact)));
        }
        Some((value(format!("{id}/low"))?, value(format!("{id}/high"))))
    }

    /// The published value of that id.
    pub fn published(&self, id: &str) -> Option<&PublishedValue> {
        self.published.get(id)
    }

    /// The catalogue files that a plan uses, as path and text. A run keeps them, so that it can be resumed and analysed
    /// whatever becomes of the catalogues.
    pub fn files_used_by(&self, plan: &Plan) -> Vec<(String, String)> {
        let mut files = BTreeMap::new();
        for cell in plan.cells() {
            let fabrics = match &cell.scene.place {
                Place::Outside { .. } => Vec::new(),
                Place::Real { fabric, .. } => vec![fabric.clone()],
                Place::Virtual { system, mpi, .. } => {
                    if let Some(mpi) = mpi.as_ref().and_then(|name| self.mpi.get(name)) {
                        files.insert(format!("mpi/{}.toml", mpi.name), as_toml(mpi));
                    }
                    let Ok((system, network)) = self.find_system(system) else { continue };
                    files.insert(format!("systems/{}.toml", system.name), as_toml(system));
                    let within_node = system.within_node.clone();
                    [network.within.clone(), network.across.clone()].into_iter().chain(within_node).collect()
                }
            };
            for name in fabrics {
                if let Some(fabric) = self.fabrics.get(&name) {
                    files.insert(format!("fabrics/{name}.toml"), as_toml(fabric));
                }
            }
        }
        files.into_iter().collect()
    }

    /// Every fabric, by name.
    pub fn fabrics(&self) -> impl Iterator<Item = &Fabric> {
        self.fabrics.values()
    }

    /// Every system, by name.
    pub fn systems(&self) -> impl Iterator<Item = &System> {
        self.systems.values()
    }

    /// Every MPI profile, by name.
    pub fn mpi_profiles(&self) -> impl Iterator<Item = &Mpi> {
        self.mpi.values()
    }

    /// Every component, by name.
    pub fn all_components(&self) -> impl Iterator<Item = (&str, &Component)> {
        self.components.iter().map(|(name, component)| (name.as_str(), component))
    }

    /// Every interconnect, by name.
    pub fn interconnects(&self) -> impl Iterator<Item = &Interconnect> {
        self.interconnects.values()
    }

    /// Every published value, by id.
    pub fn all_published(&self) -> impl Iterator<Item = &PublishedValue> {
        self.published.values()
    }
}

/// The name for links that are not shaped.
pub const NO_FABRIC: &str = "none";

/// Refuses a system that cannot compute or has no node.
fn check_node(system: &System) -> Result<(), Fault> {
    let (node, boards) = (&system.node, &system.boards);
    if !(node.speed.is_finite() && node.speed > 0.0) {
        return Err(Fault::usage(format!("expected a speed above zero, found {}", node.speed)));
    }
    if !(node.scaling > 0.0 && node.scaling <= 1.0) {
        return Err(Fault::usage(format!(
            "expected a scaling above 0 and at most 1, found {}",
            node.scaling
        ))
        .remedy("write what all cores together reach of their number times one core's speed"));
    }
    if let Some(rate) = node.disk.map(|disk| disk.rate.0).filter(|rate| *rate <= 0.0) {
        return Err(Fault::usage(format!("expected a disk with a rate above zero, found {rate} bit/s")));
    }
    if node.cores == 0 || boards.count == 0 || boards.nodes == 0 {
        return Err(Fault::usage("expected at least one core a node, one node a board and one board"));
    }
    Ok(())
}

/// A catalogue entry as TOML.
fn as_toml(entry: &impl serde::Serialize) -> String {
    toml::to_string(entry).expect("catalogue entries were read from TOML")
}
