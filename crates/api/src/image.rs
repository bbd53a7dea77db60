//! Pull specs of images, as far as one has to tell two of them apart.

/// Whether two pull specs certainly name the same image: equal texts, or equal digests in whatever repository.
pub fn same_image(one: &str, other: &str) -> bool {
    let digest = |image: &str| match image.split('@').collect::<Vec<_>>().as_slice() {
        [_, digest] => Some((*digest).to_owned()),
        _ => None,
    };
    one == other || matches!((digest(one), digest(other)), (Some(one), Some(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_the_specification() {
        let cases = [
            ("", "", true),
            ("", "example.com@sha256:d", false),
            ("example.com", "example.com@sha256:d", false),
            ("example.com:tag", "example.com@sha256:tag", false),
            ("example.com:tag", "example.com:tag", true),
            ("a.example.com:latest", "b.example.com:latest", false),
            ("a.example.com@sha256:d", "b.example.com@sha256:d", true),
            ("example.com@sha256:1", "example.com@sha256:2", false),
            ("@sha256:d", "example.com@sha256:d", true),
            ("a@b@sha256:d", "example.com@sha256:d", false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(same_image(one, other), expected, "{one:?} {other:?}");
            assert_eq!(same_image(other, one), expected, "{other:?} {one:?}");
        }
    }
}
