//! The disk that a folder's files are on.
//!
//! Source: `Documentation/ABI/testing/sysfs-block` (a partition's folder has a file `partition`).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crosstalk_core::Fault;

/// The major and minor number of the disk that holds `folder`: the whole disk's, if that is on a partition.
///
/// # Errors
/// If the folder is on no disk of this host (tmpfs, overlay, network).
pub fn disk_of(folder: &Path) -> Result<(u32, u32), Fault> {
    let at = || folder.display().to_string();
    let found = fs::metadata(folder).map_err(|e| Fault::environment(e.to_string()).at(at()))?;
    let (major, minor) = (libc::major(found.dev()), libc::minor(found.dev()));
    let device = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    let none = || {
        Fault::environment("expected a folder on a disk, found one that is on no disk of this host")
            .at(at())
            .remedy("set TMPDIR to a folder on a disk (not tmpfs, overlay or a network)")
    };
    let device = fs::canonicalize(device).map_err(|_| none())?;
    let disk = if device.join("partition").exists() { device.parent().ok_or_else(none)? } else { &device };
    let numbers = fs::read_to_string(disk.join("dev")).map_err(|_| none())?;
    let (major, minor) = numbers.trim().split_once(':').ok_or_else(none)?;
    Ok((major.parse().map_err(|_| none())?, minor.parse().map_err(|_| none())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_on_no_disk_is_refused_with_a_remedy() {
        let fault = disk_of(Path::new("/proc")).expect_err("is on no disk");
        assert!(fault.remedy.is_some_and(|said| said.contains("TMPDIR")));
        assert!(disk_of(Path::new("/there/is/none")).is_err());
    }

    #[test]
    fn a_disk_is_no_partition() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        match disk_of(folder.path()) {
            Ok((major, minor)) => {
                let device = format!("/sys/dev/block/{major}:{minor}");
                assert!(!Path::new(&device).join("partition").exists(), "{device}");
                assert!(Path::new(&device).join("queue").exists(), "a whole disk has a queue");
            }
            Err(fault) => println!("skipped: {fault}"),
        }
    }
}
