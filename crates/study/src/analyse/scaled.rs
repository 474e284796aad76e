//! What `scale` does to a comparison of links, or to a claim about their ratio.
//!
//! Links run at a fabric's rate over the scale, but their latency stays this kernel's. A program that sends its
//! data in as many messages, each as much smaller, loses nothing by that. One that sends as many bytes a message
//! in fewer messages, or messages that are small anyway, pays too little latency, and so the rate decides more
//! than it would on the fabric.
//!
//! How much more follows from the run's own counts. Messages of a node that wait for one of another cannot be
//! more than the lesser number of those sent one way and those sent the other: twice that many turns, each of
//! which lacks `(scale − 1) · L`, `L` being the fabric's latency. With that added to each run time the ratio is
//! nearer to one; where so little is left of the effect that the conclusion would be another one, there is none.

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

/// The share of an effect (of its logarithm) that may be the missing latency's.
const TOLERATED: f64 = 0.5;
/// An effect that latency changes by less is the same effect.
const SAME: f64 = 0.02;

/// How a difference reads that is doubted: a factor would be taken for what was found.
pub const NO_VERDICT: &str = "no verdict: latency is not scaled";

/// What the missing latency means for a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaled {
    /// By how much links are scaled down.
    scale: f64,
    /// Messages in a run, data in each in bytes, and messages a second; at the base.
    messages: f64,
    bytes: f64,
    rate: f64,
    /// The ratio that was found, and with the missing latency.
    found: f64,
    with_latency: f64,
}

/// What it means for a `contrast`, whose ratio was found to be `found` over `blocks`. `None` where links are not
/// scaled, or nothing was counted.
pub fn of(
    view: &View,
    contrast: &Contrast,
    found: f64,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Option<Scaled> {
    let (of, to) = (Side::of(&contrast.of, catalogues)?, Side::of(&contrast.to, catalogues)?);
    let scale = of.scale.max(to.scale);
    if scale <= 1.0 {
        return None;
    }
    let counted: Vec<(Counts, Counts)> =
        blocks.iter().filter_map(|block| Some((of.counts(*block)?, to.counts(*block)?))).collect();
    let mean =
        |of: &dyn Fn(&(Counts, Counts)) -> f64| counted.iter().map(of).sum::<f64>() / counted.len() as f64;
    let shift = mean(&|(of, to)| of.stretched - to.stretched);
    // A time grows with latency; what is better when higher shrinks.
    let higher = view.metric(&contrast.metric).better == Better::Higher;
    let shift = if higher { -shift } else { shift };
    let messages = mean(&|(_, base)| base.messages);
    let bytes = mean(&|(_, base)| base.bytes) / messages;
    let rate = mean(&|(_, base)| base.messages / base.seconds);
    let with_latency = (found.ln() + shift).exp();
    let sound = [messages, bytes, rate, found, with_latency].iter().all(|v| v.is_finite() && *v > 0.0);
    sound.then_some(Scaled { scale, messages, bytes, rate, found, with_latency })
}

/// The cells on one side of a contrast, each with the seconds of latency that a message lacks in it.
struct Side<'a> {
    scale: f64,
    cells: Vec<(&'a Cell<'a>, f64)>,
}

impl<'a> Side<'a> {
    /// `None` where a cell's links are no real ones.
    fn of(cells: &[&'a Cell<'a>], catalogues: &Catalogues) -> Option<Self> {
        let mut side = Side { scale: 1.0, cells: Vec::new() };
        for &cell in cells {
            let (scale, lacking) = lacking(&cell.planned.scene.place, catalogues)?;
            side.scale = side.scale.max(scale);
            side.cells.push((cell, lacking));
        }
        Some(side)
    }

    /// What its cells sent in a block, on average; `None` where one's is not known.
    fn counts(&self, block: usize) -> Option<Counts> {
        let mut all = Counts::default();
        for (cell, lacking) in &self.cells {
            let one = Counts::of(cell.last.get(&block)?, *lacking)?;
            all.seconds += one.seconds;
            all.messages += one.messages;
            all.bytes += one.bytes;
            all.stretched += one.stretched;
        }
        let n = self.cells.len() as f64;
        let Counts { seconds, messages, bytes, stretched } = all;
        Some(Counts {
            seconds: seconds / n,
            messages: messages / n,
            bytes: bytes / n,
            stretched: stretched / n,
        })
    }
}

/// By how much a contrast's links are scaled down, where it is at all.
pub fn scale(contrast: &Contrast, catalogues: &Catalogues) -> Option<f64> {
    let (of, to) = (Side::of(&contrast.of, catalogues)?, Side::of(&contrast.to, catalogues)?);
    Some(of.scale.max(to.scale)).filter(|scale| *scale > 1.0)
}

/// The scale of a place's links, and the seconds of latency that a message lacks there.
fn lacking(place: &Place, catalogues: &Catalogues) -> Option<(f64, f64)> {
    let Place::Real { fabric, link, scale, .. } = place else { return None };
    match link {
        // Links that are not shaped are what they are.
        Link::Unshaped => Some((1.0, 0.0)),
        Link::Rate(_) => {
            let latency = catalogues.find_fabric(fabric).ok()?.costs.latency.0;
            Some((*scale, (scale - 1.0) * latency))
        }
    }
}

/// What one attempt sent.
#[derive(Default)]
struct Counts {
    seconds: f64,
    messages: f64,
    bytes: f64,
    /// log (the run time with latency for each turn / the run time).
    stretched: f64,
}

impl Counts {
    fn of(attempt: &Attempt, lacking: f64) -> Option<Self> {
        let each = |name: &str| -> Vec<f64> {
            let named = attempt.readings.iter().filter(|reading| reading.metric == name);
            named
                .filter_map(|reading| match reading.observation {
                    Observation::Value(value) => Some(value),
                    _ => None,
                })
                .collect()
        };
        let (seconds, sent) = (*each(RUN_TIME).first()?, each("sent_messages"));
        let (messages, most) = (sent.iter().sum::<f64>(), sent.iter().copied().fold(0.0, f64::max));
        let bytes = each("sent_bytes").iter().sum();
        // Messages that may have waited for one of another node.
        let turns = 2.0 * most.min(messages - most);
        Some(Counts { seconds, messages, bytes, stretched: (lacking * turns / seconds).ln_1p() })
    }
}

impl Scaled {
    /// Whether the conclusion would be another one.
    fn decides(&self) -> bool {
        let (effect, shift) = (self.found.ln(), (self.with_latency / self.found).ln());
        shift.abs() > SAME && shift.abs() > TOLERATED * effect.abs()
    }

    /// The ratio that was found, and with the missing latency, in the direction in which the first is above one.
    fn factors(&self) -> (String, String) {
        let sign = if self.found < 1.0 { -1 } else { 1 };
        let told = |ratio: f64| number::number(ratio.powi(sign), "ratio");
        (told(self.found), told(self.with_latency))
    }

    /// Why there is no verdict, where there is none.
    pub fn doubt(&self) -> Option<String> {
        let (found, with_latency) = self.factors();
        self.decides().then(|| {
            format!(
                "links run at 1/{} of their rates, but latency is not scaled, and this program sends messages of {}, {} \
                 a second: the factor found is {found}, with latency scaled it would be about {with_latency}; send fewer \
                 and larger messages, or take a smaller --scale",
                self.scale,
                number::number(self.bytes, "B"),
                number::number(self.rate, ""),
            )
        })
    }

    /// For which programs the number holds.
    pub fn note(&self) -> String {
        let (found, with_latency) = self.factors();
        format!(
            "links run at 1/{0} of their rates, latency is not scaled: the factor {found} holds for a program that sends \
             as many messages, each {0} times as large (this one: {1} a run, {2} each, {3} a second); for one that sends \
             {0} times as many, it would be about {with_latency}",
            self.scale,
            number::number(self.messages, ""),
            number::number(self.bytes, "B"),
            number::number(self.rate, ""),
        )
    }
}
