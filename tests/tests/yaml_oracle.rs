//! The YAML reader against the real thing: whatever `kubectl` reads out of a document, we read too.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

static KUBECTL: LazyLock<PathBuf> = LazyLock::new(|| xtask::kube::assets().unwrap().join("kubectl"));

/// An object of a kind that nobody knows, so that nothing but the reader has a say in it.
const HEAD: &str = "apiVersion: quirk.example.com/v1\nkind: Quirk\nmetadata: {name: q}\n";

/// What `kubectl` makes of a stream, without a server; `None` when it refuses.
fn kubectl(text: &str) -> Option<Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(&*KUBECTL)
        .args(["annotate", "--local", "-f", "-", "-o", "json", "oracle=yes"])
        .env("HOME", folder.path())
        .env_remove("KUBECONFIG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let objects = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let spec = |object: Result<Value, _>| object.map(|object: Value| object["spec"].clone());
    output.status.success().then(|| objects.map(spec).collect::<Result<_, _>>().unwrap())
}

fn ours(text: &str) -> Option<Vec<Value>> {
    let documents = lockstep_payload::yaml::documents(text.as_bytes()).ok()?;
    Some(documents.into_iter().map(|document| document.value["spec"].clone()).collect())
}

#[test]
fn quirks_read_as_kubectl_reads_them() {
    let quirks = [
        "[yes, No, ON, off, y, N, true, FALSE, True, yEs, onn]",
        "{yes: 1, n: 2, ON: 3, 12: 4, 0x10: 5, 1.5: 6, 1e3: 7, 010: 8}",
        "[~, null, Null, NULL, '', \"\", nUll]",
        "[0644, 0o644, 0x1F, 0b101, +12, -12, 1_000, 0999, 08, 0, -0, 00]",
        "[9223372036854775807, 18446744073709551616, -9223372036854775808, -9223372036854775809]",
        "[1e3, .5, 5., 12e03, 1.10, 1234e567, 1e21, 1e20, 1e-7, 0.000001, -1.5E-3, +.5]",
        "[1:30, 2001-12-14, 2001-12-14T21:59:43.10Z, 4.18.0, 1.2.3, 1e, e5, ., .., +, =]",
        "[!!str 12, !!int \"12\", !!float 12, !!str yes, !custom 12]",
        "{a: 1, b: 2, a: 3}",
        "{base: &b {x: 1, z: 2}, m: {<<: *b, x: 5}, after: {x: 5, <<: *b}, list: {<<: [*b, {x: 9, w: 3}]}}",
        "{a: &anchor text, b: *anchor}",
        "\n  a: 'one\n  two\n\n  three'\n  b: \"four\n  five \\\n  six\"",
        "\n  a: |\n    block\n      more\n  b: >-\n    folded\n    text\n  c: |+\n    keep\n\n  d: plain\n    continued",
        "\n  - a\n  -\n    - b\n  - {c: [d, e]}\n  - ? complex\n    : value",
        "\"\\u00e4\\x41\\t\\n\\\"\"",
        "{url: http://example.com:80/x#y, time: 12:30, colon: 'a: b', hash: a#b}",
        "{\"quoted key\": 1, 'single': 2, plain key: 3}",
        "äöü → ✓ 日本",
        "[a, b, ]",
    ];
    let documents: Vec<String> = quirks.iter().map(|quirk| format!("{HEAD}spec: {quirk}\n")).collect();
    for (quirk, document) in quirks.iter().zip(&documents) {
        assert_eq!(ours(document), kubectl(document), "{quirk}");
    }
    let stream = documents.join("--- # next\n");
    assert_eq!(ours(&stream), kubectl(&stream), "as one stream");
    assert_eq!(ours(&stream).map(|found| found.len()), Some(quirks.len()));
}

#[test]
fn integers_of_64_bits_keep_the_digits_that_kubectl_loses() {
    let document = format!("{HEAD}spec: 18446744073709551615\n");
    assert_eq!(kubectl(&document), Some(vec![json!(18_446_744_073_709_552_000.0)]));
    assert_eq!(ours(&document), Some(vec![json!(u64::MAX)]), "the version hash is taken over all digits");
}

#[test]
fn what_kubectl_refuses_is_refused() {
    let refused = [
        format!("{HEAD}spec: [\n"),
        format!("{HEAD}spec: {{~: 1}}\n"),
        format!("{HEAD}spec: .inf\n"),
        format!("{HEAD}spec: .nan\n"),
        format!("{HEAD}spec:\n\t- tab\n"),
        format!("{HEAD}spec: *unknown\n"),
        format!("{HEAD}spec: &a [*a]\n"),
        format!("{HEAD}spec: {{<<: 1}}\n"),
        format!("{HEAD}spec: !!int twelve\n"),
        format!("{HEAD}spec: 'never closed\n"),
        format!("{HEAD}spec: \u{1}\n"),
        format!("{HEAD}spec: {{[a, b]: 1}}\n"),
        format!("%YAML 1.1\n---\n{HEAD}"),
        format!("{HEAD}--- trailing\n{HEAD}"),
        format!("{HEAD}a: b: c\n"),
    ];
    for text in refused {
        assert_eq!(kubectl(&text), None, "{text}");
        assert_eq!(ours(&text), None, "{text}");
    }
}

#[test]
fn line_ends_marks_and_json_are_read_alike() {
    let accepted = [
        format!("\u{feff}{HEAD}spec: 1\n"),
        format!("{HEAD}spec: |\n  a\n  b\n").replace('\n', "\r\n"),
        format!("{HEAD}spec: |+\n  a"),
        format!("---\n---\n# only a comment\n---\n{HEAD}spec: 1\n---\n"),
        json!({"apiVersion": "q/v1", "kind": "Quirk", "metadata": {"name": "q"}, "spec": {"b": 1.0, "a": 1e3, "c": "<&>"}}).to_string(),
        format!("{}\n---\n{HEAD}spec: yes\n", json!({"apiVersion": "q/v1", "kind": "Quirk", "metadata": {"name": "q"}, "spec": 1})),
        "{apiVersion: q/v1, kind: Quirk, metadata: {name: q}, spec: no}\n".to_owned(),
    ];
    for text in accepted {
        let found = kubectl(&text);
        assert!(found.is_some(), "{text}");
        assert_eq!(ours(&text), found, "{text}");
    }
}

/// A seeded generator of numbers below a bound.
fn generator(mut state: u64) -> impl FnMut(usize) -> usize {
    move |bound| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap()
    }
}

/// Manifests of the example release, damaged as people damage files: whatever is left reads alike, or is refused alike.
#[test]
fn damaged_documents_read_as_kubectl_reads_them() {
    let mut next = generator(0x9e37_79b9_7f4a_7c15);
    let folder = lockstep_tests::cli::root().join("examples/releases/1.0.0/release-manifests");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let (mut read, mut refused) = (0, 0);
    for round in 0..150 {
        let text = std::fs::read_to_string(&files[next(files.len())]).unwrap();
        let first = text
            .lines()
            .skip_while(|line| line.starts_with("---"))
            .take_while(|line| !line.starts_with("---"));
        let mut lines: Vec<String> = first.map(|line| format!("  {line}")).collect();
        for _ in 0..=next(3) {
            damage(&mut lines, &mut next);
        }
        let document = format!("{HEAD}spec:\n{}\n", lines.join("\n"));
        let (ours, theirs) = (ours(&document), kubectl(&document));
        assert_eq!(ours, theirs, "round {round}\n{document}");
        if ours.is_some() { read += 1 } else { refused += 1 }
    }
    assert!(read > 20 && refused > 20, "{read} read, {refused} refused: the damage proves nothing");
}

fn damage(lines: &mut Vec<String>, next: &mut impl FnMut(usize) -> usize) {
    let at = next(lines.len());
    let line = lines[at].clone();
    let cut = (0..=next(line.len() + 1).min(line.len()))
        .rev()
        .find(|place| line.is_char_boundary(*place))
        .unwrap_or(0);
    match next(7) {
        0 => lines[at] = format!(" {line}"),
        1 => lines[at] = line.strip_prefix("   ").map_or(line.clone(), |rest| format!("  {rest}")),
        2 | 3 => {
            let marks: Vec<char> = ":-\"'#[{]}&*!|>%@`,?<=~".chars().collect();
            lines[at] = format!("{}{}{}", &line[..cut], marks[next(marks.len())], &line[cut..]);
        }
        4 => lines[at].truncate(cut),
        5 => lines.insert(at, line),
        _ => {
            let other = next(lines.len());
            lines.swap(at, other);
        }
    }
}

/// Two thousand random plain scalars of the characters that numbers, booleans and dates are made of.
#[test]
fn random_scalars_read_as_kubectl_reads_them() {
    let mut next = generator(0x2545_f491_4f6c_dd1d);
    let alphabet: Vec<char> = "0123456789000111..__++--eExXbBoOyYnN:tTfF~infa".chars().collect();
    let scalars: Vec<String> = std::iter::repeat_with(|| {
        let length = 1 + next(7);
        (0..length).map(|_| alphabet[next(alphabet.len())]).collect::<String>()
    })
    // What these would be is a matter of YAML's structure, not of scalars; non-finite numbers fail the whole document.
    .filter(|scalar| {
        !scalar.ends_with(':')
            && scalar != "-"
            && !scalar.to_lowercase().ends_with(".inf")
            && !scalar.to_lowercase().ends_with(".nan")
    })
    .take(2000)
    .collect();
    let document = scalars.iter().fold(format!("{HEAD}spec:\n"), |text, scalar| text + "- " + scalar + "\n");
    let (ours, theirs) = (ours(&document).unwrap(), kubectl(&document).unwrap());
    for (index, scalar) in scalars.iter().enumerate() {
        assert_eq!(ours[0][index], theirs[0][index], "{scalar:?}");
    }
}
