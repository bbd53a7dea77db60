//! The canonical form of scalars: numbers, bytes, times, quantities, ports.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lockstep_schema::FieldType;
use serde_json::{Number, Value};

use super::Quantity;

/// What is wrong with a scalar.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// It is not of this Go type.
    Type(String),
    /// It is a number that does not fit this Go type.
    Number(String),
    /// A sentence of the decoder of this one type.
    Text(String),
}

/// As Go reads it: padding is required, left-over bits are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Puts a scalar that is not null into its form.
pub(super) fn canonical(ty: &FieldType, go: Option<&str>, value: &mut Value) -> Result<(), Problem> {
    let wrong = || Problem::Type(go.map_or_else(|| ty.go_name(), str::to_owned));
    match (ty, &mut *value) {
        (FieldType::String | FieldType::IntOrString, Value::String(_))
        | (FieldType::Boolean, Value::Bool(_)) => Ok(()),
        (FieldType::Integer, Value::Number(number)) => integer(number, go.unwrap_or("int32")),
        (FieldType::Number, Value::Number(number)) => {
            float(number);
            Ok(())
        }
        (FieldType::Bytes, Value::String(text)) => bytes(text),
        (FieldType::Bytes, Value::Array(items)) => {
            *value = listed_bytes(items).ok_or_else(wrong)?.into();
            Ok(())
        }
        (FieldType::Time, _) => time(value, go == Some("v1.MicroTime")),
        (FieldType::Quantity, _) => quantity(value),
        (FieldType::IntOrString, Value::Number(number)) => integer(number, "int32"),
        (FieldType::IntOrString, _) => Err(Problem::Type("int32".into())),
        _ => Err(wrong()),
    }
}

fn integer(number: &Number, go: &str) -> Result<(), Problem> {
    match number.as_i64() {
        Some(value) if go == "int64" || i32::try_from(value).is_ok() => Ok(()),
        _ => Err(Problem::Number(go.to_owned())),
    }
}

/// A float that is whole is written without a fraction, with no more digits than tell it from its neighbours.
fn float(number: &mut Number) {
    let Some(value) = number.as_f64() else { return };
    if value.fract() == 0.0 {
        let text = value.to_string();
        if let Ok(whole) = text.parse::<i64>() {
            *number = whole.into();
        } else if let Ok(whole) = text.parse::<u64>() {
            *number = whole.into();
        }
    }
}

/// Bytes may also be a list of numbers.
fn listed_bytes(items: &[Value]) -> Option<String> {
    let bytes: Option<Vec<u8>> =
        items.iter().map(|item| item.as_u64().and_then(|byte| byte.try_into().ok())).collect();
    Some(BASE64.encode(bytes?))
}

fn bytes(text: &mut String) -> Result<(), Problem> {
    if text.contains(['\n', '\r']) {
        text.retain(|letter| !matches!(letter, '\n' | '\r'));
    }
    match BASE64.decode(text.as_bytes()) {
        Ok(bytes) => {
            // Only left-over bits make a difference; almost nobody has any.
            let again = BASE64.encode(bytes);
            if again != *text {
                *text = again;
            }
            Ok(())
        }
        Err(error) => {
            use base64::DecodeError;
            let place = match error {
                DecodeError::InvalidByte(place, _) => place,
                DecodeError::InvalidLastSymbol { offset, .. } => offset,
                DecodeError::InvalidLength(length) => length / 4 * 4,
                DecodeError::InvalidPadding => text.len() / 4 * 4,
            };
            Err(Problem::Text(format!("illegal base64 data at input byte {place}")))
        }
    }
}

/// Puts a time into its form; the zero time is no time at all.
fn time(value: &mut Value, micro: bool) -> Result<(), Problem> {
    let Value::String(text) = value else { return Err(Problem::Type("string".into())) };
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    match misfit(text, micro) {
        None => {}
        Some(Misfit::Part(rest, expected)) => {
            return Err(Problem::Text(format!(
                "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {expected:?}"
            )));
        }
        Some(Misfit::Range(what)) => {
            return Err(Problem::Text(format!("parsing time {text:?}: {what} out of range")));
        }
    }
    let Ok(stamp) = text.parse::<Timestamp>() else {
        return Err(Problem::Text(format!("parsing time {text:?}: day out of range")));
    };
    let zoned = stamp.to_zoned(TimeZone::UTC);
    // NB: the fraction is cut, never rounded.
    let form = if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    let canonical = zoned.strftime(form).to_string();
    let is_zero = canonical.starts_with("0001-01-01T00:00:00");
    *value = if is_zero { Value::Null } else { Value::String(canonical) };
    Ok(())
}

/// Where a text does not fit the layout of a time.
enum Misfit<'a> {
    /// From here on; something else was expected.
    Part(&'a str, &'static str),
    /// This part is a number, but too large or too small.
    Range(&'static str),
}

/// The parts of a time: digits, name in the layout, what follows, the name of the part and its largest number.
const PARTS: [(usize, &str, &str, &str, u32); 6] = [
    (4, "2006", "-", "year", 9999),
    (2, "01", "-", "month", 12),
    (2, "02", "T", "day", 99),
    (2, "15", ":", "hour", 23),
    (2, "04", ":", "minute", 59),
    (2, "05", "", "second", 59),
];

fn misfit(text: &str, micro: bool) -> Option<Misfit<'_>> {
    let mut rest = text;
    for (digits, layout, separator, name, most) in PARTS {
        let Some(number) = rest.get(..digits).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        else {
            return Some(Misfit::Part(rest, layout));
        };
        // The day is checked when the month is known.
        let number: u32 = number.parse().unwrap_or(u32::MAX);
        if number > most || (name == "month" && number == 0) {
            return Some(Misfit::Range(name));
        }
        rest = &rest[digits..];
        match rest.strip_prefix(separator) {
            Some(after) => rest = after,
            None => return Some(Misfit::Part(rest, separator)),
        }
    }
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if micro && length < 6 {
            return Some(Misfit::Part(rest, ".000000"));
        }
        // A fraction that the layout does not name is skipped, one that it names has exactly its length.
        let taken = if micro { 6 } else { length };
        rest = &fraction[taken..];
    } else if micro {
        return Some(Misfit::Part(rest, ".000000"));
    }
    let zone = rest.as_bytes();
    let is_offset = zone.len() == 6
        && matches!(zone[0], b'+' | b'-')
        && zone[3] == b':'
        && [1, 2, 4, 5].iter().all(|&place| zone[place].is_ascii_digit());
    (rest != "Z" && !is_offset).then_some(Misfit::Part(rest, "Z07:00"))
}

/// A quantity may be a number; whatever else it is, its text is what is wrong.
fn quantity(value: &mut Value) -> Result<(), Problem> {
    let parsed = match &*value {
        Value::String(text) => Quantity::parse(text.trim()),
        other => Quantity::parse(&other.to_string()),
    };
    let text = parsed.map_err(|error| Problem::Text(error.to_string()))?.to_string();
    *value = Value::String(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(ty: &FieldType, go: Option<&str>, value: Value) -> Result<Value, Problem> {
        let mut value = value;
        canonical(ty, go, &mut value).map(|()| value)
    }

    #[test]
    fn whole_floats_are_written_as_integers() {
        for (before, after) in [
            (json!(1.0), json!(1)),
            (json!(-0.0), json!(0)),
            (json!(0.5), json!(0.5)),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64)),
            (json!(i64::MAX), json!(9_223_372_036_854_776_000_u64)),
        ] {
            assert_eq!(form(&FieldType::Number, None, before), Ok(after));
        }
    }

    #[test]
    fn integers_have_a_width() {
        assert_eq!(
            form(&FieldType::Integer, None, json!(2_147_483_648_i64)),
            Err(Problem::Number("int32".into()))
        );
        assert!(form(&FieldType::Integer, Some("int64"), json!(2_147_483_648_i64)).is_ok());
        assert_eq!(
            form(&FieldType::Integer, Some("int64"), json!(1.0)),
            Err(Problem::Number("int64".into()))
        );
    }

    #[test]
    fn times_are_cut_to_their_precision_and_moved_to_utc() {
        let time = |text: &str| form(&FieldType::Time, None, json!(text));
        assert_eq!(time("2024-02-29T23:59:59.999+02:00"), Ok(json!("2024-02-29T21:59:59Z")));
        assert_eq!(time("2024-01-01T00:00:00Z"), Ok(json!("2024-01-01T00:00:00Z")));
        assert_eq!(time("0001-01-01T00:00:00Z"), Ok(Value::Null));
        let range = |text: &str, part: &str| {
            Err(Problem::Text(format!("parsing time {text:?}: {part} out of range")))
        };
        for (text, part) in [
            ("2024-13-01T00:00:00Z", "month"),
            ("2023-02-29T00:00:00Z", "day"),
            ("2024-01-01T24:00:00Z", "hour"),
        ] {
            assert_eq!(time(text), range(text, part));
        }
        let micro = |text: &str| form(&FieldType::Time, Some("v1.MicroTime"), json!(text));
        assert_eq!(micro("2024-01-01T00:00:00.000001Z"), Ok(json!("2024-01-01T00:00:00.000001Z")));
        assert_eq!(
            micro("2024-01-02T03:04:05+02:00"),
            Err(Problem::Text(
                r#"parsing time "2024-01-02T03:04:05+02:00" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "+02:00" as ".000000""#.into()
            ))
        );
        assert_eq!(
            micro("2024-01-02T03:04:05.1234567+02:00"),
            Err(Problem::Text(
                r#"parsing time "2024-01-02T03:04:05.1234567+02:00" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "7+02:00" as "Z07:00""#.into()
            ))
        );
    }

    #[test]
    fn bytes_lose_line_breaks_and_left_over_bits() {
        assert_eq!(form(&FieldType::Bytes, None, json!("YW\nJj\r\n")), Ok(json!("YWJj")));
        assert_eq!(form(&FieldType::Bytes, None, json!("YR==")), Ok(json!("YQ==")));
        assert_eq!(form(&FieldType::Bytes, None, json!([97, 98])), Ok(json!("YWI=")));
        assert!(form(&FieldType::Bytes, None, json!([256])).is_err());
        assert!(form(&FieldType::Bytes, None, json!("YQ")).is_err());
    }
}
