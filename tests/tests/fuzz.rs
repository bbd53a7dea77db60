//! Random and damaged input for everything that reads a release: no panic, no long wait, errors with a line.
//!
//! `LOCKSTEP_FUZZ_CASES` sets the number of cases of all properties together, `LOCKSTEP_FUZZ_SEED` where they start. The seed is
//! fixed by default, so that a check that passes does so again; `cargo xtask soak fuzz` takes more cases and another seed.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by a panic, also in the functions that tests share"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use lockstep_payload::file_name::{is_manifest, run_level};
use lockstep_payload::manifest::read_file;
use lockstep_payload::template::{TemplateData, TemplateError, render};
use lockstep_payload::yaml::{Document, YamlError, documents};
use lockstep_payload::{Folder, images, metadata};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{RngSeed, TestCaseError, TestCaseResult, TestRunner};
use serde_json::{Map, Value};

/// How long one case may take; the inputs are small, the rest is for a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);
const DEFAULT_CASES: u64 = 100_000;

/// What YAML is made of, with a preference for what its rules are about.
const TOKENS: [&str; 64] = [
    "a",
    "b: ",
    "kind: ",
    "metadata:",
    "name: x",
    "- ",
    "-",
    "? ",
    ": ",
    ":",
    ",",
    "[",
    "]",
    "{",
    "}",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "\n---\n",
    "---",
    "...",
    "\n...\n",
    "# c",
    "#",
    "&x ",
    "*x",
    "<<: ",
    "!!str ",
    "!",
    "!!binary ",
    "|",
    ">",
    "|+\n",
    ">-\n",
    "|2\n",
    "\"",
    "'",
    "''",
    "\\",
    "\\x41",
    "\\u00e4",
    "\"\"",
    "~",
    "null",
    "true",
    "yes",
    "0x1F",
    "1_000",
    "012",
    "1e3",
    ".inf",
    "-.5",
    "2001-01-01",
    "%YAML 1.1\n",
    "@",
    "`",
    "\t",
    "\r\n",
    " ",
    "\u{feff}",
    "\u{85}",
    "ä→",
    "\u{0}",
];

/// Every file of both example releases.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/releases");
    let mut files = Vec::new();
    for folder in ["1.0.0/manifests", "1.0.0/release-manifests", "1.1.0/manifests", "1.1.0/release-manifests"]
    {
        let mut paths: Vec<_> =
            fs::read_dir(releases.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        files.extend(paths.iter().map(|path| fs::read(path).unwrap()));
    }
    files
});

/// Runs a property over its share of the cases, in hundredths of all.
fn check<S: Strategy>(share: u64, strategy: S, property: impl Fn(S::Value) -> TestCaseResult) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let all = number("LOCKSTEP_FUZZ_CASES").unwrap_or(DEFAULT_CASES);
    let config = ProptestConfig {
        cases: u32::try_from((all * share / 100).max(1)).unwrap(),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(number("LOCKSTEP_FUZZ_SEED").unwrap_or(1)),
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    };
    let timed = |value| {
        let start = Instant::now();
        property(value)?;
        let taken = start.elapsed();
        if taken > PATIENCE { Err(TestCaseError::fail(format!("took {taken:?}"))) } else { Ok(()) }
    };
    if let Err(error) = TestRunner::new(config).run(&strategy, timed) {
        panic!("{error}");
    }
}

/// What must hold for any input of the YAML reader.
fn reads_or_names_a_line(bytes: &[u8]) -> TestCaseResult {
    // Generous: a lone carriage return and U+0085 (C2 85) end a line too.
    let lines = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r' | 0x85)).count() + 1;
    match documents(bytes) {
        Ok(found) => {
            let places: Vec<usize> = found.iter().map(|document| document.line).collect();
            prop_assert!(
                places.is_sorted() && places.iter().all(|line| (1..=lines).contains(line)),
                "{places:?}"
            );
            prop_assert!(found.iter().all(|document| !document.value.is_null()));
        }
        Err(YamlError { line, message }) => {
            prop_assert!((1..=lines + 1).contains(&line), "line {line} of {lines}: {message}");
            prop_assert!(!message.is_empty() && message.len() < 1_000, "{message}");
        }
    }
    Ok(())
}

fn yaml_text() -> impl Strategy<Value = String> {
    vec(select(TOKENS.as_slice()), 0..40).prop_map(|tokens| tokens.concat())
}

/// One way to damage a file.
#[derive(Clone, Debug)]
enum Damage {
    Cut(Index),
    Repeat(Index, Index),
    Remove(Index, Index),
    Flip(Index, u8),
    Insert(Index, &'static str),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<Index>;
    prop_oneof![
        place().prop_map(Damage::Cut),
        (place(), place()).prop_map(|(from, to)| Damage::Repeat(from, to)),
        (place(), place()).prop_map(|(from, to)| Damage::Remove(from, to)),
        (place(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (place(), select(TOKENS.as_slice())).prop_map(|(at, token)| Damage::Insert(at, token)),
    ]
}

fn damaged(file: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for damage in damages {
        let place = |index: &Index| index.index(bytes.len() + 1);
        let range = |from: &Index, to: &Index| {
            let (from, to) = (place(from), place(to));
            // Short, or most of the time only half of the file would be left.
            from.min(to)..from.max(to).min(from.min(to) + 200)
        };
        match damage {
            Damage::Cut(at) => bytes.truncate(place(at)),
            Damage::Repeat(from, to) => {
                let range = range(from, to);
                let copy = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, copy);
            }
            Damage::Remove(from, to) => drop(bytes.drain(range(from, to))),
            Damage::Flip(at, bit) => {
                let at = place(at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Damage::Insert(at, token) => drop(bytes.splice(place(at)..place(at), token.bytes())),
        }
    }
    bytes
}

fn damaged_file() -> impl Strategy<Value = Vec<u8>> {
    (any::<Index>(), vec(damage(), 1..5))
        .prop_map(|(file, damages)| damaged(&FILES[file.index(FILES.len())], &damages))
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e15..1e15).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((text(), inner), 0..5).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Texts that could be taken for something else.
fn text() -> impl Strategy<Value = String> {
    vec(prop_oneof![9 => select(TOKENS.as_slice()).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)], 0..4)
        .prop_map(|parts| parts.concat())
}

fn object() -> impl Strategy<Value = Value> {
    vec((text(), json_value()), 1..5)
        .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
}

/// A value as block YAML with all texts in double quotes.
fn to_yaml(value: &Value, indent: usize, out: &mut String) {
    let blanks = " ".repeat(indent);
    let mut entry = |head: &str, value: &Value| {
        let _ = write!(out, "{blanks}{head}");
        match value {
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                to_yaml(value, indent + 2, out);
            }
            Value::Object(fields) if !fields.is_empty() => {
                out.push('\n');
                to_yaml(value, indent + 2, out);
            }
            Value::String(text) => drop(writeln!(out, " {}", quoted(text))),
            leaf => drop(writeln!(out, " {leaf}")),
        }
    };
    match value {
        Value::Array(items) => items.iter().for_each(|item| entry("-", item)),
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| entry(&format!("{}:", quoted(key)), value));
        }
        _ => {}
    }
}

/// A text in double quotes with everything but plain ASCII escaped.
fn quoted(text: &str) -> String {
    let escape = |character: char| match character {
        '"' | '\\' => format!("\\{character}"),
        ' '..='~' => character.to_string(),
        _ => format!("\\U{:08x}", u32::from(character)),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Equal but for the notation of numbers: `1.0` is read as `1`, as Go writes it.
fn is_same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one == two || one.as_f64() == two.as_f64(),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len()
                && one.iter().zip(two).all(|(one, two)| one.0 == two.0 && is_same(one.1, two.1))
        }
        _ => one == two,
    }
}

fn only_value(text: &str) -> Result<Value, TestCaseError> {
    let mut found =
        documents(text.as_bytes()).map_err(|error| TestCaseError::fail(format!("{error} in {text}")))?;
    prop_assert_eq!(found.len(), 1);
    let Document { value, .. } = found.remove(0);
    Ok(value)
}

#[test]
fn yaml_reader_takes_any_bytes() {
    check(10, vec(any::<u8>(), 0..120), |bytes| reads_or_names_a_line(&bytes));
}

#[test]
fn yaml_reader_takes_any_sequence_of_tokens() {
    check(30, yaml_text(), |text| reads_or_names_a_line(text.as_bytes()));
}

#[test]
fn yaml_reader_and_manifest_reader_take_damaged_files() {
    let name: Arc<str> = Arc::from("0000_10_a_01.yaml");
    check(15, damaged_file(), |bytes| {
        reads_or_names_a_line(&bytes)?;
        // NB: only that it returns; which texts it has is for its own tests.
        drop(read_file(Folder::ReleaseManifests, &name, &bytes));
        Ok(())
    });
}

#[test]
fn json_is_read_back_as_it_was_written() {
    check(5, object(), |value| {
        let found = only_value(&value.to_string())?;
        prop_assert!(is_same(&found, &value), "{found} from {value}");
        Ok(())
    });
}

#[test]
fn quoted_yaml_is_read_back_as_it_was_written() {
    check(10, object(), |value| {
        let mut text = "# YAML\n".to_owned();
        to_yaml(&value, 0, &mut text);
        let found = only_value(&text)?;
        prop_assert!(is_same(&found, &value), "{found} from\n{text}");
        Ok(())
    });
}

#[test]
fn file_names_are_read_by_the_published_rule() {
    let parts =
        ["0000_", "0000", "_", "-", "10", "a", "Z9", "cluster", ".yaml", ".yml", ".json", ".", "ä", " "];
    check(10, vec(select(parts.to_vec()), 0..10), |parts| {
        let name = parts.concat();
        if let Some(found) = run_level(&name) {
            prop_assert!(name.starts_with(&format!("0000_{}_{}_", found.level, found.component)), "{name}");
            prop_assert!(!found.level.is_empty() && !found.component.contains('_'), "{name}");
        }
        prop_assert_eq!(is_manifest(&name), [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end)));
        Ok(())
    });
}

#[test]
fn metadata_reader_takes_anything_and_keeps_the_version() {
    let key = select(vec!["kind", "version", "previous", "next", "metadata", "url", "Version"]);
    let value = prop_oneof![
        3 => select(vec!["cincinnati-metadata-v0", "1.0.0", "4.20.0-rc.1", "v1"]).prop_map(Value::from),
        1 => json_value(),
    ];
    check(10, vec((key, value), 0..6), |fields| {
        let fields: Map<String, Value> =
            fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        if let Ok(found) = metadata::read(Value::Object(fields.clone()).to_string().as_bytes()) {
            let version = Value::from(found.version.to_string());
            prop_assert!(fields.values().any(|value| *value == version));
        }
        Ok(())
    });
}

#[test]
fn metadata_and_image_readers_take_damaged_files() {
    let special: Vec<Vec<u8>> = FILES.iter().filter(|file| file.starts_with(b"{")).cloned().collect();
    assert!(special.len() >= 4, "{}", special.len());
    check(5, (select(special), vec(damage(), 1..4)), |(file, damages)| {
        let bytes = damaged(&file, &damages);
        for message in [
            metadata::read(&bytes).err().map(|it| it.to_string()),
            images::read(&bytes).err().map(|it| it.to_string()),
        ] {
            prop_assert!(message.is_none_or(|text| !text.is_empty()));
        }
        Ok(())
    });
}

#[test]
fn templates_are_rendered_or_name_a_line() {
    let tokens = [
        "{{",
        "}}",
        "{{-",
        "-}}",
        "{{ ",
        " }}",
        ".ReleaseImage",
        ".Images.c",
        "index .Images \"a-b\"",
        "\"",
        "`",
        "/*",
        "*/",
        "\n",
        " ",
        "x",
        "if",
        "|",
        ".",
        "ä",
        "{{.ClusterProfile}}",
    ];
    let data = TemplateData {
        release_image: "R".into(),
        cluster_profile: "P".into(),
        images: BTreeMap::from([("a-b".to_owned(), "A".to_owned())]),
    };
    check(5, vec(select(tokens.to_vec()), 0..20), |tokens| {
        let text = tokens.concat();
        let lines = text.lines().count().max(1);
        if let Err(TemplateError::Parse { line, message } | TemplateError::Execute { line, message }) =
            render(&text, &data)
        {
            prop_assert!((1..=lines + 1).contains(&line) && !message.is_empty(), "{line}: {message}");
        }
        Ok(())
    });
}
