//! The report: which results break it, and what it says.

use serde_json::json;

use super::*;

fn a_report(times: &[(f64, f64)]) -> Report {
    let mut report = Report::default();
    report.add(json!({"part": "head", "release": "4.20.0", "isReal": true, "objects": 951, "operators": 34, "seed": 1}));
    for (number, (flood, ours)) in (1..).zip(times) {
        let result = json!({"seconds": flood, "waves": [1.0, 2.0, 3.5], "refused": {"A a": "422"}});
        report.add(json!({"part": "pair", "pair": number, "side": "flood", "result": result}));
        report.add(json!({"part": "pair", "pair": number, "side": "lockstep", "result": {"seconds": ours}}));
    }
    report
}

/// Everything within its limits, apart from what the arguments change.
fn a_stay(scale: u64, part: &str, field: &str, value: &Value) -> Report {
    let mut report = a_report(&[]);
    let mut parts = json!({
        "install": {"seconds": 7.0, "settled": 7.5},
        "restart": {"seconds": 2.0, "requests": 70, "writes": 0, "objectReads": 0, "named": []},
        "drift": {"deletions": [999.0, 20.0], "edits": [30.0], "lost": []},
        "steady": {"minutes": 8.0, "requests": 0, "watches": 3},
        "process": {"minutes": 10.0, "memory": 40_000_000, "peak": 120_000_000, "connections": 5},
    });
    parts[part][field] = value.clone();
    for (name, result) in parts.as_object().unwrap() {
        report.add(json!({"part": name, "scale": scale, "result": result}));
    }
    report
}

#[test]
fn the_median_of_the_ratios_decides() {
    assert!(a_report(&[(10.0, 9.0), (10.0, 10.0), (10.0, 11.0)]).holds());
    assert!(!a_report(&[(10.0, 9.0), (10.0, 10.1), (10.0, 11.0)]).holds());
    let text = a_report(&[(10.0, 8.0)]).to_string();
    assert!(
        text.contains("flood 10.000 s (waves 1.0 + 2.0 + 3.5, 1 refused); lockstep 8.000 s; ratio 0.80"),
        "{text}"
    );
}

#[test]
fn a_wide_spread_is_no_pass_on_either_side() {
    for times in [[(10.0, 5.0), (14.0, 5.0), (10.0, 5.0)], [(10.0, 5.0), (10.0, 7.0), (10.0, 5.0)]] {
        let report = a_report(&times);
        assert!(!report.holds());
        assert!(report.to_string().contains("machine too noisy"), "{report}");
    }
}

#[test]
fn every_limit_of_staying_can_be_broken() {
    assert!(a_stay(1, "install", "seconds", &json!(100.0)).holds());
    for (part, field, value) in [
        ("restart", "seconds", json!(2.1)),
        ("restart", "writes", json!(1)),
        ("restart", "objectReads", json!(1)),
        ("drift", "edits", json!([1000.0])),
        ("drift", "lost", json!(["edit of a"])),
        ("steady", "requests", json!(1)),
        ("steady", "requests", json!(null)),
        ("process", "memory", json!(40_000_001)),
        ("process", "memory", json!(0)),
        ("process", "peak", json!(120_000_001)),
    ] {
        let report = a_stay(1, part, field, &value);
        assert!(!report.holds(), "{part} {field} {value}");
        assert!(report.to_string().contains("DO NOT HOLD"), "{report}");
    }
}

#[test]
fn the_larger_release_is_shown_but_not_judged() {
    let report = a_stay(10, "process", "memory", &json!(90_000_000));
    assert!(report.holds());
    let text = report.to_string();
    assert!(
        text.contains("10 × the objects") && text.contains("90.0 MB") && text.contains("DOES NOT HOLD"),
        "{text}"
    );
}

#[test]
fn an_example_release_breaks_no_limit() {
    let mut report = a_report(&[(10.0, 20.0)]);
    report.head["isReal"] = false.into();
    assert!(report.holds() && report.to_string().contains("no limit is judged"));
}

#[test]
fn a_run_without_lockstep_shows_the_flood_alone() {
    let mut report = a_report(&[(10.0, 20.0)]);
    report.pairs[0][1] = Value::Null;
    assert!(report.holds() && !report.to_string().contains("ratio"));
}
