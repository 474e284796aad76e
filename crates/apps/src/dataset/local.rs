//! Data sets that are on this machine: the directory that has them, and a file that is what the catalogue says.

use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use sha2::{Digest, Sha256};

use super::catalogue::{Catalogue, DataSet, Files};

/// The variable with the directory of the data.
pub const VARIABLE: &str = "CROSSTALK_DATA";

/// The directory of the data: that of [`VARIABLE`], else `data`.
pub fn directory() -> PathBuf {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    named.filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| "data".into())
}

/// The bundled data set of that name, whose only file has a checksum.
///
/// # Errors
/// A usage fault where it is unknown, or has several files or no checksum.
pub fn checked_set(name: &str) -> Result<DataSet, Fault> {
    let catalogue = Catalogue::bundled()?;
    let set = catalogue.find(name)?;
    match (&set.files, &set.file_sha256) {
        (Files::Whole(_), Some(_)) => Ok(set.clone()),
        _ => Err(Fault::usage(format!("data set `{name}` has no checksum of a single file"))
            .remedy("name its file instead (crosstalk data list)")),
    }
}

impl DataSet {
    /// Its file in `dir`, once its bytes were checked.
    ///
    /// # Errors
    /// A usage fault with the place and the remedy: it is not there, cannot be read, or is another file.
    pub fn checked_file(&self, dir: &Path) -> Result<PathBuf, Fault> {
        let path = dir.join(self.files.paths().next().unwrap_or_default());
        let at = |fault: Fault| {
            let get = format!("crosstalk data get {} says how to get it", self.name);
            fault.at(path.display().to_string()).remedy(format!("{get}; {VARIABLE} names its directory"))
        };
        let bytes = std::fs::read(&path)
            .map_err(|e| at(Fault::usage(format!("cannot read data set `{}`: {e}", self.name))))?;
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        match &self.file_sha256 {
            Some(expected) if found != *expected => Err(at(Fault::usage(format!(
                "this is not data set `{}`: expected SHA-256 {expected}, found {found}",
                self.name
            )))),
            _ => Ok(path),
        }
    }

    /// That its file is in the directory of the data, and is what the catalogue says.
    pub fn need(&self) -> Need {
        let what = format!("data set `{}`", self.name);
        match self.checked_file(&directory()) {
            Ok(path) => Need::found(what, path.display().to_string()),
            Err(fault) => {
                let place = fault.place.unwrap_or_default();
                Need::missing(what, format!("{place}: {}", fault.message), fault.remedy.unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `abc`, with its SHA-256 of FIPS 180-2, appendix B.1.
    fn abc() -> DataSet {
        let text = "[a]\ntitle = \"A\"\nlicence = \"L\"\nsource = \"S\"\nsize = \"3 B\"\nfile = \"a/a.txt\"\n\
            by_hand = [\"write it\"]\n\
            file_sha256 = \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"\n";
        Catalogue::parse(text, "x.toml").expect("reads").find("a").expect("is there").clone()
    }

    #[test]
    fn a_file_is_used_only_if_it_is_the_right_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a/a.txt");
        let refused = |says: &str| {
            let fault = abc().checked_file(dir.path()).expect_err("refused");
            let text = fault.to_string();
            assert!(text.contains(&path.display().to_string()), "the place: {text}");
            assert!(text.contains(says) && text.contains("crosstalk data get a"), "{text}");
        };
        refused("cannot read data set `a`");
        std::fs::create_dir(dir.path().join("a")).expect("makes");
        std::fs::write(&path, "abd").expect("writes");
        refused("this is not data set `a`: expected SHA-256 ba7816bf");
        std::fs::write(&path, "abc").expect("writes");
        assert_eq!(abc().checked_file(dir.path()), Ok(path));
    }

    #[test]
    fn only_a_set_of_one_checked_file_can_be_named() {
        assert_eq!(checked_set("movielens-2016").map(|set| set.name), Ok("movielens-2016".into()));
        let several = checked_set("movielens").expect_err("refused").to_string();
        assert!(several.contains("no checksum of a single file"), "{several}");
        let unknown = checked_set("movielens-2015").expect_err("refused").to_string();
        assert!(unknown.contains("did you mean `movielens-2016`?"), "{unknown}");
    }
}
