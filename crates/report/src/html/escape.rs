//! Text made safe for HTML, SVG and attributes.

use std::fmt;

/// Text as people wrote it; displayed with every character that could mean
/// something to a browser escaped, and control characters replaced.
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

#[cfg(test)]
mod tests {
    use super::*;

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
