//! A program as processes: started in a process group of its own, watched through a file descriptor, and
//! ended with everything that it started.
//!
//! | file | holds |
//! |---|---|
//! | `find` | where a program is, and why it cannot be run |
//! | `process` | a program that runs |
//! | `descendants`, `tree` | the processes that it has started, from proc(5) |
//! | `split` | what it used, and where its run time went |
//! | `tail` | the last of what it wrote |
//! | `exit` | how it ended, in words |
//! | `need` | what this needs of a machine |

mod descendants;
mod exit;
mod find;
mod need;
mod process;
mod split;
mod tail;
mod tree;

pub use exit::{check_exit, hung_fault};
pub use find::{find, find_program_of};
pub use need::{fresh_mark, need};
pub use process::{Event, Program};
pub use split::ProgramAccount;
