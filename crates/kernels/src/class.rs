//! The sizes of problems.

use crosstalk_core::Fault;
use crosstalk_core::name::unknown;

/// The size of a problem, as the reports name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A sample, done in seconds on any machine.
    S,
    /// For a workstation of 1995.
    W,
    /// Small.
    A,
    /// About four times A.
    B,
    /// About four times B.
    C,
}

impl Class {
    /// All classes, from small to large.
    pub const ALL: [Class; 5] = [Class::S, Class::W, Class::A, Class::B, Class::C];

    /// Its letter.
    pub fn letter(self) -> &'static str {
        match self {
            Class::S => "S",
            Class::W => "W",
            Class::A => "A",
            Class::B => "B",
            Class::C => "C",
        }
    }

    /// The class of that letter, in either case.
    ///
    /// # Errors
    /// A usage fault where there is none.
    pub fn from_letter(letter: &str) -> Result<Self, Fault> {
        let found = Class::ALL.into_iter().find(|class| class.letter().eq_ignore_ascii_case(letter));
        found.ok_or_else(|| unknown("class", letter, Class::ALL.map(Class::letter)).of_parameter("class"))
    }

    /// The one of these values that belongs to it, from S to C.
    pub(crate) fn of<T: Copy>(self, values: [T; 5]) -> T {
        values[self as usize]
    }
}
