//! The small part of Go's text templates that an operator's own manifests use.
//!
//! Field access, `index .Images "name"`, quoted and back-quoted text, comments and trim markers. Anything else is an
//! error, which leaves the one file out and says so: an older operator can then load a newer release.

use std::collections::BTreeMap;

use crate::limits::MAX_FILE_BYTES;

/// What a template can refer to.
#[derive(Debug, Clone, Default)]
pub struct TemplateData {
    /// `{{.ReleaseImage}}`: pull spec of the release image.
    pub release_image: String,
    /// `{{.ClusterProfile}}`: the cluster profile.
    pub cluster_profile: String,
    /// `{{index .Images "name"}}`: pull specs by tag name.
    pub images: BTreeMap<String, String>,
}

/// Why a template could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The text is not a template.
    #[error("failed to parse manifest: line {line}: {message}")]
    Parse {
        /// Line of the file, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The template refers to something that this version does not have.
    #[error("failed to execute template: line {line}: {message}")]
    Execute {
        /// Line of the file, from 1.
        line: usize,
        /// What is missing.
        message: String,
    },
    /// The template is small, but what it renders to is not.
    #[error("renders to more than the {MAX_FILE_BYTES} bytes that a manifest may have")]
    TooLarge,
}

/// Renders a template; each error but [`TemplateError::TooLarge`] means that the file is for another operator.
///
/// # Errors
/// The first action that cannot be read or evaluated.
pub fn render(text: &str, data: &TemplateData) -> Result<String, TemplateError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        // NB: only on the way to an error; counting lines for every action would be quadratic.
        let offset = text.len() - rest.len() + start;
        let line = || 1 + newlines(text, offset);
        let parse = |message: &str| TemplateError::Parse { line: line(), message: message.to_owned() };
        out.push_str(&rest[..start]);
        let mut body = &rest[start + 2..];
        if let Some(trimmed) = trim_marker(body) {
            body = trimmed;
            out.truncate(out.trim_end().len());
        }
        let (action, after) = read_action(body).map_err(|message| parse(&message))?;
        let after = after.trim_start_matches([' ', '\t', '\r', '\n']);
        rest = if let Some(end) = after.strip_prefix("}}") {
            end
        } else if let Some(end) = after.strip_prefix("-}}") {
            end.trim_start()
        } else {
            return Err(parse(&format!("unexpected {:?} in action", head(after))));
        };
        let value =
            evaluate(&action, data).map_err(|message| TemplateError::Execute { line: line(), message })?;
        out.push_str(&value);
        if out.len() as u64 > MAX_FILE_BYTES {
            return Err(TemplateError::TooLarge);
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// One thing between `{{` and `}}`.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    Comment,
    Text(String),
    /// `.A.B`
    Field(Vec<String>),
    /// `index .A.B "key"`
    Index(Vec<String>, String),
}

/// `{{- ` with the blank that makes it a trim marker.
fn trim_marker(body: &str) -> Option<&str> {
    body.strip_prefix('-').filter(|rest| rest.starts_with([' ', '\t', '\r', '\n']))
}

fn read_action(body: &str) -> Result<(Action, &str), String> {
    let body = body.trim_start();
    if let Some(comment) = body.strip_prefix("/*") {
        let (_, rest) = comment.split_once("*/").ok_or("unclosed comment")?;
        return Ok((Action::Comment, rest));
    }
    if body.starts_with(['"', '`']) {
        let (text, rest) = read_text(body)?;
        return Ok((Action::Text(text), rest));
    }
    if body.starts_with('.') {
        let (path, rest) = read_path(body)?;
        return Ok((Action::Field(path), rest));
    }
    if let Some(rest) = body.strip_prefix("index") {
        let (path, rest) = read_path(rest.trim_start())?;
        let (key, rest) = read_text(rest.trim_start())?;
        return Ok((Action::Index(path, key), rest));
    }
    Err(format!("action {:?} is not supported", head(body)))
}

fn read_path(text: &str) -> Result<(Vec<String>, &str), String> {
    let mut path = Vec::new();
    let mut rest = text;
    while let Some(tail) = rest.strip_prefix('.') {
        let end = tail.find(|byte: char| !(byte.is_alphanumeric() || byte == '_')).unwrap_or(tail.len());
        if end == 0 {
            return Err(format!("unexpected {:?}, wanted a field name", head(rest)));
        }
        path.push(tail[..end].to_owned());
        rest = &tail[end..];
    }
    if path.is_empty() {
        Err(format!("unexpected {:?}, wanted a field", head(text)))
    } else {
        Ok((path, rest))
    }
}

fn read_text(text: &str) -> Result<(String, &str), String> {
    if let Some(raw) = text.strip_prefix('`') {
        let (content, rest) = raw.split_once('`').ok_or("unterminated raw quoted string")?;
        return Ok((content.to_owned(), rest));
    }
    let Some(quoted) = text.strip_prefix('"') else {
        return Err(format!("unexpected {:?}, wanted a quoted text", head(text)));
    };
    let mut content = String::new();
    let mut characters = quoted.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Ok((content, &quoted[index + 1..])),
            '\n' => break,
            '\\' => content.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, 't')) => '\t',
                Some((_, 'r')) => '\r',
                Some((_, same @ ('"' | '\\' | '\''))) => same,
                _ => return Err("unknown escape in quoted string".to_owned()),
            }),
            other => content.push(other),
        }
    }
    Err("unterminated quoted string".to_owned())
}

fn evaluate(action: &Action, data: &TemplateData) -> Result<String, String> {
    match action {
        Action::Comment => Ok(String::new()),
        Action::Text(text) => Ok(text.clone()),
        Action::Field(path) => match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["ReleaseImage"] => Ok(data.release_image.clone()),
            ["ClusterProfile"] => Ok(data.cluster_profile.clone()),
            ["Images", name] => Ok(data.images.get(*name).map_or("<no value>", String::as_str).to_owned()),
            _ => Err(unknown_field(path)),
        },
        Action::Index(path, key) if path.as_slice() == ["Images"] => {
            Ok(data.images.get(key).cloned().unwrap_or_default())
        }
        Action::Index(path, _) => Err(unknown_field(path)),
    }
}

fn unknown_field(path: &[String]) -> String {
    format!("can't evaluate field {} (may require a newer operator)", path.join("."))
}

fn head(text: &str) -> &str {
    let end = text.char_indices().nth(20).map_or(text.len(), |(index, _)| index);
    text[..end].lines().next().unwrap_or_default()
}

fn newlines(text: &str, end: usize) -> usize {
    text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn data() -> TemplateData {
        TemplateData {
            release_image: "R".to_owned(),
            cluster_profile: "some-profile".to_owned(),
            images: BTreeMap::from([("a-b".to_owned(), "A".to_owned()), ("c".to_owned(), "C".to_owned())]),
        }
    }

    fn rendered(text: &str) -> String {
        render(text, &data()).unwrap()
    }

    #[test]
    fn fields_are_replaced_with_or_without_blanks() {
        assert_eq!(
            rendered(
                "image: '{{.ReleaseImage}}'\nargs: --release-image={{ .ReleaseImage }}\nvalue: '{{.ClusterProfile}}'"
            ),
            "image: 'R'\nargs: --release-image=R\nvalue: 'some-profile'"
        );
    }

    #[test]
    fn images_come_by_index_or_by_simple_name() {
        assert_eq!(
            rendered(r#"{{index .Images "a-b"}} {{ index .Images "none" }}|{{.Images.c}} {{.Images.none}}"#),
            "A |C <no value>"
        );
    }

    #[test]
    fn text_literals_carry_templates_of_others() {
        assert_eq!(rendered(r#"x {{ "{{ $labels.reason }}" }} y"#), "x {{ $labels.reason }} y");
        assert_eq!(rendered(r#"{{"say \"{{ a }}\" \\"}}"#), r#"say "{{ a }}" \"#);
        assert_eq!(rendered("{{ `raw {{ \\n }}` }}"), "raw {{ \\n }}");
    }

    #[test]
    fn trim_markers_and_comments_vanish() {
        assert_eq!(rendered("a  {{- .ReleaseImage -}}  \n b"), "aRb");
        assert_eq!(rendered("a {{/* }} note */}}b"), "a b");
    }

    #[test]
    fn unknown_field_is_an_execution_error_with_its_line() {
        let error = render("a\n{{ index .FutureField \"x\" }}", &data()).unwrap_err();
        assert!(matches!(error, TemplateError::Execute { line: 2, .. }), "{error}");
        assert!(
            error
                .to_string()
                .starts_with("failed to execute template: line 2: can't evaluate field FutureField")
        );
    }

    #[test]
    fn a_small_template_cannot_render_to_a_huge_text() {
        let data = TemplateData { release_image: "x".repeat(1 << 20), ..TemplateData::default() };
        assert_eq!(render(&"{{.ReleaseImage}}".repeat(40), &data), Err(TemplateError::TooLarge));
    }

    #[test]
    fn malformed_actions_are_parse_errors() {
        for text in [
            "{{",
            "{{ .A",
            "{{ \"x }}",
            "{{ if .A }}",
            "{{ .A | quote }}",
            "{{ }}",
            "{{ `x }}",
            "{{/* }}",
            "{{ . }}",
        ] {
            let error = render(text, &data()).unwrap_err();
            assert!(matches!(error, TemplateError::Parse { line: 1, .. }), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\{\\{|\\}\\}|\"|`|index|\\.Images|-|[ -~\\n])*") {
            let _ = render(&text, &data());
        }

        #[test]
        fn text_without_actions_is_unchanged(text in "[^{]*") {
            prop_assert_eq!(rendered(&text), text);
        }
    }
}
