//! A client's settings, and the files that attach it to a project before it starts: the account, and the part of the client's
//! state that names the project's scheduler.
//!
//! A client that is attached while it runs loads the project's page up to five seconds later, makes its first
//! request five seconds after that, for one task, and asks for the rest another five seconds later
//! (`SCHEDULER_RPC_POLL_PERIOD`, `client/client_state.h`, 7.20). A client that starts with both files asks
//! for all at once.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::client::PASSWORD;
use crate::markup::escape;
use crate::preferences::Preferences;
use crate::project::{Attachment, PROJECT_NAME, SCHEDULER, TRANSFERS};

/// The account file: its name and its text.
pub fn account_file(project: &Attachment) -> (String, String) {
    let Attachment { url, key } = project;
    let text = format!(
        "<account>\n<master_url>{}</master_url>\n<authenticator>{}</authenticator>\n</account>\n",
        escape(url),
        escape(key)
    );
    (format!("account_{}.xml", file_name(url)), text)
}

/// The text of `client_state.xml`. A client of another version than `version` loads the project's page all
/// the same (`CLIENT_STATE::init`, `client/client_state.cpp`).
pub fn state_file(project: &Attachment, version: [u32; 3]) -> String {
    let ([major, minor, release], url) = (version, escape(&project.url));
    format!(
        "<client_state>\n<core_client_major_version>{major}</core_client_major_version>\n\
         <core_client_minor_version>{minor}</core_client_minor_version>\n\
         <core_client_release>{release}</core_client_release>\n\
         <project>\n<master_url>{url}</master_url>\n<project_name>{PROJECT_NAME}</project_name>\n\
         <scheduler_url>{url}{SCHEDULER}</scheduler_url>\n</project>\n</client_state>\n"
    )
}

/// Parses a client's version, as in `7.20.5 x86_64-pc-linux-gnu`; zeros stand for numbers that are not there.
pub fn parse_version(text: &str) -> [u32; 3] {
    let mut numbers = text.split_whitespace().next().unwrap_or_default().split('.').map(str::parse);
    [(); 3].map(|()| numbers.next().and_then(Result::ok).unwrap_or(0))
}

/// A project's address as part of a file's name (`escape_project_url`, `lib/url.cpp`).
fn file_name(url: &str) -> String {
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    let kept = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
    let name: String = place.chars().map(kept).collect();
    name.strip_suffix('_').unwrap_or(&name).to_string()
}

/// Writes the client's settings.
pub fn write_settings(folder: &Path, cores: u32, share: &Preferences, password: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let options = [
        ("ncpus", cores),
        ("no_gpus", 1),
        ("no_info_fetch", 1),
        ("skip_cpu_benchmarks", 1),
        ("dont_contact_ref_site", 1),
        ("suppress_net_info", 1),
        ("allow_multiple_clients", 1),
        ("fetch_on_update", 1),
        ("report_results_immediately", 1),
        ("max_file_xfers", TRANSFERS),
        ("max_file_xfers_per_project", TRANSFERS),
    ];
    let options: String = options.iter().map(|(name, value)| format!("<{name}>{value}</{name}>\n")).collect();
    fs::write(
        folder.join("cc_config.xml"),
        format!("<cc_config>\n<options>\n{options}</options>\n</cc_config>\n"),
    )?;
    fs::write(folder.join("global_prefs_override.xml"), share.file())?;
    write_private(&folder.join(PASSWORD), password)
}

/// Writes the files that attach a client to a project.
pub fn write_attachment(folder: &Path, project: &Attachment, version: [u32; 3]) -> io::Result<()> {
    let (account, text) = account_file(project);
    write_private(&folder.join(account), &text)?;
    fs::write(folder.join("client_state.xml"), state_file(project, version))
}

/// Writes a file that only its owner may read.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::first;
    use std::os::unix::fs::PermissionsExt;

    fn project() -> Attachment {
        Attachment { url: "http://127.0.0.1:8470/project/".into(), key: "k<y".into() }
    }

    #[test]
    fn an_account_is_named_by_its_project() {
        let (name, text) = account_file(&project());
        assert_eq!(name, "account_127.0.0.1_8470_project.xml");
        let account = first(&text, "account").expect("is one");
        let part = |name| first(account.body, name).expect("is there").text();
        assert_eq!((part("master_url"), part("authenticator")), (project().url, project().key));
    }

    #[test]
    fn a_state_says_where_the_scheduler_is() {
        let text = state_file(&project(), [7, 20, 5]);
        let state = first(&text, "client_state").expect("is one");
        let of = first(state.body, "project").expect("is there");
        assert_eq!(
            first(of.body, "scheduler_url").expect("is there").text(),
            "http://127.0.0.1:8470/project/cgi"
        );
        assert_eq!(first(state.body, "core_client_minor_version").expect("is there").value(), Some(20));
    }

    #[test]
    fn a_version_is_read_as_far_as_there_is_one() {
        for (said, is) in [
            ("7.20.5 x86_64-pc-linux-gnu\n", [7, 20, 5]),
            ("8.1\n", [8, 1, 0]),
            ("no such option", [0, 0, 0]),
            ("", [0; 3]),
        ] {
            assert_eq!(parse_version(said), is, "{said}");
        }
    }

    #[test]
    fn only_the_owner_may_read_the_password_and_the_accounts_key() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write_settings(folder.path(), 50, &Preferences::default(), "secret").expect("writes");
        let mode = fs::metadata(folder.path().join(PASSWORD)).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let config = fs::read_to_string(folder.path().join("cc_config.xml")).expect("is there");
        assert!(config.contains("<ncpus>50</ncpus>"));
        let project = Attachment { url: "http://127.0.0.1:8470/project/".into(), key: "secret".into() };
        write_attachment(folder.path(), &project, [7, 20, 5]).expect("writes");
        let account = fs::metadata(folder.path().join("account_127.0.0.1_8470_project.xml"));
        assert_eq!(account.expect("is there").permissions().mode() & 0o777, 0o600);
    }
}
