//! A project that a client knows when it starts, as one that has been there before: its account, and
//! the part of the client's state that says where the project's scheduler is.
//!
//! A client that is told of a project only once it runs looks for the project's page up to five seconds
//! later, asks the scheduler who it is and for one task five seconds after that, and for the rest five
//! seconds later still (`SCHEDULER_RPC_POLL_PERIOD`, `client/client_state.h`, 7.20). One that knows both asks
//! for all at once.

use crate::client::markup::escape;

use super::project::{Attachment, NAME, SCHEDULER};

/// The account: the file's name, and what it says.
pub fn account_file(project: &Attachment) -> (String, String) {
    let Attachment { url, key } = project;
    let text = format!(
        "<account>\n<master_url>{}</master_url>\n<authenticator>{}</authenticator>\n</account>\n",
        escape(url),
        escape(key)
    );
    (format!("account_{}.xml", readable(url)), text)
}

/// What `client_state.xml` says of it. A client of another version than `version` looks for the project's
/// page all the same (`CLIENT_STATE::init`, `client/client_state.cpp`).
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

/// The version that a client says it has: `7.20.5 x86_64-pc-linux-gnu`; zeros where it says nothing of
/// the kind.
pub fn version(said: &str) -> [u32; 3] {
    let mut numbers = said.split_whitespace().next().unwrap_or_default().split('.').map(str::parse);
    [(); 3].map(|()| numbers.next().and_then(Result::ok).unwrap_or(0))
}

/// A project's address as part of a file's name (`escape_project_url`, `lib/url.cpp`).
fn readable(url: &str) -> String {
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
