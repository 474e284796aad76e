//! Spark's output: a folder of parts, with lines of fields between tabs.

use crosstalk_core::{Fault, quoted};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Reads every line of every part in `folder`, each by `parse`.
///
/// # Errors
/// Where a part cannot be read, or `parse` refuses a line.
pub fn parse_lines<T>(folder: &Path, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, Fault> {
    let at = |path: &Path, e: io::Error| {
        Fault::environment(format!("cannot read what Spark wrote: {e}")).at(path.display().to_string())
    };
    let listed = fs::read_dir(folder).map_err(|e| at(folder, e))?.flatten();
    let parts = listed.filter(|file| file.file_name().to_string_lossy().starts_with("part-"));
    let mut all = Vec::new();
    for path in parts.map(|file| file.path()) {
        for line in BufReader::new(File::open(&path).map_err(|e| at(&path, e))?).lines() {
            let line = line.map_err(|e| at(&path, e))?;
            let parsed = parse(&line).ok_or_else(|| {
                Fault::attempt(format!("Spark wrote a line that is no answer: `{}`", quoted(&line)))
                    .at(path.display().to_string())
            })?;
            all.push(parsed);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_from_all_parts_and_from_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("writes");
        write("part-00000", "7\n");
        write("part-00001.csv", "3\n5\n");
        write("_SUCCESS", "");
        write(".part-00000.crc", "x");
        let read = || parse_lines(folder.path(), |line| line.parse::<u32>().ok());
        let mut numbers = read().expect("reads");
        numbers.sort_unstable();
        assert_eq!(numbers, [3, 5, 7]);
        write("part-00002", "seven\n");
        assert!(read().expect_err("refused").message.contains("`seven`"));
        assert!(parse_lines(&folder.path().join("x"), |_| Some(())).is_err());
    }
}
