//! The parts of a status beside its history, and the table of one operator.

use super::*;

#[test]
fn upgradeable_stands_first_and_goes_when_nothing_speaks_against_it() {
    let risk = |name: &str| Risk {
        name: name.to_owned(),
        reason: name.to_owned(),
        message: format!("Message{name}"),
    };
    let (times, own) = (StartTimes::default(), own());
    let mut version = a_version();
    let blocked =
        Context { upgradeable: upgradeable::condition(&[risk("A"), risk("B")]), ..around(&own, &times, &[]) };
    version.status = status(&version, &working_on(own.clone()), &blocked, at(5));
    assert_eq!(
        all(&version.status)[0],
        "Upgradeable=False MultipleReasons: Cluster should not be upgraded between minor or major versions for multiple \
         reasons:\n* MessageA\n* MessageB"
    );
    assert_eq!(told(&after(&version, &working_on(own.clone()), 6), "Upgradeable"), "absent");
}

#[test]
fn a_failure_of_the_operator_itself_is_told_after_its_retries() {
    let mut version = a_version();
    version.status = after(&version, &kept(own(), 1), 5);
    let progressing = Condition::new("Progressing", ConditionStatus::True);
    version.status.conditions.set(progressing.because("Some", "before"), at(6));
    let found = generic_failure(&version, &own(), "bad", at(7));
    assert_eq!(told(&found, "Available"), "False");
    assert_eq!(told(&found, "Failing"), "True: bad");
    assert_eq!(told(&found, "Progressing"), "True: Error ensuring the cluster version is up to date: bad");
    assert_eq!(history_of(&found), ["C1.0.0-abc 5-5"]);

    let fresh = generic_failure(&a_version(), &own(), "bad", at(7));
    assert_eq!(history_of(&fresh), ["P1.0.0-abc 7-…"]);
    assert_eq!(fresh.desired, own());
    assert!(told(&fresh, "Progressing").starts_with("Unknown: Error ensuring"));

    version.status = with_history(&["C4.20.0"]).status;
    version.status.desired = release("4.20.0", "image:4.20.0");
    let foreign = generic_failure(&version, &own(), "bad", at(7));
    assert_eq!(history_of(&foreign), ["C4.20.0 1-2"], "the cluster is not at the operator's own release");
}

#[test]
fn what_the_operator_knows_about_its_release_is_published() {
    let url = "https://example.com/1".to_owned();
    let own = Release {
        url: url.clone(),
        channels: vec!["fast".to_owned()],
        architecture: "Multi".to_owned(),
        ..own()
    };
    let times = StartTimes::default();
    let report = working_on(release("", &own.image));
    let publish = |publish_architecture| {
        let context = Context { publish_architecture, ..around(&own, &times, &[]) };
        status(&a_version(), &report, &context, at(5))
    };
    let with = publish(true);
    assert_eq!(with.desired, own);
    let reference = "True: Working towards image/image:1";
    assert_ne!(told(&with, "Progressing"), reference);
    assert_eq!(told(&with, "Progressing"), "True: Working towards 1.0.0-abc");
    assert_eq!(history_of(&with), ["P1.0.0-abc 5-…"]);
    assert_eq!(publish(false).desired, Release { architecture: String::new(), ..own.clone() });
}

#[test]
fn capabilities_are_published_sorted_and_kept_until_they_are_known() {
    let mut version = a_version();
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<String>>();
    let capabilities =
        Capabilities { known: set(&["b", "a", "c"]), enabled: set(&["c", "a"]), implicit: set(&["c", "a"]) };
    let report = Report { loaded: Loaded { capabilities, ..loaded(&own()) }, ..working_on(own()) };
    version.status = after(&version, &report, 5);
    let found = version.status.capabilities.clone().unwrap();
    assert_eq!(found.enabled_capabilities, ["a", "c"]);
    assert_eq!(found.known_capabilities, ["a", "b", "c"]);
    let implicit = told(&version.status, "ImplicitlyEnabledCapabilities");
    assert_eq!(
        implicit,
        "True CapabilitiesImplicitlyEnabled: The following capabilities could not be disabled: a, c"
    );
    let restarted = after(&version, &working_on(own()), 6);
    assert_eq!(restarted.capabilities, Some(found));
    assert_eq!(told(&restarted, "ImplicitlyEnabledCapabilities"), implicit);
}

#[test]
fn conditions_that_nobody_keeps_any_more_are_removed_and_foreign_ones_stay() {
    let mut version = a_version();
    for kind in STRAY.into_iter().chain(["Custom"]) {
        version.status.conditions.set(Condition::new(kind, ConditionStatus::True), at(1));
    }
    let found = after(&version, &working_on(own()), 5);
    assert_eq!(all(&found)[0], "Custom=True");
    assert_eq!(found.conditions.len(), 6);
}

#[test]
fn generation_and_hash_stay_until_there_are_new_ones() {
    let mut version = a_version();
    version.status.observed_generation = 4;
    version.status.version_hash = "hash".to_owned();
    let found = after(&version, &working_on(own()), 5);
    assert_eq!((found.observed_generation, found.version_hash.as_str()), (4, "hash"));
    let mut report = Report { generation: 5, ..working_on(own()) };
    report.run.version_hash = "other".to_owned();
    let found = after(&version, &report, 5);
    assert_eq!((found.observed_generation, found.version_hash.as_str()), (5, "other"));
}

#[test]
fn percent_does_not_fall_when_a_successor_begins_at_nothing() {
    let counted = |done, total| {
        let mut report = working_on(own());
        (report.run.done, report.run.total) = (done, total);
        report
    };
    let mut version = a_version();
    version.status = after(&version, &counted(6, 10), 5);
    let shown = "True: Working towards 1.0.0-abc: 6 of 10 done (60% complete)";
    assert_eq!(told(&version.status, "Progressing"), shown);
    for report in [counted(0, 0), counted(0, 10), counted(5, 10)] {
        assert_eq!(told(&after(&version, &report, 6), "Progressing"), shown);
    }
    let more = told(&after(&version, &counted(7, 10), 6), "Progressing");
    assert_eq!(more, "True: Working towards 1.0.0-abc: 7 of 10 done (70% complete)");

    let mut other = counted(1, 10);
    other.actual = release("1.0.1", "image/image:2");
    let found = told(&after(&version, &other, 6), "Progressing");
    assert_eq!(found, "True: Working towards 1.0.1: 1 of 10 done (10% complete)", "another release");

    version.status.history[0].state = UpdateState::Completed;
    let found = told(&after(&version, &counted(1, 10), 6), "Progressing");
    assert!(found.contains("1 of 10 done"), "a release that was complete is applied again: {found}");
}

#[test]
fn a_pause_and_remarks_are_told_without_a_failure() {
    let (times, own) = (StartTimes::default(), own());
    let remarks = ["The Deployment of the release is left alone.".to_owned()];
    let context = Context { is_paused: true, remarks: &remarks, ..around(&own, &times, &[]) };
    let report = Report { loaded: loaded(&own), ..kept(own.clone(), 1) };
    let found = status(&a_version(), &report, &context, at(5));
    let progressing = told(&found, "Progressing");
    assert!(progressing.starts_with("False: Cluster version is 1.0.0-abc; paused: "), "{progressing}");
    assert!(progressing.contains(annotation::PAUSED));
    assert!(told(&found, "ReleaseAccepted").ends_with("\nThe Deployment of the release is left alone."));
    assert_eq!(told(&found, "Failing"), "False");
}

#[test]
fn rows_of_the_table_of_one_operator_as_the_cluster_version_shows_them() {
    let x = |reason, state: &str, effect| {
        Failure::new(reason, format!("Cluster operator X {state}")).about("X").with_effect(effect)
    };
    let unavailable = || x(reason::CLUSTER_OPERATOR_NOT_AVAILABLE, "is not available", Effect::Fail);
    let degraded = |effect| x(reason::CLUSTER_OPERATOR_DEGRADED, "is degraded", effect);
    let updating = || x(reason::CLUSTER_OPERATOR_UPDATING, "is updating versions", Effect::None);
    let (late, way) = (Effect::FailAfterInterval, "Working towards V: 3 of 10 done (30% complete)");
    let slow = "waiting on X over 30 minutes which is longer than expected";
    // What is wrong, minutes since then, whether the release is kept; Failing; Progressing.
    let rows = [
        (
            unavailable(),
            0,
            false,
            "True ClusterOperatorNotAvailable: Cluster operator X is not available".to_owned(),
            "True ClusterOperatorNotAvailable: Unable to apply V: the cluster operator X is not available".to_owned(),
        ),
        (
            unavailable(),
            0,
            true,
            "True ClusterOperatorNotAvailable: Cluster operator X is not available".to_owned(),
            "False ClusterOperatorNotAvailable: Error while reconciling V: the cluster operator X is not available"
                .to_owned(),
        ),
        (
            degraded(Effect::Report),
            0,
            false,
            "True ClusterOperatorDegraded: Cluster operator X is degraded".to_owned(),
            "True ClusterOperatorDegraded: Unable to apply V: Cluster operator X is degraded".to_owned(),
        ),
        (
            degraded(late),
            40,
            false,
            "False".to_owned(),
            format!("True ClusterOperatorDegraded: {way}, waiting up to 40 minutes on X"),
        ),
        (
            degraded(late),
            0,
            true,
            "True ClusterOperatorDegraded: Cluster operator X is degraded".to_owned(),
            "False ClusterOperatorDegraded: Error while reconciling V: the cluster operator X is degraded".to_owned(),
        ),
        (
            degraded(late),
            41,
            false,
            "True ClusterOperatorDegraded: Cluster operator X is degraded".to_owned(),
            "True ClusterOperatorDegraded: Unable to apply V: wait has exceeded 40 minutes for these operators: X"
                .to_owned(),
        ),
        (
            updating(),
            30,
            false,
            "False".to_owned(),
            format!("True ClusterOperatorUpdating: {way}, waiting on X"),
        ),
        (
            updating(),
            0,
            true,
            "True ClusterOperatorUpdating: Cluster operator X is updating versions".to_owned(),
            "False ClusterOperatorUpdating: Error while reconciling V: Cluster operator X is updating versions".to_owned(),
        ),
        (
            updating(),
            31,
            false,
            format!("Unknown SlowClusterOperator: {slow}"),
            format!("True ClusterOperatorUpdating: {way}, {slow}"),
        ),
    ];
    let own = release("V", "image:V");
    for (failure, minutes, reconciling, failing, progressing) in rows {
        let times: StartTimes = [("X", at(0))].into_iter().collect();
        let run = Run { failure: Some(failure), done: 3, total: 10, ..Run::default() };
        let report = Report { reconciling, run, ..working_on(own.clone()) };
        let found = status(&with_history(&["PV"]), &report, &around(&own, &times, &[]), at(minutes * 60));
        assert_eq!((told(&found, "Failing"), told(&found, "Progressing")), (failing, progressing));
        assert!(!told(&found, "Progressing").contains("unknown error"));
    }
}
