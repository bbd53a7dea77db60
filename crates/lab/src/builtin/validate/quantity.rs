//! Amounts such as `100m`, `1Gi`, `2e3`: enough to compare them.

use serde_json::Value;

/// An amount in billionths; larger ones than fit are cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity(i128);

const ONE: i128 = 1_000_000_000;

// === impl Quantity ===

impl Quantity {
    /// The amount of a value: text or number; nothing when it is neither or not well-formed.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// The amount of a text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (sign, rest) = match text.as_bytes().first()? {
            b'-' => (-1, &text[1..]),
            b'+' => (1, &text[1..]),
            _ => (1, text),
        };
        let end = rest.find(|it: char| !(it.is_ascii_digit() || it == '.')).unwrap_or(rest.len());
        let (digits, suffix) = rest.split_at(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let (factor, divisor) = scale(suffix)?;
        let mut value = decimal(whole)?.checked_mul(ONE)?.checked_mul(factor)?;
        // What is below a billionth is rounded up, as the real server does.
        if !fraction.is_empty() {
            let places = u32::try_from(fraction.len().min(18)).ok()?;
            let part = decimal(&fraction[..fraction.len().min(18)])?.checked_mul(ONE)?.checked_mul(factor)?;
            value +=
                part.div_euclid(10_i128.pow(places)) + i128::from(part.rem_euclid(10_i128.pow(places)) != 0);
        }
        let value = value.div_euclid(divisor) + i128::from(value.rem_euclid(divisor) != 0);
        Some(Self(sign * value))
    }

    /// Whether it is nothing.
    pub(crate) fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether it is less than nothing.
    pub(crate) fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Whether it has no part below one, in thousandths.
    pub(crate) fn is_whole(self) -> bool {
        self.0 % ONE == 0
    }
}

fn decimal(digits: &str) -> Option<i128> {
    if digits.is_empty() { Some(0) } else { digits.parse().ok() }
}

/// What the suffix multiplies and divides by.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    let binary = |power: u32| Some((1_i128 << (10 * power), 1));
    let thousand = |power: u32| Some((1000_i128.pow(power), 1));
    match suffix {
        "" => Some((1, 1)),
        "n" => Some((1, ONE)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1000)),
        "k" => thousand(1),
        "M" => thousand(2),
        "G" => thousand(3),
        "T" => thousand(4),
        "P" => thousand(5),
        "E" => thousand(6),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = 10_i128.checked_pow(exponent.unsigned_abs().min(24))?;
            Some(if exponent < 0 { (1, power) } else { (power, 1) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn equal_amounts_in_different_words_are_equal() {
        assert_eq!(of("1000m"), of("1"));
        assert_eq!(of("1Gi"), of("1024Mi"));
        assert_eq!(of("0.5"), of("500m"));
        assert_eq!(of("1e3"), of("1k"));
        assert_eq!(of(".5Gi"), of("512Mi"));
        assert!(of("1.5Gi") > of("1536M") && of("-1") < of("0"));
        assert!(of("100m").is_negative() == of("1").is_negative() && of("-100m").is_negative());
    }

    #[test]
    fn words_that_are_no_amounts_are_refused() {
        for text in ["", "abc", "1Q", "1.2.3", "m", "--1"] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }
}
