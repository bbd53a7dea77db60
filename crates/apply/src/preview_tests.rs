use serde_json::json;

use super::*;

fn a_preview(change: Change) -> Preview {
    Preview { object: "Deployment a/b".into(), file: "0000_10_x.yaml".into(), change }
}

#[test]
fn every_sort_of_change_has_its_sign() {
    let fields = changes(Some(&json!({"spec": {"replicas": 1}})), &json!({"spec": {"replicas": 2}}));
    for (change, expected) in [
        (Change::Same, ""),
        (Change::New { note: None }, "+ Deployment a/b (0000_10_x.yaml)\n"),
        (Change::New { note: Some("later".into()) }, "+ Deployment a/b (0000_10_x.yaml): later\n"),
        (Change::Deleted, "- Deployment a/b (0000_10_x.yaml)\n"),
        (Change::Unknown { why: "no".into() }, "? Deployment a/b (0000_10_x.yaml): no\n"),
        (Change::Unknown { why: "Deployment a/b: no".into() }, "? Deployment a/b: no (0000_10_x.yaml)\n"),
        (
            Change::Changed { fields: fields.clone(), note: None },
            "~ Deployment a/b (0000_10_x.yaml)\n    spec.replicas: 1 → 2\n",
        ),
        (
            Change::Changed { fields, note: Some("later".into()) },
            "~ Deployment a/b (0000_10_x.yaml): later\n    spec.replicas: 1 → 2\n",
        ),
    ] {
        assert_eq!(a_preview(change).text(), expected);
    }
}

#[test]
fn what_is_not_known_is_no_difference() {
    let unknown = a_preview(Change::Unknown { why: "no".into() });
    assert!(unknown.is_unknown() && !unknown.is_difference());
    assert!(a_preview(Change::Deleted).is_difference() && !a_preview(Change::Same).is_difference());
    let all = [unknown, a_preview(Change::Deleted), a_preview(Change::Same)];
    assert_eq!(count(&all), "0 new, 0 changed, 1 deleted, 1 the same, 1 unknown");
    assert_eq!(count(&all[1..]), "0 new, 0 changed, 1 deleted, 1 the same");
}

#[test]
fn a_manifest_is_laid_over_an_object_field_by_field() {
    let mut object = json!({"spec": {"kept": 1, "list": [1, 2], "text": "a"}, "status": {"x": 1}});
    overlay(&mut object, &json!({"spec": {"list": [3], "text": "b", "new": {"y": 2}}}));
    let expected =
        json!({"spec": {"kept": 1, "list": [3], "new": {"y": 2}, "text": "b"}, "status": {"x": 1}});
    assert_eq!(object, expected);
}

#[test]
fn what_would_be_removed_after_the_apply_is_taken_away() {
    let mut object = json!({"a/b": 1, "list": [1, 2, 3], "map": {"x": 1}});
    for operation in [
        PatchOperation::remove("/list/1"),
        PatchOperation::remove("/a~1b"),
        PatchOperation::replace("/map/x", json!(2)),
        PatchOperation::add("/list/0", json!(0)),
        PatchOperation::remove("/nowhere/x"),
        PatchOperation::remove("/list/9"),
    ] {
        carry_out(&mut object, &operation);
    }
    assert_eq!(object, json!({"list": [0, 1, 3], "map": {"x": 2}}));
}
