//! Commands whose files were cached before: no group pays for these pages, so that no run shows what groups are for.

use crosstalk_core::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::run_counts::RunCounts;

/// What the users' commands read in plain, hardly any of which came from devices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CachedReads {
    /// Bytes that they read by system calls, on average over the runs. Those of pipes and of devices such as `/dev/zero`
    /// are among them: the kernel counts them together.
    pub read: f64,
    /// Bytes of these that came from devices.
    pub from_devices: f64,
}

/// Commands that read less than this share of the memory do not fill it.
const LITTLE: f64 = 0.1;
/// Files that were not cached come from devices once at least. A command that reads its files again fifty times
/// would be taken for one whose files were cached.
const HARDLY_ANY: f64 = 0.02;

/// What commands read that was cached before, by what was counted in plain: `None` if they read little, or it came from
/// devices.
pub fn cached_reads(plain: &RunCounts, memory: Bytes) -> Option<CachedReads> {
    let (read, from_devices) = (plain.read_by_commands, plain.read_by_commands_from_devices);
    let is_cached = read >= LITTLE * memory.0 as f64 && from_devices < HARDLY_ANY * read;
    is_cached.then_some(CachedReads { read, from_devices })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hardly_came_from_devices_was_cached() {
        let of = |read: f64, from_devices: f64| {
            let counts = RunCounts {
                read_by_commands: read,
                read_by_commands_from_devices: from_devices,
                ..RunCounts::default()
            };
            cached_reads(&counts, Bytes(1000))
        };
        assert_eq!(of(1100.0, 1.0), Some(CachedReads { read: 1100.0, from_devices: 1.0 }));
        assert_eq!(of(1100.0, 500.0), None, "most was read from disks");
        assert_eq!(of(99.0, 0.0), None, "it is little");
    }
}
