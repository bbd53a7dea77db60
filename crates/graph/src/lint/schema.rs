//! Rules about the form of objects: fields, API versions, templates.

use lockstep_api::names::group;
use lockstep_payload::Folder;

use super::survey::{Place, Survey, title};
use super::{Finding, rules};

/// How many fields a message names.
const SHOWN: usize = 5;

pub(super) fn check(survey: &Survey<'_>, findings: &mut Vec<Finding>) {
    for skipped in &survey.release.skipped {
        let message = format!(
            "the template {} cannot be rendered ({}), so all of its objects are left out. Correct it, unless it is meant \
             for a newer operator",
            skipped.file, skipped.error
        );
        findings.push(Survey::file_finding(
            &rules::SKIPPED_TEMPLATE,
            Folder::Manifests,
            &skipped.file,
            message,
        ));
    }
    for (index, _) in survey.all() {
        let Some(place) = survey.find_one(index) else { continue };
        check_object(survey, index, &place, findings);
    }
}

fn check_object(survey: &Survey<'_>, index: usize, place: &Place, findings: &mut Vec<Finding>) {
    let manifest = survey.manifest(index);
    let title = title(manifest);
    if manifest.had_no_version() {
        let message = format!(
            "{title} has the apiVersion {:?}, which is a group without a version. It is read as {}. Write that",
            group::OPERATOR_STATUS,
            manifest.api_version
        );
        findings.push(survey.finding(&rules::API_VERSION_WITHOUT_VERSION, index, place.clone(), message));
    }
    if let Some(removed) = survey.schema.removed(&manifest.api_version, &manifest.id.kind) {
        let instead = removed.replacement.as_ref().map_or("Remove the object".to_owned(), |replacement| {
            format!("Use {} {}", replacement.api_version, replacement.kind)
        });
        let message = format!(
            "{title} is of {}, which Kubernetes does not serve since {}, so the task cannot be done. {instead}",
            manifest.api_version, removed.in_version
        );
        findings.push(survey.finding(&rules::REMOVED_API_VERSION, index, place.clone(), message));
    }
    // Of what is to be deleted only the name counts.
    if manifest.is_delete() {
        return;
    }
    let undeclared = survey.schema.undeclared_fields(&manifest.object);
    if !undeclared.is_empty() {
        let mut fields: Vec<String> = undeclared.iter().take(SHOWN).map(ToString::to_string).collect();
        if undeclared.len() > SHOWN {
            fields.push(format!("and {} more", undeclared.len() - SHOWN));
        }
        let message = format!(
            "{title} has fields that its kind does not declare: {}. The server drops or refuses them, so they do nothing. \
             Correct their names or remove them",
            fields.join(", ")
        );
        findings.push(survey.finding(&rules::UNDECLARED_FIELD, index, place.clone(), message));
    }
}

#[cfg(test)]
mod tests {
    use lockstep_payload::Folder;
    use serde_json::{Value, json};

    use super::super::testing::{Objects, annotated, found, object, with};

    fn rules_of(object: Value) -> Vec<&'static str> {
        let release = Objects::new().file("0000_60_a_1.yaml", &[object]).release();
        found(&release).into_iter().map(|it| it.rule.id).collect()
    }

    #[test]
    fn an_undeclared_field_is_found_and_named() {
        let map = object("v1", "ConfigMap", "default", "a");
        let bad = with(map.clone(), "dato", json!({}));
        let release = Objects::new().file("0000_60_a_1.yaml", std::slice::from_ref(&bad)).release();
        let found = found(&release);
        assert_eq!(found[0].rule.id, "undeclared-field");
        assert!(found[0].message.contains(": dato."), "{}", found[0].message);
        assert_eq!(rules_of(with(map, "data", json!({"dato": "x"}))), [""; 0]);
        assert_eq!(rules_of(annotated(bad, "release.openshift.io/delete", "true")), [""; 0]);
    }

    #[test]
    fn a_removed_api_version_is_found_with_its_replacement() {
        let job = |version| object(version, "CronJob", "default", "a");
        let release = Objects::new().file("0000_60_a_1.yaml", &[job("batch/v1beta1")]).release();
        let found = found(&release);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].rule.id, "removed-api-version");
        assert!(
            found[0].message.contains("since 1.25") && found[0].message.ends_with("Use batch/v1 CronJob")
        );
        assert_eq!(rules_of(job("batch/v1")), [""; 0]);
    }

    #[test]
    fn the_api_version_of_the_first_protocol_needs_a_version() {
        let operator = |version| rules_of(object(version, "ClusterOperator", "default", "a"));
        assert!(operator("operatorstatus.openshift.io").contains(&"api-version-without-version"));
        assert!(!operator("operatorstatus.openshift.io/v1").contains(&"api-version-without-version"));
    }

    #[test]
    fn a_template_that_cannot_be_rendered_is_found() {
        let rules_of = |text: &str| -> Vec<&str> {
            let file = "0000_00_cluster-version-operator_1.yaml";
            let release = Objects::new().text(Folder::Manifests, file, text).release();
            found(&release).into_iter().map(|it| it.rule.id).collect()
        };
        assert_eq!(rules_of("# {{.FutureField}}\n"), ["skipped-template"]);
        assert_eq!(rules_of("# {{.ReleaseImage}}\n"), [""; 0]);
    }
}
