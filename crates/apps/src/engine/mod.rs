//! Engines: other implementations of an application than ours.
//!
//! | file | holds |
//! |---|---|
//! | `settings` | the engine that a study selects, and its parameters |
//! | `spark` | Spark: a standalone cluster in the nodes |

pub mod settings;
pub mod spark;

pub use settings::Engine;
