//! Values that must meet all, any, one or none of several schemas.

use serde_json::Value;

use super::{Path, Problem, Run};
use crate::crd::structural::{Junctors, Structural};
use crate::go;

// === impl Run ===

impl Run {
    pub(super) fn junctors(&mut self, junctors: &Junctors, value: &Value, path: Path<'_>) -> u32 {
        let mut passed = 0;
        if !junctors.any_of.is_empty() {
            passed += self.any_of(&junctors.any_of, value, path);
        }
        if !junctors.one_of.is_empty() {
            passed += self.one_of(&junctors.one_of, value, path);
        }
        let mut all = true;
        let mut none = true;
        for schema in &junctors.all_of {
            let (problems, count) = self.apart(schema, value, path);
            passed += count;
            all &= problems.is_empty();
            none &= !problems.is_empty();
            self.problems.extend(problems);
        }
        if !all {
            let more = if none { ". None validated" } else { "" };
            self.whole(format!("{} must validate all the schemas (allOf){more}", go::quote(&path.text())));
        }
        if let Some(not) = &junctors.not
            && self.apart(not, value, path).0.is_empty()
        {
            self.whole(format!("{} must not validate the schema (not)", go::quote(&path.text())));
        }
        passed
    }

    fn any_of(&mut self, schemas: &[Structural], value: &Value, path: Path<'_>) -> u32 {
        let mut best: Option<(Vec<Problem>, u32)> = None;
        for schema in schemas {
            let (problems, passed) = self.apart(schema, value, path);
            if problems.is_empty() {
                return passed;
            }
            if best.as_ref().is_none_or(|(_, most)| passed > *most) {
                best = Some((problems, passed));
            }
        }
        self.whole(format!("{} must validate at least one schema (anyOf)", go::quote(&path.text())));
        let (problems, passed) = best.unwrap_or_default();
        self.problems.extend(problems);
        passed
    }

    fn one_of(&mut self, schemas: &[Structural], value: &Value, path: Path<'_>) -> u32 {
        let mut best: Option<(Vec<Problem>, u32)> = None;
        let mut first = None;
        let mut valid = 0;
        for schema in schemas {
            let (problems, passed) = self.apart(schema, value, path);
            if problems.is_empty() {
                valid += 1;
                best = None;
                first = first.or(Some(passed));
            } else if valid == 0 && best.as_ref().is_none_or(|(_, most)| passed > *most) {
                best = Some((problems, passed));
            }
        }
        if valid == 1 {
            return first.unwrap_or_default();
        }
        let found = if valid == 0 {
            "Found none valid".to_owned()
        } else {
            format!("Found {valid} valid alternatives")
        };
        let path = go::quote(&path.text());
        self.whole(format!("{path} must validate one and only one schema (oneOf). {found}"));
        let (problems, passed) = best.unwrap_or_default();
        self.problems.extend(problems);
        passed
    }

    /// Checks a value against another schema, without old values: what is wrong, and the count of passed checks.
    fn apart(&self, schema: &Structural, value: &Value, path: Path<'_>) -> (Vec<Problem>, u32) {
        let mut run = Self { reading: self.reading, problems: Vec::new() };
        let passed = run.value(schema, value, None, path);
        (run.problems, passed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::crd::validation::Reading;

    fn errors(schema: &Value, value: &Value) -> Vec<String> {
        let errors = Structural::parse(schema).check(value, None, None, Reading::Served);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_alternative_that_passes_most_checks_is_reported() {
        let schema = json!({"anyOf": [
            {"type": "string"},
            {"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "integer"}}},
        ]});
        assert_eq!(
            errors(&schema, &json!({"b": "x", "c": "y"})),
            [
                r#"<nil>: Invalid value: "": "" must validate at least one schema (anyOf)"#,
                r#"c: Invalid value: "string": c in body must be of type integer: "string""#,
            ]
        );
    }

    #[test]
    fn one_of_counts_the_valid_alternatives() {
        let schema = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
        assert_eq!(
            errors(&schema, &json!({"a": 1, "b": 1})),
            [
                r#"<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found 2 valid alternatives"#
            ]
        );
        assert_eq!(errors(&schema, &json!({"b": 1})), [""; 0]);
    }

    #[test]
    fn all_of_reports_the_parts_before_the_whole() {
        let schema = json!({"allOf": [{"required": ["a"]}, {"required": ["b"]}]});
        assert_eq!(
            errors(&schema, &json!({})),
            [
                "a: Required value",
                "b: Required value",
                r#"<nil>: Invalid value: "": "" must validate all the schemas (allOf). None validated"#,
            ]
        );
    }
}
