//! Every line form, table and insight of the specification, with its numbers.

use serde_json::json;

use lockstep_api::ClusterOperator;

use super::testing::*;
use super::text::{Details, text};
use super::*;

const MESSAGE: &str = "Working towards 4.20.3: 300 of 960 done (31% complete), waiting on dns, network";

/// Names of 33 operators, in the order of the API.
fn names() -> Vec<String> {
    let mut names: Vec<String> = ["dns", "machine-config", "network"].map(str::to_owned).into();
    names.extend((0..30).map(|number| format!("operator-{number:02}")));
    names
}

/// An update from 4.20.1 to 4.20.3 that began so many seconds ago.
fn an_update(seconds: i64) -> ClusterVersion {
    a_version(
        &[
            ("4.20.3", "3", "Partial", &ago(0, seconds), None),
            ("4.20.1", "1", "Completed", &ago(9000, 0), Some(&ago(8900, 0))),
        ],
        MESSAGE,
    )
}

/// Ten operators updated, network and dns at work, 21 waiting, dns degraded.
fn thirty_three() -> Vec<ClusterOperator> {
    let mut operators: Vec<ClusterOperator> = names()
        .iter()
        .enumerate()
        .map(|(place, name)| an_operator(name, if (3..13).contains(&place) { "4.20.3" } else { "4.20.1" }))
        .collect();
    for place in [0, 2] {
        let message = "2 of 6 nodes are done\nthe rest follows";
        operators[place] = with(
            operators[place].clone(),
            "Progressing",
            "True",
            &ago(0, 0),
            "RollingOutNewRevisions",
            message,
        );
    }
    operators[0] =
        with(operators[0].clone(), "Degraded", "True", &ago(7, 3), "DNSDegraded", "a Pod does not answer");
    operators
}

/// The example of the specification, with three nodes of the control plane and two workers.
fn the_example() -> Input {
    let mut input = a_cluster(an_update(860), thirty_three());
    input.pools = vec![a_pool("worker", "worker-1"), a_pool("master", "master-3")];
    input.configs =
        vec![a_config("master-1", "4.20.1"), a_config("master-3", "4.20.3"), a_config("worker-1", "4.20.1")];
    for number in 0..3 {
        let name = format!("master-{number}");
        input.nodes.push(a_node(&name, "master", "master-1", "master-1", "Done"));
    }
    for number in 0..2 {
        let name = format!("worker-{number}");
        input.nodes.push(a_node(&name, "worker", "worker-1", "worker-1", "Done"));
    }
    input
}

fn shown(input: &Input) -> String {
    text(&picture(input).unwrap(), Details::default())
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is missing in\n{text}");
}

#[track_caller]
fn lacks(text: &str, part: &str) {
    assert!(!text.contains(part), "{part:?} is in\n{text}");
}

#[test]
fn the_example_of_the_specification_is_shown_line_by_line() {
    let text = shown(&the_example());
    has(
        &text,
        "= Control Plane =
Assessment:      Progressing
Target Version:  4.20.3 (from 4.20.1)
Updating:        dns, network
Completion:      30% (10 operators updated, 2 updating, 21 waiting)
Duration:        14m (Est. Time Remaining: 27m)
Operator Health: 32 Healthy, 1 Available but degraded

Control Plane Nodes
NAME       ASSESSMENT   PHASE     VERSION   EST   MESSAGE
master-0   Outdated     Pending   4.20.1    ?
",
    );
    has(
        &text,
        "= Update Health =
SINCE   LEVEL     IMPACT             MESSAGE
7m3s    Warning   API Availability   Cluster Operator dns is degraded (DNSDegraded)

Run with --details=health for additional description and links to related online documentation
",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn with_the_release_known_operators_stand_in_their_levels_and_say_whom_they_block() {
    let mut input = the_example();
    input.levels = names()
        .into_iter()
        .map(|name| {
            let level = match name.as_str() {
                "network" => "07",
                "dns" => "08",
                "machine-config" => "80",
                _ => "50",
            };
            (name, level.to_owned())
        })
        .collect();
    input.stability = Some("2 of 33 operators are not quiet for 30s".to_owned());
    let picture = picture(&input).unwrap();
    assert_eq!(picture.summary.waits_at, ["network"]);
    assert_eq!(picture.summary.blocks, 22, "dns, machine-config and twenty of level 50");
    let levels: Vec<_> = picture.levels.iter().map(|level| level.name.as_deref().unwrap()).collect();
    assert_eq!(levels, ["07", "08", "50", "80"]);
    insta::assert_snapshot!("with_levels", text(&picture, Details::default()));
    insta::assert_snapshot!("wide", text(&picture, Details { wide: true, ..Details::default() }));
}

#[test]
fn a_first_installation_holds_no_level_up() {
    let mut input = the_example();
    input.version = Some(a_version(&[("4.20.3", "3", "Partial", &ago(14, 0), None)], MESSAGE));
    input.levels = [("network".to_owned(), "07".to_owned()), ("dns".to_owned(), "08".to_owned())].into();
    let picture = picture(&input).unwrap();
    assert!(picture.levels.iter().flat_map(|level| &level.operators).all(|it| it.blocks.is_empty()));
    assert_eq!(picture.summary.waits_at, ["dns", "network"], "as the message says");
    has(&text(&picture, Details::default()), "Target Version:  4.20.3 (a new install)\n");
}

#[test]
fn a_cluster_that_is_not_updating_is_told_so_and_shown_all_the_same() {
    let mut operators: Vec<ClusterOperator> =
        names().iter().map(|name| an_operator(name, "4.20.3")).collect();
    operators[4].status.conditions.remove("Progressing");
    operators[5].status = lockstep_api::ClusterOperatorStatus::default();
    let version = a_version(
        &[("4.20.3", "3", "Completed", &ago(90, 0), Some(&ago(30, 0)))],
        "Cluster version is 4.20.3",
    );
    let text = shown(&a_cluster(version, operators));
    assert!(text.starts_with("The cluster is not updating.\n"), "{text}");
    has(
        &text,
        "Operators:    33: Available 32 True, 1 missing; Progressing 31 False, 2 missing; Degraded 32 False, 1 missing\n",
    );
    lacks(&text, "= Control Plane =");
    insta::assert_snapshot!(text);
}

#[test]
fn a_worker_pool_that_is_behind_is_an_update_although_the_control_plane_is_there() {
    let mut input = the_example();
    input.operators = names().iter().map(|name| an_operator(name, "4.20.3")).collect();
    input.version = Some(a_version(
        &[
            ("4.20.3", "3", "Completed", &ago(240, 0), Some(&ago(121, 0))),
            ("4.20.1", "1", "Completed", &ago(9000, 0), Some(&ago(8900, 0))),
        ],
        "Cluster version is 4.20.3",
    ));
    for node in &mut input.nodes[..3] {
        node["metadata"]["annotations"]["machineconfiguration.openshift.io/currentConfig"] =
            json!("master-3");
    }
    let text = shown(&input);
    has(
        &text,
        "= Control Plane =
Update to 4.20.3 successfully completed at 2026-07-01T09:59:00Z (duration: 1h59m)

All control plane nodes successfully updated to 4.20.3
",
    );
    has(&text, "worker        Pending      0% (0/2)     2 Available, 0 Progressing, 0 Draining\n");
    has(&text, "4h      Info    None     Update is proceeding well\n");
    lacks(&text, "Run with --details=health");
}

#[test]
fn where_an_update_comes_from_is_told_in_four_ways() {
    let end = ago(8900, 0);
    let began = ago(9000, 0);
    let from = |history: &[Entry<'_>]| {
        let input = a_cluster(a_version(history, MESSAGE), thirty_three());
        picture(&input).unwrap().control_plane.target_version
    };
    let to: Entry<'_> = ("4.20.3", "3", "Partial", &began, None);
    assert_eq!(from(&[to]), "4.20.3 (a new install)");
    assert_eq!(from(&[to, ("4.20.1", "1", "Completed", &began, Some(&end))]), "4.20.3 (from 4.20.1)");
    assert_eq!(
        from(&[to, ("4.20.2", "2", "Partial", &began, Some(&end))]),
        "4.20.3 (from incomplete 4.20.2)"
    );
    assert_eq!(from(&[to, ("", "2", "Completed", &began, Some(&end))]), "4.20.3 (from unknown)");
    assert_eq!(from(&[to, ("4.20.3", "9", "Completed", &began, Some(&end))]), "4.20.3 to Multi-Architecture");
}

#[test]
fn a_migration_to_other_images_has_no_estimate() {
    let history = [
        ("4.20.3", "3", "Partial", &*ago(14, 0), None),
        ("4.20.3", "9", "Completed", &*ago(9000, 0), Some(&*ago(8900, 0))),
    ];
    let text = shown(&a_cluster(a_version(&history, MESSAGE), thirty_three()));
    has(&text, "(Est. Time Remaining: N/A for Multi-Architecture Migration)");
}

#[test]
fn the_last_operator_alone_decides_when_there_was_progress() {
    let mut operators: Vec<ClusterOperator> =
        names().iter().map(|name| an_operator(name, "4.20.3")).collect();
    let place = 1;
    operators[place] =
        with(an_operator("machine-config", "4.20.1"), "Progressing", "True", &ago(64, 0), "", "");
    // A node restarts and makes this one look busy.
    operators[0] = with(operators[0].clone(), "Progressing", "False", &ago(1, 0), "", "");
    let text = shown(&a_cluster(an_update(119 * 60), operators));
    has(
        &text,
        "Assessment:      Stalled
Target Version:  4.20.3 (from 4.20.1)
Updating:        machine-config
Completion:      97% (32 operators updated, 1 updating, 0 waiting)
Duration:        1h59m (Est. Time Remaining: N/A; estimate duration was 1h25m)
Operator Health: 33 Healthy
",
    );
    has(&text, "Time left:    unknown: overdue by 33m\n");
}

#[test]
fn an_earlier_update_tells_how_long_one_takes_but_not_the_installation() {
    let history = |middle: bool| {
        let mut history = vec![("4.20.3", "3", "Partial", ago(2, 0), None)];
        if middle {
            history.push(("4.20.2", "2", "Completed", ago(5000, 0), Some(ago(4910, 0))));
        }
        history.push(("4.20.1", "1", "Completed", ago(9000, 0), Some(ago(8000, 0))));
        let entries: Vec<Entry<'_>> = history
            .iter()
            .map(|(version, image, state, began, end)| {
                (*version, *image, *state, began.as_str(), end.as_deref())
            })
            .collect();
        let input = a_cluster(a_version(&entries, MESSAGE), thirty_three());
        picture(&input).unwrap().control_plane.estimate.words().unwrap()
    };
    assert_eq!(history(false), "1h10m", "an hour where nothing is known");
    assert_eq!(history(true), "1h46m", "an hour and a half the last time");
}

#[test]
fn an_operator_of_machines_that_runs_from_an_old_image_is_not_updated() {
    let mut input = the_example();
    input.operators = names().iter().map(|name| an_operator(name, "4.20.3")).collect();
    let updated = |input: &Input| picture(input).unwrap().control_plane.updated;
    assert_eq!(updated(&input), 33);
    input.config_operator = Some(json!({"spec": {"template": {"spec": {"containers": [
        {"name": "kube-rbac-proxy", "image": "proxy"}, {"name": "machine-config-operator", "image": "new"}]}}}}));
    assert_eq!(updated(&input), 32, "it does not report its image");
    input.operators[1]
        .status
        .versions
        .push(serde_json::from_value(json!({"name": "operator-image", "version": "new"})).unwrap());
    assert_eq!(updated(&input), 33);
}

#[test]
fn operators_of_others_do_not_count() {
    let mut input = the_example();
    let mut guest = an_operator("guest", "0.1");
    guest.metadata.annotations.clear();
    input.operators.push(with(guest, "Available", "False", &ago(90, 0), "Gone", ""));
    let picture = picture(&input).unwrap();
    assert_eq!(picture.control_plane.total, 33);
    assert_eq!(picture.summary.counts.total, 34, "but are counted in the summary");
    assert!(picture.insights.iter().all(|insight| !insight.summary.contains("guest")));
}

#[test]
fn health_counts_every_operator_once() {
    let mut input = the_example();
    input.operators[5] = with(input.operators[5].clone(), "Available", "False", &ago(1, 0), "", "");
    input.operators[5] = with(input.operators[5].clone(), "Degraded", "True", &ago(1, 0), "", "");
    input.operators[6].status.conditions.remove("Available");
    has(&shown(&input), "Operator Health: 30 Healthy, 2 Unavailable, 1 Available but degraded\n");
}

#[test]
fn operators_at_work_are_listed_with_their_reasons() {
    let details = Details { operators: true, ..Details::default() };
    let text = text(&picture(&the_example()).unwrap(), details);
    has(
        &text,
        "NAME      SINCE   REASON                 MESSAGE
dns       7m3s    DNSDegraded            a Pod does not answer
network   now     RollingOutNewRevi...   2 of 6 nodes are done
                                         the rest follows
",
    );
}

#[test]
fn what_is_missing_is_told_with_what_to_do() {
    let mut input = the_example();
    input.version.as_mut().unwrap().status.conditions.remove("Progressing");
    assert_eq!(picture(&input).unwrap_err(), NoPicture::NoProgressing);
    input.operators.clear();
    assert!(
        picture(&input).unwrap_err().to_string().starts_with("no cluster operator information available")
    );
    input.version = None;
    assert!(picture(&input).unwrap_err().to_string().starts_with("no cluster version information available"));
}

#[test]
fn the_document_has_a_version_and_holds_what_the_screen_shows() {
    let document = serde_json::to_value(picture(&the_example()).unwrap()).unwrap();
    assert_eq!((&document["apiVersion"], &document["kind"]), (&json!("lockstep.dev/v1"), &json!("Status")));
    assert_eq!(document["summary"]["now"]["waitingOn"], json!(["dns", "network"]));
    assert_eq!(document["controlPlane"]["estimate"]["remaining"], json!(27 * 60));
    assert_eq!(document["insights"][0]["impact"], json!("API Availability"));
}

mod nodes {
    use super::*;

    /// One worker of this configuration and state, with more annotations.
    fn worker(current: &str, desired: &str, state: &str, more: &[(&str, &str)]) -> Node {
        in_pool(a_pool("worker", "new"), current, desired, state, more)
    }

    fn in_pool(pool: Value, current: &str, desired: &str, state: &str, more: &[(&str, &str)]) -> Node {
        let mut node = a_node("worker-a-1", "worker", current, desired, state);
        for (key, value) in more {
            node["metadata"]["annotations"][format!("machineconfiguration.openshift.io/{key}")] =
                json!(value);
        }
        one(pool, node)
    }

    fn one(pool: Value, node: Value) -> Node {
        let mut input = the_example();
        input.pools = vec![pool];
        input.configs = vec![a_config("new", "4.20.3"), a_config("old", "4.20.1")];
        input.nodes = vec![node];
        picture(&input).unwrap().pools[0].nodes[0].clone()
    }

    #[track_caller]
    fn is(node: &Node, assessment: NodeAssessment, phase: Phase, estimate: &str) {
        assert_eq!((node.assessment, node.phase, node.estimate), (assessment, phase, estimate), "{node:?}");
    }

    #[test]
    fn every_phase_has_its_assessment_and_estimate() {
        use NodeAssessment::{Completed, Excluded, Outdated, Progressing};
        is(&worker("old", "new", "Done", &[]), Progressing, Phase::Draining, "+10m");
        let draining = [("desiredDrain", "drain-new"), ("lastAppliedDrain", "uncordon-old")];
        is(&worker("old", "new", "Working", &draining), Progressing, Phase::Draining, "+10m");
        let drained = [("desiredDrain", "drain-new"), ("lastAppliedDrain", "drain-new")];
        is(&worker("old", "new", "Working", &drained), Progressing, Phase::Updating, "+5m");
        let uncordoning = [("desiredDrain", "uncordon-new"), ("lastAppliedDrain", "drain-new")];
        is(&worker("old", "new", "Working", &uncordoning), Progressing, Phase::Updating, "+5m");
        is(&worker("old", "new", "", &[("desiredDrain", "drain-new")]), Progressing, Phase::Updating, "+5m");
        is(&worker("old", "new", "Rebooting", &[]), Progressing, Phase::Rebooting, "+5m");
        is(&worker("new", "new", "Done", &[]), Completed, Phase::Updated, "-");
        is(&worker("old", "old", "Done", &[]), Outdated, Phase::Pending, "?");
        let mut paused = a_pool("worker", "new");
        paused["spec"]["paused"] = json!(true);
        is(&in_pool(paused, "old", "old", "Done", &[]), Excluded, Phase::Paused, "-");
    }

    #[test]
    fn a_node_is_on_its_way_only_to_the_configuration_of_its_pool() {
        let elsewhere = in_pool(a_pool("worker", "another"), "old", "new", "Working", &[]);
        assert_eq!(elsewhere.phase, Phase::Pending);
        assert_eq!(worker("", "new", "Working", &[]).phase, Phase::Pending, "both must be known");
        assert_eq!(worker("old", "unknown", "Working", &[]).phase, Phase::Pending);
    }

    #[test]
    fn what_keeps_a_node_from_work_is_told_in_words() {
        let mut node = a_node("worker-a-1", "worker", "old", "old", "Working");
        node["spec"]["unschedulable"] = json!(true);
        node["status"]["conditions"] = json!([
            condition("Ready", "Unknown", &ago(4, 59), "", "the kubelet is silent"),
            condition("DiskPressure", "True", &ago(0, 59), "", ""),
            condition("NetworkUnavailable", "True", &ago(0, 59), "", ""),
        ]);
        let young = one(a_pool("worker", "new"), node.clone());
        assert_eq!(young.assessment, NodeAssessment::Unavailable);
        assert_eq!(
            young.message,
            "Not ready | Disk pressure | Network unavailable | Node is marked unschedulable | Machine Config Daemon is \
             processing the node"
        );
        assert_eq!(young.trouble, None, "not for long enough");
        for (place, what, since) in [
            (0, "is not ready", ago(5, 0)),
            (1, "has disk pressure", ago(1, 0)),
            (2, "has unavailable network", ago(1, 0)),
        ] {
            let mut old = node.clone();
            old["status"]["conditions"][place]["lastTransitionTime"] = json!(since);
            assert_eq!(one(a_pool("worker", "new"), old).trouble.unwrap().what, what);
        }
        let annotations = &mut node["metadata"]["annotations"];
        annotations["machineconfiguration.openshift.io/desiredConfig"] = json!("new");
        assert_eq!(
            one(a_pool("worker", "new"), node).assessment,
            NodeAssessment::Progressing,
            "it is updated"
        );
    }

    #[test]
    fn a_degraded_node_tells_its_reason_without_its_own_long_name() {
        for state in ["Degraded", "Unreconcilable"] {
            let node =
                worker("old", "new", state, &[("reason", "failed to drain node worker-a-1 after 1 hour")]);
            assert_eq!(node.assessment, NodeAssessment::Degraded);
            assert_eq!(node.message, "failed to drain node <node> after 1 hour");
        }
        let mut short = a_node("w1", "worker", "old", "new", "Degraded");
        short["metadata"]["annotations"]["machineconfiguration.openshift.io/reason"] = json!("w1 is w1");
        assert_eq!(one(a_pool("worker", "new"), short).message, "w1 is w1");
    }

    #[test]
    fn a_node_belongs_to_the_control_plane_then_to_its_own_pool_then_to_the_workers() {
        let mut input = the_example();
        input.pools = vec![a_pool("worker", "new"), a_pool("infra", "new"), a_pool("master", "new")];
        input.pools[1]["spec"]["nodeSelector"] =
            json!({"matchExpressions": [{"key": "node-role.kubernetes.io/infra", "operator": "Exists"}]});
        let node = |name: &str, roles: &[&str]| {
            let mut node = a_node(name, roles[0], "old", "old", "Done");
            for role in roles {
                node["metadata"]["labels"][format!("node-role.kubernetes.io/{role}")] = json!("");
            }
            node
        };
        input.nodes = vec![
            node("a", &["worker", "master", "infra"]),
            node("b", &["worker", "infra"]),
            node("c", &["worker"]),
            node("d", &["other"]),
        ];
        let pools = picture(&input).unwrap().pools;
        let found: Vec<(&str, Vec<&str>)> = pools
            .iter()
            .map(|pool| (pool.name.as_str(), pool.nodes.iter().map(|node| node.name.as_str()).collect()))
            .collect();
        assert_eq!(found, [("master", vec!["a"]), ("infra", vec!["b"]), ("worker", vec!["c"])]);
    }

    /// 59 workers as in the specification's example: 22 updated, 5 at work, 12 draining, 7 of the others degraded.
    fn a_large_pool() -> Input {
        let mut input = the_example();
        input.pools = vec![a_pool("worker", "new"), a_pool("zoo", "new")];
        input.configs = vec![a_config("new", "4.20.3"), a_config("old", "4.20.1")];
        input.nodes = (0..59)
            .map(|number| {
                let (current, desired, state) = match number {
                    0..22 => ("new", "new", "Done"),
                    22..27 => ("old", "new", "Working"),
                    27..39 => ("old", "new", "Done"),
                    39..46 => ("old", "old", "Degraded"),
                    _ => ("old", "old", "Done"),
                };
                let mut node = a_node(&format!("node-{number:02}"), "worker", current, desired, state);
                // Those that are emptied, and three more, take no Pods.
                if (27..39).contains(&number) || number >= 56 {
                    node["spec"]["unschedulable"] = json!(true);
                }
                node
            })
            .collect();
        input
    }

    #[test]
    fn a_large_pool_is_shortened_but_nobody_in_trouble_is_left_out() {
        let input = a_large_pool();
        let text = shown(&input);
        has(&text, "WORKER POOL   ASSESSMENT   COMPLETION    STATUS\n");
        has(
            &text,
            "worker        Degraded     37% (22/59)   44 Available, 5 Progressing, 12 Draining, 7 Degraded\n",
        );
        has(&text, "zoo           Empty                      0 Total\n");
        let rows = |text: &str| text.lines().filter(|line| line.starts_with("node-")).count();
        assert_eq!(rows(&text), 10);
        has(
            &text,
            "...
Omitted additional 49 Total, 22 Completed, 37 Available, 5 Progressing, 10 Outdated, 12 Draining, 0 Excluded, and 0 Degraded nodes.
Pass along --details=nodes to see all information.
",
        );
        let all = super::text(&picture(&input).unwrap(), Details { nodes: true, ..Details::default() });
        assert_eq!(rows(&all), 59);
        lacks(&all, "Omitted");
        insta::assert_snapshot!("large_pool", text);
    }

    #[test]
    fn more_than_ten_in_trouble_are_all_shown() {
        let mut input = a_large_pool();
        for node in &mut input.nodes[..22] {
            node["status"]["conditions"][0] = condition("Ready", "False", &ago(9, 0), "", "gone");
        }
        let text = shown(&input);
        assert_eq!(text.lines().filter(|line| line.starts_with("node-")).count(), 29);
    }

    #[test]
    fn nodes_are_sorted_by_what_needs_eyes_first() {
        use NodeAssessment::{Completed, Degraded, Outdated, Progressing, Unavailable};
        let pools = picture(&a_large_pool()).unwrap().pools;
        let mut order: Vec<NodeAssessment> = pools[0].nodes.iter().map(|node| node.assessment).collect();
        assert!(order.is_sorted());
        order.dedup();
        assert_eq!(order, [Degraded, Unavailable, Progressing, Outdated, Completed]);
        let draining = pools[0].nodes.iter().position(|node| node.phase == Phase::Draining);
        assert!(draining < pools[0].nodes.iter().position(|node| node.phase == Phase::Updating));
    }

    #[test]
    fn a_pool_is_what_its_nodes_are() {
        let of = |nodes: &[(&str, &str, &str)], paused: bool| {
            let mut input = a_large_pool();
            input.pools[0]["spec"]["paused"] = json!(paused);
            let node = |(number, (current, desired, state)): (usize, &(&str, &str, &str))| {
                a_node(&format!("n{number}"), "worker", current, desired, state)
            };
            input.nodes = nodes.iter().enumerate().map(node).collect();
            picture(&input).unwrap().pools[0].assessment
        };
        let (updated, pending, moving) =
            (("new", "new", "Done"), ("old", "old", "Done"), ("old", "new", "Working"));
        assert_eq!(of(&[], false), PoolAssessment::Empty);
        assert_eq!(of(&[updated, updated], true), PoolAssessment::Completed);
        assert_eq!(of(&[pending, pending], false), PoolAssessment::Pending);
        assert_eq!(of(&[updated, pending], false), PoolAssessment::Progressing);
        assert_eq!(of(&[updated, moving], false), PoolAssessment::Progressing);
        assert_eq!(of(&[updated, pending], true), PoolAssessment::Excluded);
        assert_eq!(of(&[pending, ("old", "new", "Degraded")], true), PoolAssessment::Degraded);
    }
}

mod insights {
    use super::*;

    fn all(input: &Input) -> Vec<(Severity, Impact, String)> {
        let insights = picture(input).unwrap().insights;
        insights.into_iter().map(|it| (it.level, it.impact, it.summary)).collect()
    }

    /// An update of one operator that is fine, so that only what a test adds speaks.
    fn a_quiet_update() -> Input {
        a_cluster(an_update(840), vec![an_operator("dns", "4.20.1")])
    }

    fn of_operator(kind: &str, status: &str, minutes: i64, seconds: i64) -> (Severity, Impact, String) {
        let mut input = a_quiet_update();
        let operator = input.operators[0].clone();
        input.operators[0] = with(operator, kind, status, &ago(minutes, seconds), "Why", "");
        all(&input).remove(0)
    }

    #[test]
    fn nothing_to_say_is_said() {
        assert_eq!(
            all(&a_quiet_update()),
            [(Severity::Info, Impact::None, "Update is proceeding well".to_owned())]
        );
    }

    #[test]
    fn an_operator_that_is_unwell_for_five_minutes_is_a_warning_and_later_an_error() {
        let down = "Cluster Operator dns is unavailable (Why)".to_owned();
        let sick = "Cluster Operator dns is degraded (Why)".to_owned();
        let api = Impact::ApiAvailability;
        assert_eq!(of_operator("Available", "False", 5, 0).0, Severity::Info);
        assert_eq!(of_operator("Available", "False", 5, 1), (Severity::Warning, api, down.clone()));
        assert_eq!(of_operator("Available", "False", 20, 0).0, Severity::Warning);
        assert_eq!(of_operator("Available", "False", 20, 1), (Severity::Error, api, down));
        assert_eq!(of_operator("Available", "Unknown", 90, 0).0, Severity::Info);
        assert_eq!(of_operator("Degraded", "True", 5, 0).0, Severity::Info);
        assert_eq!(of_operator("Degraded", "True", 5, 1), (Severity::Warning, api, sick.clone()));
        assert_eq!(of_operator("Degraded", "True", 40, 0).0, Severity::Warning);
        assert_eq!(of_operator("Degraded", "True", 40, 1), (Severity::Error, api, sick));
    }

    #[test]
    fn a_version_that_fails_may_fail_or_does_not_say_is_a_warning() {
        let failing = |status: Option<&str>| {
            let mut input = a_quiet_update();
            let conditions = &mut input.version.as_mut().unwrap().status.conditions;
            conditions.remove("Failing");
            if let Some(status) = status {
                let failing =
                    serde_json::from_value(condition("Failing", status, &ago(3, 0), "Why", "text")).unwrap();
                conditions.set(failing, now());
            }
            all(&input).remove(0)
        };
        let stalled = |text: &str| {
            (Severity::Warning, Impact::UpdateStalled, format!("Cluster Version version {text}"))
        };
        assert_eq!(failing(Some("True")), stalled("is failing to proceed with the update (Why)"));
        assert_eq!(failing(Some("Unknown")), stalled("may be failing to proceed with the update (Why)"));
        assert_eq!(failing(None), stalled("has no Failing condition"));
        assert_eq!(failing(Some("False")).0, Severity::Info);
    }

    #[test]
    fn an_update_that_never_completed_is_remembered() {
        let end = ago(100, 0);
        let history = [
            ("4.20.3", "3", "Partial", &*ago(14, 0), None),
            ("4.20.2", "2", "Partial", &*ago(200, 0), Some(&*end)),
            ("4.20.1", "1", "Completed", &*ago(9000, 0), Some(&*end)),
        ];
        let input = a_cluster(a_version(&history, MESSAGE), vec![an_operator("dns", "4.20.1")]);
        let text = "Previous update to 4.20.2 never completed, last complete update was 4.20.1".to_owned();
        assert_eq!(all(&input), [(Severity::Warning, Impact::None, text)]);
    }

    #[test]
    fn nodes_and_pools_speak_too() {
        let mut input = a_quiet_update();
        input.pools = vec![a_pool("worker", "new"), a_pool("infra", "new")];
        input.pools[1]["spec"]["paused"] = json!(true);
        input.configs = vec![a_config("new", "4.20.3"), a_config("old", "4.20.1")];
        input.nodes = vec![
            a_node("worker-a-1", "worker", "old", "old", "Done"),
            a_node("worker-a-2", "worker", "old", "old", "Degraded"),
            a_node("infra-a-1", "infra", "old", "old", "Done"),
        ];
        input.nodes[0]["status"]["conditions"][0] = condition("Ready", "False", &ago(6, 0), "", "gone");
        let stalled = Impact::UpdateStalled;
        assert_eq!(
            all(&input),
            [
                (Severity::Error, stalled, "Node worker-a-2 is degraded".to_owned()),
                (
                    Severity::Warning,
                    stalled,
                    "Outdated nodes in a paused pool 'infra' will not be updated".to_owned()
                ),
                (Severity::Warning, Impact::UpdateSpeed, "Node worker-a-1 is not ready".to_owned()),
            ]
        );
    }

    fn an_alert(name: &str, severity: &str, state: &str, since: &str) -> Value {
        json!({"state": state, "activeAt": since, "labels": {"alertname": name, "severity": severity, "namespace": "ns"},
            "annotations": {"summary": format!("{name} happened."), "description": "More.",
                "runbook_url": "https://example.com/runbook"}})
    }

    #[test]
    fn alerts_that_came_with_the_update_and_those_that_hold_up_drains_are_told() {
        let mut input = a_quiet_update();
        let (before, after) = (ago(300, 0), ago(3, 0));
        let mut bare = an_alert("NoRunbook", "critical", "firing", &after);
        bare["annotations"]["runbook_url"] = json!("");
        let mut unnamed = an_alert("NoSummary", "warning", "firing", &ago(4, 0));
        unnamed["annotations"]["summary"] = json!("");
        input.alerts = Some(vec![
            an_alert("Old", "critical", "firing", &before),
            an_alert("Pending", "critical", "pending", &after),
            an_alert("Small", "info", "firing", &after),
            an_alert("PodDisruptionBudgetAtLimit", "warning", "firing", &before),
            an_alert("PodDisruptionBudgetLimit", "critical", "firing", &before),
            an_alert("New", "warning", "firing", &after),
            bare,
            unnamed,
        ]);
        let told = |level, name: &str| (level, Impact::Unknown, format!("Alert is firing: {name}"));
        assert_eq!(
            all(&input),
            [
                told(Severity::Critical, "PodDisruptionBudgetLimit happened."),
                told(Severity::Warning, "New happened."),
                told(Severity::Warning, "NoSummary"),
                told(Severity::Warning, "PodDisruptionBudgetAtLimit happened."),
            ]
        );
    }

    #[test]
    fn at_length_every_insight_has_its_block() {
        let mut input = the_example();
        input.operators[3] = with(input.operators[3].clone(), "Available", "False", &ago(30, 0), "Gone", "");
        let text = text(&picture(&input).unwrap(), Details { health: true, ..Details::default() });
        has(
            &text,
            "= Update Health =
Message: Cluster Operator operator-00 is unavailable (Gone)
  Since:       30m
  Level:       Error
  Impact:      API Availability
  Reference:   docs/runbooks/ClusterOperatorDown.md
  Resources:
    clusteroperators.config.openshift.io: operator-00
  Description: <no message>

Message: Cluster Operator dns is degraded (DNSDegraded)
",
        );
        lacks(&text, "Run with --details=health");
    }

    #[test]
    fn what_an_operator_says_of_its_secrets_is_not_shown() {
        let mut input = a_quiet_update();
        let message = "cannot log in to https://user:canary@example.com";
        input.operators[0] =
            with(input.operators[0].clone(), "Degraded", "True", &ago(9, 0), "Login", message);
        let picture = picture(&input).unwrap();
        let details = Details { nodes: true, health: true, operators: true, wide: true };
        lacks(&text(&picture, details), "canary");
        lacks(&serde_json::to_string(&picture).unwrap(), "canary");
    }
}
