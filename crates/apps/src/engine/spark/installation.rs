//! The installed Spark: the package `pyspark` in a Python environment of its own, which includes all of
//! Spark, and a Java that runs it.

use crosstalk_core::Fault;
use crosstalk_core::need::{Need, NeedState};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The packages that this engine was built against.
const PACKAGES: &str = "pyspark==4.3.0 numpy==2.4.6";

/// The oldest Java that Spark 4 runs on.
const OLDEST_JAVA: u32 = 17;

/// The environment variable that names another Python environment.
const ENVIRONMENT: &str = "CROSSTALK_SPARK";

/// An installed Spark's programs and folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The environment's Python.
    pub python: PathBuf,
    /// Spark's folder, which contains `jars`.
    pub home: PathBuf,
    /// Java.
    pub java: PathBuf,
}

/// Finds the installed Spark.
///
/// # Errors
/// An environment fault with the command that installs what is missing.
pub fn find() -> Result<Installation, Fault> {
    let missing = |need: Need| match need.state {
        NeedState::Missing { consequence, remedy } => {
            Fault { remedy, ..Fault::environment(format!("{} is missing: {consequence}", need.what)) }
        }
        NeedState::Found { detail } => Fault::environment(detail),
    };
    let environment = environment();
    let (python, home) = pyspark(&environment).ok_or_else(|| missing(no_pyspark(&environment)))?;
    Ok(Installation { python, home, java: java().ok_or_else(|| missing(no_java()))? })
}

/// What Spark needs, found or missing.
pub fn needs() -> Vec<Need> {
    let environment = environment();
    let pyspark = match pyspark(&environment) {
        Some((_, home)) => Need::found("Spark (pyspark)", home.display().to_string()),
        None => no_pyspark(&environment),
    };
    let java = match java() {
        Some(path) => Need::found("Java", path.display().to_string()),
        None => no_java(),
    };
    vec![pyspark, java]
}

/// The versions of the installed Spark and Java; unknown ones are left out.
pub fn versions() -> Vec<(&'static str, String)> {
    let Ok(found) = find() else { return Vec::new() };
    let spark = fs::read_to_string(found.home.join("version.py")).unwrap_or_default();
    let versions = [("spark", quoted(&spark, "__version__")), ("java", java_version(&found.java))];
    versions.into_iter().filter_map(|(name, version)| Some((name, version?))).collect()
}

fn no_pyspark(environment: &Path) -> Need {
    let at = environment.display();
    Need::missing(
        "Spark (pyspark)",
        "the engine `spark` cannot run",
        format!("python3 -m venv {at} && {at}/bin/pip install {PACKAGES}"),
    )
}

fn no_java() -> Need {
    Need::missing(
        "Java 17",
        "the engine `spark` cannot run",
        "apt-get install openjdk-17-jre-headless, or set JAVA_HOME to a Java of version 17 or later",
    )
}

/// The path of the Python environment.
fn environment() -> PathBuf {
    let own = |variable: &str| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    own(ENVIRONMENT).unwrap_or_else(|| {
        let data = own("XDG_DATA_HOME").or_else(|| own("HOME").map(|home| home.join(".local/share")));
        data.unwrap_or_else(|| PathBuf::from("/var/lib")).join("crosstalk/spark")
    })
}

/// The Python of `environment`, and the folder of its pyspark.
fn pyspark(environment: &Path) -> Option<(PathBuf, PathBuf)> {
    let python = environment.join("bin/python");
    let versions = fs::read_dir(environment.join("lib")).ok()?.flatten();
    let home = versions.map(|version| version.path().join("site-packages/pyspark"));
    let home = home.into_iter().find(|home| home.join("jars").is_dir())?;
    python.exists().then_some((python, home))
}

fn java() -> Option<PathBuf> {
    let home = env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = home.into_iter().chain(env::split_paths(&path));
    folders.map(|folder| folder.join("java")).find(|java| java.is_file() && !is_older(java))
}

/// Whether a Java reports a version older than Spark needs; an unknown version is tried.
fn is_older(java: &Path) -> bool {
    let version = java_version(java);
    let first = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    first.is_some_and(|first| first < OLDEST_JAVA)
}

/// A Java's version, from the file that every one since 9 has in its home.
fn java_version(java: &Path) -> Option<String> {
    let java = fs::canonicalize(java).ok()?;
    let home = java.parent()?.parent()?;
    quoted(&fs::read_to_string(home.join("release")).ok()?, "JAVA_VERSION=")
}

/// The quoted text on the line that begins with `name`.
fn quoted(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split(['"', '\'']).nth(1)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_without_pyspark_says_how_to_make_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(pyspark(folder.path()), None);
        let NeedState::Missing { remedy: Some(remedy), .. } = no_pyspark(folder.path()).state else {
            panic!("is missing, and can be had");
        };
        assert!(remedy.contains("-m venv") && remedy.contains("pip install pyspark=="), "{remedy}");
    }

    #[test]
    fn an_environment_with_pyspark_is_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let home = folder.path().join("lib/python3.11/site-packages/pyspark");
        fs::create_dir_all(home.join("jars")).expect("makes");
        fs::create_dir(folder.path().join("bin")).expect("makes");
        fs::write(folder.path().join("bin/python"), "").expect("writes");
        assert_eq!(pyspark(folder.path()), Some((folder.path().join("bin/python"), home)));
    }

    #[test]
    fn a_java_that_is_too_old_is_passed_over() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("bin")).expect("makes");
        let java = folder.path().join("bin/java");
        fs::write(&java, "").expect("writes");
        let with = |version: &str| {
            fs::write(folder.path().join("release"), format!("JAVA_VERSION=\"{version}\"\n"))
                .expect("writes");
            is_older(&java)
        };
        assert!(with("11.0.20") && with("1.8.0_392"));
        assert!(!with("17.0.15") && !with("21"));
        fs::remove_file(folder.path().join("release")).expect("removes");
        assert!(!is_older(&java));
    }

    #[test]
    fn versions_are_read_where_spark_and_java_keep_them() {
        assert_eq!(quoted("#\n__version__: str = '4.3.0'\n", "__version__"), Some("4.3.0".into()));
        assert_eq!(
            quoted("JAVA_VERSION_DATE=\"2025-04-15\"\nJAVA_VERSION=\"17.0.15\"\n", "JAVA_VERSION="),
            Some("17.0.15".into())
        );
        assert_eq!(quoted("__version__ = none", "__version__"), None);
    }

    #[test]
    fn the_packages_are_those_that_are_tested() {
        let tested = include_str!("../../../../../tools/requirements-spark.txt");
        assert!(PACKAGES.split(' ').all(|package| tested.lines().any(|line| line == package)), "{tested}");
    }
}
