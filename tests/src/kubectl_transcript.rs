//! What `kubectl` prints, without what may differ between two servers.

use crate::normalise::{Normaliser, PRESENT};

/// Fields that each server makes up, as they stand in YAML and JSON.
const MADE_UP: [&str; 7] = [
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "lastTransitionTime",
    "lastUpdateTime",
    "resourceVersion",
    "time",
];

/// Masks uids, versions, times, generations and the address of the server.
///
/// The fields are those of [`Normaliser`]; here they are found by line, so that the form of the output is compared too.
pub fn plain(text: &str, address: &str) -> String {
    let mut normaliser = Normaliser::new([(address, "{server}")]);
    let lines: Vec<String> = text.lines().map(|line| normaliser.text(&masked(line))).collect();
    let end = if text.ends_with('\n') { "\n" } else { "" };
    lines.join("\n") + end
}

fn masked(line: &str) -> String {
    let Some((key, value)) = line.split_once(": ") else { return line.to_owned() };
    let name = key.trim_start().trim_start_matches("- ").trim_matches('"');
    if !MADE_UP.contains(&name) || value.starts_with("null") {
        return line.to_owned();
    }
    let comma = if value.ends_with(',') { "," } else { "" };
    format!("{key}: {PRESENT}{comma}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_fields_are_masked_in_yaml_and_json_and_the_form_stays() {
        let yaml = "metadata:\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n  generation: 4\n  name: a\n";
        assert_eq!(
            plain(yaml, "-"),
            "metadata:\n  creationTimestamp: present\n  generation: present\n  name: a\n"
        );
        let json = "{\n    \"resourceVersion\": \"77\",\n    \"generation\": 4,\n    \"replicas\": 4\n}\n";
        let expected =
            "{\n    \"resourceVersion\": present,\n    \"generation\": present,\n    \"replicas\": 4\n}\n";
        assert_eq!(plain(json, "-"), expected);
    }

    #[test]
    fn absent_and_null_stay_what_they_are() {
        assert_eq!(plain("  creationTimestamp: null", "-"), "  creationTimestamp: null");
        assert_eq!(plain("observedGeneration: 4", "-"), "observedGeneration: 4");
        assert_eq!(plain("", "-"), "");
    }

    #[test]
    fn uids_and_the_address_are_replaced_everywhere() {
        let text = "uid: 0a1b2c3d-0000-4000-8000-000000000001 at https://127.0.0.1:1234/api";
        assert_eq!(plain(text, "https://127.0.0.1:1234"), "uid: uid-1 at {server}/api");
    }
}
