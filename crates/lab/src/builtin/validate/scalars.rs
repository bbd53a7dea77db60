//! Checks of single values that many kinds share.

use std::net::IpAddr;

use crate::meta::{Cursor, names};
use crate::status::FieldError;

use super::quantity::Quantity;

/// The errors that a check adds to.
pub(super) type Errors = Vec<FieldError>;

const NEGATIVE: &str = "must be greater than or equal to 0";

/// A number that must not be below 0.
pub(super) fn not_negative(number: &Cursor<'_, '_>, errors: &mut Errors) {
    if number.number().is_some_and(|it| it < 0) {
        errors.push(number.invalid(NEGATIVE));
    }
}

/// A number or percentage that must not be below 0.
pub(super) fn number_or_percent(value: &Cursor<'_, '_>, errors: &mut Errors) {
    if value.value().is_string() {
        value.each_invalid(names::percent(value.text()), errors);
    } else {
        not_negative(value, errors);
    }
}

/// The number of a number or percentage; 0 when it is neither.
pub(super) fn amount(value: &Cursor<'_, '_>) -> i64 {
    match value.number() {
        Some(number) => number,
        None => percentage(value).unwrap_or_else(|| value.text().parse().unwrap_or(0)),
    }
}

fn percentage(value: &Cursor<'_, '_>) -> Option<i64> {
    names::percent(value.text()).is_empty().then(|| value.text().trim_end_matches('%').parse().ok())?
}

/// A percentage above 100 is refused.
pub(super) fn at_most_100_percent(value: &Cursor<'_, '_>, errors: &mut Errors) {
    if percentage(value).is_some_and(|it| it > 100) {
        errors.push(value.invalid("must not be greater than 100%"));
    }
}

/// The number or the name of a port; a missing one is the number 0.
pub(super) fn port(value: &Cursor<'_, '_>, errors: &mut Errors) {
    if value.value().is_string() {
        value.each_invalid(names::port_name(value.text()), errors);
    } else {
        let number = value.number().unwrap_or(0);
        for sentence in names::port_number(number) {
            errors.push(value.invalid_as(number, sentence));
        }
    }
}

/// One of some words; an empty one is missing.
pub(super) fn one_of(value: &Cursor<'_, '_>, words: &[&str], errors: &mut Errors) {
    if value.is_empty() {
        errors.push(value.required(""));
    } else if !words.contains(&value.text()) {
        errors.push(value.not_supported(words));
    }
}

/// One of some words, if it is there at all.
pub(super) fn optional_one_of(value: &Cursor<'_, '_>, words: &[&str], errors: &mut Errors) {
    if value.is_set() && !words.contains(&value.text()) {
        errors.push(value.not_supported(words));
    }
}

/// A required name of a form.
pub(super) fn required_name(value: &Cursor<'_, '_>, form: fn(&str) -> Vec<String>, errors: &mut Errors) {
    if value.is_empty() {
        errors.push(value.required(""));
    } else {
        value.each_invalid(form(value.text()), errors);
    }
}

/// A name of a form, if it is there.
pub(super) fn optional_name(value: &Cursor<'_, '_>, form: fn(&str) -> Vec<String>, errors: &mut Errors) {
    if !value.is_empty() {
        value.each_invalid(form(value.text()), errors);
    }
}

/// A value that must stay what it was; missing is as good as empty.
pub(super) fn immutable(new: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Errors) {
    if !same(new, old) {
        errors.push(new.invalid_as(new.value().clone(), "field is immutable"));
    }
}

/// Whether two values mean the same.
pub(super) fn same(new: &Cursor<'_, '_>, old: &Cursor<'_, '_>) -> bool {
    new.value() == old.value() || (new.is_empty() && old.is_empty())
}

/// An IP address in its usual form.
pub(super) fn ip_address(value: &Cursor<'_, '_>, errors: &mut Errors) {
    match value.text().parse::<IpAddr>() {
        Err(_) => errors.push(value.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")),
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            errors.push(value.invalid("must not be an IPv4-mapped IPv6 address"));
        }
        Ok(_) => {}
    }
}

/// A network in the form `10.0.0.0/8`.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    !bits.is_empty()
        && (bits == "0" || !bits.starts_with('0'))
        && bits.bytes().all(|it| it.is_ascii_digit())
        && bits.parse::<u16>().is_ok_and(|bits| bits <= most)
}

/// An amount that must not be below 0.
pub(super) fn amount_not_negative(value: &Cursor<'_, '_>, errors: &mut Errors) {
    if Quantity::of(value.value()).is_some_and(Quantity::is_negative) {
        errors.push(value.invalid(NEGATIVE));
    }
}

/// An amount that must be above 0.
pub(super) fn amount_positive(value: &Cursor<'_, '_>, errors: &mut Errors) -> bool {
    let is_positive = Quantity::of(value.value()).is_some_and(|it| !it.is_negative() && !it.is_zero());
    if !is_positive {
        errors.push(value.invalid("must be greater than zero"));
    }
    is_positive
}

/// Whether a name is a DNS label.
pub(super) fn dns_label(value: &Cursor<'_, '_>, errors: &mut Errors) {
    value.each_invalid(names::dns_label(value.text()), errors);
}

/// A path below the place it is used in: not absolute, and without steps back.
pub(super) fn descending_path(at: &Cursor<'_, '_>, path: &str, errors: &mut Errors) {
    if path.starts_with('/') {
        errors.push(at.invalid_as(path, "must be a relative path"));
    }
    no_back_steps(at, path, errors);
}

/// A path without `..`.
pub(super) fn no_back_steps(at: &Cursor<'_, '_>, path: &str, errors: &mut Errors) {
    if path.split('/').any(|part| part == "..") {
        errors.push(at.invalid_as(path, "must not contain '..'"));
    }
}

/// A file name that is not one of those that volumes keep for themselves.
pub(super) fn local_path(at: &Cursor<'_, '_>, path: &str, errors: &mut Errors) {
    descending_path(at, path, errors);
    if path.starts_with("..") && !path.starts_with("../") {
        errors.push(at.invalid_as(path, "must not start with '..'"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn percentages_and_numbers_are_both_amounts() {
        let object = json!({"a": "25%", "b": 3, "c": "x", "d": "150%", "e": -1});
        let root = Cursor::root(&object);
        assert_eq!(
            (amount(&root.field("a")), amount(&root.field("b")), amount(&root.field("c"))),
            (25, 3, 0)
        );
        let mut errors = Vec::new();
        at_most_100_percent(&root.field("d"), &mut errors);
        number_or_percent(&root.field("e"), &mut errors);
        number_or_percent(&root.field("a"), &mut errors);
        assert_eq!(errors.len(), 2);
        assert_eq!(errors[1].to_string(), "e: Invalid value: -1: must be greater than or equal to 0");
    }

    #[test]
    fn networks_have_an_address_and_bits() {
        assert!(is_cidr("10.0.0.0/8") && is_cidr("::/0"));
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "x/8", "10.0.0.0/"] {
            assert!(!is_cidr(text), "{text}");
        }
    }
}
