//! The network namespace of an endpoint.

use std::fs::File;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_host::namespace;

/// Enters the network namespace of an endpoint.
///
/// # Errors
/// Where its file cannot be opened, or the kernel refuses.
pub fn enter(place: &Path) -> Result<(), Fault> {
    let file =
        File::open(place).map_err(|e| Fault::environment(e.to_string()).at(place.display().to_string()))?;
    namespace::join(&file)
}
