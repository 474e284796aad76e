//! A device's driver (Documentation/ABI/testing/sysfs-bus-pci): which one had it is written
//! down, and it is given back.

use crosstalk_core::Fault;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Where the kernel shows the bus.
const BUS: &str = "/sys/bus/pci";

fn device(address: &str) -> PathBuf {
    Path::new(BUS).join("devices").join(address)
}

fn refused(path: &Path, what: &str, e: &io::Error) -> Fault {
    Fault::environment(format!("{what}: {e}")).at(path.display().to_string())
}

/// The driver that has the device, and the one that it is told to have whatever fits it.
pub(super) fn held(address: &str) -> (Option<String>, Option<String>) {
    let link = fs::read_link(device(address).join("driver")).ok();
    let driver = link.and_then(|link| Some(link.file_name()?.to_str()?.to_string()));
    let told = fs::read_to_string(device(address).join("driver_override")).ok();
    let told = told.map(|told| told.trim().to_string());
    (driver, told.filter(|told| !told.is_empty() && told != "(null)"))
}

/// Takes the device from whichever driver has it, and gives it to `driver`; to none where
/// that is `None`. Its override is `told` afterwards.
///
/// # Errors
/// What the kernel refuses, or that it has not done so in time.
pub(super) fn give(
    address: &str,
    driver: Option<&str>,
    told: Option<&str>,
    deadline: Duration,
) -> Result<(), Fault> {
    let path = device(address);
    if !path.exists() {
        // It was unplugged: nobody has it.
        return Ok(());
    }
    let is = |wanted: Option<&str>| held(address).0.as_deref() == wanted;
    if !is(driver) {
        if held(address).0.is_some() {
            let file = path.join("driver/unbind");
            fs::write(&file, address).map_err(|e| refused(&file, "cannot take the device away", &e))?;
        }
        let file = path.join("driver_override");
        if let Some(driver) = driver {
            fs::write(&file, driver).map_err(|e| refused(&file, "cannot choose a driver", &e))?;
            let file = Path::new(BUS).join("drivers_probe");
            fs::write(&file, address).map_err(|e| refused(&file, "cannot give the device over", &e))?;
        }
    }
    let file = path.join("driver_override");
    let line = format!("{}\n", told.unwrap_or_default());
    fs::write(&file, line).map_err(|e| refused(&file, "cannot put back what was chosen", &e))?;
    let until = Instant::now() + deadline;
    while !is(driver) {
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
    fn a_device_that_is_gone_is_nobody_s() {
        assert_eq!(held("ffff:ff:1f.7"), (None, None));
        assert_eq!(give("ffff:ff:1f.7", Some("x"), None, Duration::ZERO), Ok(()));
    }
}
