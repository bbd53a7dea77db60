use serde_json::json;

use super::*;

/// A Pod whose one container is in a state, and not ready.
fn a_pod(state: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x-1", "namespace": "ns"},
        "spec": {"containers": [{"name": "c", "image": "quay.io/a/b:1"}]},
        "status": {"phase": "Pending", "containerStatuses": [{"name": "c", "ready": false, "image": ""}]}});
    pod["status"]["containerStatuses"][0]["state"] = state;
    pod
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({"waiting": {"reason": reason, "message": message}})
}

fn not_yet(reason: &str, sentence: &str) -> Verdict {
    Verdict::not_yet(reason, sentence)
}

#[test]
fn ready_or_succeeded_pod_is_good() {
    let mut pod = a_pod(json!({"running": {}}));
    pod["status"]["phase"] = json!("Running");
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    assert_eq!(of(&pod), Verdict::Good);
    pod["status"] = json!({"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]});
    assert_eq!(of(&pod), Verdict::Good);
}

#[test]
fn image_that_cannot_be_pulled_gives_one_sentence_in_both_states_of_the_node() {
    let cause = "rpc error: code = NotFound desc = quay.io/a/b:1: not found";
    let expected = not_yet(
        "ImagePullBackOff",
        "Pod ns/x-1 cannot pull image quay.io/a/b:1 for container c: rpc error: code = NotFound desc = \
         quay.io/a/b:1: not found; check the image name and the pull secret",
    );
    assert_eq!(of(&a_pod(waiting("ErrImagePull", cause))), expected);
    let backing_off = format!("Back-off pulling image \"quay.io/a/b:1\": ErrImagePull: {cause}");
    assert_eq!(of(&a_pod(waiting("ImagePullBackOff", &backing_off))), expected);
}

#[test]
fn older_node_that_does_not_say_why_it_cannot_pull_leaves_the_cause_open() {
    let pod = a_pod(waiting("ImagePullBackOff", "Back-off pulling image \"quay.io/a/b:1\""));
    let trouble = trouble(&pod).unwrap();
    assert_eq!(trouble.silent_pull, Some(("c".to_owned(), "quay.io/a/b:1".to_owned())));
    assert_eq!(
        trouble.why.sentence,
        "Pod ns/x-1 cannot pull image quay.io/a/b:1 for container c; check the image name and the pull secret"
    );
}

#[test]
fn image_name_that_can_never_be_pulled_is_bad() {
    let verdict = of(&a_pod(waiting("InvalidImageName", "invalid reference format")));
    assert!(matches!(&verdict, Verdict::Bad(why) if why.reason == "InvalidImageName"));
    assert!(verdict.why().unwrap().sentence.contains("c: InvalidImageName: invalid reference format;"));
}

#[test]
fn crash_gives_one_sentence_while_it_waits_runs_and_ends() {
    let ended =
        json!({"terminated": {"exitCode": 1, "reason": "Error", "message": "starting\npanic: no route\n"}});
    let expected = not_yet(
        "CrashLoopBackOff",
        "Pod ns/x-1: container c does not stay up: it ended with exit code 1 (Error): panic: no route; its log says why",
    );
    for state in [
        waiting("CrashLoopBackOff", "back-off 10s restarting failed container=c"),
        waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=c"),
        json!({"running": {"startedAt": "T"}}),
    ] {
        let mut pod = a_pod(state);
        pod["status"]["containerStatuses"][0]["lastState"] = ended.clone();
        pod["status"]["containerStatuses"][0]["restartCount"] = json!(7);
        assert_eq!(of(&pod), expected);
    }
    assert_eq!(of(&a_pod(ended)), expected);
}

#[test]
fn container_out_of_memory_says_what_it_needs() {
    let pod = a_pod(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}));
    assert_eq!(
        of(&pod).why().unwrap().sentence,
        "Pod ns/x-1: container c does not stay up: it ended with exit code 137 (OOMKilled); it needs more memory than its limit"
    );
}

#[test]
fn container_that_cannot_be_created_tells_the_words_of_the_node() {
    assert_eq!(
        of(&a_pod(waiting("CreateContainerConfigError", "secret \"s\" not found"))),
        not_yet(
            "CreateContainerConfigError",
            "Pod ns/x-1 cannot create container c: CreateContainerConfigError: secret \"s\" not found"
        )
    );
}

#[test]
fn pod_without_a_node_tells_what_the_scheduler_says() {
    let mut pod = a_pod(Value::Null);
    pod["status"] = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}]});
    assert_eq!(
        of(&pod),
        not_yet(
            "Unschedulable",
            "Pod ns/x-1 finds no node: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."
        )
    );
}

#[test]
fn failed_pod_is_bad_with_the_exit_of_its_container() {
    let mut pod = a_pod(json!({"terminated": {"exitCode": 2, "reason": "Error"}}));
    pod["status"]["phase"] = json!("Failed");
    assert_eq!(
        of(&pod),
        Verdict::bad(
            "PodFailed",
            "Pod ns/x-1 failed: container c ended with exit code 2 (Error); its log says why"
        )
    );
    pod["status"] = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
    assert_eq!(of(&pod), Verdict::bad("Evicted", "Pod ns/x-1 failed: Evicted: low on memory"));
}

#[test]
fn deepest_trouble_of_several_containers_is_told() {
    let mut pod = a_pod(waiting("CrashLoopBackOff", ""));
    pod["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "d", "image": "i"}));
    pod["status"]["containerStatuses"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "d", "state": waiting("ErrImagePull", "no")}));
    assert!(of(&pod).why().unwrap().sentence.contains("cannot pull image i for container d: no;"));
}

#[test]
fn init_container_that_crashes_is_told_before_the_containers_that_wait_for_it() {
    let mut pod = a_pod(waiting("PodInitializing", ""));
    pod["status"]["initContainerStatuses"] = json!([{"name": "i", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 3}}}]);
    assert!(
        of(&pod)
            .why()
            .unwrap()
            .sentence
            .contains("init container i does not stay up: it ended with exit code 3;")
    );
}

#[test]
fn init_container_that_ended_well_after_a_crash_is_no_trouble() {
    let mut pod = a_pod(waiting("PodInitializing", ""));
    pod["status"]["initContainerStatuses"] = json!([{"name": "i", "state": {"terminated": {"exitCode": 0}},
        "lastState": {"terminated": {"exitCode": 3}}}]);
    assert_eq!(of(&pod), not_yet("PodStarting", "Pod ns/x-1 is starting: 0 of 1 containers are running"));
}

#[test]
fn starting_pod_says_what_it_is_at() {
    let mut pod = a_pod(waiting("PodInitializing", ""));
    pod["spec"]["initContainers"] = json!([{"name": "i"}]);
    pod["status"]["initContainerStatuses"] = json!([{"name": "i", "state": {"running": {}}}]);
    assert_eq!(
        of(&pod),
        not_yet("PodStarting", "Pod ns/x-1 is starting: its init container i is still running")
    );
    pod["spec"]["initContainers"][0]["restartPolicy"] = json!("Always");
    assert_eq!(of(&pod), not_yet("PodStarting", "Pod ns/x-1 is starting: 0 of 1 containers are running"));
}

#[test]
fn running_pod_that_is_not_ready_says_so() {
    let mut pod = a_pod(json!({"running": {}}));
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": "False", "reason": "ContainersNotReady",
        "message": "containers with unready status: [c]"}]);
    assert_eq!(
        of(&pod),
        not_yet(
            "NotReady",
            "Pod ns/x-1 runs but is not ready: ContainersNotReady: containers with unready status: [c]"
        )
    );
}

#[test]
fn pod_that_is_being_deleted_is_not_well_unless_it_has_succeeded() {
    let mut pod = a_pod(json!({"running": {}}));
    pod["metadata"]["deletionTimestamp"] = json!("T");
    assert_eq!(of(&pod).why().unwrap().reason, "BeingDeleted");
    pod["status"]["phase"] = json!("Succeeded");
    assert_eq!(of(&pod), Verdict::Good);
}

#[test]
fn identifiers_that_change_at_every_try_are_left_out_and_digests_stay() {
    let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_eq!(steady(&format!("sandbox {id}: no network")), "sandbox …: no network");
    let digest = format!("image a@sha256:{id}");
    assert_eq!(steady(&digest), digest);
    assert_eq!(steady("code 500 at beef, ä"), "code 500 at beef, ä");
}
