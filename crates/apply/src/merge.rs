//! Make one object out of a manifest and a live object, where server-side apply cannot work.
//!
//! The reference merges field by field, by hand-written rules per kind. Here the rules are one table (`rules`), and one walk
//! over manifest and live object turns them into `edit`s. Two questions are asked of that list: [`merge`] makes all the
//! edits, [`clear`] names those that take away what the manifest leaves out, which server-side apply never does.

mod default;
mod edit;
mod equal;
mod kinds;
mod rules;
mod shape;
mod walk;
mod writers;

#[cfg(test)]
mod clears;
#[cfg(test)]
mod pods;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tables;

use std::fmt;

use serde_json::Value;

use self::edit::Edit;
use self::walk::{Context, Walk};
use self::writers::Writers;

/// One step from an object into a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathStep {
    /// The field or key of this name.
    Field(String),
    /// The entry of a list, by its index in the live object.
    Item(usize),
}

/// A field of the live object that the manifest leaves out and that has to go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClearedField {
    /// The way to it; the last step is always a field.
    pub path: Vec<PathStep>,
    /// The same as a JSON pointer into the live object.
    pub pointer: String,
}

/// The object to PUT so that the live object is as the manifest says, or nothing when it is.
///
/// The result is the live object with everything in it that nobody speaks of: its resource version, its status, labels of
/// others, fields of later API versions. Running it again on its own result gives nothing.
///
/// *Compatibility*: fields that the reference never reconciles are set where the manifest has them, lists that
/// server-side apply replaces as a whole are replaced here too, and objects of other kinds keep what the manifest does not
/// mention, so a server default is never a reason to write.
pub fn merge(manifest: &Value, live: &Value) -> Option<Value> {
    let edits = edits(rules::for_merge(manifest), manifest, live)?;
    if edits.is_empty() {
        return None;
    }
    let mut merged = live.clone();
    edit::apply(&mut merged, edits);
    for name in ["apiVersion", "kind"] {
        // Objects out of a list do not say what they are; a PUT has to.
        if merged.get(name).is_none_or(Value::is_null)
            && let Some(value) = manifest.get(name)
        {
            merged[name] = value.clone();
        }
    }
    (merged != *live).then_some(merged)
}

/// The fields that somebody else wrote, that the manifest leaves out and that the reference clears.
///
/// Three things must hold: the reference's rules clear the field, its value is not what the server fills in, and the
/// managed fields of the live object name a writer that is neither us nor a controller of the cluster. Entries of
/// lists that the manifest has are not named here, only fields of entries that both have: what to do about foreign entries is
/// seen when the object is compared. The order is that of the rules; no path is below another.
///
/// A default of a custom resource is not known here. When its object was made by somebody else it looks written, and
/// taking it away changes nothing: whoever sends the removal and sees the same resource version must remember that.
pub fn clear(manifest: &Value, live: &Value) -> Vec<ClearedField> {
    let writers = Writers::of(live);
    if writers.is_empty() {
        return Vec::new();
    }
    let edits = edits(rules::for_clear(manifest), manifest, live).unwrap_or_default();
    edits
        .into_iter()
        .filter_map(|edit| match edit {
            Edit::Clear(path, _) => Some(path),
            _ => None,
        })
        .filter(|path| writers.wrote(live, path))
        .map(|path| ClearedField { pointer: pointer(&path), path })
        .collect()
}

/// Whether the value at a place of a live object is what the server fills in where nobody says anything.
pub(crate) fn is_filled_in(manifest: &Value, live: &Value, pointer: &str) -> bool {
    let (mut shape, mut place) = (shape::Shape::root(manifest), live);
    let mut steps =
        pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).peekable();
    while let Some(step) = steps.next() {
        let below = match place {
            Value::Object(fields) if steps.peek().is_none() => {
                let default = shape.default_of(&step, fields);
                return default.is_some() && default.as_ref() == fields.get(&step);
            }
            Value::Object(fields) => fields.get(&step).map(|value| (shape.below(&step), value)),
            Value::Array(items) => {
                let item = step.parse::<usize>().ok().and_then(|index| items.get(index));
                item.map(|value| (shape.item(), value))
            }
            _ => None,
        };
        let Some(below) = below else { return false };
        (shape, place) = below;
    }
    false
}

fn edits<'a>(
    root: &'static [(&'static str, rules::Rule)],
    manifest: &'a Value,
    live: &'a Value,
) -> Option<Vec<Edit<'a>>> {
    let (manifest_fields, live_fields) = (manifest.as_object()?, live.as_object()?);
    let context = Context::of(manifest, live);
    let mut walk = Walk::new(&context);
    walk.object(root, shape::Shape::root(manifest), manifest_fields, live_fields);
    Some(walk.into_edits())
}

/// A path as a JSON pointer.
fn pointer(path: &[PathStep]) -> String {
    path.iter().flat_map(|step| ["/".to_owned(), step.to_string()]).collect()
}

/// The step as a JSON pointer writes it.
impl fmt::Display for PathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => f.write_str(&name.replace('~', "~0").replace('/', "~1")),
            Self::Item(index) => write!(f, "{index}"),
        }
    }
}
