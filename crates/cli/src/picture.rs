//! Lines on a terminal that are drawn again and again at the same place.

use std::io::IsTerminal;

use crate::out::{Out, is_dumb};

/// The lines that were drawn last.
pub struct Picture<'a> {
    out: &'a Out,
    drawn: usize,
    /// Whether it has the whole screen.
    is_whole: bool,
}

impl<'a> Picture<'a> {
    /// None drawn yet.
    pub fn new(out: &'a Out) -> Self {
        Picture { out, drawn: 0, is_whole: false }
    }

    /// One that has the whole screen.
    pub fn of_screen(out: &'a Out) -> Self {
        Picture { is_whole: true, ..Picture::new(out) }
    }

    /// Whether the output is a terminal that can show one.
    pub fn is_possible(out: &Out) -> bool {
        !out.json && std::io::stdout().is_terminal() && !is_dumb()
    }

    /// Draws lines, none wider than the terminal, over the last ones.
    pub fn draw(&mut self, lines: &[String]) {
        if self.out.print_transient(&self.erasing(), &lines.join("\n")) {
            self.drawn = lines.len();
        }
    }

    /// Takes the last lines away.
    pub fn erase(&mut self) {
        let erasing = self.erasing();
        if !erasing.is_empty() {
            self.out.send_control(&erasing);
            self.drawn = 0;
        }
    }

    /// What takes the last lines away, from wherever the cursor stands in its line: keys may have been shown.
    fn erasing(&self) -> String {
        if self.is_whole {
            // However its window has changed since.
            return "\x1b[H\x1b[J".into();
        }
        if self.drawn == 0 { String::new() } else { format!("\r\x1b[{}A\x1b[J", self.drawn) }
    }
}
