//! The checks of numbers, with the server's idea of which number fits which type.

use serde_json::{Number, Value};

use super::{Path, Run};
use crate::crd::formats::Format;
use crate::crd::structural::Structural;
use crate::go;
use crate::status::FieldErrorKind;

/// The largest whole number that JSON carries safely.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;
/// How near to a whole number a float must be to count as one, in relation to its size.
const EPSILON: f64 = 1e-9;

/// What the numbers of a node are: it decides which values and limits fit.
#[derive(Clone, Copy)]
enum Width {
    Int32,
    Int64(bool),
    Float32,
    Any,
}

// === impl Run ===

impl Run {
    pub(super) fn number(&mut self, node: &Structural, value: &Number, path: Path<'_>) {
        let width = Width::of(node);
        let float = value.as_f64().unwrap_or_default();
        if let Some(whole) = value.as_i64() {
            if !width.fits_whole(whole) {
                self.whole(width.misfit("Checked", &path.text()));
            }
        } else if !width.fits(float) {
            self.whole(width.misfit("Checked", &path.text()));
        }
        let Some(limits) = node.limits.as_deref() else { return };
        // A limit that is no value of the type is reported, and compared as a float.
        let mut limit = |limit: Option<f64>, name: &str| {
            let limit = limit?;
            let fits = width.fits(limit);
            if !fits {
                self.whole(width.misfit(name, &path.text()));
            }
            Some((limit, value.as_i64().filter(|_| fits)))
        };
        let (multiple, minimum, maximum) = (
            limit(limits.multiple_of, "MultipleOf"),
            limit(limits.minimum, "Minimum boundary"),
            limit(limits.maximum, "Maximum boundary"),
        );
        if let Some((factor, whole)) = multiple {
            self.multiple(value, factor, whole, path);
        }
        if let Some((least, whole)) = minimum {
            let exclusive = limits.exclusive_minimum;
            let (fails, text) = match whole {
                Some(whole) => {
                    let least = to_whole(least);
                    (whole < least || (exclusive && whole == least), least.to_string())
                }
                None => (float < least || (exclusive && float <= least), go::float(least)),
            };
            if fails {
                let words = if exclusive { "greater than" } else { "greater than or equal to" };
                self.invalid(path, shown(value, whole), &format!("should be {words} {text}"));
            }
        }
        if let Some((most, whole)) = maximum {
            let exclusive = limits.exclusive_maximum;
            let (fails, text) = match whole {
                Some(whole) => {
                    let most = to_whole(most);
                    (whole > most || (exclusive && whole == most), most.to_string())
                }
                None => (float > most || (exclusive && float >= most), go::float(most)),
            };
            if fails {
                let words = if exclusive { "less than" } else { "less than or equal to" };
                self.invalid(path, shown(value, whole), &format!("should be {words} {text}"));
            }
        }
    }

    fn multiple(&mut self, value: &Number, factor: f64, whole: Option<i64>, path: Path<'_>) {
        if factor <= 0.0 {
            let sentence = format!(
                "factor MultipleOf declared for {} must be positive: {}",
                path.text(),
                go::float(factor)
            );
            self.push(FieldErrorKind::Invalid, path, factor.into(), sentence.clone(), sentence);
            return;
        }
        let (fits, text) = if let Some(whole) = whole {
            let factor = to_whole(factor);
            (factor != 0 && whole % factor == 0, factor.to_string())
        } else {
            let value = value.as_f64().unwrap_or_default();
            let times = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
            (is_whole(times), go::float(factor))
        };
        if !fits {
            self.invalid(path, shown(value, whole), &format!("should be a multiple of {text}"));
        }
    }
}

// === impl Width ===

impl Width {
    fn of(node: &Structural) -> Self {
        match (node.type_name.as_deref().filter(|_| !node.int_or_string), node.checked_format) {
            (Some("integer"), Some(Format::Int32)) => Self::Int32,
            (Some("integer"), format) => Self::Int64(matches!(format, Some(Format::Int64))),
            (Some("number"), Some(Format::Float)) => Self::Float32,
            _ => Self::Any,
        }
    }

    fn fits_whole(self, value: i64) -> bool {
        !matches!(self, Self::Int32) || i32::try_from(value).is_ok()
    }

    #[expect(clippy::cast_possible_truncation, reason = "whether it truncates is the question")]
    fn fits(self, value: f64) -> bool {
        match self {
            Self::Int32 => value.fract() == 0.0 && i32::try_from(value as i128).is_ok(),
            Self::Int64(_) => value.fract() == 0.0 && i64::try_from(value as i128).is_ok(),
            Self::Float32 => (value as f32).is_finite(),
            Self::Any => true,
        }
    }

    fn misfit(self, prefix: &str, path: &str) -> String {
        let kind = match self {
            Self::Int32 => "integer with format int32",
            Self::Int64(true) => "integer with format int64",
            Self::Int64(false) => "integer (default format)",
            Self::Float32 => "number with format float",
            Self::Any => "number (default format)",
        };
        format!("{prefix} value must be of type {kind} in {path}")
    }
}

/// A number that was compared as a float is also shown as one.
fn shown(value: &Number, whole: Option<i64>) -> Value {
    match (whole, value.as_i64(), value.as_f64()) {
        (None, None, Some(float)) if is_whole(float) && float.abs() < MAX_SAFE => to_whole(float).into(),
        _ => Value::Number(value.clone()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "limits are floats, compared with whole numbers after truncation"
)]
fn to_whole(value: f64) -> i64 {
    value as i64
}

/// Whether a float counts as a whole number.
pub(super) fn is_whole(value: f64) -> bool {
    if !value.is_finite() || value.abs() > MAX_SAFE {
        return false;
    }
    let near = value.trunc();
    let difference = (value - near).abs();
    difference == 0.0 || (near != 0.0 && difference / (value.abs() + near.abs()) < EPSILON)
}

/// Whether a value equals an allowed one after the conversions that Go would do.
#[expect(clippy::float_cmp, reason = "equal means the same value here")]
pub(super) fn converts_to(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(allowed)) => match (value.as_i64(), allowed.as_i64()) {
            (Some(value), Some(allowed)) => value == allowed,
            (None, Some(allowed)) => value.as_f64().is_some_and(|value| to_whole(value) == allowed),
            _ => value.as_f64().zip(allowed.as_f64()).is_some_and(|(value, allowed)| value == allowed),
        },
        // A whole number converts to the text of that code point.
        (Value::Number(value), Value::String(allowed)) => value
            .as_i64()
            .and_then(|code| u32::try_from(code).ok())
            .and_then(char::from_u32)
            .is_some_and(|sign| allowed.chars().eq([sign])),
        _ => value == allowed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::crd::structural::Structural;
    use crate::crd::validation::Reading;

    fn errors(schema: &serde_json::Value, value: &serde_json::Value) -> Vec<String> {
        let schema = json!({"properties": {"a": schema}});
        let errors = Structural::parse(&schema).check(&json!({"a": value}), None, None, Reading::Served);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn limits_have_the_words_of_the_real_server() {
        let none: [&str; 0] = [];
        assert_eq!(
            errors(&json!({"type": "integer", "minimum": 1}), &json!(0)),
            ["a: Invalid value: 0: a in body should be greater than or equal to 1"]
        );
        assert_eq!(
            errors(&json!({"type": "number", "maximum": 1.5, "exclusiveMaximum": true}), &json!(1.5)),
            ["a: Invalid value: 1.5: a in body should be less than 1.5"]
        );
        assert_eq!(
            errors(&json!({"type": "integer", "multipleOf": 3}), &json!(4)),
            ["a: Invalid value: 4: a in body should be a multiple of 3"]
        );
        assert_eq!(
            errors(&json!({"type": "integer", "format": "int32"}), &json!(4_000_000_000_i64)),
            [r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a"#]
        );
        assert_eq!(errors(&json!({"type": "integer", "minimum": 1, "maximum": 2}), &json!(2)), none);
        assert_eq!(errors(&json!({"type": "integer"}), &json!(2.0)), none);
        assert_eq!(errors(&json!({"type": "number", "multipleOf": 0.1}), &json!(0.3)), none);
    }

    #[test]
    fn a_limit_that_is_no_whole_number_is_reported_for_whole_numbers() {
        assert_eq!(
            errors(&json!({"type": "integer", "maximum": 1.5}), &json!(2)),
            [
                r#"<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in a"#,
                "a: Invalid value: 2: a in body should be less than or equal to 1.5",
            ]
        );
    }
}
