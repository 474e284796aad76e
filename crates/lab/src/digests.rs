//! Digests of the files that say what a run measures. They show whether a file has changed since
//! the run began: samples of two studies must not be in one journal.

use std::collections::BTreeMap;

use crosstalk_core::Fault;

use crate::rundir::RunDir;

/// File name → digest.
pub type Digests = BTreeMap<String, String>;

/// The digests of these files of a run's directory.
///
/// # Errors
/// If a file cannot be read.
pub fn digests_of<'a>(dir: &RunDir, names: impl IntoIterator<Item = &'a str>) -> Result<Digests, Fault> {
    names.into_iter().map(|name| Ok((name.to_string(), digest(&dir.read_bytes(name)?)))).collect()
}

/// Checks that the files still have these digests.
///
/// # Errors
/// A usage fault that names a file that has changed or is missing.
pub fn check_unchanged(dir: &RunDir, digests: &Digests) -> Result<(), Fault> {
    for (name, expected) in digests {
        let path = dir.path().join(name);
        if digest(&dir.read_bytes(name)?) != *expected {
            return Err(Fault::usage(
                "the file is not what it was when the run began: samples of two studies must not be mixed",
            )
            .at(path.display().to_string())
            .remedy("put it back as it was, or begin a new run with the changed study"));
        }
    }
    Ok(())
}

/// FNV-1a, 64 bit (draft-eastlake-fnv): against mistakes, not against malice.
fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_digest_is_fnv_1a() {
        // The draft's test vectors.
        assert_eq!(digest(b""), "cbf29ce484222325");
        assert_eq!(digest(b"foobar"), "85944171f73967e8");
    }

    #[test]
    fn a_file_that_changed_or_is_missing_is_refused() {
        let root = tempfile::tempdir().expect("a directory");
        let dir = RunDir::create(&root.path().join("run")).expect("made");
        dir.write("study.toml", "a = 1").expect("writes");
        let digests = digests_of(&dir, ["study.toml"]).expect("reads");
        check_unchanged(&dir, &digests).expect("as it was");
        dir.write("study.toml", "a = 2").expect("writes");
        let fault = check_unchanged(&dir, &digests).expect_err("changed");
        assert!(fault.place.is_some_and(|p| p.ends_with("run/study.toml")));
        fs::remove_file(dir.path().join("study.toml")).expect("removes");
        check_unchanged(&dir, &digests).expect_err("gone");
    }
}
