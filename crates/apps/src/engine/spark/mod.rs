//! Applications on Apache Spark, in real time.
//!
//! A standalone cluster whose master and driver run on node 0 and whose workers
//! run on the other nodes, one executor each. It stays up between attempts (starting it takes longer than most of what runs on it), and
//! its Java stays warm; it goes with the agents that started it, by [`close`] or with
//! the testbed's processes.
//!
//! | file | holds |
//! |---|---|
//! | `found` | the Spark on this machine |
//! | `job` | what an application asks of Spark, and how it reads the answer |
//! | `driver` | the driver program: started, and talked to |
//! | `driver/` | the driver program itself, in Python |
//! | `daemon` | master and worker as processes |
//! | `session` | what a node keeps between attempts |
//! | `words` | what nodes say to each other |
//! | `lead`, `worker` | the parts of node 0 and of the others |
//! | `outcome`, `output` | the driver's answer as readings, and what it wrote |

mod daemon;
mod driver;
mod found;
mod job;
mod lead;
mod outcome;
mod output;
mod session;
mod words;
mod worker;

pub use driver::number;
pub use found::{needs, versions};
pub use job::{Job, Object};
pub use lead::prepare;
pub use outcome::deployment;
pub use output::lines;
pub use session::close;
