//! The rates that links between two virtual nodes hold on this host, for the catalogued fabrics.

use crosstalk_core::Fault;
use crosstalk_core::testbed::Testbed;
use crosstalk_core::units::{BitRate, human};
use crosstalk_testbed::{HEADROOM, VirtualTestbed, fastest_rate, scale_for};
use serde_json::{Value, json};

use crate::catalogue;

/// The result: lines for people, and the same as JSON.
pub struct Links {
    pub lines: Vec<String>,
    pub json: Value,
}

/// The lowest rate of this many trials counts, because a machine that is busy at times holds less.
const TRIALS: usize = 3;

/// Measures them, within a few seconds.
pub fn measure_links(bed: &VirtualTestbed) -> Result<Links, Fault> {
    let catalogues = catalogue::catalogues(&[])?;
    let rates: Vec<BitRate> = catalogues.fabrics().map(|fabric| fabric.rate).collect();
    // A cluster measures each rate only once, so each trial has its own cluster.
    let trials: Vec<Option<BitRate>> =
        (0..TRIALS).map(|_| fastest_rate(bed.create(2)?.as_mut(), &rates)).collect::<Result<_, _>>()?;
    let rate = |held: &Option<BitRate>| held.map_or(0.0, |held| held.0);
    let held = trials.into_iter().min_by(|a, b| rate(a).total_cmp(&rate(b))).flatten();
    let mut lines = vec![match held {
        Some(held) => format!(
            "ok   links hold up to {} in each of {TRIALS} trials; the scales below use at most 1/{HEADROOM} of it, so that they \
             hold on a busier machine",
            human(held.0, "bit/s")
        ),
        None => "miss no fabric's rate is held, however it is scaled down: a busy machine?".into(),
    }];
    let mut fabrics = Vec::new();
    for fabric in catalogues.fabrics() {
        let scale = held.and_then(|held| scale_for(fabric.rate, held));
        let advice = match scale {
            Some(1.0) => "without --scale".into(),
            Some(scale) => format!("with --scale {scale} (the program sends 1/{scale} of its data)"),
            None => "not at any scale".into(),
        };
        lines.push(format!("     {} at {}: {advice}", fabric.name, human(fabric.rate.0, "bit/s")));
        fabrics.push(json!({ "fabric": fabric.name, "rate": fabric.rate, "scale": scale }));
    }
    Ok(Links { lines, json: json!({ "held": held, "fabrics": fabrics }) })
}
