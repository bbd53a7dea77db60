//! Untrusted text made harmless for a terminal, for XML and for HTML.

use std::fmt::{Display, Formatter, Result, Write};

/// Text for one line of a terminal: control and direction-changing characters are shown as `�`.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// Text for element content and for quoted attributes of XML and HTML.
pub(crate) fn markup(text: &str) -> Markup<'_> {
    Markup { text, breakable: false }
}

/// As [`markup`], with places where a browser may break a long name or file name (HTML only).
pub(crate) fn breakable(text: &str) -> Markup<'_> {
    Markup { text, breakable: true }
}

/// A text that is escaped while it is written.
pub(crate) struct Markup<'a> {
    text: &'a str,
    breakable: bool,
}

// === impl Markup ===

impl Display for Markup<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        for c in self.text.chars().map(visible) {
            match c {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                c => out.write_char(c)?,
            }
            if self.breakable && matches!(c, '_' | '/' | '.' | ':') {
                out.write_str("<wbr>")?;
            }
        }
        Ok(())
    }
}

/// NB: control characters are illegal in XML even when escaped, and the bidirectional ones can make a file name
/// read as another.
fn visible(c: char) -> char {
    let misleading = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let not_xml = matches!(c, '\u{fffe}' | '\u{ffff}');
    if c.is_control() || misleading || not_xml { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_characters_become_entities() {
        assert_eq!(markup(r#"<a b="c" d='e'>&"#).to_string(), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
    }

    #[test]
    fn terminal_escapes_and_line_ends_are_shown_not_sent() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{202e}d"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d");
        assert_eq!(plain("größe …"), "größe …");
    }

    #[test]
    fn long_names_may_break_after_separators() {
        assert_eq!(breakable("a_b/<").to_string(), "a_<wbr>b/<wbr>&lt;");
    }
}
