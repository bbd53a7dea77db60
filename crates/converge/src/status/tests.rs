//! Every line form, table and insight of the specification, with its numbers.

mod insights;
mod nodes;

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
