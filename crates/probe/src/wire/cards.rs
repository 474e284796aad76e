//! Network cards, taken from the kernel's drivers for DPDK, and given back.

use std::path::Path;

use crosstalk_comm::dpdk;
use crosstalk_core::Fault;
use crosstalk_host::ledger::{Entry, Knob};
use crosstalk_host::pci::Device;
use crosstalk_host::{Launcher, Ledger, huge};

/// Ethernet controllers (PCI Code and ID Assignment Specification).
const ETHERNET: u32 = 0x0200;

/// Drivers in the kernel beside which DPDK works, without the card being taken from them.
const SHARED: [&str; 3] = ["mlx4_core", "mlx5_core", "mana"];

/// Drivers that hand a card over to programs (dpdk.org: Linux drivers).
const FOR_PROGRAMS: [&str; 3] = ["vfio-pci", "uio_pci_generic", "igb_uio"];

/// Two cards that a cable joins, while DPDK may use them. With the drop they go back, and so do
/// the huge pages that were made for them.
pub struct Cards {
    addresses: [String; 2],
    // In this order: whoever has memory for a card goes before the memory does.
    _given: Vec<Entry>,
    _pages: Option<Knob>,
}

impl Cards {
    /// Takes the cards at these addresses.
    ///
    /// # Errors
    /// A usage fault where one is no card or is in use, an environment fault where there is no
    /// driver for programs or no room for huge pages. Then all is as it was.
    pub fn take(addresses: &[String; 2]) -> Result<Self, Fault> {
        let cards = [Device::find(&addresses[0])?, Device::find(&addresses[1])?];
        let wanted: Vec<Option<&str>> = cards.iter().map(wanted).collect::<Result<_, _>>()?;
        let ledger = Ledger::open(&Launcher::current())?;
        // One process may have both, or each of two has its own.
        let pages = huge::reserve(&ledger, 2 * dpdk::MEMORY)?;
        let mut given = Vec::new();
        for (card, driver) in cards.iter().zip(wanted) {
            if let Some(driver) = driver {
                given.push(ledger.driver(&card.address, driver, "a card for DPDK")?);
            }
        }
        Ok(Cards { addresses: addresses.clone(), _given: given, _pages: pages })
    }

    /// Where they are.
    pub fn addresses(&self) -> [String; 2] {
        self.addresses.clone()
    }
}

/// The driver that a card is to be given to; none where it may stay with the one it has.
fn wanted(card: &Device) -> Result<Option<&'static str>, Fault> {
    let address = &card.address;
    if card.class >> 8 != ETHERNET {
        let found =
            format!("device {address} is no network card but of class {:06x} ({})", card.class, card.kind());
        return Err(Fault::usage(found)
            .of_parameter("devices")
            .remedy("crosstalk probe pcie lists the devices"));
    }
    if let Some(up) = card.interfaces().into_iter().find(|interface| interface.up) {
        let name = up.name;
        return Err(Fault::usage(format!("card {address} is in use: its interface {name} is up"))
            .of_parameter("devices")
            .remedy(format!("if nobody needs it: ip link set {name} down")));
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
    Err(Fault::environment(format!("no driver is there that hands card {address} over to programs")).remedy(
        match card.is_isolated() {
            true => "modprobe vfio-pci",
            false => {
                "without an IOMMU (intel_iommu=on on the kernel's command line): modprobe uio_pci_generic"
            }
        },
    ))
}

/// Whether the kernel was told to hand devices over that no IOMMU keeps from others' memory.
fn unsafe_mode() -> bool {
    let told = std::fs::read_to_string("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
    told.is_ok_and(|told| told.trim() == "Y")
}
