//! Quantities by value: `1000m` is `1`, `1024Mi` is `1Gi`.

use serde_json::Value;

/// Whether two values are the same quantity. What is no quantity, or too fine or large to tell, is not the same.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (nano(a), nano(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// Billionths: the finest part that the API stores.
fn nano(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    }
}

fn parse(text: &str) -> Option<i128> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let (factor, power) = unit(suffix)?;
    let scale = 9 + power - i32::try_from(fraction.len()).ok()?;
    let value = digits.checked_mul(factor)?;
    let ten = 10_i128.checked_pow(scale.unsigned_abs())?;
    let value = match scale {
        0.. => value.checked_mul(ten)?,
        _ if value % ten == 0 => value / ten,
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

/// The factor of a suffix, as a number times a power of ten.
fn unit(suffix: &str) -> Option<(i128, i32)> {
    let binary = |exponent: u32| Some((1_i128 << (10 * exponent), 0));
    match suffix {
        "n" => Some((1, -9)),
        "u" => Some((1, -6)),
        "m" => Some((1, -3)),
        "" => Some((1, 0)),
        "k" => Some((1, 3)),
        "M" => Some((1, 6)),
        "G" => Some((1, 9)),
        "T" => Some((1, 12)),
        "P" => Some((1, 15)),
        "E" => Some((1, 18)),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            Some((1, power))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn written_forms_of_one_quantity_are_the_same() {
        for (a, b) in [
            (json!("1000m"), json!("1")),
            (json!("0.5"), json!("500m")),
            (json!(1), json!("1")),
            (json!(0.1), json!("100m")),
            (json!("1024Mi"), json!("1Gi")),
            (json!("0.5Gi"), json!("512Mi")),
            (json!("1024Ki"), json!("1Mi")),
            (json!("1.5Gi"), json!("1536Mi")),
            (json!("1e3"), json!("1k")),
            (json!("1E3"), json!("1000")),
            (json!("-.5"), json!("-500m")),
            (json!("1."), json!("1")),
            (json!("1500000n"), json!("1500u")),
        ] {
            assert!(same(&a, &b), "{a} {b}");
        }
    }

    #[test]
    fn other_quantities_and_what_is_none_are_not_the_same() {
        for (a, b) in [
            (json!("1"), json!("1m")),
            (json!("1Gi"), json!("1G")),
            (json!("1"), json!("-1")),
            (json!("x"), json!("x")),
            (json!(""), json!("0")),
            (json!("1.2.3"), json!("1.2.3")),
            (json!("1Qi"), json!("1Qi")),
            (json!("1e99"), json!("1e99")),
            (json!("1e-9999999999"), json!("0")),
            (json!(true), json!(true)),
        ] {
            assert!(!same(&a, &b), "{a} {b}");
        }
    }
}
