//! What the kernel's files say of a group and of the host: pressure, CPU time, memory.
//!
//! Sources: `Documentation/accounting/psi.rst`, `Documentation/admin-guide/cgroup-v2.rst`
//! (cpu.stat, memory.stat), `Documentation/admin-guide/iostats.rst`, proc_stat(5), proc_meminfo(5).

use std::collections::BTreeMap;
use std::time::Duration;

/// How long some task has waited for a resource since its group is there, by a `*.pressure` file; `None` where it is
/// something else.
pub fn pressure(text: &str) -> Option<Duration> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split(' ').find_map(|word| word.strip_prefix("total="))?;
    total.trim().parse().ok().map(Duration::from_micros)
}

/// The number behind `key` in a file with a key and a number on each line.
pub fn keyed(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix([' ', ':']))?;
    line.split_whitespace().next()?.parse().ok()
}

/// CPU time of a group: v2's `cpu.stat`, or v1's `cpuacct.usage`.
pub fn cpu_time(text: &str) -> Option<Duration> {
    match text.trim().parse() {
        Ok(nanoseconds) => Some(Duration::from_nanos(nanoseconds)),
        Err(_) => keyed(text, "usage_usec").map(Duration::from_micros),
    }
}

/// Bytes of a page (mm: PAGE_SIZE on x86-64, and the least elsewhere).
pub const PAGE: u64 = 4096;

/// Pages that a group, with all below it, has had since it is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pages {
    /// Those that had been pushed out and were needed again.
    pub refaults: u64,
    /// Folios that were charged to it (v1's `pgpgin`): a folio of many pages counts once (mm/memcontrol-v1.c).
    charged: Option<u64>,
    /// Those that were taken from it for others (v2's `pgsteal`).
    reclaimed: u64,
}

impl Pages {
    /// How many it has taken since `before`, where it has grown by so many pages: where it has not, it has taken as
    /// many as were taken from it.
    ///
    /// On v1 it is the least that it can have taken: v1 counts folios, and has no counter of pages. Files that are
    /// read ahead, and huge pages, have folios of many pages. So a group whose memory does not grow can have taken
    /// many times as many.
    pub fn taken_since(&self, before: &Pages, grown: u64) -> u64 {
        match (self.charged, before.charged) {
            (Some(now), Some(charged)) => {
                let refaults = self.refaults.saturating_sub(before.refaults);
                now.saturating_sub(charged).max(grown).max(refaults)
            }
            _ => grown.saturating_add(self.reclaimed.saturating_sub(before.reclaimed)),
        }
    }

    /// How many were taken from it since `before`; `None` on v1, which does not count them.
    pub fn reclaimed_since(&self, before: &Pages) -> Option<u64> {
        self.charged.is_none().then(|| self.reclaimed.saturating_sub(before.reclaimed))
    }
}

/// Reads `memory.stat` of v2 or v1, or `/proc/vmstat`, of which only the refaults count.
pub fn pages(text: &str) -> Pages {
    let sum = |keys: &[&str]| keys.iter().filter_map(|key| keyed(text, key)).fold(0, u64::saturating_add);
    // v1 has the group's own numbers, and with `total_` those of all below; v2 only the latter.
    let total = ["total_workingset_refault_anon", "total_workingset_refault_file"];
    let plain = ["workingset_refault_anon", "workingset_refault_file"];
    let keys = if keyed(text, total[1]).is_some() { &total } else { &plain };
    Pages {
        refaults: sum(keys),
        charged: keyed(text, "total_pgpgin"),
        reclaimed: keyed(text, "pgsteal").unwrap_or(0),
    }
}

/// Bytes of file pages that were not used lately, of a group with all below it, by its `memory.stat`. They are the
/// first to be taken if memory is short.
pub fn inactive_file(text: &str) -> Option<u64> {
    keyed(text, "total_inactive_file").or_else(|| keyed(text, "inactive_file"))
}

/// Bytes that the kernel can take from a group with all below it, by its `memory.stat`: file pages, and with `swaps`
/// anonymous ones, too. Those of tmpfs count as anonymous, and locked ones as neither.
pub fn takeable(text: &str, swaps: bool) -> u64 {
    let lists = ["inactive_file", "active_file", "inactive_anon", "active_anon"];
    let of = |list: &&str| keyed(text, &format!("total_{list}")).or_else(|| keyed(text, list)).unwrap_or(0);
    lists[..if swaps { 4 } else { 2 }].iter().map(of).fold(0, u64::saturating_add)
}

/// Bytes of pages that are charged to a group with all below it, by its `memory.stat`: file pages and anonymous ones,
/// without the kernel's own memory.
pub fn page_bytes(text: &str) -> Option<u64> {
    let sum = |one: &str, other: &str| Some(keyed(text, one)?.saturating_add(keyed(text, other)?));
    sum("total_cache", "total_rss").or_else(|| sum("file", "anon"))
}

/// Processes that were killed because the group's memory was full, by v2's `memory.events` (with all groups below it)
/// or v1's `memory.oom_control` (without).
pub fn oom_kills(text: &str) -> Option<u64> {
    keyed(text, "oom_kill")
}

/// Of the text of `/proc/diskstats`, what these disks have served so far: how many requests and how many
/// milliseconds these took together, to read, to write, and to have written what a disk holds (flushes; kernels
/// before 5.5 do not count them). The columns of a disk that stands at `n` are at `3 n`; what has no place
/// begins from the front again. A line that is cut off is left out.
pub fn served<const KINDS: usize>(text: &str, disks: &BTreeMap<String, usize>) -> [(u64, u64); KINDS] {
    // Behind two numbers and the name: reads 0, their milliseconds 3, writes 4 and 7, flushes 15 and 16.
    const COLUMNS: [[usize; 2]; 3] = [[0, 3], [4, 7], [15, 16]];
    let mut all = [(0_u64, 0_u64); KINDS];
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(at) = words.next().and_then(|name| disks.get(name)) else { continue };
        let fields: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        for (kind, [count, time]) in COLUMNS.into_iter().enumerate() {
            let (Some(count), Some(time)) = (fields.get(count), fields.get(time)) else { continue };
            let slot = &mut all[(3 * at + kind) % KINDS];
            *slot = (slot.0.saturating_add(*count), slot.1.saturating_add(*time));
        }
    }
    all
}

/// A number alone in a file; `max`, and what v1 writes in its stead, is `None`.
pub fn number(text: &str) -> Option<u64> {
    // v1's "no limit" is the largest multiple of a page below 2^63.
    text.trim().parse().ok().filter(|number| *number < 1 << 62)
}

/// Of "user nice system idle iowait irq softirq steal …" those that are work: guests are in user; steal is
/// nobody's here.
const BUSY: [usize; 5] = [0, 1, 2, 5, 6];

/// Seconds of CPU time of all processors, idle ones not counted, of the text of `/proc/stat`,
/// which counts in `tick`s.
pub fn busy_time(stat: &str, tick: Duration) -> Option<Duration> {
    ticks_of(&BUSY, stat, tick)
}

/// Seconds for which processors of this host had work but were another machine's, of the same text.
pub fn stolen_time(stat: &str, tick: Duration) -> Option<Duration> {
    ticks_of(&[7], stat, tick)
}

/// The fields of all processors' line, summed.
fn ticks_of(places: &[usize], stat: &str, tick: Duration) -> Option<Duration> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let ticks = places.iter().try_fold(0_u64, |sum, place| sum.checked_add(*fields.get(*place)?))?;
    Duration::try_from_secs_f64(tick.as_secs_f64() * ticks as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pressure_is_read_in_microseconds() {
        let text = "some avg10=0.04 avg60=0.08 avg300=0.41 total=352425828\n\
                    full avg10=0.00 avg60=0.00 avg300=0.34 total=159867361\n";
        assert_eq!(pressure(text), Some(Duration::from_micros(352_425_828)));
        assert_eq!(pressure("full avg10=0.00 total=7"), None);
        assert_eq!(pressure(""), None);
    }

    #[test]
    fn cpu_time_is_read_of_both_versions() {
        let v2 = "usage_usec 94420561159\nuser_usec 86400267054\nsystem_usec 8020294105\n";
        assert_eq!(cpu_time(v2), Some(Duration::from_micros(94_420_561_159)));
        assert_eq!(cpu_time("94732173071974\n"), Some(Duration::from_nanos(94_732_173_071_974)));
        assert_eq!(cpu_time("x"), None);
    }

    #[test]
    fn pages_are_read_of_both_versions_and_of_the_host() {
        let v1 = |charged: u64| {
            pages(&format!(
                "workingset_refault_file 3\npgpgin 1\ntotal_pgpgin {charged}\ntotal_workingset_refault_anon 2\n\
                 total_workingset_refault_file 30\n"
            ))
        };
        assert_eq!((v1(100).refaults, v1(170).taken_since(&v1(100), 5)), (32, 70));
        assert_eq!(v1(110).taken_since(&v1(100), 512), 512, "a huge page is one folio");
        let again = pages("total_pgpgin 110\ntotal_workingset_refault_file 99\n");
        assert_eq!(again.taken_since(&v1(100), 5), 67, "they were there before");
        assert_eq!(v1(170).reclaimed_since(&v1(100)), None);
        let v2 = |reclaimed: u64| {
            pages(&format!("workingset_refault_anon 1\nworkingset_refault_file 4\npgsteal {reclaimed}\n"))
        };
        assert_eq!((v2(9).refaults, v2(9).taken_since(&v2(2), 5)), (5, 12));
        assert_eq!(v2(9).reclaimed_since(&v2(2)), Some(7));
        assert_eq!(pages("nr_free_pages 1\nworkingset_refault_file 9\n").refaults, 9);
    }

    #[test]
    fn what_disks_serve_is_read_of_those_that_are_meant() {
        let text = "   7  0 loop0 9 0 0 9 9 0 0 9 0 0 0 0 0 0 0 9 9\n \
                    254  0 vda 10 1 80 5 20 2 160 40 1 60 70 3 0 24 1 6 30\n   8  0 sda 1 0 8 2 3 0 8 4 0 5 6\n\
                    8 1 sdb 7 0 0 7 7 0 0 7";
        let disks = |names: &[&str]| {
            names.iter().enumerate().map(|(at, name)| (name.to_string(), at)).collect::<BTreeMap<_, _>>()
        };
        let of = |names: &[&str]| served::<6>(text, &disks(names));
        assert_eq!(of(&["vda"])[..3], [(10, 5), (20, 40), (6, 30)]);
        assert_eq!(of(&["vda", "sda"])[3..], [(1, 2), (3, 4), (0, 0)], "an older kernel's");
        assert_eq!(of(&["vda", "nvme0n1", "sda"])[..3], [(11, 7), (23, 44), (6, 30)], "they share a place");
        assert_eq!(of(&["sdb"]), [(0, 0); 6], "cut off");
        assert_eq!(served::<3>("8 0 sda x\n", &disks(&["sda"])), [(0, 0); 3]);
    }

    #[test]
    fn both_versions_say_what_is_inactive_and_who_was_killed() {
        let v1 = "inactive_file 4096\ntotal_cache 1\ntotal_inactive_file 8192\n";
        assert_eq!((inactive_file(v1), inactive_file("inactive_file 5\n")), (Some(8192), Some(5)));
        assert_eq!(oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), Some(3));
        assert_eq!(oom_kills("low 0\noom 9\noom_kill 2\noom_group_kill 0\n"), Some(2));
        assert_eq!((inactive_file(""), oom_kills("")), (None, None));
        assert_eq!(page_bytes("cache 1\nrss 2\ntotal_cache 30\ntotal_rss 12\n"), Some(42));
        assert_eq!((page_bytes("anon 4\nfile 3\nkernel 9\n"), page_bytes("anon 4\n")), (Some(7), None));
    }

    #[test]
    fn no_limit_is_none() {
        assert_eq!(number("max\n"), None);
        assert_eq!(number("9223372036854771712\n"), None);
        assert_eq!(number("4096\n"), Some(4096));
    }

    #[test]
    fn busy_is_all_but_waiting_and_stolen() {
        let stat = "cpu  10 20 30 1000 500 1 2 900 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(busy_time(stat, Duration::from_millis(10)), Some(Duration::from_millis(630)));
        assert_eq!(stolen_time(stat, Duration::from_millis(10)), Some(Duration::from_secs(9)));
        assert_eq!(busy_time("cpu  10 20", Duration::from_millis(10)), None);
        assert_eq!(
            stolen_time("cpu  1 2 3 4 5 6 7", Duration::from_millis(10)),
            None,
            "kernels before 2.6.11"
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}", number_ in any::<u64>()) {
            for text in [text.clone(), format!("some total={text}\nfull {text}"), format!("cpu  {number_} {number_} 1 2 3 {number_} 4"),
                         format!("total_pgpgin {number_}\ntotal_workingset_refault_anon {number_}\ntotal_workingset_refault_file {number_}")] {
                pressure(&text);
                cpu_time(&text);
                pages(&text);
                number(&text);
                keyed(&text, "some");
                busy_time(&text, Duration::from_millis(10));
                stolen_time(&text, Duration::from_millis(10));
            }
        }
    }
}
