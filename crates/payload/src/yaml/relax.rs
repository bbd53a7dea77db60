//! Quoted text whose later lines are not indented enough.
//!
//! YAML wants the later lines of a quoted scalar indented deeper than its key; the Go reader does not care, real
//! releases rely on that, and the parser here refuses it. The blanks at the start of such a line are folded away
//! whatever their number, so indenting it further changes the layout but never the value.

/// How much text is read again, in bytes, to mend one document before it is called broken.
pub(super) const MAX_READ_AGAIN: usize = 64 * 1024 * 1024;

/// How much one scalar may grow by being indented, in bytes.
const MAX_GROWTH: usize = 1024 * 1024;

/// Indents the later lines of the quoted scalar that opens at `line` and `column`, both as the parser counts them.
///
/// Gives `None` when there is no such scalar, or nothing to indent.
pub(super) fn indent_quoted(text: &str, line: usize, column: usize) -> Option<String> {
    let start = offset_of(text, line, column)?;
    let quote = text[start..].chars().next().filter(|character| matches!(character, '"' | '\''))?;
    let end = start + quoted_length(&text[start..], quote)?;
    let quoted = &text[start..end];
    let lines = quoted.matches('\n').count();
    if lines == 0 || lines.saturating_mul(column + 1) > MAX_GROWTH {
        return None;
    }
    let indent = " ".repeat(column + 1);
    Some(format!("{}{}{}", &text[..start], quoted.replace('\n', &format!("\n{indent}")), &text[end..]))
}

fn offset_of(text: &str, line: usize, column: usize) -> Option<usize> {
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let rest = text.get(before..)?;
    rest.char_indices().nth(column).map(|(offset, _)| before + offset)
}

/// Length of the quoted text at the start of `text`, both quotes included.
fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((offset, character)) = characters.next() {
        match character {
            '\\' if quote == '"' => {
                characters.next();
            }
            '\'' if quote == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                characters.next();
            }
            character if character == quote => return Some(offset + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::documents;
    use serde_json::json;

    fn value(text: &str) -> serde_json::Value {
        documents(text.as_bytes()).unwrap().remove(0).value
    }

    #[test]
    fn later_lines_of_quoted_text_may_stand_at_the_keys_column() {
        let text = "metadata:\n  a: 'one ''x''\n  two\n\n  three'\n  b: \"four \\\"y\\\"\n five \\\n six\"\n  c: 'ä\n  7'\n";
        assert_eq!(
            value(text),
            json!({"metadata": {"a": "one 'x' two\nthree", "b": "four \"y\" five six", "c": "ä 7"}})
        );
    }

    #[test]
    fn quoted_text_that_never_ends_is_still_an_error() {
        assert!(documents(b"metadata:\n  a: 'one\n  two\n").is_err());
        assert!(documents(b"metadata:\n  a: \"one\n  two\\\"\n").is_err());
    }
}
