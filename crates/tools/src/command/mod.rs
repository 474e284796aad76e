//! The user's own program, run on every node at once.
//!
//! Each node runs the same command line. It finds the others in its environment:
//! `CROSSTALK_HOSTS` (addresses of all nodes, by number, with commas),
//! `CROSSTALK_NODE` (its own number, from 0), `CROSSTALK_NODES` (how many).
//! All start together. The attempt ends when node 0's program ends; the others then get
//! SIGTERM, and SIGKILL two seconds later.
//!
//! What it writes never reaches this process's standard output. The last 64 KiB
//! of each stream are kept, quoted where the program fails, and written to
//! `node-N.out` and `node-N.err` in the directory `log` if there is one.
//!
//! A program may print a metric of its own: `metric` names it, and `pattern` finds its number in the
//! last 64 KiB of node 0's standard output. The study then decides on that metric.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `run_time` | s | node 0's program, from before its start to its end |
//! | `time_compute` | s | of the node's run time, computing; label `node` |
//! | `time_queue` | s | of the run time, ready to run while no processor was free (`/proc/PID/schedstat`, a lower bound); label `node` |
//! | `time_wait` | s | the rest of the run time: waiting; label `node` |
//! | `parallel_cpu_time` | s | CPU time in parallel to `time_compute`; the sum of both is the CPU time of the program and its children, user and system (getrusage(2)); label `node` |
//! | `sent_messages` | | messages with data that the node sent on its links while its program ran, estimated from TCP's segments; none where nodes have no links; label `node` |
//! | `sent_bytes` | B | their data, without headers; label `node` |
//! | `own_overhead` | s | of `run_time`, what starting a process takes; label `node` |
//!
//! The first three parts add up to the time that the node's program ran, also where its threads overlap:
//! `program::split` says how that is divided, and where it is exact.
//!
//! **What `time_wait` is.** The time in which no thread of the program ran or was
//! ready to run: it waited for the network, a disk, another node or a clock.
//! It is one number for all of these. Between two cells that differ only in the
//! fabric, the *change* of it is the network's. Time that the kernel spends on packets in
//! interrupts is part of no program's CPU time and counts as waiting.

mod argv;
mod custom_metric;
mod link_counters;
mod message;
mod metrics;
mod part;
mod workload;

pub use workload::{Command, check_program};
