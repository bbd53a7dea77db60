//! Image replacement: the literals that an operator declares become pull specs of the release.
//!
//! Textual, not YAML aware: an image may stand in an argument, in a JSON document inside a `ConfigMap`, in a script.

/// What one literal becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The text to look for; a tag or digest behind it belongs to it.
    pub literal: String,
    /// The pull spec that it becomes.
    pub target: String,
}

/// Longest tag, in bytes.
const MAX_TAG: usize = 128;
/// A prefix that only says how the image is reached.
const TRANSPORT: &[u8] = b"docker://";

/// Replaces all literals in a file.
///
/// A match begins at the start of the file or behind a character that cannot belong to an image name, goes on with the
/// literal, a tag, a digest or both, and ends before a character that cannot belong to it either. Where several literals
/// fit, the longest counts.
///
/// # Compatibility
/// The reference consumes the separator, so of two images with one blank between them it replaces the first only; it knows
/// no `,`, `;`, `)` and no `\n` of a JSON string as an end; it replaces behind a prefix such as `mirror/`; and it knows no
/// tag together with a digest. None of that is repeated.
pub fn replace(text: &[u8], replacements: &[Replacement]) -> Vec<u8> {
    let mut longest_first: Vec<&Replacement> =
        replacements.iter().filter(|it| !it.literal.is_empty()).collect();
    longest_first.sort_by_key(|it| std::cmp::Reverse(it.literal.len()));
    let mut begins = [false; 256];
    for replacement in &longest_first {
        begins[usize::from(replacement.literal.as_bytes()[0])] = true;
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if begins[usize::from(text[at])] && can_begin(&text[..at]) {
            let found = longest_first.iter().find_map(|it| Some((end(text, at, it.literal.as_bytes())?, it)));
            if let Some((end, replacement)) = found {
                out.extend_from_slice(replacement.target.as_bytes());
                at = end;
                continue;
            }
        }
        out.push(text[at]);
        at += 1;
    }
    out
}

/// Where a match that begins here ends.
fn end(text: &[u8], at: usize, literal: &[u8]) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix(literal)?;
    let tag = tag(rest);
    let digest = digest(&rest[tag..]);
    let length = tag + digest;
    can_end(&rest[length..]).then_some(at + literal.len() + length)
}

/// Whether an image name can begin behind these bytes.
fn can_begin(before: &[u8]) -> bool {
    match before {
        [] | [.., b'\\', b'n' | b't' | b'r'] => true,
        [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => true,
        _ if before.ends_with(TRANSPORT) => true,
        [.., last] => !is_word(*last) && !matches!(last, b'/' | b'-' | b'.'),
    }
}

/// Whether an image name can end before these bytes.
fn can_end(after: &[u8]) -> bool {
    after.first().is_none_or(|next| next.is_ascii_whitespace() || b"\"',;)]}\\`|<>&".contains(next))
}

/// Length of `:tag`.
fn tag(text: &[u8]) -> usize {
    match text {
        [b':', first, rest @ ..] if is_word(*first) => {
            let more = rest.iter().take_while(|byte| is_word(**byte) || matches!(byte, b'.' | b'-')).count();
            2 + more.min(MAX_TAG - 1)
        }
        _ => 0,
    }
}

/// Length of `@algorithm:hex`.
fn digest(text: &[u8]) -> usize {
    let Some(rest) = text.strip_prefix(b"@") else { return 0 };
    let algorithm =
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_+.".contains(byte)).count();
    let starts_well = rest.first().is_some_and(u8::is_ascii_alphabetic);
    if !starts_well || rest.get(algorithm) != Some(&b':') {
        return 0;
    }
    let digits = rest[algorithm + 1..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits < 2 { 0 } else { 1 + algorithm + 1 + digits }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TARGET: &str = "r/openshift/origin-etcd@sha256:1234";

    fn replaced(literals: &[&str], text: &str) -> String {
        let replacements: Vec<Replacement> = literals
            .iter()
            .enumerate()
            .map(|(index, literal)| Replacement {
                literal: (*literal).to_owned(),
                target: if index == 0 { TARGET.to_owned() } else { format!("T{index}") },
            })
            .collect();
        String::from_utf8(replace(text.as_bytes(), &replacements)).unwrap()
    }

    #[test]
    fn rows_of_the_specification() {
        let etcd = ["r/coreos/etcd"];
        assert_eq!(replaced(&[], "image: r/coreos/etcd"), "image: r/coreos/etcd");
        let rows = [
            ("image: r/coreos/etcd:latest", format!("image: {TARGET}")),
            ("image: r/coreos/etcd:latest\n", format!("image: {TARGET}\n")),
            ("image: r/coreos/etcd@sha256:5678", format!("image: {TARGET}")),
            ("image: r/coreos/etcd", format!("image: {TARGET}")),
            ("image: r/coreos/etcd ", format!("image: {TARGET} ")),
            ("r/coreos/etcd:latest", TARGET.to_owned()),
        ];
        for (text, wanted) in rows {
            assert_eq!(replaced(&etcd, text), wanted, "{text}");
        }
        let url = "example_url: https://r/coreos/etcd:8443/test";
        assert_eq!(replaced(&etcd, url), url);
        assert_eq!(
            replaced(&["r/coreos/etcd:latest"], "image: r/coreos/etcd:latest"),
            format!("image: {TARGET}")
        );
        let prometheus = ["r/openshift/origin-prometheus:latest"];
        let two = "- \"-images=prometheus=r/openshift/origin-prometheus:latest\"\n- \"-images=alertmanager=r/openshift/origin-prometheus-alertmanager:latest\"";
        assert_eq!(
            replaced(&prometheus, two),
            two.replacen("r/openshift/origin-prometheus:latest", TARGET, 1)
        );
        let quoted = "- \"r/openshift/origin-prometheus:latest\"";
        assert_eq!(replaced(&prometheus, quoted), format!("- \"{TARGET}\""));
        let exact = ["reg/repo@sha256:01234"];
        assert_eq!(replaced(&exact, "image: reg/repo@sha256:01234"), format!("image: {TARGET}"));
        assert_eq!(replaced(&exact, "reg/repo@sha256:01234"), TARGET);
    }

    #[test]
    fn what_the_reference_misses_is_replaced() {
        let both = ["r/coreos/etcd", "r/coreos/etcd-op"];
        let rows = [
            ("r/coreos/etcd:1 r/coreos/etcd-op:2", format!("{TARGET} T1")),
            (r#"["r/coreos/etcd","r/coreos/etcd-op:x"]"#, format!(r#"["{TARGET}","T1"]"#)),
            ("- r/coreos/etcd\n- r/coreos/etcd-op\n", format!("- {TARGET}\n- T1\n")),
            ("a=r/coreos/etcd:1,b=r/coreos/etcd:2\"", format!("a={TARGET},b={TARGET}\"")),
            ("r/coreos/etcd:1;", format!("{TARGET};")),
            ("(r/coreos/etcd:1)", format!("({TARGET})")),
            (r#""image: r/coreos/etcd:1\nr/coreos/etcd-op\n""#, format!(r#""image: {TARGET}\nT1\n""#)),
            ("{image: r/coreos/etcd:1}", format!("{{image: {TARGET}}}")),
            (r"a\u003dr/coreos/etcd:1", format!(r"a\u003d{TARGET}")),
            ("r/coreos/etcd:v1@sha256:abcd", TARGET.to_owned()),
            ("docker://r/coreos/etcd:v1", format!("docker://{TARGET}")),
        ];
        for (text, wanted) in rows {
            assert_eq!(replaced(&both, text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_part_of_something_else_stays() {
        for text in [
            "mirror/r/coreos/etcd:1",
            "my-r/coreos/etcd:1",
            "xr/coreos/etcd:1",
            "a.r/coreos/etcd:1",
            "https://r/coreos/etcd:8443",
            "https://r/coreos/etcd:8443/test",
            "r/coreos/etcd/more:1",
            "r/coreos/etcd-other:1",
            "r/coreos/etcd:${TAG}",
            "r/coreos/etcd@sha256:xyz",
            "r/coreos/etcd@sha256:5",
            "r/coreos/etcd: a key",
            "R/coreos/etcd:1",
            "r.coreos.etcd",
        ] {
            assert_eq!(replaced(&["r/coreos/etcd"], text), text);
        }
        let long = format!("r/coreos/etcd:{}", "a".repeat(129));
        assert_eq!(replaced(&["r/coreos/etcd"], &long), long);
        assert_ne!(replaced(&["r/coreos/etcd"], &long[..long.len() - 1]), long[..long.len() - 1]);
    }

    #[test]
    fn the_longest_literal_counts_whatever_the_order() {
        for literals in [["r/a", "r/a:v1"], ["r/a:v1", "r/a"]] {
            let found = replaced(&literals, "r/a:v1 r/a:v2");
            let (first, second) = found.split_once(' ').unwrap();
            assert_ne!(first, second, "{found}");
        }
    }

    proptest! {
        #[test]
        fn bytes_that_are_no_text_pass_and_nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let none = replace(&bytes, &[]);
            prop_assert_eq!(&none, &bytes);
            let one = Replacement { literal: "a".into(), target: "a".into() };
            let _ = replace(&bytes, &[one]);
        }

        #[test]
        fn a_literal_alone_on_its_line_is_always_found(name in "[a-z]{1,8}(/[a-z0-9]{1,8}){1,3}", tag in "(:[a-z0-9_.-]{1,20})?") {
            prop_assume!(!tag.starts_with(":.") && !tag.starts_with(":-"));
            let text = format!("x: {name}{tag}\n");
            prop_assert_eq!(replaced(&[&name], &text), format!("x: {TARGET}\n"));
        }
    }
}
