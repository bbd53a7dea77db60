//! Jobs and `CronJob`s.

use serde_json::{Value, json};

use crate::meta::{self, Cursor};

use super::scalars::{Errors, immutable, not_negative, one_of, same};
use super::{cron, pod};

/// A Job.
pub(super) fn job(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    if old.is_none() {
        generated_selector(new, errors);
    }
    job_spec(&spec, errors);
    let (selector, template) = (spec.field("selector"), spec.field("template"));
    let before = errors.len();
    if selector.is_set() {
        meta::label_selector(&selector, errors);
    } else {
        errors.push(selector.required(""));
    }
    let is_readable = errors.len() == before || !selector.is_set();
    let metadata = template.field("metadata");
    let labels = metadata.field("labels");
    if is_readable && (!selector.is_set() || !meta::selects(selector.value(), labels.value())) {
        errors.push(labels.invalid_as(labels.value().clone(), "`selector` does not match template `labels`"));
    }
    if let Some(old) = old {
        job_change(&spec, &old.field("spec"), errors);
    }
}

fn job_change(spec: &Cursor<'_, '_>, old: &Cursor<'_, '_>, errors: &mut Errors) {
    let completions = spec.field("completions");
    if spec.field("completionMode").text() == "Indexed" {
        let is_changed = completions.is_set() && !same(&completions, &old.field("completions"));
        if is_changed && completions.value() != spec.field("parallelism").value() {
            errors.push(completions.invalid("can only be modified in tandem with spec.parallelism"));
        }
    } else {
        immutable(&completions, &old.field("completions"), errors);
    }
    immutable(&spec.field("selector"), &old.field("selector"), errors);
    let mut before = old.field("template").value().clone();
    if old.field("suspend").is_true() {
        unfreeze(&mut before, spec.field("template").value());
    }
    let template = spec.field("template");
    if *template.value() != before {
        errors.push(template.invalid("field is immutable"));
    }
    for name in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        immutable(&spec.field(name), &old.field(name), errors);
    }
}

/// Where the pods of a suspended Job run may still change, and what they get.
fn unfreeze(template: &mut Value, new: &Value) {
    let take = |place: &mut Value, from: &Value, name: &str| match (place.as_object_mut(), from.get(name)) {
        (Some(map), Some(value)) => drop(map.insert(name.into(), value.clone())),
        (Some(map), None) => drop(map.remove(name)),
        _ => {}
    };
    for name in ["labels", "annotations"] {
        take(&mut template["metadata"], &new["metadata"], name);
    }
    for name in ["nodeSelector", "tolerations", "schedulingGates", "affinity"] {
        take(&mut template["spec"], &new["spec"], name);
    }
    for list in ["containers", "initContainers"] {
        let new = new["spec"].get(list).and_then(Value::as_array).into_iter().flatten();
        let old = template["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (old, new) in old.zip(new) {
            take(old, new, "resources");
        }
    }
}

/// The selector and the labels that the server makes must not be made by the user.
fn generated_selector(new: &Cursor<'_, '_>, errors: &mut Errors) {
    let (spec, metadata) = (new.field("spec"), new.field("metadata"));
    let selector = spec.field("selector");
    if spec.field("manualSelector").is_true() || !selector.is_set() {
        return;
    }
    let (name, uid) = (metadata.field("name").text(), metadata.field("uid").text());
    let expected = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    let template = spec.field("template");
    let template_meta = template.field("metadata");
    let labels = template_meta.field("labels");
    for (key, value) in expected {
        let label = labels.key(key);
        if !label.is_set() {
            errors.push(label.required(&format!("must be '{value}'")));
        } else if label.text() != value {
            errors.push(label.invalid_as(labels.value().clone(), format!("must be '{value}'")));
        }
    }
    let expected: Value = expected.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
    if !meta::selects(selector.value(), &expected) {
        errors.push(selector.invalid("`selector` not auto-generated"));
    }
}

fn job_spec(spec: &Cursor<'_, '_>, errors: &mut Errors) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        not_negative(&spec.field(name), errors);
    }
    if spec.field("maxFailedIndexes").is_set() && !spec.field("backoffLimitPerIndex").is_set() {
        errors.push(spec.field("backoffLimitPerIndex").required("when maxFailedIndexes is specified"));
    }
    let mode = spec.field("completionMode");
    if mode.is_set() && !["NonIndexed", "Indexed"].contains(&mode.text()) {
        errors.push(mode.not_supported(&["NonIndexed", "Indexed"]));
    }
    if mode.text() == "Indexed" {
        if !spec.field("completions").is_set() {
            errors.push(spec.field("completions").required("when completion mode is Indexed"));
        }
    } else if !mode.is_set() || mode.text() == "NonIndexed" {
        for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if spec.field(name).is_set() {
                errors.push(spec.field(name).invalid("requires indexed completion mode"));
            }
        }
    }
    let replacement = spec.field("podReplacementPolicy");
    if replacement.is_set() && !["Failed", "TerminatingOrFailed"].contains(&replacement.text()) {
        errors.push(replacement.not_supported(&["Failed", "TerminatingOrFailed"]));
    }
    let template = spec.field("template");
    pod::template(&template, errors);
    let pod_spec = template.field("spec");
    let restart = pod_spec.field("restartPolicy");
    match restart.text() {
        "Always" | "" => errors.push(restart.required("valid values: \"OnFailure\", \"Never\"")),
        "Never" => {}
        "OnFailure" => {
            if spec.field("podFailurePolicy").is_set() {
                errors
                    .push(restart.invalid("only \"Never\" is supported when podFailurePolicy is specified"));
            }
        }
        _ => errors.push(restart.not_supported(&["OnFailure", "Never"])),
    }
}

/// A `CronJob`.
pub(super) fn cron_job(new: &Cursor<'_, '_>, old: Option<&Cursor<'_, '_>>, errors: &mut Errors) {
    let spec = new.field("spec");
    let schedule = spec.field("schedule");
    if schedule.is_empty() {
        errors.push(schedule.required(""));
    } else {
        let had_zone = old.is_some_and(|old| old.field("spec").field("schedule").text().contains("TZ"));
        if let Err(why) = cron::parse(schedule.text()) {
            errors.push(schedule.invalid(why));
        }
        if schedule.text().contains("TZ") && !had_zone {
            errors.push(schedule.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
        } else if schedule.text().contains("TZ") && spec.field("timeZone").is_set() {
            errors.push(schedule.invalid("cannot use both timeZone field and TZ or CRON_TZ in schedule"));
        }
    }
    not_negative(&spec.field("startingDeadlineSeconds"), errors);
    time_zone(&spec.field("timeZone"), errors);
    one_of(&spec.field("concurrencyPolicy"), &["Allow", "Forbid", "Replace"], errors);
    let template = spec.field("jobTemplate");
    let job = template.field("spec");
    job_spec(&job, errors);
    if job.field("selector").is_set() {
        errors.push(job.field("selector").invalid("`selector` will be auto-generated"));
    }
    if job.field("manualSelector").is_true() {
        errors.push(job.field("manualSelector").not_supported(&["nil", "false"]));
    }
    not_negative(&spec.field("successfulJobsHistoryLimit"), errors);
    not_negative(&spec.field("failedJobsHistoryLimit"), errors);
    let metadata = new.field("metadata");
    let name = metadata.field("name");
    if old.is_none() && name.text().len() > 52 {
        errors.push(name.invalid("must be no more than 52 characters"));
    }
}

fn time_zone(zone: &Cursor<'_, '_>, errors: &mut Errors) {
    if !zone.is_set() {
        return;
    }
    let text = zone.text();
    if text.is_empty() {
        errors.push(zone.invalid("timeZone must be nil or non-empty string"));
        return;
    }
    if text.eq_ignore_ascii_case("local") {
        errors.push(
            zone.invalid(
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
            ),
        );
        return;
    }
    let is_part = |part: &str| {
        !part.is_empty()
            && !matches!(part, "." | "..")
            && !part.starts_with('-')
            && part.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_' | b'+' | b'-'))
    };
    // Whether there is such a zone is not looked up: that would depend on the machine.
    if !text.split('/').all(is_part) {
        errors.push(zone.invalid(format!("unknown time zone {text}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_well_formed() {
        let check = |text: &str| {
            let object = json!({"timeZone": text});
            let root = Cursor::root(&object);
            let mut errors = Vec::new();
            time_zone(&root.field("timeZone"), &mut errors);
            errors.len()
        };
        assert_eq!((check("UTC"), check("../x"), check("Local"), check("")), (0, 1, 1, 1));
    }
}
