//! Memory in huge pages, and memory of a given NUMA node.

use crosstalk_core::Fault;
use std::fs;
use std::io;
use std::marker::PhantomData;

use crate::cpu::parse_list;
use crate::errno::check;

/// Zeroed numbers in a mapping that was not touched yet. The first write to a page decides
/// its node, and whether it is a huge page.
#[derive(Debug)]
pub struct UntouchedMemory {
    base: *mut libc::c_void,
    bytes: usize,
    /// The first number, at the beginning of a huge page.
    first: *mut u32,
    count: usize,
}

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

/// An empty vector with room for `capacity` items, in huge pages where the kernel has some (madvise(2)) and that many
/// bytes fill one.
pub fn vec_in_huge_pages<T>(capacity: usize) -> Vec<T> {
    let mut items: Vec<T> = Vec::with_capacity(capacity);
    let bytes = items.capacity() * size_of::<T>();
    let base = items.as_mut_ptr().cast::<u8>();
    let skipped = base.align_offset(HUGE);
    if bytes >= skipped + HUGE {
        let whole = (bytes - skipped) / HUGE * HUGE;
        // SAFETY: the pages lie within the vector's memory, and the advice changes nothing in them. That it is not
        // taken is no fault.
        let _ = unsafe { libc::madvise(base.add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
    }
    items
}

impl UntouchedMemory {
    /// `count` numbers, in huge pages if the kernel has some (madvise(2)).
    ///
    /// # Errors
    /// An environment fault if there is not enough memory.
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
        Ok(UntouchedMemory { base, bytes, first, count })
    }

    /// The share of it that is in huge pages by now (`AnonHugePages` of proc_pid_smaps(5)).
    /// `None` if the kernel does not report it.
    pub fn huge_share(&self) -> Option<f64> {
        let maps = fs::read_to_string("/proc/self/smaps").ok()?;
        // Adjacent mappings may have been merged.
        let holds = |line: &str| {
            let (from, to) = line.split(' ').next()?.split_once('-')?;
            let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
            (from..to).contains(&(self.first as usize)).then_some(())
        };
        let mut lines = maps.lines().skip_while(|line| holds(line).is_none());
        let value = lines.find_map(|line| line.strip_prefix("AnonHugePages:"))?;
        let kibibytes: f64 = value.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some((kibibytes * 1024.0 / (self.count * size_of::<u32>()) as f64).min(1.0))
    }
}

impl std::ops::Deref for UntouchedMemory {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        // SAFETY: within the mapping, which is zeroed, aligned, and this value's alone.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}

impl std::ops::DerefMut for UntouchedMemory {
    fn deref_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.count) }
    }
}

impl Drop for UntouchedMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by `UntouchedMemory::new` with this size; no slice of it outlives `self`.
        unsafe { libc::munmap(self.base, self.bytes) };
    }
}

/// The memory nodes that are online, ascending. `[0]` if the kernel does not report them
/// (Documentation/ABI/stable/sysfs-devices-node).
pub fn memory_nodes() -> Vec<usize> {
    let list = fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_default();
    let nodes = parse_list(list.trim());
    if nodes.is_empty() { vec![0] } else { nodes }
}

/// The memory node of a processor; `None` if the kernel does not report it.
pub fn node_of(cpu: usize) -> Option<usize> {
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    let mut names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find_map(|name| name.strip_prefix("node")?.parse().ok())
}

/// New memory of the calling thread comes from one node only, until this value is dropped
/// (set_mempolicy(2)).
#[derive(Debug)]
pub struct MemoryFromNode {
    /// The policy belongs to a thread, so this value must stay in it.
    stays: PhantomData<*const ()>,
}

/// The most nodes of a mask.
const NODES: usize = 1024;

impl MemoryFromNode {
    /// Takes the calling thread's new memory from `node` only.
    ///
    /// # Errors
    /// If there is no such node, or the thread may not use it.
    pub fn begin(node: usize) -> Result<Self, Fault> {
        let mut mask = [0_u64; NODES / 64];
        if node >= NODES {
            return Err(no_such(node, None));
        }
        mask[node / 64] |= 1 << (node % 64);
        // SAFETY: the mask is valid for reading as many bits as are said.
        let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, mask.as_ptr(), NODES) };
        check(result as i32).map_err(|e| no_such(node, Some(&e)))?;
        Ok(MemoryFromNode { stays: PhantomData })
    }
}

impl Drop for MemoryFromNode {
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
    fn untouched_memory_is_zero_and_keeps_what_is_written() {
        let mut memory = UntouchedMemory::new(1 << 20).expect("fits");
        assert_eq!(memory.as_ptr() as usize % HUGE, 0);
        assert!(memory.iter().all(|value| *value == 0));
        memory.iter_mut().enumerate().for_each(|(place, value)| *value = place as u32);
        assert!(memory.iter().enumerate().all(|(place, value)| place as u32 == *value));
        assert!(memory.huge_share().is_none_or(|share| (0.0..=1.0).contains(&share)));
        assert!(UntouchedMemory::new(usize::MAX / 2).is_err());
    }

    #[test]
    fn a_vector_in_huge_pages_is_one_as_any_other() {
        for capacity in [0, 7, HUGE / 8, HUGE] {
            let mut numbers: Vec<u64> = vec_in_huge_pages(capacity);
            assert!(numbers.is_empty() && numbers.capacity() >= capacity);
            numbers.extend(0..capacity as u64);
            assert!(numbers.iter().enumerate().all(|(place, value)| place as u64 == *value));
        }
    }

    #[test]
    fn the_fault_of_an_unknown_node_lists_the_nodes() {
        let fault = MemoryFromNode::begin(1023).expect_err("no node 1023");
        assert!(fault.remedy.is_some_and(|r| r.starts_with("one of: 0")), "no list");
        assert!(MemoryFromNode::begin(1 << 20).is_err());
    }
}
