//! Every form of `wait-for` on the lab in virtual time: success, time-out, flapping, late operators, an outage, wrong clocks.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockstep_converge::wait::{Ending, Goal, Options, Stage as Step, Told, wait};
use lockstep_health::stability::Limits;
use lockstep_lab::Rule;
use lockstep_tests::stage::Stage;
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

/// What a wait told, how it ended, and after how long.
struct Waited {
    ending: Ending,
    told: Vec<Told>,
    seconds: u64,
}

impl Waited {
    fn stage(&self) -> Option<Step> {
        self.ending.failure.as_ref().map(|failure| failure.stage)
    }

    fn sentence(&self) -> &str {
        self.ending.failure.as_ref().map_or("", |failure| &failure.sentence)
    }

    fn notes(&self) -> Vec<&str> {
        let notes = self.told.iter().filter_map(|told| match told {
            Told::Note { what } => Some(what.as_str()),
            _ => None,
        });
        notes.collect()
    }
}

async fn waited(stage: &Stage, goal: Goal, options: Options) -> Waited {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let begun = Instant::now();
    let mut tell = move |it| heard.lock().unwrap().push(it);
    let ending = wait(&stage.server(), &goal, &options, &mut tell).await;
    if let Some(failure) = &ending.failure {
        assert!(!failure.next_steps.is_empty(), "{failure:?}");
        let names_something = ["ClusterOperator", "ClusterVersion", "ConfigMap", "Etcd", "API", "Pod"];
        assert!(names_something.iter().any(|name| failure.sentence.contains(name)), "{}", failure.sentence);
    }
    let told = told.lock().unwrap().clone();
    Waited { ending, told, seconds: begun.elapsed().as_secs() }
}

fn in_minutes(minutes: u64) -> Options {
    let limit = Duration::from_mins(minutes);
    Options { api: limit, bootstrap: limit, etcd: limit, cluster: limit, ..Options::default() }
}

/// Plays a script beside the wait: at each second one operator says something.
async fn beside(stage: &Stage, script: &[(u64, &str, [&str; 3])], goal: Goal, options: Options) -> Waited {
    let begun = Instant::now();
    let play = async {
        for (second, name, [available, progressing, degraded]) in script {
            sleep_until(begun + Duration::from_secs(*second)).await;
            stage.say(name, available, progressing, degraded).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = play => unreachable!("a script never ends"),
        waited = waited(stage, goal, options) => waited,
    }
}

const WELL: [&str; 3] = ["True", "False", "False"];
const BUSY: [&str; 3] = ["True", "True", "False"];
const DOWN: [&str; 3] = ["False", "True", "False"];

#[tokio::test(start_paused = true)]
async fn stable_passes_for_who_settles_at_4_29_and_fails_with_7_for_who_settles_at_4_31() {
    for (second, expected) in [(269, None), (271, Some(Step::Stability))] {
        let stage = Stage::new().await;
        let script = [(0, "dns", WELL), (0, "etcd", BUSY), (second, "etcd", WELL)];
        let waited = beside(&stage, &script, Goal::Stable, Options::default()).await;
        assert_eq!(waited.stage(), expected, "{}", waited.sentence());
        assert_eq!(waited.seconds, if expected.is_none() { 299 } else { 300 });
        if expected.is_some() {
            assert_eq!(waited.stage().unwrap().exit_code(), 7);
            assert!(
                waited.sentence().contains("ClusterOperator etcd: Progressing=False"),
                "{}",
                waited.sentence()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stable_ends_at_once_where_nobody_wrote_for_long_and_half_a_minute_after_the_last_who_did() {
    let stage = Stage::new().await;
    stage.say("dns", "True", "False", "False").await;
    sleep(Duration::from_hours(1)).await;
    assert_eq!(waited(&stage, Goal::Stable, Options::default()).await.seconds, 0);
    stage.say("dns", "True", "True", "False").await;
    let script = [(3, "dns", WELL), (10, "late", WELL)];
    assert_eq!(beside(&stage, &script, Goal::Stable, Options::default()).await.seconds, 40);
}

#[tokio::test(start_paused = true)]
async fn stable_names_who_flaps_and_an_empty_list_is_no_success() {
    let stage = Stage::new().await;
    let mut script = vec![(0, "dns", WELL)];
    for round in 0..20 {
        script.extend([(round * 20, "monitoring", BUSY), (round * 20 + 10, "monitoring", WELL)]);
    }
    let waited_for = beside(&stage, &script, Goal::Stable, Options::default()).await;
    assert_eq!(waited_for.stage(), Some(Step::Stability));
    assert!(
        waited_for.sentence().contains("1 of 2 operators") && waited_for.sentence().contains("monitoring")
    );
    assert!(waited_for.ending.rests.len() > 10, "{:?}", waited_for.ending.rests);

    let empty = Stage::new().await;
    let nobody = waited(&empty, Goal::Stable, Options::default()).await;
    assert_eq!((nobody.stage(), nobody.seconds), (Some(Step::Stability), 300));
    assert!(nobody.sentence().contains("there is no ClusterOperator"), "{}", nobody.sentence());
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_vanishes_is_noted_and_one_that_is_expected_has_to_come() {
    let stage = Stage::new().await;
    for name in ["dns", "old"] {
        stage.say(name, "True", "False", "False").await;
    }
    let gone = async {
        sleep(Duration::from_secs(5)).await;
        stage.delete("/apis/config.openshift.io/v1/clusteroperators/old").await;
        std::future::pending::<()>().await;
    };
    let waited_for = tokio::select! {
        biased;
        () = gone => unreachable!("it never ends"),
        it = waited(&stage, Goal::Stable, Options::default()) => it,
    };
    assert_eq!((waited_for.stage(), waited_for.seconds), (None, 35));
    assert!(
        waited_for.notes().iter().any(|note| note.contains("old was there and is gone")),
        "{:?}",
        waited_for.notes()
    );
    let options = Options { expected: ["console".to_owned()].into(), ..Options::default() };
    let missing = waited(&stage, Goal::Stable, options).await;
    assert!(missing.sentence().contains("console"), "{}", missing.sentence());
}

#[tokio::test(start_paused = true)]
async fn an_outage_in_between_neither_passes_nor_fails_by_itself() {
    let outage = |seconds: u64| -> Rule {
        serde_json::from_value(json!({"name": "away", "effect": {"outage": {}}, "from": "10s",
            "for": format!("{seconds}s")}))
        .unwrap()
    };
    let stage = Stage::new().await;
    stage.say("dns", "True", "False", "False").await;
    stage.lab.faults().add(outage(120)).unwrap();
    let calm = waited(&stage, Goal::Stable, Options::default()).await;
    assert_eq!(calm.stage(), None, "{}", calm.sentence());
    assert!(calm.seconds >= 120, "{} s: nobody could see anything before", calm.seconds);

    let stage = Stage::new().await;
    stage.say("dns", "True", "False", "False").await;
    stage.lab.faults().add(outage(3600)).unwrap();
    let dark = waited(&stage, Goal::Stable, Options::default()).await;
    assert_eq!((dark.stage(), dark.seconds), (Some(Step::Stability), 300));
    assert!(dark.sentence().contains("nothing new is seen"), "{}", dark.sentence());
}

#[tokio::test(start_paused = true)]
async fn clocks_that_are_five_minutes_wrong_change_nothing() {
    for jump in ["-5m", "5m"] {
        let rule = json!({"name": "clock", "effect": {"clockJump": {"by": jump}}});
        for (second, expected) in [(269, None), (271, Some(Step::Stability))] {
            let stage = Stage::new().await;
            stage.say("etcd", "True", "True", "False").await;
            stage.lab.faults().add(serde_json::from_value(rule.clone()).unwrap()).unwrap();
            sleep(Duration::from_secs(1)).await;
            let script = [(second, "etcd", WELL)];
            let waited = beside(&stage, &script, Goal::Stable, Options::default()).await;
            assert_eq!(waited.stage(), expected, "{jump}: {}", waited.sentence());
        }
        let stage = Stage::new().await;
        stage.lab.faults().add(serde_json::from_value(rule.clone()).unwrap()).unwrap();
        sleep(Duration::from_secs(1)).await;
        stage.say("dns", "True", "False", "False").await;
        assert_eq!(waited(&stage, Goal::Stable, Options::default()).await.seconds, 30, "{jump}");
    }
}

#[tokio::test(start_paused = true)]
async fn install_complete_is_6_until_the_version_is_there_and_7_after_it() {
    let stage = Stage::new().await;
    stage.version("False", "True", "False").await;
    stage.say("dns", "False", "True", "False").await;
    let early = waited(&stage, Goal::InstallComplete, in_minutes(10)).await;
    assert_eq!((early.stage(), early.seconds), (Some(Step::Install), 600));
    assert_eq!(early.stage().unwrap().exit_code(), 6);
    assert!(early.sentence().contains("Progressing is True"), "{}", early.sentence());
    let operators = &early.ending.failure.as_ref().unwrap().operators;
    assert_eq!(
        (operators[0].name.as_str(), operators[0].words.join(" ")),
        ("dns", "unavailable progressing".to_owned())
    );

    let there = async {
        sleep(Duration::from_mins(2)).await;
        stage.version("True", "False", "False").await;
        std::future::pending::<()>().await;
    };
    let restless = tokio::select! {
        biased;
        () = there => unreachable!("it never ends"),
        it = waited(&stage, Goal::InstallComplete, in_minutes(10)) => it,
    };
    assert_eq!((restless.stage(), restless.seconds), (Some(Step::Stability), 420));
    let complete = beside(&stage, &[(60, "dns", WELL)], Goal::InstallComplete, in_minutes(10)).await;
    assert_eq!((complete.stage(), complete.seconds), (None, 90));
}

#[tokio::test(start_paused = true)]
async fn bootstrap_complete_wants_the_config_map_and_is_5_without_it() {
    let stage = Stage::new().await;
    let late = waited(&stage, Goal::BootstrapComplete, in_minutes(3)).await;
    assert_eq!((late.stage(), late.seconds), (Some(Step::Bootstrap), 180));
    assert_eq!(late.stage().unwrap().exit_code(), 5);
    assert!(late.sentence().contains("kube-system/bootstrap"), "{}", late.sentence());
    let written = async {
        sleep(Duration::from_secs(30)).await;
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "bootstrap", "namespace": "kube-system"}, "data": {"status": "complete"}});
        stage.create("/api/v1/namespaces/kube-system/configmaps", &object).await;
        std::future::pending::<()>().await;
    };
    let complete = tokio::select! {
        biased;
        () = written => unreachable!("it never ends"),
        it = waited(&stage, Goal::BootstrapComplete, in_minutes(3)) => it,
    };
    assert_eq!((complete.stage(), complete.seconds), (None, 30));
    assert!(complete.notes().iter().any(|note| note.contains("no etcd operator")), "{:?}", complete.notes());
}

#[tokio::test(start_paused = true)]
async fn the_api_is_waited_for_and_its_last_error_is_told() {
    let stage = Stage::new().await;
    assert_eq!(waited(&stage, Goal::Api, in_minutes(1)).await.seconds, 0);
    let outage = json!({"name": "away", "effect": {"outage": {}}, "for": "90s"});
    stage.lab.faults().add(serde_json::from_value(outage).unwrap()).unwrap();
    let late = waited(&stage, Goal::Api, in_minutes(1)).await;
    assert_eq!(late.stage(), Some(Step::Bootstrap), "{}", late.sentence());
    assert!(late.seconds >= 58, "{}", late.seconds);
    let there = waited(&stage, Goal::Api, in_minutes(1)).await;
    assert_eq!(there.stage(), None);
    assert!((29..=32).contains(&there.seconds), "{}", there.seconds);
}

#[tokio::test(start_paused = true)]
async fn one_operator_is_waited_for_until_it_is_well_and_at_its_version() {
    let stage = Stage::new().await;
    let goal = || Goal::Operator("dns".to_owned());
    let never = waited(&stage, goal(), in_minutes(1)).await;
    assert_eq!(never.stage(), Some(Step::Install));
    assert!(never.sentence().contains("there is no ClusterOperator dns"), "{}", never.sentence());
    let script = [(5, "dns", DOWN), (20, "dns", BUSY), (40, "dns", WELL)];
    let there = beside(&stage, &script, goal(), in_minutes(1)).await;
    assert_eq!((there.stage(), there.seconds), (None, 40));
}

#[tokio::test(start_paused = true)]
async fn converged_ticks_every_line_or_explains_it() {
    let stage = Stage::new().await;
    stage.version("True", "False", "False").await;
    stage.say("dns", "True", "False", "True").await;
    let pod = |phase: &str, ready: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "registry.example.com/x"}]},
            "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}})
    };
    stage.create("/api/v1/namespaces/default/pods", &pod("Pending", "False")).await;
    let open = waited(&stage, Goal::Converged, in_minutes(1)).await;
    assert_eq!(open.stage(), Some(Step::Install));
    assert!(open.sentence().contains("3 of 5 checks hold"), "{}", open.sentence());
    let notes = open.notes().join("\n");
    assert!(notes.contains("✓ all operators are Available (1 of 1)"), "{notes}");
    assert!(notes.contains("✗ no operator is Degraded\n    ClusterOperator dns: Degraded=True"), "{notes}");
    assert!(notes.contains("✗ all Pods run or are complete\n    Pod default/p"), "{notes}");
    stage.say("dns", "True", "False", "False").await;
    stage.set_status("/api/v1/namespaces/default/pods/p", &pod("Running", "True")["status"]).await;
    let converged = waited(&stage, Goal::Converged, in_minutes(1)).await;
    assert_eq!((converged.stage(), converged.seconds), (None, 0));
    let together =
        Options { stability: Limits { together: true, ..Limits::default() }, ..Options::default() };
    assert_eq!(waited(&stage, Goal::Stable, together).await.stage(), None);
}

/// What makes a form succeed.
async fn fulfil(stage: &Stage, goal: &Goal) {
    match goal {
        Goal::BootstrapComplete => {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "bootstrap", "namespace": "kube-system"}, "data": {"status": "complete"}});
            stage.create("/api/v1/namespaces/kube-system/configmaps", &object).await;
        }
        Goal::Operator(_) | Goal::Converged | Goal::InstallComplete => {
            stage.say("dns", "True", "False", "False").await;
            stage.version("True", "False", "False").await;
        }
        Goal::Api | Goal::Stable => {}
    }
}

/// The other forms: what they wait for comes while the API server is away, or with a clock that is wrong.
#[tokio::test(start_paused = true)]
async fn every_form_survives_an_outage_and_a_wrong_clock() {
    let outage = json!({"name": "away", "effect": {"outage": {}}, "from": "5s", "for": "60s"});
    let jumps = ["-5m", "5m"].map(|by| json!({"name": "clock", "effect": {"clockJump": {"by": by}}}));
    for goal in
        [Goal::BootstrapComplete, Goal::InstallComplete, Goal::Converged, Goal::Operator("dns".to_owned())]
    {
        for rule in [&outage, &jumps[0], &jumps[1]] {
            let stage = Stage::new().await;
            stage.lab.faults().add(serde_json::from_value(rule.clone()).unwrap()).unwrap();
            let comes = async {
                sleep(Duration::from_secs(20)).await;
                fulfil(&stage, &goal).await;
                std::future::pending::<()>().await;
            };
            let there = tokio::select! {
                biased;
                () = comes => unreachable!("it never ends"),
                it = waited(&stage, goal.clone(), in_minutes(10)) => it,
            };
            assert_eq!(there.stage(), None, "{goal:?} with {rule}: {}", there.sentence());
            // After an outage the watch comes back within half a minute, and rest takes another one.
            assert!((20..=140).contains(&there.seconds), "{goal:?} with {rule}: {} s", there.seconds);
        }
    }
}
