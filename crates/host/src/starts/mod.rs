//! Programs that are started on this machine, by whomever: before they run ([`HeldStarts`]), or shortly after
//! ([`StartEvents`]).

mod events;
mod held;

pub use events::StartEvents;
pub use held::{HeldStart, HeldStarts};
