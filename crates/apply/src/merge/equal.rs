//! When two values are the same thing written in two ways.

use jiff::Timestamp;
use lockstep_schema::FieldType;
use serde_json::{Number, Value};

/// Whether two scalars are equal as values of a type.
///
/// *Compatibility*: quantities and times are compared by value. A whole number and the same number with a point are equal,
/// because a server stores the second as the first.
pub(super) fn scalars(ty: Option<&FieldType>, one: &Value, other: &Value) -> bool {
    if one == other {
        return true;
    }
    match (ty, one, other) {
        (Some(FieldType::Quantity), _, _) => match (Amount::of(one), Amount::of(other)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        },
        (Some(FieldType::Time), Value::String(one), Value::String(other)) => {
            match (one.parse::<Timestamp>(), other.parse::<Timestamp>()) {
                (Ok(one), Ok(other)) => one == other,
                _ => false,
            }
        }
        (_, Value::Number(one), Value::Number(other)) => numbers(one, other),
        _ => false,
    }
}

fn numbers(one: &Number, other: &Number) -> bool {
    let both_whole = !one.is_f64() && !other.is_f64();
    let close = |one: f64, other: f64| (one - other).abs() <= f64::EPSILON * one.abs().max(other.abs());
    !both_whole && matches!((one.as_f64(), other.as_f64()), (Some(one), Some(other)) if close(one, other))
}

/// Whether this is what a missing value of a Go type reads as.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64().is_some_and(|number| number == 0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// A quantity as digits times a power of two times a power of ten, in the one form in which equal amounts are equal.
#[derive(Debug, PartialEq, Eq)]
struct Amount {
    negative: bool,
    digits: u128,
    tens: i32,
}

/// Binary suffixes and their power of two.
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
/// Decimal suffixes and their power of ten.
const DECIMAL: [(&str, i32); 9] =
    [("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// More digits than this are no amount of anything; such texts are compared as they are.
const LONGEST: usize = 18;

impl Amount {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() > LONGEST || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let digits: u128 = format!("0{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        let (digits, tens) = match BINARY.iter().find(|(name, _)| *name == suffix) {
            Some((_, power)) => (digits << power, 0),
            None => (digits, power_of_ten(suffix)?),
        };
        Some(Self { negative, digits, tens: tens - places }.canonical())
    }

    /// Without zeros at the end.
    fn canonical(mut self) -> Self {
        if self.digits == 0 {
            return Self { negative: false, digits: 0, tens: 0 };
        }
        while self.digits.is_multiple_of(10) {
            self.digits /= 10;
            self.tens += 1;
        }
        self
    }
}

fn power_of_ten(suffix: &str) -> Option<i32> {
    if suffix.is_empty() {
        return Some(0);
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some(*power);
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (-100..=100).contains(&exponent).then_some(exponent)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_equal_by_value() {
        let same = |one: Value, other: Value| scalars(Some(&FieldType::Quantity), &one, &other);
        for (one, other) in [
            (json!("100m"), json!("0.1")),
            (json!(1), json!("1000m")),
            (json!(0.5), json!("500m")),
            (json!("1Gi"), json!("1024Mi")),
            (json!("1e3"), json!("1k")),
            (json!("0"), json!("-0.0")),
            (json!("1.5Gi"), json!("1536Mi")),
        ] {
            assert!(same(one.clone(), other.clone()), "{one} {other}");
        }
        for (one, other) in [
            (json!("100m"), json!("100M")),
            (json!("1G"), json!("1Gi")),
            (json!("1"), json!("-1")),
            (json!("x"), json!("y")),
            (json!(""), json!("0")),
            (json!("1e999999999999"), json!("1")),
        ] {
            assert!(!same(one.clone(), other.clone()), "{one} {other}");
        }
    }

    #[test]
    fn only_quantities_are_compared_as_quantities() {
        assert!(!scalars(None, &json!("100m"), &json!("0.1")));
        assert!(!scalars(Some(&FieldType::IntOrString), &json!(80), &json!("80")));
        assert!(scalars(None, &json!(1), &json!(1.0)));
        assert!(!scalars(None, &json!(i64::MAX), &json!(i64::MAX - 1)));
        let time = |one: &str, other: &str| scalars(Some(&FieldType::Time), &json!(one), &json!(other));
        assert!(time("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"));
        assert!(!time("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"));
    }
}
