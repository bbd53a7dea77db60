//! What a manifest file is called in a release.

use std::collections::BTreeSet;

use lockstep_api::names::file;

/// What comes before component and file name of a manifest without a run level.
pub const DEFAULT_PREFIX: &str = "0000_50";

/// The names that are taken already.
#[derive(Debug, Clone, Default)]
pub struct Names {
    taken: BTreeSet<String>,
}

/// The name of a file before somebody else has it: `0000_…` stays, everything else gets prefix and component.
pub fn destination(component: &str, name: &str, prefix: &str) -> String {
    if name.starts_with(file::RUN_LEVEL_PREFIX) {
        return name.to_owned();
    }
    format!("{prefix}_{component}_{name}")
}

/// Says why a component or file name cannot be part of a file name.
pub fn check_name(name: &str) -> Result<(), String> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name == "." || name == ".." {
        "it is a folder"
    } else if name.contains(['/', '\\']) {
        "it has a slash"
    } else if name.chars().any(char::is_control) {
        "it has control characters"
    } else if name.len() > 200 {
        "it is longer than 200 bytes"
    } else {
        return Ok(());
    };
    Err(format!("{name:?} cannot be part of a file name: {why}"))
}

/// Says why a text cannot be a prefix.
pub fn check_prefix(prefix: &str) -> Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !prefix.is_empty() && prefix.bytes().all(is_allowed) && prefix.len() <= 32 {
        return Ok(());
    }
    Err(format!(
        "{prefix:?} is no prefix: up to 32 letters, digits, `_` and `-`, such as {DEFAULT_PREFIX} or 99"
    ))
}

// === impl Names ===

impl Names {
    /// Takes a name; the second owner of one gets `_2` before the extension, the third `_3`.
    pub fn claim(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2_u32;
        while !self.taken.insert(name.clone()) {
            name = match wanted.rsplit_once('.') {
                Some((stem, extension)) => format!("{stem}_{number}.{extension}"),
                None => format!("{wanted}_{number}"),
            };
            number += 1;
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_level_stays_and_everything_else_gets_a_prefix() {
        let named = |name: &str, prefix: &str| destination("dns", name, prefix);
        assert_eq!(named("0000_20_a_b.yaml", DEFAULT_PREFIX), "0000_20_a_b.yaml");
        assert_eq!(named("01_roles.yaml", DEFAULT_PREFIX), "0000_50_dns_01_roles.yaml");
        assert_eq!(named("01_roles.yaml", "99"), "99_dns_01_roles.yaml");
        assert_eq!(named("release-metadata", DEFAULT_PREFIX), "0000_50_dns_release-metadata");
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number_that_is_free() {
        let mut names = Names::default();
        let claimed: Vec<String> =
            ["a.yaml", "a.yaml", "a_2.yaml", "a.yaml", "a", "a"].map(|name| names.claim(name)).into();
        assert_eq!(claimed, ["a.yaml", "a_2.yaml", "a_2_2.yaml", "a_3.yaml", "a", "a_2"]);
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        for name in ["", ".", "..", "a/b", "../a", "a\\b", "a\nb", "a\0", &"x".repeat(201)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("cluster-dns-operator").is_ok() && check_name("…ü").is_ok());
        for prefix in ["", "a/b", "0000 50", "../x"] {
            assert!(check_prefix(prefix).is_err(), "{prefix:?}");
        }
        assert!(check_prefix("99").is_ok());
    }
}
