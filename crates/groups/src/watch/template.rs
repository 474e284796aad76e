//! The name of a group in a rule: a name, or one with the placeholders `{user}`, `{uid}` and `{session}`.

use crosstalk_core::{Fault, quoted};
use serde::{Deserialize, Serialize};

use crate::name::GroupName;

/// What of a program's starter a name may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starter<'a> {
    /// The user's number.
    pub uid: u32,
    /// The user's name, if `/etc/passwd` has one.
    pub user: Option<&'a str>,
    /// The login session's id, if it is in one.
    pub session: Option<&'a str>,
}

/// The name of a group, with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(String);

const PLACEHOLDERS: [&str; 3] = ["{user}", "{uid}", "{session}"];
/// What the part of a user without a plain name begins with.
const NUMBERED: &str = "uid-";

impl Template {
    /// Reads a name.
    ///
    /// # Errors
    /// A usage fault if it is no name of a group, or has an unknown placeholder.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let plain = PLACEHOLDERS.iter().fold(text.to_string(), |text, one| text.replace(one, "1"));
        if plain.contains(['{', '}']) {
            return Err(Fault::usage(format!("unknown placeholder in `{}`", quoted(text)))
                .remedy(format!("use one of {}", PLACEHOLDERS.join(", "))));
        }
        plain.parse::<GroupName>()?;
        Ok(Template(text.into()))
    }

    /// Whether each user or session has a group of its own by this name.
    pub fn is_personal(&self) -> bool {
        PLACEHOLDERS.iter().any(|placeholder| self.0.contains(placeholder))
    }

    /// Whether it says the session.
    pub fn needs_session(&self) -> bool {
        self.0.contains("{session}")
    }

    /// The name, if it is the same for all.
    pub fn fixed(&self) -> Option<GroupName> {
        if self.is_personal() { None } else { self.0.parse().ok() }
    }

    /// The groups that the named one stands in, as far as they are the same for all: the innermost.
    pub fn fixed_parent(&self) -> Option<GroupName> {
        let end = self.0.find('{').unwrap_or(self.0.len());
        self.0[..end].rsplit_once('/').and_then(|(parent, _)| parent.parse().ok())
    }

    /// A group by this name that nobody gets: root's.
    pub fn example(&self) -> Option<GroupName> {
        self.name(&Starter { uid: 0, user: None, session: Some("0") })
    }

    /// The group of a starter. `None` without a session where the name says it, or if the name becomes too long.
    pub fn name(&self, starter: &Starter<'_>) -> Option<GroupName> {
        let mut text = self.0.replace("{uid}", &starter.uid.to_string());
        if text.contains("{user}") {
            text = text.replace("{user}", &user_part(starter));
        }
        if self.needs_session() {
            text = text.replace("{session}", starter.session?);
        }
        text.parse().ok()
    }
}

/// The user's name, if it may be a part of a group's name; else `uid-` and the number, which no plain name is taken
/// for.
pub fn user_part(starter: &Starter<'_>) -> String {
    let plain =
        |name: &&str| !name.contains('/') && name.parse::<GroupName>().is_ok() && !name.starts_with(NUMBERED);
    match starter.user.filter(plain) {
        Some(name) => name.into(),
        None => format!("{NUMBERED}{}", starter.uid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(template: &str, user: Option<&str>, session: Option<&str>) -> Option<String> {
        let template = Template::parse(template).expect("is a name");
        template.name(&Starter { uid: 1000, user, session }).map(|name| name.to_string())
    }

    #[test]
    fn placeholders_are_replaced() {
        assert_eq!(named("lab", Some("alice"), None).as_deref(), Some("lab"));
        assert_eq!(named("lab/{user}", Some("alice"), None).as_deref(), Some("lab/alice"));
        assert_eq!(named("u{uid}", None, None).as_deref(), Some("u1000"));
        assert_eq!(named("s-{session}", None, Some("c2")).as_deref(), Some("s-c2"));
        assert_eq!(named("s-{session}", None, None), None);
        let template = |text| Template::parse(text).expect("is a name");
        assert_eq!(template("lab/{user}").fixed_parent(), "lab".parse().ok());
        assert_eq!(template("a/b{uid}/c").fixed_parent(), "a".parse().ok());
        assert_eq!((template("{user}").fixed_parent(), template("lab").fixed()), (None, "lab".parse().ok()));
    }

    #[test]
    fn a_user_with_an_odd_name_has_the_number() {
        for odd in ["DOM\\alice", "a b", "../x", "müller", "", "a/b", "-x", "uid-7", "a\n", "$"] {
            assert_eq!(named("{user}", Some(odd), None).as_deref(), Some("uid-1000"), "{odd:?}");
        }
        assert_eq!(named("{user}", None, None).as_deref(), Some("uid-1000"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "{group}", "lab/{", "../{user}", "a b", "{user}/"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
        let fault = Template::parse("{name}").expect_err("is unknown");
        assert!(fault.remedy.is_some_and(|said| said.contains("{user}, {uid}, {session}")));
    }

    proptest! {
        #[test]
        fn two_users_have_two_groups(one in "\\PC{0,9}|uid-[0-9]{1,2}|[a-z]{1,2}", other in "\\PC{0,9}|[a-z]{1,2}") {
            prop_assume!(one != other);
            let part = |uid, name| user_part(&Starter { uid, user: Some(name), session: None });
            prop_assert_ne!(part(1, &one), part(2, &other));
        }
    }
}
