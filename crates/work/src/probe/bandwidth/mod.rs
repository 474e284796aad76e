//! How many bits a second get through, over any transport, for writes of a size.
//!
//! The measuring end sends, the serving end counts. What was *received* is the
//! truth: what was written may still lie in a buffer or be lost. The first
//! intervals, in which congestion control still opens its window, are detected
//! and left out.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `bandwidth` | bit/s | payload received after warm-up, over the time it took |
//! | `bandwidth_p50` | bit/s | median of the intervals after warm-up, where there are enough |
//! | `bandwidth_series` | bit/s | every whole interval in order, warm-up included |
//! | `offered` | bit/s | payload sent, over the time of sending |
//! | `lost` | ratio | datagrams not received, of those sent (UDP) |
//! | `warm_up` | s | left out at the beginning: half where no steady state was found (label `settled`) |
//! | `own_overhead` | s | what counting one write costs at each end: clock and record |

mod count;
mod outcome;
mod send;
mod spec;

pub use count::{Counted, count};
pub use outcome::Outcome;
pub use send::measure;
pub use spec::{Session, Spec};

use crosstalk_core::record::{Better, Metric};

use super::node;
use crate::Declared;

/// The probe as a workload.
pub const BANDWIDTH: Declared<Spec> = Declared {
    name: "bandwidth",
    title: "Bits a second, over any transport, for writes of a size",
    parameters: spec::PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| node::deployment(metrics(), spec.seconds()),
    needs: |spec| vec![spec.transport.need()],
    prepare: |spec, part| {
        node::prepare(part, move |target, until| {
            Ok(measure(target, &spec, until)?.iter().flat_map(Outcome::readings).collect())
        })
    },
};

fn metrics() -> Vec<Metric> {
    vec![
        Metric::new("bandwidth", "bit/s", Better::Higher),
        Metric::new("bandwidth_p50", "bit/s", Better::Higher),
        Metric::new("bandwidth_series", "bit/s", Better::Higher),
        Metric::new("offered", "bit/s", Better::Neither),
        Metric::new("lost", "ratio", Better::Lower),
        Metric::new("warm_up", "s", Better::Neither),
        Metric::new("own_overhead", "s", Better::Neither),
    ]
}
