//! The workload `files`, in virtual or in real time.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::Origin;
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::units::human;
use crosstalk_host::facts::available_memory;
use crosstalk_work::Declared;
use crosstalk_work::peer::rank::prepare_each;

use crate::report;
use crate::roles::Roles;
use crate::run::run;
use crate::server::{Site, Sync};
use crate::spec::{PARAMETERS, Spec, Test};

/// Seconds that this host takes for a request and its answer, and for a byte, about.
const EXCHANGE: f64 = 60e-6;
const BYTE: f64 = 4e-9;

/// The workload `files`.
pub const FILES: Declared<Spec> = Declared {
    name: "files",
    title: "A striped parallel file system: names and attributes as in mdtest, data as in IOR, all checked",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| Deployment {
        nodes: spec.nodes,
        // Only an emulated node's disk takes a known time.
        timing: if spec.sync == Sync::None { Timing::Either } else { Timing::Virtual },
        metrics: report::metrics(),
        effort: Effort::computing(seconds(spec)),
    },
    needs: |_| Vec::new(),
    prepare,
};

/// How long an attempt takes, preparation and checks included.
fn seconds(spec: &Spec) -> f64 {
    let clients = spec.nodes as f64;
    match spec.test {
        Test::Metadata(_, files) => clients * files as f64 * (3 + 3 * spec.servers) as f64 * EXCHANGE,
        Test::Data(_, transfers, _) => {
            let requests = transfers.block / transfers.transfer * spec.servers as u64;
            2.0 * clients * (requests as f64 * EXCHANGE + transfers.block as f64 * BYTE)
        }
    }
}

fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    let each = part.emulation.as_ref().map_or(1, |emulation| emulation.ranks_per_node.max(1) as usize);
    let roles = Roles::new(part.nodes, each, spec.servers)?;
    check_disk(&spec, part)?;
    check_memory(&spec, &roles, part.emulation.is_some())?;
    let memory = part.emulation.as_ref().map(|emulation| emulation.node.memory.0).or_else(available_memory);
    let site = spec.site(memory.unwrap_or(u64::MAX));
    let (origin, seed) = (origin(&spec, part), part.seed);
    prepare_each(part, Box::new(move |rank, out| run_rank(&spec, site, &roles, seed, origin, rank, out)))
}

/// Times without computing follow from the parameters of the network and of the disk.
fn origin(spec: &Spec, part: &Part) -> Origin {
    match (&part.emulation, spec.computing) {
        (None, _) => Origin::Measured,
        (Some(_), true) => Origin::Emulated,
        (Some(_), false) => Origin::Computed,
    }
}

fn check_disk(spec: &Spec, part: &Part) -> Result<(), Fault> {
    let missing = match &part.emulation {
        _ if spec.sync == Sync::None => return Ok(()),
        Some(emulation) if emulation.node.disk.is_some() => return Ok(()),
        Some(emulation) => format!("the nodes of system `{}` have no disk", emulation.system),
        None => "in real time servers hold files in memory".into(),
    };
    Err(Fault::usage(missing)
        .of_parameter("sync")
        .remedy("leave `sync` out, or name a system whose nodes have a disk"))
}

/// Refuses data that do not fit into this machine's free memory: servers hold them once, clients once.
fn check_memory(spec: &Spec, roles: &Roles, one_machine: bool) -> Result<(), Fault> {
    let Test::Data(_, transfers, _) = spec.test else { return Ok(()) };
    let all = (roles.clients.len() as u64).saturating_mul(transfers.block);
    let needed = match one_machine {
        true => all.saturating_mul(2),
        false => (all / roles.servers.len() as u64).max(transfers.block),
    };
    match available_memory() {
        Some(available) if needed > available => Err(Fault::usage(format!(
            "clients and servers hold {}, and {} are free",
            human(needed as f64, "B"),
            human(available as f64, "B")
        ))
        .of_parameter("block")
        .remedy("take a smaller `block`")),
        _ => Ok(()),
    }
}

/// Runs a rank's part, [`Rank::finish`] included. The first rank reports.
fn run_rank(
    spec: &Spec,
    site: Site,
    roles: &Roles,
    seed: u64,
    origin: Origin,
    mut rank: Rank,
    out: &mut dyn Sink,
) -> Result<Option<Fidelity>, Fault> {
    let done = run(spec, site, roles, seed, &mut rank)?;
    report::report(spec.test, roles, done.account, origin, &mut rank, out)?;
    let finished = rank.finish()?;
    done.checked.map(|()| finished)
}
