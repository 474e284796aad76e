//! Sends and receives frames without the kernel's protocols: an AF_XDP socket on one
//! queue of a network device (`Documentation/networking/af_xdp.rst`).
//!
//! Frames are in an *area* of memory that the kernel and this process share. Four rings
//! pass the ownership of its slots: *fill* (empty slots) and *transmit* to the kernel,
//! *receive* and *completion* (sent) back. The kernel copies frames between the area and
//! its own buffers ("copy mode"), which every device supports. This avoids the protocols,
//! not the kernel.
//!
//! Frames arrive once a program on the device redirects them here
//! (`crosstalk_observe::redirect`).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{
    set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size,
    set_xdp_umem_fill_ring_size, set_xdp_umem_reg, xdp_mmap_offsets,
};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING,
    XDP_UMEM_PGOFF_FILL_RING, XdpDesc, XdpDescOptions, XdpRingOffset, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, netdevice, send, socket_with};
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Slots for frames in each direction; a power of two, as rings require.
const FRAMES: u32 = 256;

/// Bytes of a slot: half a page, the least that the kernel accepts.
const SLOT_BYTES: u32 = 2048;

/// The most calls to send queued frames while the kernel is busy. It takes 32 frames a call.
const MAX_SEND_CALLS: usize = 1000;

/// The longest frame that is sent or received, in bytes.
pub const LONGEST_FRAME: usize = 1514;

/// An AF_XDP socket on the first queue of a device.
pub struct Xdp {
    socket: OwnedFd,
    area: Mapping,
    fill: Ring<u64>,
    receive: Ring<XdpDesc>,
    transmit: Ring<XdpDesc>,
    completion: Ring<u64>,
    /// Slots that are free to send from.
    free: Vec<u64>,
    /// The longest sleep of a receive; `None`: it never sleeps.
    max_sleep: Option<Duration>,
}

impl Xdp {
    /// Opens a socket on `device` in the calling thread's network namespace. Receiving
    /// sleeps at most `max_sleep`, and never if that is `None`.
    ///
    /// # Errors
    /// Those of the kernel, such as: no such device, or CAP_NET_RAW is missing.
    pub fn open(device: &str, max_sleep: Option<Duration>) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let length = 2 * FRAMES as usize * SLOT_BYTES as usize;
        let area = Mapping::anonymous(length)?;
        let region = XdpUmemReg {
            addr: area.base as u64,
            len: length as u64,
            chunk_size: SLOT_BYTES,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        set_xdp_umem_reg(&socket, region)?;
        set_xdp_umem_fill_ring_size(&socket, FRAMES)?;
        set_xdp_umem_completion_ring_size(&socket, FRAMES)?;
        set_xdp_rx_ring_size(&socket, FRAMES)?;
        set_xdp_tx_ring_size(&socket, FRAMES)?;
        let offsets = xdp_mmap_offsets(&socket)?;
        let fd = socket.as_fd();
        let mut fill = Ring::map(fd, XDP_UMEM_PGOFF_FILL_RING, offsets.fr)?;
        let completion = Ring::map(fd, XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr)?;
        let receive = Ring::map(fd, XDP_PGOFF_RX_RING, offsets.rx)?;
        let transmit = Ring::map(fd, XDP_PGOFF_TX_RING, offsets.tx)?;
        for number in 0..FRAMES {
            fill.push(u64::from(number * SLOT_BYTES));
        }
        // An AF_XDP socket cannot resolve a device's name.
        let any = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        let index = netdevice::name_to_index(&any, device)?;
        bind(&socket, &SocketAddrXdp::new(SocketAddrXdpFlags::XDP_COPY, index, 0))?;
        let free = (FRAMES..2 * FRAMES).map(|number| u64::from(number * SLOT_BYTES)).collect();
        Ok(Xdp { socket, area, fill, receive, transmit, completion, free, max_sleep })
    }

    /// Sends a frame, from its Ethernet header on.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if all slots are in use; a frame that is too long; those of the
    /// kernel.
    #[inline]
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.send_many(frame, 1).map(drop)
    }

    /// Sends a frame `count` times, or as often as there are free slots, in one call to the kernel.
    /// Returns the number of frames.
    ///
    /// # Errors
    /// As [`Xdp::send`].
    #[inline]
    pub fn send_many(&mut self, frame: &[u8], count: usize) -> io::Result<usize> {
        if frame.len() > LONGEST_FRAME {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the frame is too long"));
        }
        while let Some(slot) = self.completion.pop() {
            self.free.push(slot);
        }
        let mut sent = 0;
        while sent < count
            && let Some(slot) = self.free.pop()
        {
            self.area.write(slot, frame);
            let options = XdpDescOptions::empty();
            // The ring has as many entries as there are slots, and no slot is in it twice.
            self.transmit.push(XdpDesc { addr: slot, len: frame.len() as u32, options });
            sent += 1;
        }
        self.call()?;
        if sent == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(sent) }
    }

    /// Lets the kernel send queued frames. In copy mode it does so only when it is called.
    fn call(&self) -> io::Result<()> {
        for _ in 0..MAX_SEND_CALLS {
            match send(&self.socket, &[], SendFlags::DONTWAIT) {
                Ok(_) => break,
                // Busy for now; the frames stay in the ring for the next call.
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::BUSY | rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Copies the next frame into `into`, as far as it fits. Returns the frame's length.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if there is no frame, after `max_sleep` if that is set.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut next = self.receive.pop();
        if next.is_none()
            && let Some(max_sleep) = self.max_sleep
        {
            self.sleep(max_sleep);
            next = self.receive.pop();
        }
        let Some(frame) = next else { return Err(ErrorKind::WouldBlock.into()) };
        self.area.read(frame.addr, frame.len as usize, into)?;
        // The slot is one of the fill ring's: there is room for it.
        self.fill.push(frame.addr - frame.addr % u64::from(SLOT_BYTES));
        Ok(frame.len as usize)
    }

    fn sleep(&self, max_sleep: Duration) {
        let max_sleep =
            Timespec { tv_sec: max_sleep.as_secs() as i64, tv_nsec: i64::from(max_sleep.subsec_nanos()) };
        // However it ends, the caller checks again.
        let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&max_sleep));
    }
}

impl AsFd for Xdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Memory that is shared with the kernel.
struct Mapping {
    base: *mut u8,
    length: usize,
}

// SAFETY: the mapping is reached through its owner alone.
unsafe impl Send for Mapping {}

impl Mapping {
    fn anonymous(length: usize) -> io::Result<Self> {
        Mapping::new(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    fn of(socket: BorrowedFd, length: usize, offset: u64) -> io::Result<Self> {
        Mapping::new(length, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), offset)
    }

    fn new(length: usize, flags: i32, fd: i32, offset: u64) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, fd, offset as libc::off_t) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { base: base.cast(), length })
    }

    fn write(&self, slot: u64, bytes: &[u8]) {
        assert!(slot as usize + bytes.len() <= self.length, "a slot of the area");
        // SAFETY: within the mapping, and in a slot that the kernel has handed back.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.add(slot as usize), bytes.len());
        }
    }

    /// Copies `length` bytes at `slot`, as far as they fit.
    fn read(&self, slot: u64, length: usize, into: &mut [u8]) -> io::Result<()> {
        if (slot as usize).checked_add(length).is_none_or(|end| end > self.length) {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                "the kernel returned a frame outside of the area",
            ));
        }
        let length = length.min(into.len());
        // SAFETY: within the mapping, and in a slot that the kernel has handed over.
        unsafe {
            std::ptr::copy_nonoverlapping(self.base.add(slot as usize), into.as_mut_ptr(), length);
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nothing of it is used any more.
        unsafe { libc::munmap(self.base.cast(), self.length) };
    }
}

/// A ring between this process and the kernel. Its entries are between the counters
/// *consumer* and *producer*, which only grow.
struct Ring<T> {
    mapping: Mapping,
    offsets: XdpRingOffset,
    /// This process's counter.
    own: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn map(socket: BorrowedFd, which: u64, offsets: XdpRingOffset) -> io::Result<Self> {
        let length = offsets.desc as usize + FRAMES as usize * size_of::<T>();
        let mapping = Mapping::of(socket, length, which)?;
        Ok(Ring { mapping, offsets, own: 0, entries: PhantomData })
    }

    fn counter(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel places both counters in the mapping, aligned, and uses them as atomics.
        unsafe { &*self.mapping.base.add(offset as usize).cast::<AtomicU32>() }
    }

    fn entry(&self) -> *mut T {
        let number = (self.own & (FRAMES - 1)) as usize;
        // SAFETY: the mapping is as long as the entries behind `desc` take.
        unsafe { self.mapping.base.add(self.offsets.desc as usize).cast::<T>().add(number) }
    }

    /// Passes an entry to the kernel. There must be room.
    #[inline]
    fn push(&mut self, entry: T) {
        // SAFETY: within the mapping, and not the kernel's until the counter is stored.
        unsafe { self.entry().write(entry) };
        self.own = self.own.wrapping_add(1);
        self.counter(self.offsets.producer).store(self.own, Ordering::Release);
    }

    /// Takes an entry that the kernel has passed.
    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.counter(self.offsets.producer).load(Ordering::Acquire) == self.own {
            return None;
        }
        // SAFETY: within the mapping, and this process's until the counter is stored.
        let entry = unsafe { self.entry().read() };
        self.own = self.own.wrapping_add(1);
        self.counter(self.offsets.consumer).store(self.own, Ordering::Release);
        Some(entry)
    }
}
