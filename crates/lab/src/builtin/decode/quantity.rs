//! Quantities such as `100m` and `1Gi`, with the one text that the server writes for each.

use std::cmp::Ordering;
use std::fmt;

use thiserror::Error;

/// A fixed-point number with a preferred way of writing it.
///
/// Values up to 38 digits are held; the real server has no limit, and no resource has that many.
#[derive(Clone, Debug)]
pub(crate) struct Quantity {
    /// The number without its exponent.
    value: i128,
    /// The power of ten.
    exponent: i32,
    format: Format,
    /// The text it was read from, where that is good enough to be kept.
    text: Option<String>,
}

/// The family of suffixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `Ki`, `Mi` …
    Binary,
    /// `m`, `k`, `M` …
    Decimal,
    /// `e3`.
    Exponent,
}

/// Why a text is no quantity, in the server's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum QuantityError {
    /// It has another form.
    #[error(r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Form,
    /// Its number is none.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// Its suffix is none of the known ones.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The smallest unit that is kept.
const NANO: i32 = -9;
/// The unit that requests and limits are rounded up to.
const MILLI: i32 = -3;
/// More digits than this do not take the way on which the text is kept.
const FAST_DIGITS: usize = 18;
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// A text in its parts.
struct Parts<'a> {
    negative: bool,
    /// Without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

// === impl Quantity ===

impl Quantity {
    /// Reads a quantity; the text must have no blanks around it.
    pub(crate) fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Form);
        }
        let Parts { negative, whole, fraction, suffix } = Parts::of(text)?;
        let (format, binary, decimal) = interpret(suffix)?;
        let digits = format!("{whole}{fraction}");
        let number: i128 = digits.parse().map_err(|_| QuantityError::Number)?;
        let scaled = number.checked_shl(binary).filter(|scaled| scaled >> binary == number);
        let mut value = scaled.ok_or(QuantityError::Number)?;
        let places = i32::try_from(fraction.len()).map_err(|_| QuantityError::Number)?;
        let mut exponent = decimal.saturating_sub(places);

        let is_fast = match format {
            Format::Binary => fraction.is_empty() && whole.len() + (binary as usize) * 3 / 10 < 15,
            Format::Decimal | Format::Exponent => digits.len() <= FAST_DIGITS && exponent >= NANO,
        };
        let keeps_text = is_fast
            && match format {
                Format::Binary => number & 7 != 0,
                Format::Decimal | Format::Exponent => {
                    exponent % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')
                }
            };
        let mut format = format;
        if !is_fast {
            (value, exponent) = round_up(value, exponent, NANO);
            if format == Format::Binary {
                let most = i128::from(i64::MAX);
                if exponent == 0 && value > most {
                    value = most;
                }
                if value > 0 && compare(value, exponent, 1, 0) == Ordering::Less {
                    format = Format::Decimal;
                }
            }
        }
        let value = if negative { -value } else { value };
        Ok(Self { value, exponent, format, text: keeps_text.then(|| text.to_owned()) })
    }

    /// Rounds up to thousandths, as the server does with requests, limits and capacities.
    pub(crate) fn round_up_to_milli(&mut self) {
        if self.exponent < MILLI {
            let negative = self.value < 0;
            let (value, exponent) = round_up(self.value.abs(), self.exponent, MILLI);
            self.value = if negative { -value } else { value };
            self.exponent = exponent;
            self.text = None;
        }
    }

    /// Adds another one; zero takes over the form of what is added.
    pub(crate) fn add(&mut self, other: &Self) {
        self.text = None;
        if self.value == 0 {
            self.format = other.format;
        }
        let exponent = self.exponent.min(other.exponent);
        self.value = lift(self.value, self.exponent, exponent).saturating_add(lift(
            other.value,
            other.exponent,
            exponent,
        ));
        self.exponent = exponent;
    }

    /// Which of two is more.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        compare(self.value, self.exponent, other.value, other.exponent)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        if self.value == 0 {
            return f.write_str("0");
        }
        if self.format == Format::Binary
            && compare(self.value.abs(), self.exponent, 1024, 0) != Ordering::Less
        {
            let (whole, _) = round_up(self.value.abs(), self.exponent, 0);
            let whole = lift(whole, self.exponent.max(0), 0);
            if compare(whole, 0, self.value.abs(), self.exponent) == Ordering::Equal {
                return write_binary(f, whole * self.value.signum());
            }
        }
        let format = if self.format == Format::Binary { Format::Decimal } else { self.format };
        let (mut value, mut exponent) = (self.value, self.exponent);
        while value % 10 == 0 {
            value /= 10;
            exponent += 1;
        }
        while exponent % 3 != 0 {
            value = value.saturating_mul(10);
            exponent -= 1;
        }
        write!(f, "{value}")?;
        match format {
            Format::Exponent if exponent != 0 => write!(f, "e{exponent}"),
            Format::Exponent => Ok(()),
            // NB: the server writes nothing for an exponent without a suffix.
            _ => {
                f.write_str(DECIMAL.iter().find(|(_, power)| *power == exponent).map_or("", |(name, _)| name))
            }
        }
    }
}

fn write_binary(f: &mut fmt::Formatter<'_>, mut value: i128) -> fmt::Result {
    let mut power = 0;
    while value % 1024 == 0 {
        value /= 1024;
        power += 10;
    }
    let suffix = BINARY.iter().find(|(_, binary)| *binary == power).map_or("", |(name, _)| name);
    write!(f, "{value}{suffix}")
}

/// A positive number with at least this exponent, rounded up.
fn round_up(value: i128, exponent: i32, least: i32) -> (i128, i32) {
    if exponent >= least {
        return (value, exponent);
    }
    let steps = least.abs_diff(exponent);
    let rounded = 10_i128
        .checked_pow(steps)
        .map_or(i128::from(value > 0), |divisor| value / divisor + i128::from(value % divisor != 0));
    (rounded, least)
}

/// The same number with a smaller exponent.
fn lift(value: i128, from: i32, to: i32) -> i128 {
    10_i128.checked_pow(from.abs_diff(to)).map_or(i128::MAX, |factor| value.saturating_mul(factor))
}

fn compare(value: i128, exponent: i32, other: i128, other_exponent: i32) -> Ordering {
    let least = exponent.min(other_exponent);
    lift(value, exponent, least).cmp(&lift(other, other_exponent, least))
}

/// The family of a suffix, its power of two and its power of ten.
fn interpret(suffix: &str) -> Result<(Format, u32, i32), QuantityError> {
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Ok((Format::Decimal, 0, *power));
    }
    if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Ok((Format::Binary, *power, 0));
    }
    let power = suffix.strip_prefix(['e', 'E']).and_then(|power| power.parse().ok());
    power.map(|power| (Format::Exponent, 0, power)).ok_or(QuantityError::Suffix)
}

// === impl Parts ===

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, QuantityError> {
        let negative = text.starts_with('-');
        let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = rest.split_at(digits(rest));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", rest),
        };
        let after_letters = suffix.trim_start_matches(|letter: char| "eEinumkKMGTP".contains(letter));
        let power = after_letters.strip_prefix(['-', '+']).unwrap_or(after_letters);
        if digits(power) != power.len() {
            return Err(QuantityError::Form);
        }
        let whole = whole.trim_start_matches('0');
        Ok(Self { negative, whole: if whole.is_empty() { "0" } else { whole }, fraction, suffix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_has_one_text() {
        for (before, after) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Gi", "512Mi"),
            ("1024Ki", "1Mi"),
            ("1e3", "1e3"),
            ("1000", "1k"),
            ("1", "1"),
            ("0", "0"),
            ("0m", "0"),
            ("0.0", "0"),
            ("00", "0"),
            ("100m", "100m"),
            ("0.1", "100m"),
            ("1.1", "1100m"),
            ("2048", "2048"),
            ("1500", "1500"),
            ("10000", "10k"),
            ("8Mi", "8Mi"),
            ("512Ki", "512Ki"),
            ("1000Ki", "1000Ki"),
            ("100Gi", "100Gi"),
            ("0.5Mi", "512Ki"),
            ("0.5Ki", "512"),
            ("1.25Mi", "1280Ki"),
            ("0.1Mi", "104857600m"),
            ("-1000m", "-1"),
            ("-0.5", "-500m"),
            ("1.0", "1"),
            ("12e6", "12e6"),
            ("1E3", "1E3"),
            ("10e3", "10e3"),
            ("1000e3", "1e6"),
            ("1e-3", "1e-3"),
            ("0.001", "1m"),
            ("0.0001", "100u"),
            ("0.0000000001", "1n"),
            ("5E", "5E"),
            ("16Ei", "9223372036854775807"),
            ("01", "01"),
            ("+1", "+1"),
            ("1.", "1."),
            ("0.5E", "500P"),
        ] {
            assert_eq!(
                Quantity::parse(before).map(|quantity| quantity.to_string()),
                Ok(after.into()),
                "{before}"
            );
        }
    }

    #[test]
    fn a_text_that_is_no_quantity_is_refused_with_the_servers_words() {
        assert_eq!(Quantity::parse("").unwrap_err(), QuantityError::Form);
        assert_eq!(Quantity::parse("abc").unwrap_err(), QuantityError::Form);
        assert_eq!(Quantity::parse("1 Gi").unwrap_err(), QuantityError::Form);
        assert_eq!(Quantity::parse("1KiB").unwrap_err(), QuantityError::Form);
        assert_eq!(Quantity::parse("1mm").unwrap_err(), QuantityError::Suffix);
        assert_eq!(Quantity::parse("1e").unwrap_err(), QuantityError::Suffix);
    }

    #[test]
    fn requests_are_rounded_up_to_thousandths() {
        for (before, after) in [
            ("100u", "1m"),
            ("1100u", "2m"),
            ("1n", "1m"),
            ("100m", "100m"),
            ("1e-6", "1e-3"),
            ("-1u", "-1m"),
        ] {
            let mut quantity = Quantity::parse(before).unwrap();
            quantity.round_up_to_milli();
            assert_eq!(quantity.to_string(), after, "{before}");
        }
    }

    #[test]
    fn sums_and_comparisons_are_by_value() {
        let mut sum = Quantity::parse("0").unwrap();
        sum.add(&Quantity::parse("512Mi").unwrap());
        sum.add(&Quantity::parse("512Mi").unwrap());
        assert_eq!(sum.to_string(), "1Gi");
        assert_eq!(sum.compare(&Quantity::parse("1G").unwrap()), Ordering::Greater);
    }
}
