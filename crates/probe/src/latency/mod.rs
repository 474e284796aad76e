//! How long a message takes there and back, over any transport, against its size.
//!
//! A *ping-pong*: the measuring end sends one message, the serving end sends it
//! back, and only then comes the next. What is timed is the **round trip**, by
//! one clock. Half of it is given as `half_round_trip` for comparison with
//! instruments that report that (sockperf does); it is not the time of one way,
//! which the two directions need not share equally. `one_way` is given only
//! where both ends read the same clock.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `round_trip` | s | distribution after warm-up |
//! | `half_round_trip` | s | half of each round trip |
//! | `one_way` | s | towards the serving end, where both ends share a clock |
//! | `round_trip_p50` `_p99` `_p999` | s | percentiles that the number of messages allows |
//! | `lost` | ratio | messages not answered in time, of those sent (UDP) |
//! | `warm_up` | messages | discarded from the beginning: half of them where no steady state was found (label `settled`) |
//! | `own_overhead` | s | what timing one message costs: clock and record |
//! | `stage_time` | s | where asked for: mean time in a stage, of the messages in a band of the round trip; labels `stage`, `way` (`there`, `back`), `band` (`all`, `p50`, `p99`) |
//! | `matched` | share | of the messages, those that the kernel was seen to handle from end to end |
//! | `unexplained` | share | of their round trips, what lies around a time that makes no sense; label `band` |

mod echo;
mod outcome;
mod ping;
mod spec;
mod stages;
mod wire;

pub use echo::echo;
pub use outcome::Outcome;
pub use ping::measure;
pub use spec::{Mode, Session, Spec};
pub use stages::Stages;
pub(super) use wire::{Stamps, number, numbered};

use crosstalk_core::record::{Better, Metric};

use super::{node, processors};
use crosstalk_work::Declared;

/// The probe as a workload.
pub const LATENCY: Declared<Spec> = Declared {
    name: "latency",
    title: "Round trip of a message, over any transport, against its size",
    parameters: spec::PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| node::deployment(metrics(), spec.seconds()),
    needs: |spec| {
        let seen = spec.stages.then(crosstalk_observe::stages::need);
        std::iter::once(spec.transport.need()).chain(processors::need(spec.mode)).chain(seen).collect()
    },
    prepare: |spec, part| {
        node::prepare(part, move |target, until| {
            Ok(measure(target, &spec, until)?.iter().flat_map(Outcome::readings).collect())
        })
    },
};

fn metrics() -> Vec<Metric> {
    vec![
        Metric::new("round_trip", "s", Better::Lower),
        Metric::new("half_round_trip", "s", Better::Lower),
        Metric::new("one_way", "s", Better::Lower),
        Metric::new("round_trip_p50", "s", Better::Lower),
        Metric::new("round_trip_p99", "s", Better::Lower),
        Metric::new("round_trip_p999", "s", Better::Lower),
        Metric::new("lost", "ratio", Better::Lower),
        Metric::new("warm_up", "messages", Better::Neither),
        Metric::new("stage_time", "s", Better::Neither),
        Metric::new("matched", "%", Better::Neither),
        Metric::new("unexplained", "%", Better::Lower),
        Metric::new("own_overhead", "s", Better::Neither),
    ]
}
