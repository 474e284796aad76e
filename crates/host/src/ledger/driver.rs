//! The driver of a PCI device (Documentation/ABI/testing/sysfs-bus-pci): reading it, and binding
//! the device to another one.

use crosstalk_core::Fault;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The folder of the bus in sysfs.
const BUS: &str = "/sys/bus/pci";

fn device(address: &str) -> PathBuf {
    Path::new(BUS).join("devices").join(address)
}

fn refused(path: &Path, what: &str, e: &io::Error) -> Fault {
    Fault::environment(format!("{what}: {e}")).at(path.display().to_string())
}

/// The device's driver, and its driver override.
pub(super) fn current(address: &str) -> (Option<String>, Option<String>) {
    let link = fs::read_link(device(address).join("driver")).ok();
    let driver = link.and_then(|link| Some(link.file_name()?.to_str()?.to_string()));
    let driver_override = fs::read_to_string(device(address).join("driver_override")).ok();
    let driver_override = driver_override.map(|text| text.trim().to_string());
    (driver, driver_override.filter(|text| !text.is_empty() && text != "(null)"))
}

/// Binds the device to `driver` and to no other; `None`: to no driver at all. Then sets its driver
/// override.
///
/// # Errors
/// If the kernel refuses, or has not bound it within `deadline`.
pub(super) fn bind(
    address: &str,
    driver: Option<&str>,
    driver_override: Option<&str>,
    deadline: Duration,
) -> Result<(), Fault> {
    let path = device(address);
    if !path.exists() {
        // It was unplugged.
        return Ok(());
    }
    let has_driver = |wanted: Option<&str>| current(address).0.as_deref() == wanted;
    if !has_driver(driver) {
        if current(address).0.is_some() {
            let file = path.join("driver/unbind");
            fs::write(&file, address).map_err(|e| refused(&file, "cannot unbind the device", &e))?;
        }
        let file = path.join("driver_override");
        if let Some(driver) = driver {
            fs::write(&file, driver).map_err(|e| refused(&file, "cannot choose a driver", &e))?;
            let file = Path::new(BUS).join("drivers_probe");
            fs::write(&file, address).map_err(|e| refused(&file, "cannot bind the device", &e))?;
        }
    }
    let file = path.join("driver_override");
    let line = format!("{}\n", driver_override.unwrap_or_default());
    fs::write(&file, line).map_err(|e| refused(&file, "cannot restore the driver override", &e))?;
    let until = Instant::now() + deadline;
    while !has_driver(driver) {
        if Instant::now() >= until {
            return Err(Fault::environment(match driver {
                Some(driver) => format!("the driver {driver} does not take device {address}"),
                None => format!("device {address} keeps its driver"),
            }));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_does_not_exist_has_no_driver() {
        assert_eq!(current("ffff:ff:1f.7"), (None, None));
        assert_eq!(bind("ffff:ff:1f.7", Some("x"), None, Duration::ZERO), Ok(()));
    }
}
