//! One step of a path: a field, an item of a list by its keys or value, or a place in a list.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use super::types::{List, ListMerge, TypeRef};

/// One step of a path. The order is that of the server's canonical form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathElement {
    /// The field of this name.
    Field(Box<str>),
    /// The item of a list with these values in its key fields, which are sorted by name.
    Key(Vec<(Box<str>, Literal)>),
    /// The item of a set with this value.
    Value(Literal),
    /// The item at this place.
    Index(i64),
}

/// A value inside a path element. Numbers compare by value, whatever their form.
#[derive(Clone, Debug)]
pub(crate) enum Literal {
    Int(i64),
    Float(f64),
    String(Box<str>),
    Bool(bool),
    /// A list or map as JSON text; no schema allows one, but old entries may hold anything.
    Other(Box<str>),
    Null,
}

// === impl PathElement ===

impl PathElement {
    /// The field of this name.
    pub(crate) fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// What identifies an item of a set or of a list with keys.
    ///
    /// # Errors
    /// When the item has none of the keys or cannot be a member of a set.
    pub(crate) fn of_item(ty: TypeRef<'_>, list: &List, item: &Value) -> Result<Self, String> {
        match &list.merge {
            ListMerge::Atomic => Err("invalid indexing of non-associative list".into()),
            ListMerge::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".into())
                }
                Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null".into())
                }
                scalar => Ok(Self::Value(Literal::of(scalar))),
            },
            ListMerge::Keyed(keys) => Self::of_keys(ty, list, keys, item),
        }
    }

    fn of_keys(ty: TypeRef<'_>, list: &List, keys: &[Box<str>], item: &Value) -> Result<Self, String> {
        let item = match item {
            Value::Object(item) => item,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let element = ty.at(list.element).atom().map.as_ref();
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            // A key that is missing and has no default is left out: that is another entry than one that has it.
            let default = || element?.fields.get(key)?.default.as_ref();
            if let Some(value) = item.get(&**key).or_else(default) {
                found.push((key.clone(), Literal::of(value)));
            }
        }
        if found.is_empty() && !keys.is_empty() {
            let names: Vec<_> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                names.join(" ")
            ));
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Self::Key(found))
    }

    /// Its form as a key of `fieldsV1`.
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Value(value) => format!("v:{}", value.to_json()),
            Self::Index(index) => format!("i:{index}"),
            Self::Key(fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|(name, value)| format!("{name:?}:{}", value.to_json())).collect();
                format!("k:{{{}}}", fields.join(","))
            }
        }
    }

    /// Reads a key of `fieldsV1`; nothing for a sort of element that only later versions know.
    pub(crate) fn decode(text: &str) -> Result<Option<Self>, String> {
        let Some((sort, rest)) = text.split_at_checked(2) else {
            return Err("key must be 2 characters long:".into());
        };
        if !sort.ends_with(':') {
            return Err(format!("missing colon: {text}"));
        }
        let json = || serde_json::from_str::<Value>(rest).map_err(|error| format!("{text}: {error}"));
        Ok(Some(match sort {
            "f:" => Self::field(rest),
            "v:" => Self::Value(Literal::of(&json()?)),
            "i:" => Self::Index(rest.parse().map_err(|error| format!("{text}: {error}"))?),
            "k:" => match json()? {
                Value::Object(fields) => Self::Key(
                    fields.iter().map(|(name, it)| (name.as_str().into(), Literal::of(it))).collect(),
                ),
                _ => return Err(format!("{text}: no object")),
            },
            _ => return Ok(None),
        }))
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (place, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}={value}", if place == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
        }
    }
}

// === impl Literal ===

impl Literal {
    /// The literal of a JSON value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Self::Int(number),
                (None, number) => Self::Float(number.unwrap_or_default()),
            },
            Value::String(text) => Self::String(text.as_str().into()),
            other => Self::Other(other.to_string().into()),
        }
    }

    fn to_json(&self) -> String {
        match self {
            Self::Int(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Bool(value) => value.to_string(),
            Self::String(text) => escape(&Value::from(&**text).to_string()),
            Self::Other(json) => escape(json),
            Self::Null => "null".into(),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Int(_) | Self::Float(_) => 0,
            Self::String(_) => 1,
            Self::Bool(_) => 2,
            Self::Other(_) => 3,
            Self::Null => 4,
        }
    }

    fn as_f64(&self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "the server compares mixed numbers as floats too")]
            Self::Int(number) => *number as f64,
            Self::Float(number) => *number,
            _ => 0.0,
        }
    }
}

/// The server's JSON writer makes text safe for HTML.
fn escape(json: &str) -> String {
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.extend(["\\u", &format!("{:04x}", letter as u32)]);
            }
            letter => out.push(letter),
        }
    }
    out
}

impl Ord for Literal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => one.cmp(other),
            (Self::Int(_) | Self::Float(_), Self::Int(_) | Self::Float(_)) => {
                self.as_f64().total_cmp(&other.as_f64())
            }
            (Self::String(one), Self::String(other)) | (Self::Other(one), Self::Other(other)) => {
                one.cmp(other)
            }
            (Self::Bool(one), Self::Bool(other)) => one.cmp(other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Literal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Literal {}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::String(text) => write!(f, "{text:?}"),
            Self::Other(json) => f.write_str(json),
            Self::Null => f.write_str("null"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_are_written_as_the_server_writes_them() {
        let key = PathElement::decode("k:{\"protocol\":\"TCP\",\"containerPort\":80}").unwrap().unwrap();
        assert_eq!(key.encode(), "k:{\"containerPort\":80,\"protocol\":\"TCP\"}");
        assert_eq!(key.to_string(), "[containerPort=80,protocol=\"TCP\"]");
        let value = PathElement::Value(Literal::of(&json!("a<b&c")));
        assert_eq!(value.encode(), "v:\"a\\u003cb\\u0026c\"");
        assert_eq!(PathElement::decode(&value.encode()), Ok(Some(value)));
        assert_eq!(PathElement::field("app.kubernetes.io/name").encode(), "f:app.kubernetes.io/name");
    }

    #[test]
    fn numbers_are_equal_and_ordered_by_value() {
        let literal = |value: Value| Literal::of(&value);
        assert_eq!(literal(json!(80)), literal(json!(80.0)));
        assert!(literal(json!(80)) < literal(json!(443)));
        assert!(literal(json!(1)) < literal(json!("0")));
        assert!(literal(json!("x")) < literal(json!(false)));
    }

    #[test]
    fn unknown_sorts_of_elements_are_left_out_and_broken_ones_refused() {
        assert_eq!(PathElement::decode("x:1"), Ok(None));
        assert!(PathElement::decode("f").is_err());
        assert!(PathElement::decode("metadata").is_err());
        assert!(PathElement::decode("k:[]").is_err());
        assert!(PathElement::decode("i:one").is_err());
    }
}
