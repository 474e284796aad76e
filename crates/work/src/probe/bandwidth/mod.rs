//! How many bits a second get through, over TCP or UDP, for writes of a size.
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

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::{Deployment, Prepared, Timing, Workload};
use crosstalk_core::value::Params;

use super::node;

/// The probe as a workload.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bandwidth;

impl Workload for Bandwidth {
    fn name(&self) -> &'static str {
        "bandwidth"
    }

    fn title(&self) -> &'static str {
        "Bits a second over TCP or UDP, for writes of a size"
    }

    fn parameters(&self) -> &'static [&'static str] {
        spec::PARAMETERS
    }

    fn timing(&self) -> Timing {
        Timing::Real
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::found("TCP and UDP sockets", "the kernel's")]
    }

    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        let spec = Spec::from_params(params)?;
        let metrics = vec![
            Metric::new("bandwidth", "bit/s", Better::Higher),
            Metric::new("bandwidth_p50", "bit/s", Better::Higher),
            Metric::new("bandwidth_series", "bit/s", Better::Higher),
            Metric::new("offered", "bit/s", Better::Neither),
            Metric::new("lost", "ratio", Better::Lower),
            Metric::new("warm_up", "s", Better::Neither),
            Metric::new("own_overhead", "s", Better::Neither),
        ];
        Ok(Deployment { nodes: 2, metrics, seconds: spec.seconds() })
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        let spec = Spec::from_params(&part.params)?;
        node::prepare(
            part,
            Box::new(move |target, until| {
                Ok(measure(target, &spec, until)?.iter().flat_map(Outcome::readings).collect())
            }),
        )
    }
}
