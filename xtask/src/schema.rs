//! `cargo xtask schema`: the structural facts of the built-in kinds, taken from a real API server.
//!
//! Discovery says which kinds are served and how, the API description says what their types look like, and the Go sources of the
//! same version say how the fields are written, which versions are no longer served, and what the protobuf messages are. The result is
//! two files, described in the documentation of the crate `lockstep-schema`.

mod discovery;
mod gofields;
mod lifecycle;
mod openapi;
mod protobuf;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Error;
use crate::error::io_error;
use crate::kube::{Server, ServerOptions, kubernetes_version};

/// The version of the file format; `lockstep-schema` reads this one only.
const FORMAT: u32 = 1;

/// The generated files.
const FILES: [&str; 2] = ["kinds.json", "protobuf.json"];

/// Generates the data files and writes them; the result is a sentence about each.
pub fn write() -> Result<String, Error> {
    let mut lines = Vec::new();
    for (name, text) in FILES.iter().zip(generate()?) {
        let file = data_folder().join(name);
        fs::write(&file, &text).map_err(io_error(format!("writing `{}`", file.display())))?;
        lines.push(format!("wrote {} ({} KB)", file.display(), text.len() / 1000));
    }
    Ok(lines.join("\n"))
}

/// Generates the data files and compares them with the committed ones; a difference is an error that names its first line.
pub fn check() -> Result<String, Error> {
    for (name, text) in FILES.iter().zip(generate()?) {
        let file = data_folder().join(name);
        let committed =
            fs::read_to_string(&file).map_err(io_error(format!("reading `{}`", file.display())))?;
        if let Some(what) = first_difference(&committed, &text) {
            return Err(Error::Data {
                from: file.display().to_string(),
                what: format!("{what}; run `cargo xtask schema` and commit the file"),
            });
        }
    }
    Ok(format!("{} in {} are up to date", FILES.join(" and "), data_folder().display()))
}

fn data_folder() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).join("crates/schema/data")
}

/// The texts of the files, in the order of [`FILES`].
fn generate() -> Result<[String; 2], Error> {
    let server = Server::start(&ServerOptions::default())?;
    let version = kubernetes_version()?;
    let running = get(&server, "/version")?["gitVersion"].as_str().unwrap_or_default().to_owned();
    if running != version {
        return Err(Error::Data {
            from: "kube-apiserver".into(),
            what: format!("it is {running}, but xtask/kube/go.mod pins {version}; unset KUBEBUILDER_ASSETS"),
        });
    }

    let mut kinds = discovery::read(|path| get(&server, path))?;
    let mut types = openapi::read(|path| get(&server, path))?;
    openapi::attach_types(&mut kinds, &types);
    openapi::keep_reachable(&mut types, &kinds);
    let sources = gofields::Sources::read(&types)?;
    gofields::add(&mut types, &sources)?;
    let removed = lifecycle::read(&version, &kinds)?;
    let messages = protobuf::render(&version, &types, &sources)?;
    Ok([render(&version, &kinds, &types, &removed), messages])
}

fn get(server: &Server, path: &str) -> Result<Value, Error> {
    serde_json::from_str(&server.raw(path)?)
        .map_err(|error| Error::Data { from: path.into(), what: format!("not JSON: {error}") })
}

/// One line per kind, type and removal, so that a difference between versions can be read.
fn render(version: &str, kinds: &[Value], types: &openapi::Types, removed: &[Value]) -> String {
    let lines = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n");
    let named: Vec<String> =
        types.iter().map(|(name, ty)| format!("{}:{}", Value::from(name.as_str()), ty.facts)).collect();
    format!(
        "{{\"format\":{FORMAT},\"kubernetes\":{},\n\"kinds\":[\n{}\n],\n\"types\":{{\n{}\n}},\n\"removed\":[\n{}\n]}}\n",
        Value::from(version),
        lines(kinds),
        named.join(",\n"),
        lines(removed)
    )
}

fn first_difference(committed: &str, generated: &str) -> Option<String> {
    if committed == generated {
        return None;
    }
    let (mut old, mut new) = (committed.lines(), generated.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) if old == new => {}
            (old, new) => {
                let same = common_prefix(old.unwrap_or_default(), new.unwrap_or_default());
                let excerpt = |line: Option<&str>| line.map_or("nothing".into(), |line| excerpt(line, same));
                return Some(format!("line {number} is {} and should be {}", excerpt(old), excerpt(new)));
            }
        }
    }
    Some("line ends differ".into())
}

/// How many characters two lines have in common from their start.
fn common_prefix(one: &str, two: &str) -> usize {
    one.chars().zip(two.chars()).take_while(|(one, two)| one == two).count()
}

/// The part of a line around the place where it differs; the lines are long.
fn excerpt(line: &str, place: usize) -> String {
    let before = if place > 40 { "…" } else { "" };
    let part: String = line.chars().skip(place.saturating_sub(40)).take(80).collect();
    format!("`{before}{part}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
    }

    #[test]
    fn the_first_line_that_differs_is_named_with_both_texts() {
        let text = first_difference("a\nb\n", "a\nc\n").unwrap();
        assert_eq!(text, "line 2 is `b` and should be `c`");
        assert_eq!(first_difference("a\n", "a\nb\n").unwrap(), "line 2 is nothing and should be `b`");
        assert_eq!(first_difference("a", "a\n").unwrap(), "line ends differ");
    }

    #[test]
    fn a_difference_late_in_a_long_line_is_shown() {
        let line = |end: &str| format!("{}{end}", "x".repeat(500));
        let text = first_difference(&line("old"), &line("new")).unwrap();
        assert!(text.contains("xold`") && text.contains("xnew`") && text.chars().count() < 200, "{text}");
    }

    #[test]
    fn the_file_is_json_with_a_line_per_fact() {
        let pod = openapi::Type { facts: serde_json::json!({"fields": {}}), kinds: Vec::new() };
        let types = openapi::Types::from([("core.v1.Pod".to_owned(), pod)]);
        let text = render("v1.2.3", &[Value::from(1), Value::from(2)], &types, &[]);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["kinds"][1], 2);
        assert!(value["types"]["core.v1.Pod"]["fields"].is_object());
        assert!(text.contains("\n1,\n2\n") && text.ends_with("]}\n"), "{text}");
    }
}
