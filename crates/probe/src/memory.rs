//! How long a load takes that depends on the one before it, against how much
//! memory the loads go over, and against the memory node that it is on.
//!
//! The working set is a ring of cache lines in random order (one cycle through
//! all, Sattolo 1986): each holds the place of the next, so that nothing can be
//! fetched ahead. Each ring is new memory, asked for on its node and in huge pages,
//! so that it is memory that is timed and not the looking up of addresses.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `load_time` | s | one load: the median of batches; labels `size`, `node` |
//! | `huge_pages` | ratio | how much of the memory lies in huge pages, where the kernel says |
//! | `own_overhead` | s | what timing a batch adds to one load |

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Prepared;
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::{Params, Value};
use crosstalk_host::pages::{Fresh, FromNode, memory_nodes};
use crosstalk_stats::rng::Rng;

use super::arguments::{PIN_ONE, one_pin, positive, sizes};
use super::pin::pin;
use super::settle::median;
use super::{Readings, alone, clock};
use crosstalk_work::Declared;
use crosstalk_work::peer::Until;

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("size", "4 KiB to 256 MiB by doubling", "that the loads go over: one, or a list"),
    Parameter::new("node", "all", "memory nodes to take it from: `all`, one, or a list"),
    Parameter::new("duration", "50 ms", "of each size on each node"),
    PIN_ONE,
]]);

/// Bytes of a cache line on every machine this runs on.
const LINE: usize = 64;
/// Places in a line: the ring is made of `u32`s.
const PLACES: usize = LINE / size_of::<u32>();
/// The least and the most memory: a ring of two lines, and what places can number.
const SIZES: [u64; 2] = [2 * LINE as u64, (u32::MAX as u64 + 1) * size_of::<u32>() as u64];

/// The probe.
pub const MEMORY: Declared<Spec> = Declared {
    name: "memory",
    title: "How long a load takes, against how much memory it is one of",
    parameters: PARAMETERS,
    read: Spec::new,
    deploy: |spec| {
        let metrics = vec![
            Metric::new("load_time", "s", Better::Lower),
            Metric::new("huge_pages", "ratio", Better::Neither),
            Metric::new("own_overhead", "s", Better::Neither),
        ];
        alone::deployment(metrics, spec.seconds())
    },
    needs: |_| vec![Need::found("memory nodes", format!("{:?}", memory_nodes()))],
    prepare,
};

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    sizes: Vec<Bytes>,
    nodes: Vec<usize>,
    duration: Seconds,
    pin: Option<usize>,
}

impl Spec {
    fn new(params: &Params) -> Result<Self, Fault> {
        params.only(PARAMETERS)?;
        let sizes = match params.get("size") {
            None => (12..=28).map(|power| Bytes(1 << power)).collect(),
            Some(_) => sizes(params, Bytes(1))?,
        };
        if let Some(bad) = sizes.iter().find(|size| !(SIZES[0]..=SIZES[1]).contains(&size.0)) {
            return Err(Fault::usage(format!("expected from 128 B to 16 GiB, found {} B", bad.0))
                .of_parameter("size"));
        }
        let duration = positive("duration", params.seconds("duration", Seconds(0.05))?)?;
        Ok(Spec { sizes, nodes: nodes(params)?, duration, pin: one_pin(params)? })
    }

    fn seconds(&self) -> f64 {
        // Making a ring takes about 50 ns a line.
        let made: f64 = self.sizes.iter().map(|size| size.0 as f64 / LINE as f64 * 5e-8).sum();
        (self.duration.0 * self.sizes.len() as f64 + made) * self.nodes.len() as f64
    }
}

/// The parameter `node`.
fn nodes(params: &Params) -> Result<Vec<usize>, Fault> {
    let wrong = |found: &Value| {
        let known: Vec<String> = memory_nodes().iter().map(ToString::to_string).collect();
        Fault::usage(format!("expected `all` or numbers of memory nodes, found `{found}`"))
            .of_parameter("node")
            .remedy(format!("one of: {}", known.join(", ")))
    };
    let number = |value: &Value| match value {
        Value::Int(n) if *n >= 0 => Ok(*n as usize),
        other => Err(wrong(other)),
    };
    match params.get("node") {
        None => Ok(memory_nodes()),
        Some(Value::Text(all)) if all == "all" => Ok(memory_nodes()),
        Some(Value::List(list)) if !list.is_empty() => list.iter().map(number).collect(),
        Some(one) => Ok(vec![number(one)?]),
    }
}

fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    let seed = part.seed;
    alone::prepare(part, move |until| measure(&spec, seed, until))
}

fn measure(spec: &Spec, seed: u64, until: &Until) -> Result<Readings, Fault> {
    let _pinned = pin(spec.pin)?;
    let mut readings = Vec::new();
    for &node in &spec.nodes {
        let _memory = from(node).map_err(|fault| fault.of_parameter("node"))?;
        for &size in &spec.sizes {
            let ring = Ring::new(size, &mut Rng::seeded(seed))?;
            let timed = time(&ring, spec.duration, until)?;
            let labelled = |metric, value| {
                Reading::value(metric, value, Origin::Measured).label("size", size.0).label("node", node)
            };
            readings.push((labelled("load_time", timed.each), timed.batches));
            readings.extend(ring.memory.huge().map(|share| (labelled("huge_pages", share), 1)));
            readings.push((labelled("own_overhead", clock::overhead() / timed.loads as f64), 1));
        }
    }
    Ok(readings)
}

/// New memory comes from `node` only; there is nothing to choose where there is one.
fn from(node: usize) -> Result<Option<FromNode>, Fault> {
    if memory_nodes() == [node] { Ok(None) } else { FromNode::begin(node).map(Some) }
}

/// What the loads took.
struct Timed {
    /// Seconds of one.
    each: f64,
    /// Loads in a batch.
    loads: usize,
    batches: u64,
}

/// About what a batch takes: long beside reading the clock, short beside what interrupts it.
const BATCH: f64 = 20e-6;

fn time(ring: &Ring, duration: Seconds, until: &Until) -> Result<Timed, Fault> {
    // Once round, so that what fits into a cache is there; and how many loads make a batch.
    let begin = clock::now();
    let mut at = ring.chase(0, ring.lines.max(1 << 10));
    let one = (clock::now() - begin) as f64 * 1e-9 / ring.lines.max(1 << 10) as f64;
    let loads = ((BATCH / one.max(1e-10)) as usize).clamp(64, 1 << 20);
    let end = clock::now() + (duration.0 * 1e9) as u64;
    let mut batches = Vec::new();
    loop {
        let begin = clock::now();
        at = ring.chase(at, loads);
        let now = clock::now();
        batches.push((now - begin) as f64 * 1e-9 / loads as f64);
        if now >= end {
            break;
        }
        if batches.len() % 1024 == 0 {
            until.check("the loads to be timed")?;
        }
    }
    std::hint::black_box(at);
    let n = batches.len() as u64;
    let each = median(&batches).ok_or_else(|| {
        Fault::usage(format!("{n} batches are too few for a median"))
            .of_parameter("duration")
            .remedy("allow a longer one, such as \"50 ms\"")
    })?;
    Ok(Timed { each, loads, batches: n })
}

/// Lines in a ring: the first number of each is the place of the next one's.
struct Ring {
    memory: Fresh,
    lines: usize,
}

impl Ring {
    fn new(size: Bytes, rng: &mut Rng) -> Result<Self, Fault> {
        let lines = size.0 as usize / LINE;
        let mut memory = Fresh::new(lines * PLACES).map_err(|fault| fault.of_parameter("size"))?;
        let mut order: Vec<u32> = (0..lines as u32).collect();
        for last in (1..lines).rev() {
            order.swap(last, rng.below(last));
        }
        for (line, next) in order.into_iter().enumerate() {
            memory[line * PLACES] = next * PLACES as u32;
        }
        Ok(Ring { memory, lines })
    }

    /// Follows so many loads from the line at place `at`; where they lead.
    #[inline(never)]
    fn chase(&self, at: u32, loads: usize) -> u32 {
        let ring = &self.memory[..];
        let mut at = at;
        for _ in 0..loads {
            at = ring[at as usize];
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use std::sync::atomic::AtomicBool;

    proptest! {
        #[test]
        fn a_ring_leads_through_every_line_and_back(lines in 2_usize..500, seed in any::<u64>()) {
            let ring = Ring::new(Bytes((lines * LINE) as u64), &mut Rng::seeded(seed)).expect("fits");
            prop_assert_eq!(ring.memory.as_ptr() as usize % LINE, 0);
            let mut seen = vec![false; lines];
            let mut at = 0;
            for _ in 0..lines {
                let line = at as usize / PLACES;
                prop_assert!(!seen[line], "came back early");
                seen[line] = true;
                at = ring.chase(at, 1);
            }
            prop_assert_eq!(at, 0);
        }
    }

    #[test]
    fn more_memory_is_slower() {
        let never = AtomicBool::new(false);
        let params = Params::default()
            .with("size", Value::List(vec!["8 KiB".into(), "128 MiB".into()]))
            .with("node", 0)
            .with("duration", "20 ms");
        let spec = Spec::new(&params).expect("reads");
        let readings = measure(&spec, 1, &Until::new(Seconds(60.0), &never)).expect("measures");
        let times: Vec<f64> = readings
            .iter()
            .filter(|(reading, _)| reading.metric == "load_time")
            .filter_map(|(reading, _)| reading.number())
            .collect();
        // A first-level cache answers in a few cycles; no cache holds 128 MiB in random order.
        assert!(times[0] > 0.2e-9 && times[1] > 3.0 * times[0], "{times:?}");
    }

    #[test]
    fn bad_parameters_are_named() {
        let refusal =
            |name, value: Value| Spec::new(&Params::default().with(name, value)).expect_err("refused");
        assert!(refusal("size", "64 B".into()).to_string().contains("128 B to 16 GiB"));
        assert!(refusal("node", "here".into()).remedy.is_some());
        assert!(refusal("node", Value::Int(-1)).to_string().contains("`node`"));
    }
}
