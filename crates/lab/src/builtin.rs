//! Built-in kinds: read, filled with defaults, checked and prepared as the real server does.

pub(crate) mod decode;
pub(crate) mod defaults;

use lockstep_schema::Schema;
use serde_json::Value;

/// Reads an object of a built-in kind and fills in its defaults, as the server does before it looks at what is wanted.
///
/// This is the part of every write that suites compare with a real server; an error is the sentence of its answer.
pub fn read(object: Value) -> Result<Value, String> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = Schema::builtin()
        .kind(text("apiVersion"), text("kind"))
        .ok_or_else(|| format!("`{}` `{}` is not a built-in kind", text("apiVersion"), text("kind")))?;
    let mut object = decode::decode(kind, object).map_err(|error| error.into_status(kind).message)?.object;
    defaults::default(kind, &mut object);
    decode::settle(kind, &mut object);
    Ok(object)
}
pub(crate) mod strategy;
pub(crate) mod validate;
