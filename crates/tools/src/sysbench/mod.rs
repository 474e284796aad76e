//! sysbench as foreground work: its CPU test, and transactions on a MariaDB server that is started
//! for it (`oltp_read_write`).
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `run_time` | s | of `sysbench`: until all events are done |
//! | `event_rate` | /s | of `sysbench` |
//! | `requests` | requests | of `oltp`: statements that read or wrote |
//! | `request_rate` | /s | of `oltp`: the same a second |
//! | `transaction_rate` | /s | of `oltp` |
//! | `transaction_p99` | s | of `oltp`: the 99th percentile of a transaction's time |
//! | `repeated` | – | of `oltp`: transactions that collided with others and were retried |
//!
//! The server has its own directory and socket, no port, default settings, and as much memory for
//! pages as the parameters say. It runs on for later attempts with the same tables.

mod cpu;
mod mariadb;
mod oltp;
mod output;
mod run;

pub use cpu::SYSBENCH;
pub use mariadb::end_kept_server;
pub use oltp::OLTP;
