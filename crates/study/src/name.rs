//! Names that become names of files.

use crosstalk_core::{Fault, quoted};

/// A file's name without folders and extension.
pub(crate) fn stem(place: &str) -> &str {
    let file = place.rsplit('/').next().unwrap_or(place);
    file.strip_suffix(".toml").unwrap_or(file)
}

/// Refuses a name with slashes or control characters: files and directories have this name.
pub(crate) fn file_name(what: &str, name: &str) -> Result<(), Fault> {
    if name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        return Err(Fault::usage(format!(
            "expected a {what}'s name without slashes, found `{}`",
            quoted(name)
        )));
    }
    Ok(())
}
