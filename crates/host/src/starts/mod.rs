//! Programs that are started on this machine, by whomever: before they run ([`PendingStarts`]), or shortly after
//! ([`ProcessEvents`]).

mod events;
mod pending;

pub use events::ProcessEvents;
pub use pending::{PendingStart, PendingStarts};
