//! What can go wrong, said so that a person can act on it.

use std::fmt;

use crate::quote::{in_line, plain};

/// Whose turn it is to do something about a fault. Decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The command line or a file is wrong (exit code 2).
    Usage,
    /// This machine, or something on it, does not allow what was asked (exit code 4).
    Environment,
    /// The user interrupted (exit code 130).
    Interrupted,
    /// One attempt failed; the study goes on (exit code 4 when nothing is left).
    Attempt,
}

impl FaultKind {
    /// The process exit code that stands for this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            FaultKind::Usage => 2,
            FaultKind::Environment | FaultKind::Attempt => 4,
            FaultKind::Interrupted => 130,
        }
    }
}

/// An error with its place and its remedy. Never a backtrace. It goes to terminals, journals and
/// pages: characters that steer them are escaped as it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Whose turn it is.
    pub kind: FaultKind,
    /// The file and line, flag, node or knob that it is about.
    pub place: Option<String>,
    /// What was found, and what was expected.
    pub message: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl Fault {
    fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Fault { kind, place: None, message: plain(&message.into()).into_owned(), remedy: None }
    }

    /// The command line or a file is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Usage, message)
    }

    /// The machine does not allow it.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Environment, message)
    }

    /// One attempt failed.
    pub fn attempt(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Attempt, message)
    }

    /// The user interrupted.
    pub fn interrupted() -> Self {
        Self::new(FaultKind::Interrupted, "interrupted")
    }

    /// Names the place, unless a more precise one is named already.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place.get_or_insert_with(|| in_line(&place.into()).into_owned());
        self
    }

    /// In one sentence, to stand within others: `place: message (remedy)`.
    pub fn sentence(&self) -> String {
        let told = Fault { remedy: None, ..self.clone() };
        match &self.remedy {
            Some(remedy) => format!("{told} (try: {remedy})"),
            None => told.to_string(),
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(plain(&remedy.into()).into_owned());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
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
    fn nothing_in_a_fault_steers_a_terminal() {
        let fault = Fault::usage("found `\u{1b}[2J`").at("a\u{202e}\n.txt:1").remedy("use\ttwo\nlines\r");
        assert_eq!(fault.to_string(), "a\\u{202e}\\n.txt:1: found `\\u{1b}[2J`\n  try: use\ttwo\nlines\\r");
    }

    #[test]
    fn the_innermost_place_stands() {
        assert_eq!(Fault::usage("x").at("inner").at("outer").place.as_deref(), Some("inner"));
    }
}
