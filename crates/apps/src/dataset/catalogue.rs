//! The catalogue of data sets: one TOML file.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::units::Bytes;
use serde::Deserialize;

/// The catalogue that the program carries.
const BUNDLED: &str = include_str!("../../../../datasets/datasets.toml");

/// The catalogue of data sets, by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue(BTreeMap<String, DataSet>);

/// One data set of real data: its files, licence and where it is published.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSet {
    /// Its name in the catalogue.
    pub name: String,
    /// What it holds.
    pub title: String,
    /// On which terms it may be used.
    pub licence: String,
    /// Who publishes it, and on which page.
    pub source: String,
    /// Size of the published file; only about so much where it is got by hand.
    pub size: Bytes,
    /// Its files below the data directory.
    pub files: Files,
    /// SHA-256 of its only file, in lower-case hexadecimal digits, where that is on record.
    pub file_sha256: Option<String>,
    /// How to get it.
    pub supply: Supply,
}

/// The files of a data set: where each goes below the data directory, and from which archive it
/// comes.
#[derive(Debug, Clone, PartialEq)]
pub enum Files {
    /// As it is.
    Whole(String),
    /// Members of a zip archive: name in the archive → path.
    Members(BTreeMap<String, String>),
}

/// How a data set is obtained: by a download, or by hand.
#[derive(Debug, Clone, PartialEq)]
pub enum Supply {
    /// From this address; its bytes have this SHA-256, in lower-case hexadecimal digits.
    Download {
        /// `https://…`, or `http://…` on this machine.
        url: String,
        /// 64 digits.
        sha256: String,
    },
    /// By its user, in these steps.
    ByHand(Vec<String>),
}

/// An entry as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    title: String,
    licence: String,
    source: String,
    size: String,
    file: Option<String>,
    members: Option<BTreeMap<String, String>>,
    url: Option<String>,
    sha256: Option<String>,
    file_sha256: Option<String>,
    by_hand: Option<Vec<String>>,
}

impl Catalogue {
    /// The one that the program carries.
    ///
    /// # Errors
    /// None in a program that was tested: it is read as any other.
    pub fn bundled() -> Result<Self, Fault> {
        Self::parse(BUNDLED, "datasets/datasets.toml")
    }

    /// Reads a catalogue; `place` names it in faults.
    ///
    /// # Errors
    /// A usage fault where it is not one.
    pub fn parse(text: &str, place: &str) -> Result<Self, Fault> {
        let entries: BTreeMap<String, Entry> = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(1, |span| text[..span.start].lines().count().max(1));
            Fault::usage(format!("expected a catalogue of data sets: {}", e.message()))
                .at(format!("{place}:{line}"))
                .remedy("write it as `datasets/datasets.toml` is written")
        })?;
        let read = |(name, entry): (String, Entry)| {
            let set = DataSet::read(&name, entry).map_err(|fault| fault.at(format!("{place}: {name}")))?;
            Ok((name, set))
        };
        entries.into_iter().map(read).collect::<Result<_, Fault>>().map(Catalogue)
    }

    /// All data sets, by name.
    pub fn all(&self) -> impl Iterator<Item = &DataSet> {
        self.0.values()
    }

    /// The data set of that name.
    ///
    /// # Errors
    /// A usage fault that names the nearest.
    pub fn find(&self, name: &str) -> Result<&DataSet, Fault> {
        self.0.get(name).ok_or_else(|| unknown("data set", name, self.0.keys().map(String::as_str)))
    }
}

impl DataSet {
    fn read(name: &str, entry: Entry) -> Result<Self, Fault> {
        let supply = match (entry.url, entry.sha256, entry.by_hand) {
            (Some(url), Some(sha256), None) => Supply::download(url, sha256)?,
            (None, None, Some(steps)) if !steps.is_empty() => Supply::ByHand(steps),
            _ => return Err(Fault::usage("expected url and sha256, or by_hand alone")),
        };
        let files = match (entry.file, entry.members) {
            (Some(path), None) => Files::Whole(path),
            (None, Some(members)) if !members.is_empty() => Files::Members(members),
            _ => return Err(Fault::usage("expected file, or members alone")),
        };
        if let Some(digits) = &entry.file_sha256 {
            check_digits(digits)?;
            if matches!(files, Files::Members(_)) {
                return Err(Fault::usage("file_sha256 is of `file`, not of members"));
            }
        }
        if let Some(path) = files.paths().find(|path| !is_below(path)) {
            return Err(Fault::usage(format!("expected a path below the data directory, found `{path}`")));
        }
        let size =
            entry.size.parse().map_err(|fault: Fault| Fault::usage(format!("size: {}", fault.message)))?;
        let (title, licence, source) = (entry.title, entry.licence, entry.source);
        let file_sha256 = entry.file_sha256;
        Ok(DataSet { name: name.into(), title, licence, source, size, files, file_sha256, supply })
    }

    /// Whether all its files are in `dir`; one with a checksum is read and checked, for another set may have that name.
    pub fn is_complete_in(&self, dir: &Path) -> bool {
        match self.file_sha256 {
            Some(_) => self.checked_file(dir).is_ok(),
            None => self.files.paths().all(|path| dir.join(path).is_file()),
        }
    }
}

impl Files {
    /// The paths below the data directory.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (whole, members) = match self {
            Files::Whole(path) => (Some(path), None),
            Files::Members(members) => (None, Some(members.values())),
        };
        whole.into_iter().chain(members.into_iter().flatten()).map(String::as_str)
    }
}

impl Supply {
    fn download(url: String, sha256: String) -> Result<Self, Fault> {
        let here = ["http://127.0.0.1:", "http://[::1]:"];
        if !url.starts_with("https://") && !here.iter().any(|begin| url.starts_with(begin)) {
            return Err(Fault::usage(format!(
                "expected an address that begins with https://, found `{url}`"
            )));
        }
        check_digits(&sha256)?;
        Ok(Supply::Download { url, sha256 })
    }
}

/// Refuses what is no SHA-256 in lower-case hexadecimal digits.
fn check_digits(sha256: &str) -> Result<(), Fault> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if sha256.len() == 64 && sha256.bytes().all(is_digit) {
        return Ok(());
    }
    Err(Fault::usage(format!("expected a SHA-256 of 64 digits, found `{sha256}`")))
}

/// Whether a path leads nowhere but below the directory that it is joined to.
fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &str = "[a]\ntitle = \"A\"\nlicence = \"L\"\nsource = \"S\"\nsize = \"3 B\"\nfile = \"a/a.txt\"\n\
        url = \"https://example.org/a\"\nsha256 = \"";

    fn set(digits: &str) -> String {
        format!("{SET}{digits}\"\n")
    }

    #[test]
    fn the_bundled_catalogue_names_a_source_and_a_licence_for_each() {
        let catalogue = Catalogue::bundled().expect("reads");
        assert!(catalogue.all().count() >= 4);
        for set in catalogue.all() {
            assert!(set.source.contains("https://") && !set.licence.is_empty(), "{}", set.name);
        }
        let fault = catalogue.find("movielense").expect_err("unknown");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("movielens")));
    }

    #[test]
    fn an_entry_is_read() {
        let catalogue = Catalogue::parse(&set(&"0a".repeat(32)), "x.toml").expect("reads");
        let a = catalogue.find("a").expect("is there");
        assert_eq!((a.size, &a.files), (Bytes(3), &Files::Whole("a/a.txt".into())));
        let dir = tempfile::tempdir().expect("a directory");
        assert!(!a.is_complete_in(dir.path()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let good = set(&"0a".repeat(32));
        for (text, words) in [
            (set("0a"), "64 digits"),
            (set(&"0A".repeat(32)), "64 digits"),
            (good.replace("https://", "http://"), "https://"),
            (good.replace("a/a.txt", "../a.txt"), "below the data directory"),
            (good.replace("a/a.txt", "/a.txt"), "below the data directory"),
            (good.replace("3 B", "some"), "size"),
            (good.clone() + "by_hand = [\"x\"]\n", "by_hand alone"),
            (good.replace("file =", "files ="), "unknown field"),
            (good.clone() + "file_sha256 = \"0a\"\n", "64 digits"),
            (good.replace("title = \"A\"\n", ""), "title"),
        ] {
            let fault = Catalogue::parse(&text, "x.toml").expect_err(words);
            assert!(fault.to_string().contains("x.toml"), "{fault}");
            assert!(fault.to_string().contains(words), "{fault}");
        }
    }
}
