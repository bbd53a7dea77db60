//! Every well-known name, once: what users, tools and release authors match on is spelled here and nowhere else.

pub mod annotation;
pub mod condition;
pub mod config;
pub mod group;
pub mod kind;
pub mod label;
pub mod machine;
pub mod metric;
pub mod payload;
pub mod reason;
pub mod update;

pub use self::config::{feature_gate, feature_set, namespace, object, profile};
pub use self::payload::{file, metadata};
pub use self::update::{precondition, risk};

/// The field manager of every server-side apply.
pub const FIELD_MANAGER: &str = "lockstep";

/// The version text that stands for "the version of the release" until a release is built.
pub const VERSION_PLACEHOLDER: &str = "0.0.1-snapshot";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    const SOURCES: [(&str, &str); 12] = [
        ("names", include_str!("names.rs")),
        ("annotation", include_str!("names/annotation.rs")),
        ("condition", include_str!("names/condition.rs")),
        ("config", include_str!("names/config.rs")),
        ("group", include_str!("names/group.rs")),
        ("kind", include_str!("names/kind.rs")),
        ("label", include_str!("names/label.rs")),
        ("machine", include_str!("names/machine.rs")),
        ("metric", include_str!("names/metric.rs")),
        ("payload", include_str!("names/payload.rs")),
        ("reason", include_str!("names/reason.rs")),
        ("update", include_str!("names/update.rs")),
    ];

    /// (file, constant, value) of every text constant below this module, read from the source so that none is missed.
    fn constants() -> Vec<(&'static str, &'static str, &'static str)> {
        let mut found = Vec::new();
        for (file, source) in SOURCES {
            let source = source.split("#[cfg(test)]").next().unwrap();
            for declaration in source.split("pub const ").skip(1) {
                let Some((name, rest)) = declaration.split_once(": &str =") else { continue };
                let value = rest.trim_start().strip_prefix('"').unwrap().split('"').next().unwrap();
                found.push((file, name, value));
            }
        }
        found
    }

    #[test]
    fn no_value_stands_twice() {
        let mut seen = BTreeMap::new();
        for (file, name, value) in constants() {
            if let Some(other) = seen.insert(value, (file, name)) {
                panic!("{value:?} is both {other:?} and {:?}", (file, name));
            }
        }
        assert!(seen.len() > 150, "the scan found only {} names", seen.len());
    }

    #[test]
    fn a_reason_or_condition_type_is_one_word_that_the_api_accepts() {
        for (file, name, value) in constants() {
            if file == "reason" || file == "condition" {
                assert!(value.starts_with(|c: char| c.is_ascii_uppercase()), "{name}");
                assert!(value.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
            }
        }
    }

    #[test]
    fn a_constant_is_named_after_its_value() {
        for (file, name, value) in constants() {
            if file == "reason" || file == "condition" || file == "kind" {
                assert_eq!(name.replace('_', "").to_lowercase(), value.to_lowercase(), "{file}");
            }
        }
    }
}
