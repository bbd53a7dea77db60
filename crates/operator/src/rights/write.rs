//! The compiled rights as files: YAML with the reasons as comments, and JSON for programs.

use std::fmt::Write as _;

use lockstep_payload::yaml;
use serde_json::{Value, json};

use super::roles::Rule;
use super::{Rights, words};

/// Longest comment line.
const WIDTH: usize = 118;

/// Roles and bindings as YAML; every rule says why it is there.
pub fn yaml(title: &str, rights: &Rights) -> String {
    let mut out = String::new();
    comment(
        &mut out,
        "",
        &format!("Rights of the operator for {title}, compiled by `lockstep release rbac`."),
    );
    for power in rights.powers() {
        comment(&mut out, "", "");
        comment(&mut out, "", &format!("{}. {}", power.right, power.meaning));
    }
    if !rights.bindings.is_empty() {
        comment(&mut out, "", "");
        for binding in &rights.bindings {
            comment(&mut out, "", &binding.to_string());
        }
    }
    for (index, role) in rights.roles().iter().enumerate() {
        if index > 0 {
            out.push_str("---\n");
        }
        out.push_str(&yaml::write(&role.head()));
        out.push_str("rules:\n");
        for rule in &role.rules {
            for reason in words::why(rule) {
                comment(&mut out, "", &reason);
            }
            write_rule(&mut out, rule);
        }
        out.push_str("---\n");
        out.push_str(&yaml::write(&role.binding()));
    }
    out
}

/// Everything as one document for programs.
pub fn json(title: &str, rights: &Rights) -> Value {
    let grant = |(deed, ground): (&super::Deed, &super::Ground)| {
        let mut grant = json!(deed);
        grant["occasion"] = json!(ground.occasion);
        grant["reasons"] = json!(ground.reasons);
        grant
    };
    let power = |power: words::Power| json!({"right": power.right, "meaning": power.meaning});
    json!({
        "apiVersion": "lockstep.dev/v1",
        "kind": "ReleaseRights",
        "release": title,
        "objects": rights.roles().iter().flat_map(|role| [role.role(), role.binding()]).collect::<Vec<_>>(),
        "grants": rights.grants().map(grant).collect::<Vec<_>>(),
        "powers": rights.powers().into_iter().map(power).collect::<Vec<_>>(),
        "bindings": rights.bindings,
        "guessed": rights.guessed,
    })
}

/// A rule: short lists on one line, names one below the other.
fn write_rule(out: &mut String, rule: &Rule) {
    let short = |items: Vec<&str>| {
        items.iter().map(|item| Value::from(*item).to_string()).collect::<Vec<_>>().join(", ")
    };
    let resources = short(rule.resources.iter().map(String::as_str).collect());
    let verbs = short(rule.verbs.iter().copied().collect());
    if rule.is_about_addresses() {
        let _ = writeln!(out, "- nonResourceURLs: [{resources}]");
    } else {
        let _ =
            writeln!(out, "- apiGroups: [{}]\n  resources: [{resources}]", Value::from(rule.group.as_str()));
    }
    if !rule.names.is_empty() {
        out.push_str("  resourceNames:\n");
        for name in &rule.names {
            let _ = writeln!(out, "  - {}", Value::from(name.as_str()));
        }
    }
    let _ = writeln!(out, "  verbs: [{verbs}]");
}

/// A comment, broken into lines between words.
fn comment(out: &mut String, indent: &str, text: &str) {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() > 1 && indent.len() + line.len() + 1 + word.len() > WIDTH {
            let _ = writeln!(out, "{indent}{line}");
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{indent}{line}");
}
