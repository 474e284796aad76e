//! Errors that a person can act on: what is wrong, where, what was expected, what to do.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::quote::{in_line, plain};

/// Who can do something about a fault. Decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The command line or a file is wrong (exit code 2).
    Usage,
    /// This machine, or something on it, does not allow what was asked (exit code 4).
    Environment,
    /// The user interrupted (exit code 130).
    Interrupted,
    /// One attempt failed; the study continues (exit code 4 if no attempt succeeds).
    Attempt,
    /// One attempt failed because another node of it is gone. That node mostly knows the cause.
    /// Exit code as for [`FaultKind::Attempt`].
    Gone,
}

impl FaultKind {
    /// The exit code of the process for this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            FaultKind::Usage => 2,
            FaultKind::Environment | FaultKind::Attempt | FaultKind::Gone => 4,
            FaultKind::Interrupted => 130,
        }
    }
}

/// An error with its place and its remedy, never a backtrace. It goes to terminals, journals and
/// pages. Control characters are escaped when it is created, or read from a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Who can do something about it.
    pub kind: FaultKind,
    /// The node that it is about, which need not be the node that reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<Box<Member>>,
    /// The file and line, the option or the setting that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The workload's parameter that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<Box<str>>,
    /// What was found, and what was expected.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// A node of a cluster, and its role in an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its number, from 0.
    pub node: usize,
    /// The name of its workload in the scene, if the scene has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.role {
            Some(role) => write!(f, "node {} ({role})", self.node),
            None => write!(f, "node {}", self.node),
        }
    }
}

/// A fault as it is read from a stream, before its texts are escaped.
#[derive(Deserialize)]
struct Unescaped {
    kind: FaultKind,
    about: Option<Box<Member>>,
    place: Option<String>,
    parameter: Option<String>,
    message: String,
    remedy: Option<String>,
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let from = Unescaped::deserialize(from)?;
        let line = |text: Option<String>| text.map(|text| in_line(&text).into_owned());
        Ok(Fault {
            kind: from.kind,
            about: from.about.map(|about| Box::new(Member { role: line(about.role), ..*about })),
            place: line(from.place),
            parameter: line(from.parameter).map(Into::into),
            message: plain(&from.message).into_owned(),
            remedy: from.remedy.map(|remedy| plain(&remedy).into_owned()),
        })
    }
}

impl Fault {
    fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Fault {
            kind,
            about: None,
            place: None,
            parameter: None,
            message: plain(&message.into()).into_owned(),
            remedy: None,
        }
    }

    /// A fault of the command line, of a file or of a parameter: the user can mend it.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Usage, message)
    }

    /// A fault of the machine or of its settings: it does not allow what is needed.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Environment, message)
    }

    /// A fault of one attempt; the run goes on, and the attempt is repeated.
    pub fn attempt(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Attempt, message)
    }

    /// A fault of one attempt because another node of it has ended or hung up.
    pub fn gone(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Gone, message)
    }

    /// The fault that the user interrupted the program.
    pub fn interrupted() -> Self {
        Self::new(FaultKind::Interrupted, "interrupted")
    }

    /// Sets where the fault is (`file:line`, a flag, a path), unless a more precise place is set
    /// already.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        if self.parameter.is_none() {
            self.place.get_or_insert_with(|| in_line(&place.into()).into_owned());
        }
        self
    }

    /// Sets the workload's parameter that the fault is about, unless a more precise place is set
    /// already.
    #[must_use]
    pub fn of_parameter(mut self, name: impl Into<String>) -> Self {
        if self.place.is_none() {
            self.parameter.get_or_insert_with(|| in_line(&name.into()).into());
        }
        self
    }

    /// Sets the node that the fault is about, unless one is set already.
    #[must_use]
    pub fn on(mut self, node: usize) -> Self {
        self.about.get_or_insert_with(|| Box::new(Member { node, role: None }));
        self
    }

    /// The number of the node that it is about.
    pub fn node(&self) -> Option<usize> {
        self.about.as_ref().map(|about| about.node)
    }

    /// Where it is, for people: `node 1 (role): place, parameter`. `None` if nothing is known.
    pub fn whereabouts(&self) -> Option<String> {
        let node = self.about.as_ref().map(ToString::to_string);
        let parameter = self.parameter.as_ref().map(|name| format!("parameter `{name}`"));
        let place: Vec<String> = self.place.clone().into_iter().chain(parameter).collect();
        let place = (!place.is_empty()).then(|| place.join(", "));
        let parts: Vec<String> = node.into_iter().chain(place).collect();
        (!parts.is_empty()).then(|| parts.join(": "))
    }

    /// The whole fault on one line: `place: message (try: remedy)`.
    pub fn sentence(&self) -> String {
        let without_remedy = Fault { remedy: None, ..self.clone() };
        match &self.remedy {
            Some(remedy) => format!("{without_remedy} (try: {remedy})"),
            None => without_remedy.to_string(),
        }
    }

    /// Sets what the user can do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(plain(&remedy.into()).into_owned());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.whereabouts() {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  try: {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_place_message_and_remedy() {
        let fault = Fault::usage("expected a size above zero, found 0")
            .at("my.toml:7")
            .remedy("write for example size = \"64 B\"");
        assert_eq!(
            fault.to_string(),
            "my.toml:7: expected a size above zero, found 0\n  try: write for example size = \"64 B\""
        );
        assert_eq!(fault.kind.exit_code(), 2);
        assert_eq!(
            fault.sentence(),
            "my.toml:7: expected a size above zero, found 0 (try: write for example size = \"64 B\")"
        );
    }

    #[test]
    fn a_fault_has_no_control_characters() {
        let fault = Fault::usage("found `\u{1b}[2J`").at("a\u{202e}\n.txt:1").remedy("use\ttwo\nlines\r");
        assert_eq!(fault.to_string(), "a\\u{202e}\\n.txt:1: found `\\u{1b}[2J`\n  try: use\ttwo\nlines\\r");
    }

    #[test]
    fn the_innermost_place_stands() {
        assert_eq!(Fault::usage("x").at("inner").at("outer").place.as_deref(), Some("inner"));
        let fault = Fault::usage("x").of_parameter("size").at("outer").of_parameter("other");
        assert_eq!(fault.to_string(), "parameter `size`: x");
        assert_eq!(Fault::usage("x").at("--size").of_parameter("size").to_string(), "--size: x");
    }

    #[test]
    fn the_node_stands_before_the_place_and_the_first_one_counts() {
        let mut fault = Fault::gone("the node is gone").at("10.0.0.2:80").on(2).on(0);
        assert_eq!(fault.to_string(), "node 2: 10.0.0.2:80: the node is gone");
        fault.about = Some(Box::new(Member { node: 2, role: Some("external".into()) }));
        assert_eq!(fault.whereabouts().as_deref(), Some("node 2 (external): 10.0.0.2:80"));
        assert_eq!(Fault::attempt("x").whereabouts(), None);
    }

    #[test]
    fn a_fault_is_the_same_after_a_stream_and_has_no_control_characters() {
        let fault = Fault::usage("expected 1, found 0").of_parameter("nodes").on(3).remedy("write 1");
        let text = serde_json::to_string(&fault).expect("writes");
        assert_eq!(serde_json::from_str::<Fault>(&text).expect("reads"), fault);
        let hostile = r#"{"kind":"attempt","message":"\u001b[2J","place":"a\nb"}"#;
        let fault: Fault = serde_json::from_str(hostile).expect("reads");
        assert_eq!(fault.to_string(), "a\\nb: \\u{1b}[2J");
    }
}
