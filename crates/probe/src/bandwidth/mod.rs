//! How many bits a second get through, over any transport, for writes of a size.
//!
//! The measuring end sends, the serving end counts; reversed, the other way round.
//! What was *received* is the truth: what was written may still lie in a buffer or be lost. The first
//! intervals, in which congestion control still opens its window, are detected
//! and left out.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `bandwidth` | bit/s | payload received after warm-up, over the time it took |
//! | `bandwidth_p50` | bit/s | median of the intervals after warm-up, where there are enough |
//! | `bandwidth_series` | bit/s | every whole interval in order, warm-up included |
//! | `offered` | bit/s | payload sent, over the time of sending |
//! | `sent` | datagrams | sent (UDP) |
//! | `received` | datagrams | received, of those (UDP) |
//! | `lost` | ratio | datagrams not received, of those sent (UDP) |
//! | `not_sent` | writes | due by the rate asked for, and not sent: there was no room for them |
//! | `retransmitted` | segments | sent again by TCP, warm-up included; label `congestion`, its control |
//! | `bandwidth_lately` | bit/s | with `report`, while it goes on: what came since the last; labels `begin`, `end` in seconds |
//! | `warm_up` | s | left out at the beginning: half where no steady state was found (label `settled`) |
//! | `own_overhead` | s | what counting one write costs at each end: clock and record |

mod carriers;
mod count;
mod outcome;
mod send;
mod spec;
mod tally;

pub use carriers::{measure, measure_live, serve};
pub use count::{Counted, Interval};
pub use outcome::{Outcome, lately};
pub use send::SendCount;
pub use spec::{Session, Spec};

use crosstalk_core::record::{Better, Metric};

use super::node;
use crosstalk_work::Declared;

/// The probe as a workload.
pub const BANDWIDTH: Declared<Spec> = Declared {
    name: "bandwidth",
    title: "Bits a second, over any transport, for writes of a size",
    parameters: spec::PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| node::deployment(metrics(), spec.seconds()),
    needs: |spec| vec![spec.transport.need()],
    prepare: |spec, part| {
        node::prepare_live(part, move |target, until, out| {
            let mut told = |spec: &Spec, size, interval| {
                let (reading, n) = lately(spec, size, interval);
                out.take(reading, n)
            };
            let outcomes = measure_live(target, &spec, until, &mut told)?;
            Ok(outcomes.iter().flat_map(Outcome::readings).collect())
        })
    },
};

fn metrics() -> Vec<Metric> {
    vec![
        Metric::new("bandwidth", "bit/s", Better::Higher),
        Metric::new("bandwidth_p50", "bit/s", Better::Higher),
        Metric::new("bandwidth_series", "bit/s", Better::Higher),
        Metric::new("offered", "bit/s", Better::Neither),
        Metric::new("sent", "datagrams", Better::Neither),
        Metric::new("received", "datagrams", Better::Neither),
        Metric::new("lost", "ratio", Better::Lower),
        Metric::new("not_sent", "writes", Better::Lower),
        Metric::new("retransmitted", "segments", Better::Lower),
        Metric::new("bandwidth_lately", "bit/s", Better::Higher),
        Metric::new("warm_up", "s", Better::Neither),
        Metric::new("own_overhead", "s", Better::Neither),
    ]
}
