//! Where something is in an object: as text for people, as a JSON pointer for patches, and back.
//!
//! The text names list items by what tells them apart: `spec.template.spec.containers[name="web"].image`. Fields whose
//! name is not a plain word are quoted: `metadata.labels["app.kubernetes.io/name"]`.

use std::fmt;

use serde_json::{Map, Value};

/// A place while walking an object. It lives on the stack, so that a walk that finds nothing allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

/// One step down from a value to one inside it.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Nowhere yet.
    Root,
    /// The field of an object.
    Field(&'a str),
    /// The item of a list that is told apart by its place alone.
    Index(usize),
    /// The item with these values, and its place.
    Key(&'a Map<String, Value>, usize),
    /// This item, told apart by these fields of it, and its place.
    Named(&'a [String], &'a Value, usize),
    /// This member of a set, and its place.
    Member(&'a Value, usize),
}

/// One step of a path that was read from text.
#[derive(Clone, Debug, PartialEq)]
pub enum Segment {
    /// The field of an object.
    Field(String),
    /// The item at a place.
    Index(usize),
    /// The item with these values.
    Key(Map<String, Value>),
    /// This member of a set.
    Member(Value),
}

// === impl Path ===

impl<'a> Path<'a> {
    /// The whole object.
    pub const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// One step further down.
    pub fn then<'b>(&'b self, step: Step<'b>) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: Some(self), step }
    }

    /// The steps from the object to here.
    pub fn steps(&self) -> Vec<Step<'a>> {
        let mut steps = self.parent.map(Path::steps).unwrap_or_default();
        if !matches!(self.step, Step::Root) {
            steps.push(self.step);
        }
        steps
    }

    /// The JSON pointer to here.
    pub fn pointer(&self) -> String {
        let mut pointer = self.parent.map(Path::pointer).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Field(name) => push_field(&mut pointer, name),
            Step::Index(index) | Step::Key(_, index) | Step::Named(_, _, index) | Step::Member(_, index) => {
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
        }
        pointer
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut top = true;
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
            top = matches!(parent.step, Step::Root);
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) if !is_plain(name) => write!(f, "[{}]", Value::from(name)),
            Step::Field(name) if top => f.write_str(name),
            Step::Field(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Member(value, _) => write!(f, "[={value}]"),
            Step::Key(key, _) => write_key(f, key.iter()),
            Step::Named(names, item, _) => write_key(f, names.iter().map(|name| (name, &item[name]))),
        }
    }
}

fn write_key<'a>(
    f: &mut fmt::Formatter<'_>,
    key: impl Iterator<Item = (&'a String, &'a Value)>,
) -> fmt::Result {
    f.write_str("[")?;
    for (place, (name, value)) in key.enumerate() {
        write!(f, "{}{name}={value}", if place == 0 { "" } else { "," })?;
    }
    f.write_str("]")
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_$".contains(&byte))
}

/// Appends a field to a JSON pointer.
pub fn push_field(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
}

/// The fields and places of a JSON pointer, unescaped.
pub fn parts(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"))
}

// === from text ===

/// Reads the text of a path; nothing when it is not one.
pub fn parse(text: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (segment, left) = if let Some(inner) = rest.strip_prefix('[') {
            bracket(inner)?
        } else {
            let name = if segments.is_empty() { rest } else { rest.strip_prefix('.')? };
            let end = name.find(['.', '[']).unwrap_or(name.len());
            (Segment::Field(name[..end].to_owned()), &name[end..])
        };
        segments.push(segment);
        rest = left;
    }
    Some(segments)
}

/// What is between brackets, and what comes after them.
fn bracket(inner: &str) -> Option<(Segment, &str)> {
    if inner.starts_with('"') {
        let (value, rest) = json_prefix(inner)?;
        return Some((Segment::Field(value.as_str()?.to_owned()), rest.strip_prefix(']')?));
    }
    if let Some(member) = inner.strip_prefix('=') {
        let (value, rest) = json_prefix(member)?;
        return Some((Segment::Member(value), rest.strip_prefix(']')?));
    }
    if inner.starts_with(|first: char| first.is_ascii_digit()) {
        let (digits, rest) = inner.split_once(']')?;
        return Some((Segment::Index(digits.parse().ok()?), rest));
    }
    let mut key = Map::new();
    let mut rest = inner;
    loop {
        let (name, value) = rest.split_once('=')?;
        let (value, left) = json_prefix(value)?;
        key.insert(name.to_owned(), value);
        if let Some(after) = left.strip_prefix(']') {
            return Some((Segment::Key(key), after));
        }
        rest = left.strip_prefix(',')?;
    }
}

/// The JSON value at the start of a text, and what comes after it.
fn json_prefix(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    // NB: a number directly before `]` or `,` is complete for the parser, so no blank is needed.
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    Some((value, text.get(end..)?))
}

/// The value at a path in an object.
pub fn value_at<'a>(object: &'a Value, segments: &[Segment]) -> Option<&'a Value> {
    segments.iter().try_fold(object, |value, segment| match segment {
        Segment::Field(name) => value.get(name),
        Segment::Index(index) => value.get(index),
        Segment::Key(key) => value.as_array()?.iter().find(|item| has_key(item, key)),
        Segment::Member(member) => value.as_array()?.iter().find(|item| *item == member),
    })
}

/// Whether a list item has all values of a key.
pub fn has_key(item: &Value, key: &Map<String, Value>) -> bool {
    key.iter().all(|(name, value)| item.get(name) == Some(value))
}

// === names of items ===

/// What tells list items of the API apart, the best first.
const KEYS: [&[&str]; 9] = [
    &["name"],
    &["containerPort", "protocol"],
    &["port", "protocol"],
    &["mountPath"],
    &["containerPort"],
    &["port"],
    &["uid"],
    &["id"],
    &["type"],
];

/// The fields that tell all items of these lists apart; nothing when a place is all they have.
pub fn key_of(lists: &[&[Value]]) -> Option<&'static [&'static str]> {
    KEYS.into_iter().find(|names| lists.iter().all(|items| are_apart(items, names)))
}

fn are_apart(items: &[Value], names: &[&str]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    items.iter().all(|item| match key_values(item, names) {
        Some(key) => seen.insert(key.values().map(Value::to_string).collect::<Vec<_>>()),
        None => false,
    })
}

/// The values of these fields of an item, when it has all of them.
pub fn key_values(item: &Value, names: &[&str]) -> Option<Map<String, Value>> {
    let scalar = |value: &&Value| value.is_string() || value.is_number();
    names.iter().map(|name| Some(((*name).to_owned(), item.get(name).filter(scalar)?.clone()))).collect()
}

/// The text for a JSON pointer into an object.
pub fn describe(object: &Value, pointer: &str) -> String {
    let parts: Vec<String> = parts(pointer).collect();
    walk(Some(object), &parts, &Path::ROOT)
}

fn walk(value: Option<&Value>, parts: &[String], path: &Path<'_>) -> String {
    let Some((part, rest)) = parts.split_first() else { return path.to_string() };
    match (value, part.parse::<usize>()) {
        (Some(Value::Array(items)), Ok(index)) => {
            let item = items.get(index);
            let key = key_of(&[items]).and_then(|names| key_values(item?, names));
            let scalar = item.filter(|item| item.is_string() || item.is_number());
            let step = match (&key, scalar) {
                (Some(key), _) => Step::Key(key, index),
                (None, Some(member)) => Step::Member(member, index),
                (None, None) => Step::Index(index),
            };
            walk(item, rest, &path.then(step))
        }
        _ => walk(value.and_then(|value| value.get(part)), rest, &path.then(Step::Field(part))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_and_pointer_name_the_same_place() {
        let object = json!({
            "metadata": {"labels": {"a.b/c~d": "x"}},
            "spec": {"containers": [{"name": "a"}, {"name": "we\"b", "args": ["x"], "ports": [
                {"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]}],
                "rules": [{"verbs": []}]},
        });
        for (pointer, text) in [
            ("/metadata/labels/a.b~1c~0d", r#"metadata.labels["a.b/c~d"]"#),
            ("/spec/containers/1/args/0", r#"spec.containers[name="we\"b"].args[="x"]"#),
            (
                "/spec/containers/1/ports/1",
                r#"spec.containers[name="we\"b"].ports[containerPort=53,protocol="UDP"]"#,
            ),
            ("/spec/rules/0/verbs", "spec.rules[0].verbs"),
            ("/spec", "spec"),
            ("", ""),
        ] {
            assert_eq!(describe(&object, pointer), text);
            let segments = parse(text).unwrap();
            assert_eq!(value_at(&object, &segments), object.pointer(pointer), "{text}");
        }
    }

    #[test]
    fn pointer_of_a_walk_is_escaped() {
        let item = json!({"name": "x"});
        let labels = Path::ROOT.then(Step::Field("list"));
        let key = labels.then(Step::Key(item.as_object().unwrap(), 3));
        let path = key.then(Step::Field("a/b~c"));
        assert_eq!(path.pointer(), "/list/3/a~1b~0c");
        assert_eq!(path.to_string(), r#"list[name="x"]["a/b~c"]"#);
        assert_eq!(parts(&path.pointer()).collect::<Vec<_>>(), ["list", "3", "a/b~c"]);
    }

    #[test]
    fn what_is_no_path_is_nothing() {
        for text in ["a[", "a[x", "a[x=", "a[\"b\"", "a[=", "a[1", "a]b[0]c"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn places_are_used_where_no_field_tells_items_apart() {
        let twice = json!([{"name": "a"}, {"name": "a"}]);
        assert_eq!(key_of(&[twice.as_array().unwrap()]), None);
        let mixed = json!([{"name": "a"}, {"port": 1}]);
        assert_eq!(key_of(&[mixed.as_array().unwrap()]), None);
    }
}
