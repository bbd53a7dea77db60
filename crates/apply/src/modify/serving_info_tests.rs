use proptest::prelude::*;

use super::*;

const HEAD: &str = "apiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\n";

fn profile(suites: Option<&[&str]>, version: Option<&str>) -> TlsProfile {
    TlsProfile {
        cipher_suites: suites.map(|suites| suites.iter().map(|suite| (*suite).to_owned()).collect()),
        min_version: version.map(str::to_owned),
    }
}

/// The text after an edit; the same text when nothing changes.
fn after(text: &str, profile: &TlsProfile) -> String {
    edited(text, profile).unwrap_or_else(|| text.to_owned())
}

const TWO: &[&str] = &["TLS_ONE", "TLS_TWO"];

#[test]
fn settings_are_changed_added_and_removed_and_the_rest_stays_as_written() {
    let both = profile(Some(TWO), Some("VersionTLS13"));
    let cases = [
        // The order of fields, comments and quotes stay.
        (
            "servingInfo:\n  bindNetwork: \"tcp\" # why\n  minTLSVersion: VersionTLS10   # old\n\n  certFile: a\n  # here\n  \
             keyFile: b\n  bindAddress: \"0.0.0.0:1\"\n  cipherSuites: # list\n    - OLD_ONE\n    # inside\n    - OLD_TWO\nlast: 1\n",
            &both,
            "servingInfo:\n  bindNetwork: \"tcp\" # why\n  minTLSVersion: VersionTLS13   # old\n\n  certFile: a\n  # here\n  \
             keyFile: b\n  bindAddress: \"0.0.0.0:1\"\n  cipherSuites: # list\n    - TLS_ONE\n    - TLS_TWO\nlast: 1\n",
        ),
        // A list that is indented as its key, and reversed.
        (
            "servingInfo:\n  cipherSuites:\n  - \"TLS_TWO\"\n  - \"TLS_ONE\"\n  minTLSVersion: 'VersionTLS10'\nz: 1\n",
            &both,
            "servingInfo:\n  cipherSuites:\n  - \"TLS_ONE\"\n  - \"TLS_TWO\"\n  minTLSVersion: 'VersionTLS13'\nz: 1\n",
        ),
        // Both not found: both removed.
        (
            "servingInfo:\n  cipherSuites:\n  - A\n  bindAddress: b\n  minTLSVersion: c\nz: 1\n",
            &profile(None, None),
            "servingInfo:\n  bindAddress: b\nz: 1\n",
        ),
        (
            "servingInfo:\n    cipherSuites: [A]\n    minTLSVersion: c\n",
            &profile(None, None),
            "servingInfo: {}\n",
        ),
        // One of them not found.
        (
            "servingInfo:\n  cipherSuites:\n  - A\n  minTLSVersion: c\n",
            &profile(None, Some("VersionTLS12")),
            "servingInfo:\n  minTLSVersion: VersionTLS12\n",
        ),
        (
            "servingInfo:\n  minTLSVersion: c\n  cipherSuites: [A, 'B']\n",
            &profile(Some(TWO), None),
            "servingInfo:\n  cipherSuites: [TLS_ONE, TLS_TWO]\n",
        ),
        // Only an address: both appended, ciphers first.
        (
            "servingInfo:\n  bindAddress: b\n\n# end\nz: 1\n",
            &both,
            "servingInfo:\n  bindAddress: b\n  cipherSuites:\n  - TLS_ONE\n  - TLS_TWO\n  minTLSVersion: VersionTLS13\n\n# end\nz: 1\n",
        ),
        // Found but empty.
        (
            "servingInfo:\n  minTLSVersion: c\n",
            &profile(Some(TWO), Some("")),
            "servingInfo:\n  minTLSVersion: \"\"\n  cipherSuites:\n  - TLS_ONE\n  - TLS_TWO\n",
        ),
        (
            "servingInfo:\n  cipherSuites:\n  - A\n  - B\n  minTLSVersion: c\n",
            &profile(Some(&[]), Some("")),
            "servingInfo:\n  cipherSuites: []\n  minTLSVersion: \"\"\n",
        ),
        (
            "servingInfo:\n  cipherSuites: []\n  minTLSVersion: \"\"\n",
            &both,
            "servingInfo:\n  cipherSuites:\n  - TLS_ONE\n  - TLS_TWO\n  minTLSVersion: \"VersionTLS13\"\n",
        ),
        // No block yet.
        ("z: 1\n", &profile(None, None), "z: 1\nservingInfo: {}\n"),
        (
            "z: |\n  servingInfo:\n    a: b\n",
            &both,
            "z: |\n  servingInfo:\n    a: b\nservingInfo:\n  cipherSuites:\n  - TLS_ONE\n  - TLS_TWO\n  minTLSVersion: VersionTLS13\n",
        ),
        (
            "servingInfo: {}\nz: 1\n",
            &both,
            "servingInfo:\n  cipherSuites:\n  - TLS_ONE\n  - TLS_TWO\n  minTLSVersion: VersionTLS13\nz: 1\n",
        ),
        (
            "servingInfo:\nz: 1",
            &both,
            "servingInfo:\n  cipherSuites:\n  - TLS_ONE\n  - TLS_TWO\n  minTLSVersion: VersionTLS13\nz: 1",
        ),
        // A text without a last end of line.
        (
            "z: 1",
            &profile(Some(&[]), Some("VersionTLS12")),
            "z: 1\nservingInfo:\n  cipherSuites: []\n  minTLSVersion: VersionTLS12",
        ),
        // A map in braces.
        (
            "servingInfo: {bindAddress: b, minTLSVersion: c} # why\nz: 1\n",
            &both,
            "servingInfo: {bindAddress: b, minTLSVersion: \"VersionTLS13\", cipherSuites: [\"TLS_ONE\",\"TLS_TWO\"]} # why\nz: 1\n",
        ),
    ];
    for (text, profile, expected) in cases {
        // In the middle of the head, so that fields come before and after.
        let (text, expected) = (format!("{HEAD}{text}"), format!("{HEAD}{expected}"));
        assert_eq!(after(&text, profile), expected);
        assert_eq!(edited(&expected, profile), None, "an edited text has the settings: {expected}");
    }
}

#[test]
fn a_text_with_the_settings_stays_byte_for_byte() {
    let text = format!(
        "---\n{HEAD}\"servingInfo\" :\n   cipherSuites:   ['TLS_ONE',\n     TLS_TWO]\n   minTLSVersion: VersionTLS13\n"
    );
    assert_eq!(edited(&text, &profile(Some(TWO), Some("VersionTLS13"))), None);
}

#[test]
fn a_json_configuration_keeps_its_form() {
    let text = "{\n  \"kind\": \"GenericOperatorConfig\",\n  \"servingInfo\": {\n    \"minTLSVersion\": \"x\"\n  },\n  \
                \"apiVersion\": \"operator.openshift.io/v1alpha1\"\n}\n";
    let expected = "{\n  \"kind\": \"GenericOperatorConfig\",\n  \"servingInfo\": {\n    \"minTLSVersion\": \"VersionTLS13\",\n    \
                    \"cipherSuites\": [\"TLS_ONE\",\"TLS_TWO\"]\n  },\n  \"apiVersion\": \"operator.openshift.io/v1alpha1\"\n}\n";
    assert_eq!(after(text, &profile(Some(TWO), Some("VersionTLS13"))), expected);
}

#[test]
fn ends_of_lines_stay_what_they_are() {
    let text = format!("{HEAD}servingInfo:\n  minTLSVersion: c\n").replace('\n', "\r\n");
    let expected = format!("{HEAD}servingInfo:\n  minTLSVersion: VersionTLS12\n  cipherSuites: []\n")
        .replace('\n', "\r\n");
    assert_eq!(after(&text, &profile(Some(&[]), Some("VersionTLS12"))), expected);
}

#[test]
fn a_text_that_cannot_be_edited_by_lines_gets_the_settings_anyway() {
    let profile = profile(Some(TWO), Some("VersionTLS13"));
    for text in [
        format!("x: &anchor\n  bindAddress: b\n{HEAD}servingInfo: *anchor\n"),
        format!("{HEAD}? servingInfo\n: bindAddress: b\n"),
        format!("{HEAD}servingInfo: !!map\n  bindAddress: b\n"),
        format!("{HEAD}z: 1\n...\n"),
    ] {
        let value = only_document(&text).unwrap();
        let wanted = with_settings(&value, &profile);
        assert_eq!(wanted["servingInfo"]["minTLSVersion"], "VersionTLS13");
        assert_eq!(only_document(&after(&text, &profile)), Some(wanted), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_of_a_configuration_ends_with_the_settings(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "servingInfo:", "servingInfo: ", "  cipherSuites:", "  minTLSVersion: ", "{", "}", "[", "]", "- ", "  ", "\n", "\n",
            ": ", ", ", "'", "\"", "#", " # ", "a", "\u{e4}", "\r\n", "|\n", "---", "...", "\t", "&x ", "*x", "null",
        ]), 0..12),
        is_json in any::<bool>(),
    ) {
        let text = if is_json {
            let head = r#"{"apiVersion": "operator.openshift.io/v1alpha1", "kind": "GenericOperatorConfig""#;
            format!("{head}, {}}}", pieces.concat())
        } else {
            format!("{HEAD}{}", pieces.concat())
        };
        let profile = profile(Some(TWO), Some("VersionTLS13"));
        if let Some(after) = edited(&text, &profile) {
            let wanted = with_settings(&only_document(&text).unwrap(), &profile);
            prop_assert_eq!(only_document(&after), Some(wanted));
        }
    }
}
