//! Text of unknown origin, made safe to show.

mod mask;

use std::borrow::Cow;

pub use mask::masked;

/// The text with every character that could drive a terminal or turn its direction shown as `�`.
///
/// Names come from releases and clusters, and those are not ours: a name with an escape sequence must not clear the
/// screen of the person who reads about it, and one with a newline must not look like two messages.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.contains(is_unsafe) { text.replace(is_unsafe, "\u{fffd}").into() } else { text.into() }
}

fn is_unsafe(character: char) -> bool {
    // The second part: marks, embeddings, overrides and isolates of text direction.
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_newlines_and_turns_are_shown_as_one_sign_each() {
        assert_eq!(visible("a\u{1b}[2J\nb\u{202e}c\u{7f}"), "a\u{fffd}[2J\u{fffd}b\u{fffd}c\u{fffd}");
        assert!(matches!(visible("plain ä → ✓"), Cow::Borrowed(_)));
    }
}
