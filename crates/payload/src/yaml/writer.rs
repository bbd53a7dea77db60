//! JSON values as YAML that every reader, old or new, reads back as the same value.

use serde_json::Value;

use super::scalar::resolve_plain;

/// Writes a value as one YAML document, keys sorted, with a final newline.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => write_block(value, 0, &mut out),
        Value::Array(items) if !items.is_empty() => write_block(value, 0, &mut out),
        scalar => {
            out.push_str(&inline(scalar));
            out.push('\n');
        }
    }
    out
}

/// Writes a mapping or sequence that has entries, each on a line of its own.
fn write_block(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, item) in map {
                out.push_str(&indent);
                write_entry(&format!("{}:", text(key)), item, depth + 1, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&indent);
                write_entry("-", item, depth + 1, out);
            }
        }
        _ => {}
    }
}

fn write_entry(start: &str, item: &Value, depth: usize, out: &mut String) {
    out.push_str(start);
    let has_entries = match item {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if has_entries {
        out.push('\n');
        write_block(item, depth, out);
    } else {
        out.push(' ');
        out.push_str(&inline(item));
        out.push('\n');
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(content) => text(content),
        other => other.to_string(),
    }
}

/// Plain where nothing could be misread, otherwise quoted as JSON, which is YAML too.
fn text(content: &str) -> String {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'@');
    let starts_well = content.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_plain = starts_well && content.bytes().all(is_word) && resolve_plain(content).is_none();
    if is_plain { content.to_owned() } else { Value::from(content).to_string() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn looks_as_expected_and_quotes_what_could_be_misread() {
        let value = json!({"a": {"b": [1, "x", {"c": null}], "e": {}, "f": []}, "yes": "no", "z": "4.20.0", "s": "a: b"});
        assert_eq!(
            write(&value),
            "a:\n  b:\n    - 1\n    - x\n    -\n      c: null\n  e: {}\n  f: []\ns: \"a: b\"\n\"yes\": \"no\"\nz: \"4.20.0\"\n"
        );
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~äß\\n\\t]{0,12}".prop_map(Value::from),
            prop_oneof![
                Just("yes"),
                Just("0x1F"),
                Just("~"),
                Just("1e3"),
                Just("- a"),
                Just("# b"),
                Just("2001-01-01")
            ]
            .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[ -~]{0,8}", inner, 0..5)
                    .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_equal(value in any_value()) {
            let text = write(&json!({"root": value}));
            let read = crate::yaml::documents(text.as_bytes()).unwrap();
            prop_assert_eq!(&read[0].value["root"], &value, "{}", text);
        }
    }
}
