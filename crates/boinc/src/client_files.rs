//! The files that attach a client to a project before it starts: the account, and the part of the client's
//! state that names the project's scheduler.
//!
//! A client that is attached while it runs loads the project's page up to five seconds later, makes its first
//! request five seconds after that, for one task, and asks for the rest another five seconds later
//! (`SCHEDULER_RPC_POLL_PERIOD`, `client/client_state.h`, 7.20). A client that starts with both files asks
//! for all at once.

use crate::client::markup::escape;

use super::project::{Attachment, NAME, SCHEDULER};

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
         <project>\n<master_url>{url}</master_url>\n<project_name>{NAME}</project_name>\n\
         <scheduler_url>{url}{SCHEDULER}</scheduler_url>\n</project>\n</client_state>\n"
    )
}

/// Parses a client's version, as in `7.20.5 x86_64-pc-linux-gnu`; zeros stand for numbers that are not there.
pub fn version(text: &str) -> [u32; 3] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::markup::first;

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
            assert_eq!(version(said), is, "{said}");
        }
    }
}
