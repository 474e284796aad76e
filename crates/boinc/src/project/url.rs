//! The address at which hosts find a project.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use crosstalk_core::Fault;

/// The path below which everything of a project is.
pub const ROOT: &str = "/project/";
/// The path of the scheduler, below the project's address.
pub const SCHEDULER: &str = "cgi";

/// A project's address as clients accept it, with a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url(String);

impl Url {
    /// That of a project which listens there.
    ///
    /// # Errors
    /// A usage fault where it listens at every address.
    pub fn of_listener(listen: SocketAddr) -> Result<Self, Fault> {
        if listen.ip().is_unspecified() {
            return Err(Fault::usage("a project that listens at every address has none for hosts")
                .at("--listen")
                .remedy(match listen.port() {
                    0 => format!("name a port, and add for example --url http://my.host:8470{ROOT}"),
                    port => format!("add for example --url http://my.host:{port}{ROOT}"),
                }));
        }
        Ok(Url(format!("http://{listen}{ROOT}")))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Url {
    type Err = Fault;

    fn from_str(url: &str) -> Result<Self, Fault> {
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
        let sound = rest.split('/').next().is_some_and(|host| host.contains('.'))
            && !url.contains(|c: char| c.is_whitespace() || c.is_control() || "<>&\"".contains(c));
        if !sound || !url.ends_with(ROOT) {
            return Err(Fault::usage(format!("expected an address that BOINC takes, found `{url}`"))
                .at("--url")
                .remedy(format!(
                    "write for example http://my.host:8470{ROOT}: a dot in the host, and {ROOT} at the end"
                )));
        }
        Ok(Url(url.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_s_address_is_the_one_where_it_listens() {
        let url = |listen: [u8; 4]| Url::of_listener((listen, 8470).into());
        assert_eq!(
            url([127, 0, 0, 1]).map(|url| url.to_string()),
            Ok("http://127.0.0.1:8470/project/".into())
        );
        let fault = url([0, 0, 0, 0]).expect_err("is everywhere");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("--url http://my.host:8470/project/")));
    }

    #[test]
    fn what_a_client_does_not_take_is_refused() {
        for fine in ["http://my.host:8470/project/", "https://a.b/x/project/"] {
            assert_eq!(fine.parse::<Url>().map(|url| url.to_string()), Ok(fine.into()));
        }
        for bad in [
            "",
            "my.host/project/",
            "http://localhost:8470/project/",
            "http://my.host:8470/project",
            "http://my.host:8470/",
            "http://my.host/<b>/project/",
            "http://my.host/ /project/",
            "ftp://my.host/project/",
        ] {
            assert_eq!(bad.parse::<Url>().expect_err("refused").place.as_deref(), Some("--url"), "{bad}");
        }
    }
}
