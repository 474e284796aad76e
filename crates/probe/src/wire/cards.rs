//! Network cards that are bound to drivers for DPDK, and back.

use std::path::Path;

use crosstalk_comm::dpdk;
use crosstalk_core::Fault;
use crosstalk_host::ledger::{Entry, Knob};
use crosstalk_host::pci::Device;
use crosstalk_host::{Launcher, Ledger, huge};

/// Ethernet controllers (PCI Code and ID Assignment Specification).
const ETHERNET: u32 = 0x0200;

/// Kernel drivers with which DPDK shares a card.
const SHARED: [&str; 3] = ["mlx4_core", "mlx5_core", "mana"];

/// Drivers that give programs access to a card (dpdk.org: Linux drivers).
const FOR_PROGRAMS: [&str; 3] = ["vfio-pci", "uio_pci_generic", "igb_uio"];

/// Two cards that a cable joins, while DPDK may use them. The drop binds them to their drivers again,
/// and frees the huge pages that were reserved.
pub struct NetworkCards {
    addresses: [String; 2],
    // In this order: the cards' drivers are restored before the memory is freed.
    _drivers: Vec<Entry>,
    _pages: Option<Knob>,
}

impl NetworkCards {
    /// Binds the cards at these addresses to drivers for DPDK.
    ///
    /// # Errors
    /// A usage fault where one is no card or is in use; an environment fault where there is no such
    /// driver or no room for huge pages. Then nothing has changed.
    pub fn bind(addresses: &[String; 2]) -> Result<Self, Fault> {
        let cards = [Device::find(&addresses[0])?, Device::find(&addresses[1])?];
        let targets: Vec<Option<&str>> = cards.iter().map(driver_for).collect::<Result<_, _>>()?;
        let ledger = Ledger::open(&Launcher::current())?;
        // One process has both cards, or each of two has one.
        let pages = huge::reserve(&ledger, 2 * dpdk::MEMORY)?;
        let mut drivers = Vec::new();
        for (card, driver) in cards.iter().zip(targets) {
            if let Some(driver) = driver {
                drivers.push(ledger.driver(&card.address, driver, "a card for DPDK")?);
            }
        }
        Ok(NetworkCards { addresses: addresses.clone(), _drivers: drivers, _pages: pages })
    }

    /// The PCI addresses of the cards.
    pub fn addresses(&self) -> [String; 2] {
        self.addresses.clone()
    }
}

/// The driver to bind a card to; `None` if it may keep the one it has.
fn driver_for(card: &Device) -> Result<Option<&'static str>, Fault> {
    let address = &card.address;
    if card.class >> 8 != ETHERNET {
        let found = format!(
            "expected a network card, found device {address} of class {:06x} ({})",
            card.class,
            card.kind()
        );
        return Err(Fault::usage(found)
            .of_parameter("devices")
            .remedy("crosstalk probe pcie lists the devices"));
    }
    if let Some(up) = card.interfaces().into_iter().find(|interface| interface.up) {
        let name = up.name;
        return Err(Fault::usage(format!("card {address} is in use: its interface {name} is up"))
            .of_parameter("devices")
            .remedy(format!("if nobody uses it: ip link set {name} down")));
    }
    let has = card.driver.as_deref().unwrap_or("none");
    if SHARED.contains(&has) || FOR_PROGRAMS.contains(&has) {
        return Ok(None);
    }
    let is_there = |driver: &str| Path::new("/sys/bus/pci/drivers").join(driver).exists();
    if is_there("vfio-pci") && (card.is_isolated() || unsafe_mode()) {
        return Ok(Some("vfio-pci"));
    }
    if is_there("uio_pci_generic") {
        return Ok(Some("uio_pci_generic"));
    }
    Err(Fault::environment(format!("this kernel has no driver that gives programs access to card {address}"))
        .remedy(match card.is_isolated() {
            true => "modprobe vfio-pci",
            false => {
                "without an IOMMU (intel_iommu=on on the kernel's command line): modprobe uio_pci_generic"
            }
        }))
}

/// Whether the kernel gives access to devices without an IOMMU that protects memory.
fn unsafe_mode() -> bool {
    let mode = std::fs::read_to_string("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
    mode.is_ok_and(|mode| mode.trim() == "Y")
}
