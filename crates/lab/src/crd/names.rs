//! The forms of names in definitions.

/// What is wrong with a DNS label of RFC 1035 (starts with a letter), if anything.
pub(crate) fn label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 characters".to_owned());
    }
    let fits = text.starts_with(|sign: char| sign.is_ascii_lowercase())
        && text.ends_with(is_alphanumeric)
        && text.chars().all(|sign| sign == '-' || is_alphanumeric(sign));
    if !fits {
        problems.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

/// What is wrong with a DNS subdomain of RFC 1123, if anything.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    let is_part = |part: &str| {
        part.starts_with(is_alphanumeric)
            && part.ends_with(is_alphanumeric)
            && part.chars().all(|sign| sign == '-' || is_alphanumeric(sign))
    };
    if !text.split('.').all(is_part) {
        problems.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    problems
}

/// What is wrong with the name of a kind, if anything: a label, but in any case.
pub(crate) fn mixed_case_label(kind: &str) -> Option<String> {
    let problems = label(&kind.to_lowercase());
    (!problems.is_empty())
        .then(|| format!("may have mixed case, but should otherwise match: {}", problems.join(",")))
}

fn is_alphanumeric(sign: char) -> bool {
    sign.is_ascii_lowercase() || sign.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_start_with_a_letter_and_subdomains_may_not() {
        assert!(
            label("v1").is_empty()
                && label("1v").len() == 1
                && label("").len() == 1
                && label("a-").len() == 1
        );
        assert!(subdomain("1a.b").is_empty() && subdomain("a..b").len() == 1 && subdomain("A").len() == 1);
        assert_eq!(label(&"a".repeat(64)), ["must be no more than 63 characters"]);
        assert_eq!(mixed_case_label("ConfigMap"), None);
    }
}
