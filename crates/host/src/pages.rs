//! How memory is backed: huge pages, and the node that it comes from.

use crosstalk_core::Fault;
use std::fs;
use std::io;
use std::marker::PhantomData;

use crate::errno::check;

/// Asks for huge pages behind `memory` (madvise(2)), so that looking addresses up
/// weighs less. Returns whether the kernel agreed; it may still not have any.
pub fn prefer_huge<T>(memory: &mut [T]) -> bool {
    let page = 4096;
    let begin = (memory.as_mut_ptr() as usize).next_multiple_of(page);
    let end = memory.as_mut_ptr_range().end as usize / page * page;
    if begin >= end {
        return false;
    }
    // SAFETY: the whole pages from `begin` to `end` belong to `memory`, and this
    // advice changes no content.
    unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) == 0 }
}

/// The memory nodes that are online, ascending: `[0]` where the kernel does not say
/// (Documentation/ABI/stable/sysfs-devices-node).
pub fn memory_nodes() -> Vec<usize> {
    let told = fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_default();
    let nodes = ranges(told.trim());
    if nodes.is_empty() { vec![0] } else { nodes }
}

/// `0-1,4` as 0, 1, 4.
fn ranges(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse::<usize>().ok()?..=to.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
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
    let why = why.map_or(String::new(), |e| format!(": {e}"));
    let nodes: Vec<String> = memory_nodes().iter().map(ToString::to_string).collect();
    Fault::usage(format!("cannot take memory from node {node}{why}"))
        .remedy(format!("one of: {}", nodes.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_kernel_writes_them() {
        assert_eq!(ranges("0-1,4"), [0, 1, 4]);
        assert_eq!(ranges("0"), [0]);
        assert_eq!(ranges(""), [0_usize; 0]);
        assert_eq!(ranges("x-1,3"), [3]);
    }

    #[test]
    fn memory_keeps_its_contents() {
        let mut memory: Vec<u32> = (0..1 << 20).collect();
        prefer_huge(&mut memory);
        assert!(memory.iter().enumerate().all(|(place, value)| place as u32 == *value));
        assert!(!prefer_huge(&mut [0_u8; 8]), "there is no whole page in it");
    }

    #[test]
    fn a_node_that_is_not_there_lists_those_that_are() {
        let fault = FromNode::begin(1023).expect_err("no node 1023");
        assert!(fault.remedy.is_some_and(|r| r.starts_with("one of: 0")), "no list");
        assert!(FromNode::begin(1 << 20).is_err());
    }
}
