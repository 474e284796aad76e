//! What latency that is not scaled does to a comparison over scaled links, or to a claim about their ratio.
//!
//! Links run at a fabric's rate over the scale, but their latency stays this kernel's. That does not matter to a program
//! that sends its data in as many messages, each as much smaller. A program that sends fewer messages instead, or small
//! ones, waits too little for latency. The rate then decides more than it would on the fabric.
//!
//! How much more follows from the messages that the run counted. At most twice the smaller of the two directions'
//! numbers of messages depend on a message of another node. Each of these lacks `(scale − 1) · L`, with the fabric's
//! latency `L`. With that added to each run time the ratio is nearer to one. The verdict is withheld where that would
//! change the conclusion.

use crosstalk_core::record::{Better, Observation};
use crosstalk_core::testbed::Link;

use super::cell::Cell;
use super::contrast::Contrast;
use super::select::View;
use crate::catalogue::Catalogues;
use crate::command::RUN_TIME;
use crate::number;
use crate::plan::Place;
use crate::samples::Attempt;

/// The share of an effect's logarithm that the missing latency may make.
const TOLERATED: f64 = 0.5;
/// An effect whose logarithm latency changes by less is the same.
const SAME_EFFECT: f64 = 0.02;

/// A difference in words where the verdict is withheld: a factor would be taken for a finding.
pub const NO_VERDICT: &str = "no verdict: latency is not scaled";

/// The effect of the missing latency on a ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyEffect {
    /// By how much links are scaled down.
    scale: f64,
    /// At the base: messages a run, bytes of data a message, and messages a second.
    messages: f64,
    bytes: f64,
    rate: f64,
    /// The ratio that was found, and the ratio with the missing latency added.
    found: f64,
    with_latency: f64,
}

/// The effect on a `contrast` whose ratio is `found` over `blocks`. `None` where links are not scaled, or where messages
/// were not counted.
pub fn latency_effect(
    view: &View,
    contrast: &Contrast,
    found: f64,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Option<LatencyEffect> {
    let (of, to) = (SideCells::of(&contrast.of, catalogues)?, SideCells::of(&contrast.to, catalogues)?);
    let scale = of.scale.max(to.scale);
    if scale <= 1.0 {
        return None;
    }
    let counted: Vec<(Traffic, Traffic)> =
        blocks.iter().filter_map(|block| Some((of.traffic(*block)?, to.traffic(*block)?))).collect();
    let mean =
        |of: &dyn Fn(&(Traffic, Traffic)) -> f64| counted.iter().map(of).sum::<f64>() / counted.len() as f64;
    let shift = mean(&|(of, to)| of.log_stretch - to.log_stretch);
    // Latency makes times longer and rates lower.
    let higher = view.metric(&contrast.metric).better == Better::Higher;
    let shift = if higher { -shift } else { shift };
    let messages = mean(&|(_, base)| base.messages);
    let bytes = mean(&|(_, base)| base.bytes) / messages;
    let rate = mean(&|(_, base)| base.messages / base.seconds);
    let with_latency = (found.ln() + shift).exp();
    let sound = [messages, bytes, rate, found, with_latency].iter().all(|v| v.is_finite() && *v > 0.0);
    sound.then_some(LatencyEffect { scale, messages, bytes, rate, found, with_latency })
}

/// The cells on one side of a contrast, each with the latency that its messages lack, in seconds.
struct SideCells<'a> {
    scale: f64,
    cells: Vec<(&'a Cell<'a>, f64)>,
}

impl<'a> SideCells<'a> {
    /// `None` where a cell does not run over links in real time.
    fn of(cells: &[&'a Cell<'a>], catalogues: &Catalogues) -> Option<Self> {
        let mut side = SideCells { scale: 1.0, cells: Vec::new() };
        for &cell in cells {
            let (scale, lacking) = lacking(&cell.planned.scene.place, catalogues)?;
            side.scale = side.scale.max(scale);
            side.cells.push((cell, lacking));
        }
        Some(side)
    }

    /// The mean traffic of its cells in a block; `None` where that of one is not known.
    fn traffic(&self, block: usize) -> Option<Traffic> {
        let mut all = Traffic::default();
        for (cell, lacking) in &self.cells {
            let one = Traffic::of(cell.last_try.get(&block)?, *lacking)?;
            all.seconds += one.seconds;
            all.messages += one.messages;
            all.bytes += one.bytes;
            all.log_stretch += one.log_stretch;
        }
        let n = self.cells.len() as f64;
        let Traffic { seconds, messages, bytes, log_stretch } = all;
        Some(Traffic {
            seconds: seconds / n,
            messages: messages / n,
            bytes: bytes / n,
            log_stretch: log_stretch / n,
        })
    }
}

/// The scale of a contrast's links; `None` where they are not scaled down.
pub fn link_scale(contrast: &Contrast, catalogues: &Catalogues) -> Option<f64> {
    let (of, to) = (SideCells::of(&contrast.of, catalogues)?, SideCells::of(&contrast.to, catalogues)?);
    Some(of.scale.max(to.scale)).filter(|scale| *scale > 1.0)
}

/// The scale of a place's links, and the latency that a message lacks there, in seconds.
fn lacking(place: &Place, catalogues: &Catalogues) -> Option<(f64, f64)> {
    let Place::Real { fabric, link, scale, .. } = place else { return None };
    match link {
        Link::Unshaped => Some((1.0, 0.0)),
        Link::Rate(_) => {
            let latency = catalogues.find_fabric(fabric).ok()?.costs.latency.0;
            Some((*scale, (scale - 1.0) * latency))
        }
    }
}

/// What one attempt sent in how many seconds.
#[derive(Default)]
struct Traffic {
    seconds: f64,
    messages: f64,
    bytes: f64,
    /// log ((run time + missing latency of all dependent messages) / run time).
    log_stretch: f64,
}

impl Traffic {
    fn of(attempt: &Attempt, lacking: f64) -> Option<Self> {
        let each = |name: &str| -> Vec<f64> {
            let of_metric = attempt.readings.iter().filter(|reading| reading.metric == name);
            of_metric
                .filter_map(|reading| match reading.observation {
                    Observation::Value(value) => Some(value),
                    _ => None,
                })
                .collect()
        };
        let (seconds, sent) = (*each(RUN_TIME).first()?, each("sent_messages"));
        let (messages, most) = (sent.iter().sum::<f64>(), sent.iter().copied().fold(0.0, f64::max));
        let bytes = each("sent_bytes").iter().sum();
        // Messages that may depend on a message of another node.
        let dependent = 2.0 * most.min(messages - most);
        Some(Traffic { seconds, messages, bytes, log_stretch: (lacking * dependent / seconds).ln_1p() })
    }
}

impl LatencyEffect {
    /// Whether the missing latency could change the conclusion.
    fn decides(&self) -> bool {
        let (effect, shift) = (self.found.ln(), (self.with_latency / self.found).ln());
        shift.abs() > SAME_EFFECT && shift.abs() > TOLERATED * effect.abs()
    }

    /// Both ratios in words, as factors in the direction in which the found one is above 1.
    fn factors(&self) -> (String, String) {
        let sign = if self.found < 1.0 { -1 } else { 1 };
        let text = |ratio: f64| number::format_number(ratio.powi(sign), "ratio");
        (text(self.found), text(self.with_latency))
    }

    /// Why the verdict is withheld; `None` where it is not.
    pub fn reason_withheld(&self) -> Option<String> {
        let (found, with_latency) = self.factors();
        self.decides().then(|| {
            format!(
                "links run at 1/{} of their rates, but latency is not scaled, and this program sends messages of {}, {} \
                 a second: the factor found is {found}, with latency scaled it would be about {with_latency}; send fewer \
                 and larger messages, or take a smaller --scale",
                self.scale,
                number::format_number(self.bytes, "B"),
                number::format_number(self.rate, ""),
            )
        })
    }

    /// A note that says for which programs the ratio holds.
    pub fn note(&self) -> String {
        let (found, with_latency) = self.factors();
        format!(
            "links run at 1/{0} of their rates, latency is not scaled: the factor {found} holds for a program that sends \
             as many messages, each {0} times as large (this one: {1} a run, {2} each, {3} a second); for one that sends \
             {0} times as many, it would be about {with_latency}",
            self.scale,
            number::format_number(self.messages, ""),
            number::format_number(self.bytes, "B"),
            number::format_number(self.rate, ""),
        )
    }
}
