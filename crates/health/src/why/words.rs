//! Texts of other people's programs, and what they mean.

/// Whether a text contains one of these, whatever the case.
pub(super) fn says(text: &str, any: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    any.iter().any(|word| text.contains(&word.to_ascii_lowercase()))
}

/// The first line of a text that contains one of these.
pub(super) fn line_that_says<'a>(text: &'a str, any: &[&str]) -> Option<&'a str> {
    text.lines().find(|line| says(line, any))
}

/// The object of `Could not update <kind> "<namespace>/<name>" (<i> of <n>)`.
pub(super) fn failed_manifest(message: &str) -> Option<(&str, &str, &str)> {
    let (_, rest) = message.split_once("Could not update ")?;
    let (kind, rest) = rest.split_once(" \"")?;
    let (path, _) = rest.split_once('"')?;
    let (namespace, name) = path.split_once('/').unwrap_or(("", path));
    Some((kind, namespace, name))
}

/// The text between two others.
pub(super) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

/// The registry of an image.
pub(super) fn registry(image: &str) -> &str {
    image.split('/').next().filter(|host| host.contains(['.', ':'])).unwrap_or("docker.io")
}

/// The done count of `Working towards V: D of T done`.
pub(super) fn done_of_total(message: &str) -> Option<(u64, u64)> {
    let (before, rest) = message.split_once(" of ")?;
    let done = before.rsplit(' ').next()?.parse().ok()?;
    let total = rest.split(' ').next()?.parse().ok()?;
    Some((done, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_of_a_failed_manifest_is_found() {
        let message = "Could not update deployment \"openshift-dns/dns\" (12 of 900): the server is down";
        assert_eq!(failed_manifest(message), Some(("deployment", "openshift-dns", "dns")));
        assert_eq!(failed_manifest("Could not update crd \"a.b\" (1 of 2)"), Some(("crd", "", "a.b")));
        assert_eq!(failed_manifest("Working towards 4.20.0"), None);
    }

    #[test]
    fn registry_of_an_image_is_its_first_part_with_a_dot_or_port() {
        assert_eq!(registry("quay.example.com/a/b@sha256:1"), "quay.example.com");
        assert_eq!(registry("localhost:5000/a"), "localhost:5000");
        assert_eq!(registry("library/a"), "docker.io");
    }

    #[test]
    fn counts_of_the_progress_message_are_read() {
        assert_eq!(done_of_total("Working towards 4.20.0: 120 of 900 done (13% complete)"), Some((120, 900)));
        assert_eq!(done_of_total("Working towards 4.20.0"), None);
    }
}
