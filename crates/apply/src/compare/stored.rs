//! Whether a value of a manifest and a stored one mean the same to the server.
//!
//! A server stores some values of built-in kinds in another form than they were written in. Only what the schema of
//! the kind says is taken as equal: "empty equals absent" as a general rule would hide real drift, for example a
//! removed `allowPrivilegeEscalation: false`.

use jiff::Timestamp;
use lockstep_api::object;
use lockstep_schema::{Field, FieldType, Omit, Schema};
use serde_json::{Number, Value};

use super::path::{Path, Step};
use super::quantity;

/// The kind of the object that is compared, for looking up its fields.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    manifest: &'a Value,
}

// === impl Stored ===

impl<'a> Stored<'a> {
    /// Values of the kind that a manifest names.
    pub(crate) fn of(manifest: &'a Value) -> Self {
        Self { manifest }
    }

    /// Whether a value inside one that is owned as a whole means the same: maps may have more, lists may not.
    pub(crate) fn same(self, wanted: &Value, live: Option<&Value>, path: &Path<'_>) -> bool {
        match (wanted, live) {
            (Value::Null, None) => true,
            (Value::Object(wanted), Some(Value::Object(live))) => wanted
                .iter()
                .all(|(name, value)| self.same(value, live.get(name), &path.then(Step::Field(name)))),
            (Value::Array(wanted), Some(Value::Array(live))) => {
                wanted.len() == live.len()
                    && wanted.iter().zip(live).enumerate().all(|(place, (wanted, live))| {
                        self.same(wanted, Some(live), &path.then(Step::Index(place)))
                    })
            }
            (Value::Array(wanted), None | Some(Value::Null)) => wanted.is_empty(),
            _ => self.same_scalar(wanted, live, path),
        }
    }

    /// Whether a scalar means the same.
    pub(crate) fn same_scalar(self, wanted: &Value, live: Option<&Value>, path: &Path<'_>) -> bool {
        if Some(wanted) == live {
            return true;
        }
        if let (Value::Number(wanted), Some(Value::Number(live))) = (wanted, live)
            && same_number(wanted, live)
        {
            return true;
        }
        let Some((ty, field)) = self.declared(path) else { return false };
        match (live, ty) {
            (None | Some(Value::Null), _) => {
                is_zero(wanted) && field.is_some_and(|field| !field.pointer && field.omit != Omit::Never)
            }
            (Some(live), FieldType::Quantity) => quantity::same(wanted, live),
            (Some(live), FieldType::Time) => {
                matches!((instant(wanted), instant(live)), (Some(a), Some(b)) if a == b)
            }
            _ => false,
        }
    }

    /// The type at a path of a built-in kind, and the field when it is one of a struct.
    fn declared(self, path: &Path<'_>) -> Option<(&'static FieldType, Option<&'static Field>)> {
        let schema = Schema::builtin();
        let kind = schema.kind(object::api_version(self.manifest), object::kind(self.manifest))?;
        let mut fields = Some(schema.root(kind)?);
        let mut found: Option<(&FieldType, Option<&Field>)> = None;
        for step in path.steps() {
            let next = match (fields, found, step) {
                (Some(fields), _, Step::Field(name)) => {
                    let field = fields.field(name)?;
                    (&field.ty, Some(field))
                }
                (None, Some((FieldType::Map(inner), _)), Step::Field(_)) => (&**inner, None),
                (None, Some((FieldType::List(inner), _)), step) if !matches!(step, Step::Field(_)) => {
                    (&**inner, None)
                }
                _ => return None,
            };
            fields = next.0.struct_name().and_then(|name| schema.ty(name));
            found = Some(next);
        }
        found
    }
}

/// Numbers by value: a custom resource's `1.0` is stored as `1`.
fn same_number(a: &Number, b: &Number) -> bool {
    // NB: whole numbers are equal only when they are identical; as floats, large neighbours would be equal.
    (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
}

fn instant(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        _ => false,
    }
}
