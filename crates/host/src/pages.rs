//! How memory is backed: huge pages, and the node that it comes from.

use crosstalk_core::Fault;
use std::fs;
use std::io;
use std::marker::PhantomData;

use crate::cpu::listed;
use crate::errno::check;

/// Numbers in memory of their own that nobody has touched yet, all zero: which node
/// it comes from, and in which pages, is decided where it is written to first.
#[derive(Debug)]
pub struct Fresh {
    base: *mut libc::c_void,
    bytes: usize,
    /// Where the numbers begin: at a huge page's bound.
    first: *mut u32,
    count: usize,
}

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

impl Fresh {
    /// So many numbers, in huge pages where the kernel has some (madvise(2)).
    ///
    /// # Errors
    /// An environment fault where there is no room.
    pub fn new(count: usize) -> Result<Self, Fault> {
        let no_room = |e: io::Error| {
            Fault::environment(format!("there is no room for {count} numbers: {e}")).remedy("take less")
        };
        let size = count.checked_mul(size_of::<u32>()).and_then(|size| size.checked_add(HUGE));
        let bytes = size.ok_or_else(|| no_room(io::ErrorKind::OutOfMemory.into()))?.next_multiple_of(4096);
        // SAFETY: new memory at an address of the kernel's choice, which nobody else knows.
        let base = unsafe {
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(no_room(io::Error::last_os_error()));
        }
        // SAFETY: the advice is about this mapping, and changes no content.
        unsafe { libc::madvise(base, bytes, libc::MADV_HUGEPAGE) };
        let first = (base as usize).next_multiple_of(HUGE) as *mut u32;
        Ok(Fresh { base, bytes, first, count })
    }

    /// The share of it that lies in huge pages by now (`AnonHugePages` of
    /// proc_pid_smaps(5)); `None` where the kernel does not say.
    pub fn huge(&self) -> Option<f64> {
        let maps = fs::read_to_string("/proc/self/smaps").ok()?;
        // Neighbouring mappings may have become one.
        let holds = |line: &str| {
            let (from, to) = line.split(' ').next()?.split_once('-')?;
            let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
            (from..to).contains(&(self.first as usize)).then_some(())
        };
        let mut lines = maps.lines().skip_while(|line| holds(line).is_none());
        let said = lines.find_map(|line| line.strip_prefix("AnonHugePages:"))?;
        let kibibytes: f64 = said.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some((kibibytes * 1024.0 / (self.count * size_of::<u32>()) as f64).min(1.0))
    }
}

impl std::ops::Deref for Fresh {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        // SAFETY: within the mapping, which is zeroed, aligned, and this value's alone.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}

impl std::ops::DerefMut for Fresh {
    fn deref_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.count) }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: mapped by `Fresh::new` with this size; no slice of it outlives `self`.
        unsafe { libc::munmap(self.base, self.bytes) };
    }
}

/// The memory nodes that are online, ascending: `[0]` where the kernel does not say
/// (Documentation/ABI/stable/sysfs-devices-node).
pub fn memory_nodes() -> Vec<usize> {
    let told = fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_default();
    let nodes = listed(told.trim());
    if nodes.is_empty() { vec![0] } else { nodes }
}

/// The memory node of a processor; `None` where the kernel does not say.
pub fn node_of(cpu: usize) -> Option<usize> {
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    let mut names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find_map(|name| name.strip_prefix("node")?.parse().ok())
}

/// The calling thread's new memory comes from one node only, until the drop
/// (set_mempolicy(2)).
#[derive(Debug)]
pub struct FromNode {
    /// The policy is a thread's own: the guard stays in it.
    stays: PhantomData<*const ()>,
}

/// Nodes that a mask of ours names at most.
const NODES: usize = 1024;

impl FromNode {
    /// Takes memory from `node`.
    ///
    /// # Errors
    /// Where there is no such node, or the thread may not use it.
    pub fn begin(node: usize) -> Result<Self, Fault> {
        let mut mask = [0_u64; NODES / 64];
        if node >= NODES {
            return Err(no_such(node, None));
        }
        mask[node / 64] |= 1 << (node % 64);
        // SAFETY: the mask is valid for reading as many bits as are said.
        let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, mask.as_ptr(), NODES) };
        check(result as i32).map_err(|e| no_such(node, Some(&e)))?;
        Ok(FromNode { stays: PhantomData })
    }
}

impl Drop for FromNode {
    fn drop(&mut self) {
        // SAFETY: the default policy takes no mask, for which null stands.
        unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_DEFAULT, std::ptr::null::<u64>(), 0) };
    }
}

fn no_such(node: usize, why: Option<&io::Error>) -> Fault {
    let nodes: Vec<String> = memory_nodes().iter().map(ToString::to_string).collect();
    let refused = why.filter(|e| matches!(e.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)));
    if let Some(e) = refused {
        return Fault::environment(format!("this process may not choose where memory comes from: {e}"))
            .remedy("in a container, allow set_mempolicy(2)");
    }
    let why = why.map_or(String::new(), |e| format!(": {e}"));
    Fault::usage(format!("cannot take memory from node {node}{why}"))
        .remedy(format!("one of: {}", nodes.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_memory_is_zero_and_keeps_what_is_written() {
        let mut memory = Fresh::new(1 << 20).expect("fits");
        assert_eq!(memory.as_ptr() as usize % HUGE, 0);
        assert!(memory.iter().all(|value| *value == 0));
        memory.iter_mut().enumerate().for_each(|(place, value)| *value = place as u32);
        assert!(memory.iter().enumerate().all(|(place, value)| place as u32 == *value));
        assert!(memory.huge().is_none_or(|share| (0.0..=1.0).contains(&share)));
        assert!(Fresh::new(usize::MAX / 2).is_err());
    }

    #[test]
    fn a_node_that_is_not_there_lists_those_that_are() {
        let fault = FromNode::begin(1023).expect_err("no node 1023");
        assert!(fault.remedy.is_some_and(|r| r.starts_with("one of: 0")), "no list");
        assert!(FromNode::begin(1 << 20).is_err());
    }
}
