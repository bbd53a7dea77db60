use serde_json::json;

use super::*;

fn operator(name: &str, progressing: &str, transition: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"conditions": [
        {"type": "Progressing", "status": progressing, "lastTransitionTime": transition, "reason": "AsExpected"}]}})
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// One operator that says these things at these seconds.
fn observed(steps: &[(u64, &str)]) -> Stability {
    let mut stability = Stability::new(Limits::default());
    for (moment, status) in steps {
        stability.see(&operator("dns", status, &moment.to_string()), Duration::ZERO, at(*moment));
    }
    stability
}

#[test]
fn an_operator_that_settles_half_a_minute_before_the_end_is_stable_and_one_second_later_not() {
    let settles = |moment| observed(&[(0, "True"), (moment, "False")]);
    assert_eq!(settles(269).judge(at(298)).verdict, Verdict::NotYet);
    assert_eq!(settles(269).judge(at(299)).verdict, Verdict::Stable);
    assert_eq!(settles(270).judge(at(300)).verdict, Verdict::Stable);
    assert_eq!(settles(271).judge(at(299)).verdict, Verdict::NotYet);
    assert_eq!(settles(271).judge(at(300)).verdict, Verdict::Unstable);
}

#[test]
fn an_operator_that_never_rests_long_enough_is_unstable_and_named() {
    let mut steps = Vec::new();
    for round in 0..8 {
        steps.extend([(round * 40, "True"), (round * 40 + 11, "False")]);
    }
    let stability = observed(&steps);
    let judgement = stability.judge(at(300));
    assert_eq!(judgement.verdict, Verdict::Unstable);
    let dns = &judgement.operators[0];
    assert!(!dns.is_stable && dns.starts == 7 && dns.name == "dns", "{dns:?}");
    assert!(dns.sentence.starts_with("Progressing=False"), "{}", dns.sentence);
    let rests: Vec<f64> = stability.rests().iter().map(|rest| rest.seconds).collect();
    assert_eq!(rests, [29.0; 7]);
}

#[test]
fn one_that_rested_once_is_stable_by_the_definition_and_told_when_it_moves_again() {
    let steps = [(0, "False"), (40, "True")];
    assert_eq!(
        observed(&steps).judge(at(100)).verdict,
        Verdict::NotYet,
        "it moves: there is time to see more"
    );
    let end = observed(&steps).judge(at(300));
    assert_eq!(end.verdict, Verdict::Stable);
    assert!(end.notes[0].contains("dns rested and moves again"), "{:?}", end.notes);
    let mut together = observed(&steps);
    together.limits.together = true;
    assert_eq!(together.judge(at(300)).verdict, Verdict::Unstable);
}

#[test]
fn a_change_that_nobody_saw_is_known_by_its_time() {
    let mut stability = Stability::new(Limits::default());
    stability.see(&operator("dns", "False", "t1"), Duration::ZERO, at(0));
    stability.see(&operator("dns", "False", "t1"), Duration::ZERO, at(20));
    assert_eq!(stability.judge(at(30)).verdict, Verdict::Stable, "the same object again changes nothing");
    stability.see(&operator("dns", "False", "t2"), Duration::ZERO, at(25));
    assert_eq!(stability.judge(at(30)).verdict, Verdict::NotYet);
    assert_eq!(stability.judge(at(55)).verdict, Verdict::Stable);
}

#[test]
fn what_was_not_written_for_long_counts_from_before_the_first_look_and_clocks_do_not_matter() {
    let far_future = operator("dns", "False", "2099-01-01T00:00:00Z");
    let mut stability = Stability::new(Limits::default());
    stability.see(&far_future, at(29), at(0));
    assert_eq!(stability.judge(at(0)).verdict, Verdict::NotYet);
    assert_eq!(stability.next_look(at(0)), Some(at(1)));
    assert_eq!(stability.judge(at(1)).verdict, Verdict::Stable);
    let mut stability = Stability::new(Limits::default());
    stability.see(&operator("dns", "True", "t"), at(3600), at(0));
    stability.see(&operator("dns", "False", "t2"), at(3600), at(1));
    assert_eq!(stability.judge(at(2)).verdict, Verdict::NotYet, "only the first look has a past");
}

#[test]
fn nobody_is_not_stable_and_somebody_new_has_to_rest_too() {
    let mut stability = Stability::new(Limits::default());
    assert_eq!(stability.judge(at(10)).verdict, Verdict::NotYet);
    let end = stability.judge(at(300));
    assert_eq!((end.verdict, end.notes.len()), (Verdict::Unstable, 1));
    stability.see(&operator("dns", "False", "t"), Duration::ZERO, at(0));
    stability.see(&operator("late", "False", "t"), Duration::ZERO, at(20));
    assert_eq!(stability.judge(at(40)).verdict, Verdict::NotYet);
    assert_eq!(stability.judge(at(50)).verdict, Verdict::Stable);
}

#[test]
fn one_that_vanishes_has_to_stay_away_and_an_expected_one_has_to_be_there() {
    let mut stability = Stability::new(Limits::default());
    stability.see(&operator("dns", "False", "t"), Duration::ZERO, at(0));
    stability.see(&operator("old", "False", "t"), Duration::ZERO, at(0));
    stability.gone("old", at(20));
    assert_eq!(stability.judge(at(40)).verdict, Verdict::NotYet);
    let judgement = stability.judge(at(50));
    assert_eq!(judgement.verdict, Verdict::Stable);
    assert!(judgement.notes[0].contains("old was there and is gone"), "{:?}", judgement.notes);
    stability.expect(["old".to_owned(), "other".to_owned()]);
    let end = stability.judge(at(300));
    assert_eq!(end.verdict, Verdict::Unstable);
    let unstable: Vec<&str> =
        end.operators.iter().filter(|it| !it.is_stable).map(|it| it.name.as_str()).collect();
    assert_eq!(unstable, ["old", "other"]);
}

#[test]
fn a_missing_condition_and_unknown_are_no_rest() {
    for object in [json!({"metadata": {"name": "a"}}), operator("a", "Unknown", "t")] {
        let mut stability = Stability::new(Limits::default());
        stability.see(&object, at(3600), at(0));
        assert_eq!(stability.judge(at(300)).verdict, Verdict::Unstable, "{object}");
    }
}

#[test]
fn who_never_stops_to_observe_calls_restless_what_did_not_rest_for_a_period() {
    let stability = observed(&[(0, "False"), (100, "True")]);
    assert!(stability.restless(at(399)).is_empty());
    assert_eq!(stability.next_restless(at(399)), Some(at(400)));
    assert_eq!(stability.next_restless(at(400)), None);
    assert_eq!(stability.restless(at(400)).keys().copied().collect::<Vec<_>>(), ["dns"]);
}

#[test]
fn only_the_clock_of_the_server_says_how_long_an_object_is_unchanged() {
    let object = json!({"metadata": {"managedFields": [
        {"time": "2026-01-01T00:00:00Z"}, {"time": "2026-01-01T00:01:00Z"}]}});
    let time = |text: &str| Some(text.parse().unwrap());
    assert_eq!(unchanged_for(&object, time("2026-01-01T00:02:00Z")), at(60));
    assert_eq!(unchanged_for(&object, time("2026-01-01T00:00:30Z")), Duration::ZERO);
    assert_eq!(unchanged_for(&object, None), Duration::ZERO);
    assert_eq!(unchanged_for(&json!({}), time("2026-01-01T00:02:00Z")), Duration::ZERO);
}
