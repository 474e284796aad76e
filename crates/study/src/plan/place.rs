//! The place of a cell, from its conditions: a catalogued system in virtual time, or links of a certain rate in real time.

use super::{Place, Uplink};
use crate::catalogue::{Catalogues, NO_FABRIC};
use crate::emulate::emulation;
use crate::scale::{parse_scale, scaled_link};
use crosstalk_core::emulation::Placement;
use crosstalk_core::fabric::Links;
use crosstalk_core::name::unknown;
use crosstalk_core::scene::Timing;
use crosstalk_core::system::Disk;
use crosstalk_core::testbed::Link;
use crosstalk_core::units::{BitRate, Bytes, Seconds};
use crosstalk_core::value::Value;
use crosstalk_core::{Fault, quoted};
use std::collections::BTreeMap;
use std::str::FromStr;

/// `4:1`: the links of a board's nodes together over the board's link.
fn oversubscription(nodes: &str, link: &str) -> Result<Uplink, Fault> {
    let number =
        |text: &str| text.trim().parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number(nodes).zip(number(link)).map(|(nodes, link)| Uplink::Oversubscribed(nodes / link)).ok_or_else(
        || {
            let found = quoted(format!("{nodes}:{link}"));
            Fault::usage(format!("expected two numbers above zero, such as `4:1`, found `{found}`"))
        },
    )
}

/// The conditions that make the place of a scene.
pub(super) const PLACE: [&str; 11] =
    ["system", "boards", "uplink", "rate", "latency", "memory", "disk", "mpi", "ranks", "fabric", "scale"];

/// What the place of a cell is made from.
pub(super) struct PlaceRequest<'a> {
    /// Its conditions, with levels in the place of `$factor`.
    pub conditions: &'a BTreeMap<String, Value>,
    /// The names of its workloads, for faults.
    pub kinds: String,
    /// The number of nodes that they need.
    pub nodes: usize,
    /// The line of a condition in the study file.
    pub at: &'a dyn Fn(&str) -> String,
}

impl PlaceRequest<'_> {
    /// The place for workloads of that `timing`. Workloads that can use either clock run in real time where the conditions
    /// have a `fabric`.
    pub fn resolve(&self, timing: Timing, catalogues: &Catalogues) -> Result<Place, Fault> {
        match timing {
            Timing::Virtual => self.in_virtual_time(catalogues),
            Timing::Real => self.in_real_time(catalogues),
            Timing::Either if self.conditions.contains_key("fabric") => self.in_real_time(catalogues),
            Timing::Either if !self.conditions.contains_key("system") => Err(self.no_cluster()),
            Timing::Either => self.in_virtual_time(catalogues),
            Timing::Outside => self.outside(),
        }
    }

    fn given(&self, name: &str) -> Option<(&Value, String)> {
        self.conditions.get(name).map(|value| (value, (self.at)(name)))
    }

    /// The fault of workloads that can use either clock, with neither a system nor a fabric.
    fn no_cluster(&self) -> Fault {
        Fault::usage(format!("`{}` needs a system, or a fabric", self.kinds)).remedy(
            "add conditions.system = \"…\" for virtual time, or conditions.fabric = \"…\" for real time over TCP \
             (crosstalk list shows them; fabric = \"none\" limits no link)",
        )
    }

    fn refuse(&self, name: &str, why: &str, remedy: &str) -> Result<(), Fault> {
        match self.given(name) {
            None => Ok(()),
            Some((_, at)) => Err(Fault::usage(why).at(at).remedy(remedy)),
        }
    }

    fn in_virtual_time(&self, catalogues: &Catalogues) -> Result<Place, Fault> {
        let kinds = &self.kinds;
        self.refuse(
            "fabric",
            &format!("`{kinds}` runs in virtual time, where a system's network gives the fabric"),
            "replace `fabric` by system = \"…\" (crosstalk list shows them)",
        )?;
        let (system, at) = self.given("system").ok_or_else(|| {
            Fault::usage(format!("`{kinds}` runs in virtual time and needs a system"))
                .remedy("add conditions.system = \"…\" (crosstalk list shows them)")
        })?;
        self.refuse(
            "scale",
            "`scale` is for links in real time; virtual time holds every rate",
            "leave it out",
        )?;
        let memory = self.above_zero("memory", |size: &Bytes| size.0 as f64)?;
        let disk = self.above_zero("disk", |disk: &Disk| disk.rate.0)?;
        let (placement, links, mpi) =
            (self.placement()?, self.links()?, self.mpi(catalogues, &system.to_string())?);
        let uplink = self.uplink()?;
        let with = |ranks| Place::Virtual {
            system: system.to_string(),
            links,
            uplink,
            memory,
            disk,
            mpi: mpi.clone(),
            placement,
            nodes: self.nodes,
            ranks,
        };
        // Made here for its faults: unknown names, boards that are too small, and nodes that are.
        emulation(catalogues, &with(1)).map_err(|fault| fault.at(at))?;
        let place = with(self.ranks()?);
        emulation(catalogues, &place).map_err(|fault| fault.at((self.at)("ranks")))?;
        Ok(place)
    }

    /// A fabric or a system sets the rate of links; nothing else of a system is emulated.
    fn in_real_time(&self, catalogues: &Catalogues) -> Result<Place, Fault> {
        let kinds = &self.kinds;
        let why = |name: &str| format!("`{kinds}` runs in real time, where `{name}` means nothing");
        self.refuse("memory", &why("memory"), "leave it out: a program has what its node really has")?;
        self.refuse("disk", &why("disk"), "leave it out: a program has the disk that its node really has")?;
        self.refuse("latency", &why("latency"), "leave it out: in real time only rates are held")?;
        self.refuse("uplink", &why("uplink"), "leave it out: only virtual time has links of boards")?;
        self.refuse("mpi", &why("mpi"), "leave it out: a program has the library that it really uses")?;
        self.refuse("ranks", &why("ranks"), "leave it out: only virtual time emulates ranks of one node")?;
        let scale = match self.given("scale") {
            None => 1.0,
            Some((value, at)) => parse_scale(value).map_err(|fault| fault.at(at))?,
        };
        let real = |fabric: &str, link| Place::Real { fabric: fabric.into(), link, scale, nodes: self.nodes };
        match (self.given("system"), self.given("fabric")) {
            (Some(_), Some((_, at))) => Err(Fault::usage("a system has a fabric of its own")
                .at(at)
                .remedy("leave out `system` or `fabric`")),
            (Some((system, at)), None) => {
                let fabric = self.of_system(catalogues, &system.to_string()).map_err(|fault| fault.at(at))?;
                let link = scaled_link(fabric.1, scale).map_err(|fault| fault.at((self.at)("scale")))?;
                Ok(real(&fabric.0, link))
            }
            (None, fabric) => {
                for name in ["boards", "rate"] {
                    self.refuse(
                        name,
                        &why(name),
                        "replace it by fabric = \"…\" (crosstalk list shows them)",
                    )?;
                }
                match fabric {
                    Some((name, at)) if *name != NO_FABRIC.into() => {
                        let name = name.to_string();
                        let found = catalogues.find_fabric(&name).map_err(|fault| fault.at(at))?;
                        let link =
                            scaled_link(found.rate, scale).map_err(|fault| fault.at((self.at)("scale")))?;
                        Ok(real(&name, link))
                    }
                    _ => Ok(real(NO_FABRIC, Link::Unshaped)),
                }
            }
        }
    }

    /// A cluster of the user's is used as it is. Conditions may still ask for links without a fabric, so that one study
    /// runs there and on nodes of Crosstalk.
    fn outside(&self) -> Result<Place, Fault> {
        let kinds = &self.kinds;
        for name in PLACE {
            if name == "fabric" && self.given(name).is_some_and(|(value, _)| *value == NO_FABRIC.into()) {
                continue;
            }
            self.refuse(
                name,
                &format!("`{kinds}` runs on a cluster of yours, where `{name}` cannot be emulated"),
                "leave it out: there everything is measured as it is (crosstalk run analytics does so)",
            )?;
        }
        Ok(Place::Outside { nodes: self.nodes })
    }

    /// The name and rate of the fabric between a system's nodes.
    fn of_system(&self, catalogues: &Catalogues, system: &str) -> Result<(String, BitRate), Fault> {
        let (_, network) = catalogues.find_system(system)?;
        let name = match self.placement()? {
            Placement::One => &network.within,
            Placement::Many | Placement::Full => &network.across,
        };
        Ok((name.clone(), catalogues.find_fabric(name)?.clone().with_links(&self.links()?).rate))
    }

    fn links(&self) -> Result<Links, Fault> {
        Ok(Links {
            rate: self.above_zero("rate", |rate: &BitRate| rate.0)?,
            latency: self.above_zero("latency", |time: &Seconds| time.0)?,
        })
    }

    fn placement(&self) -> Result<Placement, Fault> {
        let Some((boards, at)) = self.given("boards") else { return Ok(Placement::Many) };
        match boards.to_string().as_str() {
            "many" => Ok(Placement::Many),
            "one" => Ok(Placement::One),
            "full" => Ok(Placement::Full),
            other => Err(unknown("placement on boards", other, ["one", "many", "full"]).at(at)),
        }
    }

    fn uplink(&self) -> Result<Uplink, Fault> {
        Ok(match self.given("uplink") {
            None => Uplink::OfSystem,
            Some((value, _)) if *value == NO_FABRIC.into() => Uplink::Unlimited,
            Some((value, at)) => match value.to_string().split_once(':') {
                Some((nodes, link)) => oversubscription(nodes, link).map_err(|fault| fault.at(at))?,
                None => {
                    self.above_zero("uplink", |rate: &BitRate| rate.0)?.map_or(Uplink::OfSystem, Uplink::Rate)
                }
            },
        })
    }

    /// The name of the MPI profile, by default that of the system's network; `None` where the library costs nothing.
    fn mpi(&self, catalogues: &Catalogues, system: &str) -> Result<Option<String>, Fault> {
        let Some((value, at)) = self.given("mpi") else { return Ok(catalogues.library_on(system, None)) };
        let library = catalogues.library_on(system, Some(&value.to_string()));
        if let Some(name) = &library {
            catalogues.find_mpi(name).map_err(|fault| fault.at(at))?;
        }
        Ok(library)
    }

    /// How many ranks each node has.
    fn ranks(&self) -> Result<u32, Fault> {
        let Some((value, at)) = self.given("ranks") else { return Ok(1) };
        let whole = |number: &f64| number.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(number);
        value.number().filter(whole).map(|number| number as u32).ok_or_else(|| {
            Fault::usage(format!(
                "expected a number of ranks a node, at least 1, found `{}`",
                quoted(value.to_string())
            ))
            .at(at)
            .remedy("write for example ranks = 2")
        })
    }

    /// A condition that is a quantity above zero; `None` where it is not given.
    fn above_zero<T: FromStr<Err = Fault>>(
        &self,
        name: &str,
        number: impl Fn(&T) -> f64,
    ) -> Result<Option<T>, Fault> {
        let Some((value, at)) = self.given(name) else { return Ok(None) };
        let quantity: T = value.to_string().parse().map_err(|fault: Fault| fault.at(at.clone()))?;
        if number(&quantity) > 0.0 {
            return Ok(Some(quantity));
        }
        Err(Fault::usage(format!("expected more than zero, found `{}`", quoted(value.to_string()))).at(at))
    }
}
