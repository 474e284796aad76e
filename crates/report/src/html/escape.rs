//! Text made safe for HTML, SVG and attributes.

use std::fmt;

/// Text from outside. It is displayed with all markup characters escaped and control characters replaced.
pub struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => write!(f, "{c}")?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_str("\u{fffd}")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// The longest piece that is kept on one line, in characters.
const LONGEST: usize = 24;

/// Text in sentences, escaped like [`Text`]. Markup keeps `5 %`, `1.26 ×` and `1.22–1.30` on one line: copied text has plain
/// spaces. Text between backticks becomes code.
pub struct Prose<'a>(pub &'a str);

impl fmt::Display for Prose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = self.0.split('`').collect();
        // An unpaired backtick is text.
        if parts.len().is_multiple_of(2) {
            return write_prose(self.0, f);
        }
        parts.iter().enumerate().try_for_each(|(index, part)| match index % 2 {
            0 => write_prose(part, f),
            _ => write!(f, "<code>{}</code>", Text(part)),
        })
    }
}

/// Writes prose without code.
fn write_prose(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let mut piece = word.to_string();
        let binds = |next: &&str| {
            word == "±" || word.ends_with(|c: char| c.is_ascii_digit()) && next.starts_with(['%', '×'])
        };
        if let Some(unit) = words.next_if(binds) {
            piece = format!("{piece} {unit}");
        }
        if piece.contains([' ', '–']) && piece.chars().count() <= LONGEST {
            write!(f, r#"<span class="whole">{}</span>"#, Text(&piece))?;
        } else {
            write!(f, "{}", Text(&piece))?;
        }
        if words.peek().is_some() {
            f.write_str(" ")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(
            Prose("<b 5 %> of (1.22–1.30); x").to_string(),
            r#"&lt;b <span class="whole">5 %&gt;</span> of <span class="whole">(1.22–1.30);</span> x"#
        );
        assert_eq!(Prose("see `a <b> 5 %`.").to_string(), "see <code>a &lt;b&gt; 5 %</code>.");
        assert_eq!(Prose("a ` b").to_string(), "a ` b");
        assert_eq!(Prose("").to_string(), "");
        assert_eq!(Prose(" a  b ").to_string(), " a  b ");
    }

    #[test]
    fn markup_in_names_is_shown_not_run() {
        let hostile = r#"</title><script>alert("x")</script>'&"#;
        assert_eq!(
            Text(hostile).to_string(),
            "&lt;/title&gt;&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39;&amp;"
        );
        assert_eq!(Text("a\0b\u{1b}[31m\u{ffff}").to_string(), "a\u{fffd}b\u{fffd}[31m\u{fffd}");
    }
}
