//! PCI Express devices, and what reading them takes: configuration space
//! (Documentation/PCI/sysfs-pci.rst), and registers that are mapped into memory.

use crosstalk_core::Fault;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const DEVICES: &str = "/sys/bus/pci/devices";

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Domain, bus, device, function: `0000:00:03.0`.
    pub address: String,
    /// Class code, 24 bits: 0x020000 is an Ethernet controller.
    pub class: u32,
    /// Vendor and device.
    pub id: (u16, u16),
    /// The driver that holds it, if one does.
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

/// Every device of this host, by address; none where there is no PCI.
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
    /// A usage fault that lists those there are.
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
        let told = |file: &str| fs::read_to_string(path.join(file)).ok();
        let hex = |file: &str| u32::from_str_radix(told(file)?.trim().trim_start_matches("0x"), 16).ok();
        let driver = fs::read_link(path.join("driver")).ok();
        Some(Device {
            address: path.file_name()?.to_str()?.to_string(),
            class: hex("class")?,
            id: (hex("vendor")? as u16, hex("device")? as u16),
            driver: driver.and_then(|link| Some(link.file_name()?.to_str()?.to_string())),
            path: path.to_path_buf(),
        })
    }

    /// What kind of device it is, as its class code says (PCI Code and ID Assignment Specification).
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
        // A virtio device stands between the two (Documentation/driver-api/virtio).
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

    /// Whether an IOMMU keeps it from memory that is not given to it.
    pub fn is_isolated(&self) -> bool {
        self.path.join("iommu_group").exists()
    }

    /// Opens its configuration space, and beside it something of the same file
    /// system that the kernel answers without the device.
    ///
    /// # Errors
    /// Where it may not be read.
    pub fn open(&self) -> Result<Configuration, Fault> {
        let open =
            |name: &str| File::open(self.path.join(name)).map_err(|e| unreadable(&self.path.join(name), &e));
        Ok(Configuration { space: open("config")?, beside: open("vendor")? })
    }

    /// Maps the first region of registers that lies in memory.
    ///
    /// # Errors
    /// Where there is none, or it may not be mapped.
    pub fn map(&self) -> Result<Registers, Fault> {
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

/// Bytes mapped of a region: the smallest that there is.
const PAGE: usize = 4096;

/// The number of the first region in `resource` (a line each: begin, end, flags) that is
/// memory (IORESOURCE_MEM, 0x200).
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

/// A device's configuration space.
#[derive(Debug)]
pub struct Configuration {
    space: File,
    beside: File,
}

impl Configuration {
    /// Reads its first four bytes, vendor and device, from the device itself.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn read(&self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.space.read_exact_at(&mut bytes, 0)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// As [`Configuration::read`], but what is read the kernel has in memory: what the
    /// system call takes by itself.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn read_beside(&self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.beside.read_exact_at(&mut bytes, 0)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

/// A device's registers in memory.
#[derive(Debug)]
pub struct Registers {
    page: *mut u32,
}

impl Registers {
    /// Reads the first register. Reading may change a device's state: it is for
    /// whoever knows the device to ask for it.
    pub fn read(&self) -> u32 {
        // SAFETY: the page is mapped for reading until the drop, and aligned.
        unsafe { self.page.read_volatile() }
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // SAFETY: mapped by `Device::map` with this size, and nothing points into it.
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
    fn configuration_space_holds_what_the_kernel_says_of_the_device() {
        for device in devices() {
            let configuration = device.open().expect("the first 64 bytes are for everybody");
            let (vendor, id) = device.id;
            assert_eq!(configuration.read().expect("reads"), u32::from(id) << 16 | u32::from(vendor));
            assert!(configuration.read_beside().is_ok());
        }
    }

    #[test]
    fn a_device_that_is_not_there_lists_those_that_are() {
        let fault = Device::find("ffff:ff:1f.7").expect_err("is not there");
        assert!(fault.remedy.is_some(), "{fault}");
    }
}
