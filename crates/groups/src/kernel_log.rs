//! Whether the kernel says in its log that it has killed a process for memory.
//!
//! Source: `Documentation/ABI/testing/dev-kmsg`; `__oom_kill_process` in mm/oom_kill.c.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::Duration;

/// `O_NONBLOCK` of open(2).
const NONBLOCK: i32 = 0o4000;
/// Longer than a record may be.
const LONGEST: usize = 16 << 10;
/// The kernel kills first, and logs then: it is looked at so often, so long after each other.
const LOOKS: u32 = 5;
const INTERVAL: Duration = Duration::from_millis(10);

/// The kernel's log from a time on. Where this user may not read it, it names nobody.
#[derive(Debug)]
pub struct KernelLog(Option<File>);

impl KernelLog {
    /// From now on.
    pub fn begin() -> Self {
        let open = OpenOptions::new().read(true).custom_flags(NONBLOCK).open("/dev/kmsg");
        KernelLog(open.ok().and_then(|mut file| file.seek(SeekFrom::End(0)).ok().map(|_| file)))
    }

    /// Whether it says that this process was killed for memory.
    pub fn names(&mut self, pid: u32) -> bool {
        let Some(file) = &mut self.0 else { return false };
        (0..LOOKS).any(|look| {
            if look > 0 {
                thread::sleep(INTERVAL);
            }
            records(file).iter().any(|record| is_kill(record, pid))
        })
    }
}

/// What there is to read. A record that was overwritten meanwhile is left out.
fn records(file: &mut File) -> Vec<String> {
    let (mut records, mut bytes) = (Vec::new(), vec![0; LONGEST]);
    loop {
        match file.read(&mut bytes) {
            Ok(0) => return records,
            Ok(length) => records.push(String::from_utf8_lossy(&bytes[..length]).into_owned()),
            Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
            Err(_) => return records,
        }
    }
}

fn is_kill(record: &str, pid: u32) -> bool {
    record.to_lowercase().contains("out of memory") && record.contains(&format!("Killed process {pid} ("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_names_whom_it_has_killed() {
        let record =
            "3,1243,8747,-;Memory cgroup out of memory: Killed process 417 (sh) total-vm:9kB, anon-rss:7kB\n";
        assert!(is_kill(record, 417) && !is_kill(record, 41) && !is_kill(record, 17));
        assert!(is_kill("3,1,2,-;Out of memory: Killed process 417 (sh) total-vm:9kB", 417));
        assert!(!is_kill("4,1,2,-;traps: 417 (sh) Killed process 417 (sh)", 417));
    }
}
