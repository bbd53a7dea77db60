//! How Go prints values: the server's messages show them that way.

use serde_json::Value;

/// What `%T` prints for the value of a JSON document.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What `%v` prints.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(_) | Value::Number(_) => number(value),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let fields: Vec<_> = map.iter().map(|(key, value)| format!("{key}:{}", plain(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// What `%#v` prints.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(_) | Value::Number(_) => number(value),
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let fields: Vec<_> =
                map.iter().map(|(key, value)| format!("{key:?}:{}", syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// Numbers as Go prints them: whole ones without a fraction.
fn number(value: &Value) -> String {
    let text = value.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_look_like_in_go() {
        let value = json!({"a": [1, "x", true, null], "b": 1.5});
        assert_eq!(plain(&value), "map[a:[1 x true <nil>] b:1.5]");
        assert_eq!(
            syntax(&value),
            r#"map[string]interface {}{"a":[]interface {}{1, "x", true, interface {}(nil)}, "b":1.5}"#
        );
        assert_eq!(type_name(&value["a"][0]), "int64");
    }
}
