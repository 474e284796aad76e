//! Background work for machines without BOINC: uses one resource for as long as it lasts.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `donated` | cores | processor time that its threads got a second, from when it was steady |
//! | `donated_rounds` | /s | rounds of its work in that time |
//!
//! | `mix` | a round |
//! |---|---|
//! | `cpu` | a million steps of a generator of random numbers, in registers |
//! | `cache` | 64 Ki changes in random places of 1 MiB, each thread its own |
//! | `memory` | 32 MiB copied to another place |
//! | `disk` | 1 MiB written to a file, and handed to the device (fdatasync(2)) |
//! | `network` | 1 MiB through a TCP connection over the loopback, to a second thread |

mod mix;
mod run;
mod spec;
mod workload;

pub use spec::Spec;
pub use workload::BURNER;
