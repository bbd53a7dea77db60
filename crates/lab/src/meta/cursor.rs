//! A value inside an object together with the way to it, so that a check can name the field it is about.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::status::{FieldError, FieldErrorKind};

/// A place in an object: its value, and the steps from the root. Nothing is allocated until an error is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'p, 'v> {
    value: &'v Value,
    parent: Option<&'p Cursor<'p, 'v>>,
    step: Step<'p>,
}

/// One step of a path.
#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    /// The start: nothing, or the path of what is looked at, such as `spec.jobTemplate.spec`.
    Root(&'p str),
    /// A named field.
    Field(&'p str),
    /// An entry of a list.
    Index(usize),
    /// An entry of a map.
    Key(&'p str),
}

static NULL: Value = Value::Null;

// === impl Cursor ===

impl<'p, 'v> Cursor<'p, 'v> {
    /// The start of an object.
    pub(crate) fn root(value: &'v Value) -> Self {
        Self::at("", value)
    }

    /// A start at a path.
    pub(crate) fn at(path: &'p str, value: &'v Value) -> Self {
        Self { value, parent: None, step: Step::Root(path) }
    }

    /// The field of this name, there or not.
    pub(crate) fn field<'c>(&'c self, name: &'c str) -> Cursor<'c, 'v> {
        let value = self.value.get(name).unwrap_or(&NULL);
        Cursor { value, parent: Some(self), step: Step::Field(name) }
    }

    /// Another value at the path of a field.
    pub(crate) fn field_with<'c>(&'c self, name: &'c str, value: &'v Value) -> Cursor<'c, 'v> {
        Cursor { value, parent: Some(self), step: Step::Field(name) }
    }

    /// The entry of a map.
    pub(crate) fn key<'c>(&'c self, key: &'c str) -> Cursor<'c, 'v> {
        let value = self.value.get(key).unwrap_or(&NULL);
        Cursor { value, parent: Some(self), step: Step::Key(key) }
    }

    /// The entry of a list, there or not.
    pub(crate) fn index<'c>(&'c self, index: usize) -> Cursor<'c, 'v> {
        let value = self.value.get(index).unwrap_or(&NULL);
        Cursor { value, parent: Some(self), step: Step::Index(index) }
    }

    /// The entries of a list; none when it is no list.
    pub(crate) fn items<'c>(&'c self) -> impl Iterator<Item = Cursor<'c, 'v>> + use<'c, 'p, 'v> {
        self.list().iter().enumerate().map(move |(index, value)| Cursor {
            value,
            parent: Some(self),
            step: Step::Index(index),
        })
    }

    /// The entries of a map with their keys; none when it is no map.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'v str, &'v Value)> + use<'v> {
        self.map().into_iter().flat_map(|map| map.iter().map(|(key, value)| (key.as_str(), value)))
    }

    /// The value; null when it is missing.
    pub(crate) fn value(&self) -> &'v Value {
        self.value
    }

    /// Whether there is a value.
    pub(crate) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether it is missing, or a text, list or map without content.
    pub(crate) fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        }
    }

    /// The text; empty when it is none.
    pub(crate) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// The whole number, when it is one.
    pub(crate) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Whether it is true.
    pub(crate) fn is_true(&self) -> bool {
        self.value.as_bool() == Some(true)
    }

    /// The list; empty when it is none.
    pub(crate) fn list(&self) -> &'v [Value] {
        self.value.as_array().map_or(&[], Vec::as_slice)
    }

    /// The map, when it is one.
    pub(crate) fn map(&self) -> Option<&'v Map<String, Value>> {
        self.value.as_object()
    }

    /// The path as messages write it: `spec.ports[0].name`, `data[a/b]`.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        self.write_path(&mut path);
        path
    }

    fn write_path(&self, path: &mut String) {
        if let Some(parent) = self.parent {
            parent.write_path(path);
        }
        match self.step {
            Step::Root(start) => path.push_str(start),
            Step::Field(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Step::Index(index) => drop(write!(path, "[{index}]")),
            Step::Key(key) => drop(write!(path, "[{key}]")),
        }
    }

    /// The value is missing.
    pub(crate) fn required(&self, detail: &str) -> FieldError {
        FieldError::required(self.path(), detail)
    }

    /// The value, shown in the message, is not allowed; a missing one is shown as empty text.
    pub(crate) fn invalid(&self, detail: impl Into<String>) -> FieldError {
        let value = if self.is_set() { self.value.clone() } else { "".into() };
        FieldError::invalid(self.path(), value, detail)
    }

    /// The value is not allowed, and this is shown of it.
    pub(crate) fn invalid_as(&self, value: impl Into<Value>, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(self.path(), value, detail)
    }

    /// The value must not be set here.
    pub(crate) fn forbidden(&self, detail: impl Into<String>) -> FieldError {
        FieldError::forbidden(self.path(), detail)
    }

    /// The value occurs twice.
    pub(crate) fn duplicate(&self) -> FieldError {
        FieldError::duplicate(self.path(), self.value.clone())
    }

    /// The value is none of these; they are listed as they stand here, which must be sorted as the real server does it.
    pub(crate) fn not_supported(&self, supported: &[&str]) -> FieldError {
        let value = if self.is_set() { self.value.clone() } else { "".into() };
        FieldError::not_supported(self.path(), value, supported)
    }

    /// The value names something that is not there.
    pub(crate) fn not_found(&self) -> FieldError {
        let value = if self.is_set() { self.value.clone() } else { "".into() };
        FieldError::new(FieldErrorKind::NotFound, self.path(), value, "")
    }

    /// The value is longer than this many bytes.
    pub(crate) fn too_long(&self, bytes: usize) -> FieldError {
        FieldError {
            kind: FieldErrorKind::TooLong,
            field: self.path(),
            value: None,
            detail: format!("may not be more than {bytes} bytes"),
        }
    }

    /// Each of these sentences is an error about the value.
    pub(crate) fn each_invalid(&self, sentences: Vec<String>, errors: &mut Vec<FieldError>) {
        for sentence in sentences {
            errors.push(self.invalid(sentence));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_shows_fields_indices_and_keys() {
        let object = json!({"spec": {"ports": [{"name": "a"}, {"name": "b"}]}, "data": {"x/y": 1}});
        let root = Cursor::root(&object);
        let spec = root.field("spec");
        let ports = spec.field("ports");
        let second = ports.items().nth(1).unwrap();
        assert_eq!(second.field("name").path(), "spec.ports[1].name");
        assert_eq!(second.field("name").text(), "b");
        assert_eq!(root.field("data").key("x/y").path(), "data[x/y]");
        assert_eq!(Cursor::at("a.b", &object).field("c").path(), "a.b.c");
        assert!(!root.field("missing").field("deep").is_set());
    }
}
