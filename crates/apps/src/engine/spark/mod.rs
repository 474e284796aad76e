//! Applications on Apache Spark, in real time.
//!
//! A standalone cluster: its master and driver run on node 0, its workers on the other nodes, one executor
//! each. It is kept between attempts: starting it takes longer than most of what runs on it, and its Java
//! stays warm. It ends with the agents that started it, by [`end_kept_clusters`] or with the testbed's processes.
//!
//! | file | holds |
//! |---|---|
//! | `installation` | the installed Spark |
//! | `job` | an application's request to Spark, and how its answer is read |
//! | `driver` | the driver program, and the connection to it |
//! | `driver/` | the driver program itself, in Python |
//! | `daemon` | master and worker as processes |
//! | `session` | what a node keeps between attempts |
//! | `messages` | the messages between nodes |
//! | `lead`, `worker` | node 0, and the other nodes |
//! | `outcome`, `output` | the driver's answer as readings, and what it wrote |

mod daemon;
mod driver;
mod installation;
mod job;
mod lead;
mod messages;
mod outcome;
mod output;
mod session;
mod worker;

pub use driver::number_in_answer;
pub use installation::{needs, versions};
pub use job::{Job, Object};
pub use lead::prepare;
pub use outcome::deployment;
pub use output::parse_lines;
pub use session::end_kept_clusters;
