//! PCI Express devices, and reading them: their configuration space
//! (Documentation/PCI/sysfs-pci.rst), and their registers, mapped into memory.

use crosstalk_core::Fault;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const DEVICES: &str = "/sys/bus/pci/devices";

/// A PCI device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Domain, bus, device, function: `0000:00:03.0`.
    pub address: String,
    /// Class code, 24 bits: 0x020000 is an Ethernet controller.
    pub class: u32,
    /// Vendor id and device id.
    pub id: (u16, u16),
    /// Its driver, if it has one.
    pub driver: Option<String>,
    path: PathBuf,
}

/// A network interface of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Whether it is up.
    pub up: bool,
}

/// All devices of this host, by address; none if it has no PCI.
pub fn devices() -> Vec<Device> {
    let Ok(entries) = fs::read_dir(DEVICES) else { return Vec::new() };
    let mut found: Vec<Device> = entries.flatten().filter_map(|entry| Device::at(&entry.path())).collect();
    found.sort_by(|a, b| a.address.cmp(&b.address));
    found
}

impl Device {
    /// The device of that address.
    ///
    /// # Errors
    /// A usage fault that lists the devices.
    pub fn find(address: &str) -> Result<Device, Fault> {
        let all = devices();
        if let Some(device) = all.iter().find(|device| device.address == address) {
            return Ok(device.clone());
        }
        let known: Vec<&str> = all.iter().map(|device| device.address.as_str()).collect();
        let fault = Fault::usage(format!("there is no PCI device `{address}`"));
        Err(match known[..] {
            [] => fault.remedy("this host shows none: in a container, mount /sys"),
            _ => fault.remedy(format!("one of: {}", known.join(", "))),
        })
    }

    fn at(path: &Path) -> Option<Device> {
        let read = |file: &str| fs::read_to_string(path.join(file)).ok();
        let hex = |file: &str| u32::from_str_radix(read(file)?.trim().trim_start_matches("0x"), 16).ok();
        let driver = fs::read_link(path.join("driver")).ok();
        Some(Device {
            address: path.file_name()?.to_str()?.to_string(),
            class: hex("class")?,
            id: (hex("vendor")? as u16, hex("device")? as u16),
            driver: driver.and_then(|link| Some(link.file_name()?.to_str()?.to_string())),
            path: path.to_path_buf(),
        })
    }

    /// The kind of device, by its class code (PCI Code and ID Assignment Specification).
    pub fn kind(&self) -> &'static str {
        match self.class >> 8 {
            0x0100..=0x01ff => "storage",
            0x0200..=0x02ff => "network",
            0x0300..=0x03ff => "display",
            0x0600 => "host bridge",
            0x0604 => "PCI bridge",
            0x0601..=0x0603 | 0x0605..=0x06ff => "bridge",
            0x0c03 => "USB",
            0x1200..=0x12ff => "accelerator",
            _ => "other",
        }
    }

    /// Its network interfaces in this network namespace.
    pub fn interfaces(&self) -> Vec<Interface> {
        // A virtio device is between the PCI device and the interface (Documentation/driver-api/virtio).
        let below = fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        let places = [self.path.clone()].into_iter().chain(below.filter(|path| is_virtio(path)));
        let mut found: Vec<Interface> = places
            .filter_map(|place| fs::read_dir(place.join("net")).ok())
            .flat_map(|entries| entries.flatten())
            .filter_map(|entry| {
                let flags = fs::read_to_string(entry.path().join("flags")).unwrap_or_default();
                let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).unwrap_or(0);
                let up = flags & libc::IFF_UP as u32 != 0;
                Some(Interface { name: entry.file_name().into_string().ok()?, up })
            })
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// Whether an IOMMU restricts it to memory that was assigned to it.
    pub fn is_isolated(&self) -> bool {
        self.path.join("iommu_group").exists()
    }

    /// Opens its configuration space, and a file of the same file system that the kernel
    /// answers from memory.
    ///
    /// # Errors
    /// If it may not be read.
    pub fn open_configuration(&self) -> Result<Configuration, Fault> {
        let open =
            |name: &str| File::open(self.path.join(name)).map_err(|e| unreadable(&self.path.join(name), &e));
        Ok(Configuration { space: open("config")?, cached: open("vendor")? })
    }

    /// Maps the first region of registers in memory.
    ///
    /// # Errors
    /// If there is none, or it may not be mapped.
    pub fn map_registers(&self) -> Result<Registers, Fault> {
        let resources = fs::read_to_string(self.path.join("resource")).unwrap_or_default();
        let region = first_memory_region(&resources).ok_or_else(|| {
            Fault::usage(format!("device {} has no registers in memory", self.address))
                .remedy("choose another device, or leave `mapped` out")
        })?;
        let path = self.path.join(format!("resource{region}"));
        let file = File::open(&path).map_err(|e| unreadable(&path, &e))?;
        // SAFETY: a new mapping of one page at an address of the kernel's choice
        // touches no memory that Rust knows; it is only read, by `Registers::read`.
        let page = unsafe {
            libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if page == libc::MAP_FAILED {
            return Err(unreadable(&path, &io::Error::last_os_error()));
        }
        Ok(Registers { page: page.cast() })
    }
}

fn is_virtio(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("virtio"))
}

/// Bytes that are mapped of a region: the size of the smallest one.
const PAGE: usize = 4096;

/// The number of the first memory region (IORESOURCE_MEM, 0x200) in `resource`, which has a line
/// for each region: begin, end, flags.
fn first_memory_region(resources: &str) -> Option<usize> {
    let is_memory = |line: &str| {
        let numbers: Vec<u64> = line
            .split_whitespace()
            .filter_map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
            .collect();
        matches!(numbers[..], [begin, end, flags] if flags & 0x200 != 0 && end.saturating_sub(begin) >= PAGE as u64 - 1)
    };
    resources.lines().take(6).position(is_memory)
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    let fault = Fault::environment(format!("cannot read it: {error}")).at(path.display().to_string());
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            fault.remedy("run it as root, on a kernel that is not locked down")
        }
        _ => fault,
    }
}

/// The configuration space of a PCI device.
#[derive(Debug)]
pub struct Configuration {
    space: File,
    /// A file that the kernel answers from memory.
    cached: File,
}

impl Configuration {
    /// Reads its first four bytes, vendor and device, from the device itself.
    ///
    /// # Errors
    /// Those of pread(2).
    pub fn read(&self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.space.read_exact_at(&mut bytes, 0)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Makes the same system call for bytes that the kernel has in memory: it takes the time of the call
    /// alone.
    ///
    /// # Errors
    /// Those of pread(2).
    pub fn read_cached(&self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.cached.read_exact_at(&mut bytes, 0)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

/// The registers of a PCI device, mapped into memory.
#[derive(Debug)]
pub struct Registers {
    page: *mut u32,
}

impl Registers {
    /// Reads the first register. Reading may change the state of a device, so the caller must
    /// know it.
    pub fn read(&self) -> u32 {
        // SAFETY: the page is mapped for reading until the drop, and aligned.
        unsafe { self.page.read_volatile() }
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // SAFETY: mapped by `Device::map_registers` with this size, and nothing points into it.
        unsafe { libc::munmap(self.page.cast(), PAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_of_memory_is_found_among_ports_and_gaps() {
        let text = "0x0000000000001000 0x000000000000103f 0x0000000000040101\n\
                    0x0000000000000000 0x0000000000000000 0x0000000000000000\n\
                    0x00000000febd1000 0x00000000febd1fff 0x0000000000040200\n";
        assert_eq!(first_memory_region(text), Some(2));
        assert_eq!(first_memory_region(""), None);
        assert_eq!(first_memory_region("nonsense\n"), None);
        // All of memory, and an end before the begin.
        assert_eq!(first_memory_region("0x0 0xffffffffffffffff 0x200\n"), Some(0));
        assert_eq!(first_memory_region("0xffffffffffffffff 0x0 0x200\n"), None);
    }

    #[test]
    fn configuration_space_begins_with_vendor_and_device() {
        for device in devices() {
            let configuration = device.open_configuration().expect("the first 64 bytes are for everybody");
            let (vendor, id) = device.id;
            assert_eq!(configuration.read().expect("reads"), u32::from(id) << 16 | u32::from(vendor));
            assert!(configuration.read_cached().is_ok());
        }
    }

    #[test]
    fn the_fault_of_an_unknown_device_has_a_remedy() {
        let fault = Device::find("ffff:ff:1f.7").expect_err("is not there");
        assert!(fault.remedy.is_some(), "{fault}");
    }
}
