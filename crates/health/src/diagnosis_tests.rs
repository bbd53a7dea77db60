use serde_json::json;

use super::*;

fn a_deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "x", "namespace": "ns", "uid": "u-x", "generation": 1},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}},
        "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}})
}

fn a_pod(name: &str, created: &str, state: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "labels": {"app": "x", "other": "1"}, "creationTimestamp": created},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        "status": {"phase": "Pending", "containerStatuses": [{"name": "c"}]}});
    pod["status"]["containerStatuses"][0]["state"] = state;
    pod
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({"waiting": {"reason": reason, "message": message}})
}

fn pulling(name: &str, created: &str) -> Value {
    a_pod(name, created, waiting("ErrImagePull", "no such tag"))
}

fn an_event(kind: &str, name: &str, reason: &str, message: &str, at: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.{at}"), "namespace": "ns"},
        "involvedObject": {"kind": kind, "name": name, "namespace": "ns"},
        "reason": reason, "message": message, "lastTimestamp": format!("2026-07-01T10:00:{at}Z")})
}

fn told(pods: &[Value], events: &[Value]) -> String {
    workload(&a_deployment(), pods, events).map_or_else(String::new, |why| why.sentence)
}

#[test]
fn image_that_cannot_be_pulled_is_the_cause() {
    assert_eq!(
        workload(&a_deployment(), &[pulling("x-1", "1")], &[]).unwrap(),
        Why {
            reason: "ImagePullBackOff".to_owned(),
            sentence: "Pod ns/x-1 cannot pull image i:1 for container c: no such tag; \
                       check the image name and the pull secret"
                .to_owned(),
        }
    );
}

#[test]
fn pods_and_events_of_a_list_do_not_name_their_kind_and_are_understood() {
    let mut pod = a_pod("x-1", "1", waiting("ContainerCreating", ""));
    let mut event = an_event("Pod", "x-1", "FailedMount", "no secret", "01");
    for entry in [&mut pod, &mut event] {
        entry["apiVersion"].take();
        entry["kind"].take();
    }
    assert_eq!(told(&[pod], &[event]), "Pod ns/x-1 cannot start: FailedMount: no secret");
}

#[test]
fn workload_that_is_well_has_no_cause_whatever_its_pods_say() {
    let mut deployment = a_deployment();
    deployment["status"]["availableReplicas"] = json!(1);
    assert_eq!(workload(&deployment, &[pulling("x-1", "1")], &[]), None);
}

#[test]
fn pods_of_others_and_pods_on_their_way_out_do_not_count() {
    let mut foreign = pulling("y-1", "1");
    foreign["metadata"]["labels"]["app"] = json!("y");
    let mut elsewhere = pulling("x-2", "1");
    elsewhere["metadata"]["namespace"] = json!("elsewhere");
    let mut leaving = pulling("x-3", "1");
    leaving["metadata"]["deletionTimestamp"] = json!("T");
    assert_eq!(told(&[foreign.clone(), elsewhere, leaving], &[]), "");
    foreign["metadata"]["ownerReferences"] = json!([{"uid": "u-x"}]);
    assert!(told(&[foreign], &[]).contains("ns/y-1"));
}

#[test]
fn selector_expressions_are_followed() {
    let chosen = |rule: Value| is_selected(&json!({"matchExpressions": [rule]}), &json!({"a": "1"}));
    assert!(chosen(json!({"key": "a", "operator": "In", "values": ["1", "2"]})));
    assert!(!chosen(json!({"key": "a", "operator": "In", "values": ["2"]})));
    assert!(chosen(json!({"key": "a", "operator": "NotIn", "values": ["2"]})));
    assert!(!chosen(json!({"key": "a", "operator": "NotIn", "values": ["1"]})));
    assert!(chosen(json!({"key": "b", "operator": "NotIn", "values": ["1"]})));
    assert!(chosen(json!({"key": "a", "operator": "Exists"})));
    assert!(!chosen(json!({"key": "b", "operator": "Exists"})));
    assert!(chosen(json!({"key": "b", "operator": "DoesNotExist"})));
    assert!(!chosen(json!({"key": "a", "operator": "DoesNotExist"})));
    assert!(!chosen(json!({"key": "a", "operator": "Perhaps"})));
    assert!(!is_selected(&json!({}), &json!({"a": "1"})));
}

#[test]
fn deepest_cause_wins_then_the_newest_pod_then_the_first_name_in_any_order() {
    let mut pods = vec![
        a_pod("x-0", "9", waiting("CrashLoopBackOff", "")),
        pulling("x-1", "1"),
        pulling("x-3", "2"),
        pulling("x-2", "2"),
        a_pod("x-4", "9", waiting("ContainerCreating", "")),
    ];
    for _ in 0..pods.len() {
        pods.rotate_left(1);
        assert!(told(&pods, &[]).starts_with("Pod ns/x-2 cannot pull"));
    }
    pods.retain(|pod| !object::name(pod).ends_with(['1', '2', '3']));
    assert!(told(&pods, &[]).starts_with("Pod ns/x-0: container c does not stay up"));
}

#[test]
fn event_tells_why_an_image_cannot_be_pulled_when_the_pod_does_not() {
    let pod = a_pod("x-1", "1", waiting("ImagePullBackOff", "Back-off pulling image \"i:1\""));
    let events = [
        an_event("Pod", "x-1", "Failed", "Failed to pull image \"j:1\": another image", "09"),
        an_event("Pod", "x-1", "Failed", "Failed to pull image \"i:1\": old", "01"),
        an_event("Pod", "x-1", "Failed", "Failed to pull image \"i:1\": unauthorized", "02"),
        an_event("Pod", "x-1", "Failed", "Error: ImagePullBackOff", "03"),
        an_event("Pod", "x-2", "Failed", "Failed to pull image \"i:1\": of another Pod", "04"),
    ];
    assert_eq!(
        told(&[pod], &events),
        "Pod ns/x-1 cannot pull image i:1 for container c: unauthorized; check the image name and the pull secret"
    );
}

#[test]
fn event_tells_why_a_pod_cannot_start() {
    let pod = a_pod("x-1", "1", waiting("ContainerCreating", ""));
    assert_eq!(
        told(std::slice::from_ref(&pod), &[]),
        "Pod ns/x-1 is starting: 0 of 1 containers are running"
    );
    let event =
        an_event("Pod", "x-1", "FailedMount", "MountVolume.SetUp failed: secret \"s\" not found", "01");
    let sentence = "Pod ns/x-1 cannot start: FailedMount: MountVolume.SetUp failed: secret \"s\" not found";
    assert_eq!(told(std::slice::from_ref(&pod), &[event]), sentence);
    let new_form = json!({"metadata": {"name": "e"}, "regarding": {"kind": "Pod", "name": "x-1", "namespace": "ns"},
        "reason": "FailedMount", "note": "MountVolume.SetUp failed: secret \"s\" not found",
        "eventTime": "2026-07-01T10:00:00.123456Z"});
    assert_eq!(told(&[pod], &[new_form]), sentence);
}

#[test]
fn event_tells_why_a_pod_is_not_ready() {
    let pod = a_pod("x-1", "1", json!({"running": {}}));
    let event = an_event("Pod", "x-1", "Unhealthy", "Readiness probe failed: statuscode: 500", "01");
    assert_eq!(
        told(&[pod], &[event]),
        "Pod ns/x-1 runs but is not ready: Readiness probe failed: statuscode: 500"
    );
}

#[test]
fn events_of_a_namesake_with_another_uid_do_not_count() {
    let mut pod = a_pod("x-1", "1", waiting("ContainerCreating", ""));
    pod["metadata"]["uid"] = json!("new");
    let mut event = an_event("Pod", "x-1", "FailedMount", "gone", "01");
    event["involvedObject"]["uid"] = json!("old");
    assert!(told(&[pod], &[event]).contains("is starting"));
}

#[test]
fn missing_pods_are_explained_by_events_of_the_replica_set() {
    let quota = "pods \"x-1\" is forbidden: exceeded quota";
    let of_set = |name: &str| told(&[], &[an_event("ReplicaSet", name, "FailedCreate", quota, "01")]);
    assert_eq!(
        of_set("x-5d4f"),
        "Deployment ns/x cannot create its Pods: pods \"x-1\" is forbidden: exceeded quota"
    );
    assert_eq!(of_set("x-y-5d4f"), "", "the set of Deployment x-y");
    assert_eq!(of_set("xy-5d4f"), "");
    assert_eq!(told(&[], &[]), "");
}

#[test]
fn failed_pod_of_a_job_is_its_cause() {
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x", "namespace": "ns"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}}});
    let mut pod = a_pod("x-1", "1", json!({"terminated": {"exitCode": 4, "message": "no such table"}}));
    pod["status"]["phase"] = json!("Failed");
    let why = workload(&job, &[pod.clone()], &[]).unwrap();
    assert!(why.sentence.contains("exit code 4: no such table"), "{}", why.sentence);
    job["status"] = json!({"conditions": [{"type": "Complete", "status": "True"}]});
    assert_eq!(workload(&job, &[pod], &[]), None);
}
