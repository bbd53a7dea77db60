//! A page about an installation or update, from what a cluster still knows of it.
//!
//! A cluster does not remember much: when the release was begun and completed, for each condition of an operator its
//! last change, and for an hour or so the Events of its operator. That is enough for a timeline: an operator was done
//! with its work when it last turned Progressing off, and with the release known a level began when the one before was
//! done. A recording knows more; whoever has one uses it instead.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use lockstep_api::names::condition;
use lockstep_api::text::masked;
use lockstep_api::{ClusterOperator, Time};
use lockstep_view::gantt::{Bar, BarKind, Gantt, GanttLane, Mark};
use lockstep_view::report::{Column, Report, ReportTable};

use crate::status::duration::{Seconds, between, rounded, short};
use crate::status::text::state;
use crate::status::{Input, NoPicture, Operator, Picture, Step, picture};

/// The reason of Events that tell of a repair.
const REPAIRED: &str = "DriftRepaired";

/// An installation or update: from when to when.
struct Span {
    began: Timestamp,
    /// The end, or now.
    until: Timestamp,
    is_over: bool,
}

/// What is known of one operator's part.
struct Part<'a> {
    operator: &'a Operator,
    /// When its level began, as far as one can tell; seconds from the beginning.
    from: Seconds,
    /// When it last finished, or the end of the span.
    until: Seconds,
    is_done: bool,
}

/// The page of the newest entry of the history; `events` are those of the namespace of the cluster's operator.
pub fn report(input: &Input, events: &[Value]) -> Result<Report, NoPicture> {
    let picture = picture(input)?;
    let history = input.version.as_ref().map(|version| &version.status.history[..]).unwrap_or_default();
    let latest = history.first();
    let ended = latest.filter(|entry| entry.is_completed()).and_then(|entry| entry.completion_time);
    let span = Span {
        began: latest.map_or(input.now, |entry| entry.started_time.timestamp()),
        until: ended.map_or(input.now, Timestamp::from),
        is_over: ended.is_some(),
    };
    let is_install = history.len() < 2;
    let parts = parts(input, &picture, &span, is_install);
    let events: Vec<Happened> = events.iter().filter_map(|event| Happened::of(event, &span)).collect();
    Ok(Report {
        title: title(&picture, history.get(1).map(|entry| entry.version.as_str())),
        subtitle: "From what the cluster still knows: the history of its version, the last changes of its operators, the \
                   Events of its operator."
            .to_owned(),
        verdict: verdict(&picture, &span),
        is_good: span.is_over,
        facts: facts(&picture, &span, &events),
        tables: vec![
            open(&picture),
            levels(&parts),
            operators(&parts),
            critical_path(&parts, is_install),
            repairs(&events),
            disruptions(input, &span),
            others(&events),
        ],
        gantt: Some(gantt(&parts, &span, &events)),
        graph_svg: None,
        waits: Some(waits(&parts)),
        notes: notes(input, is_install),
    })
}

fn title(picture: &Picture, from: Option<&str>) -> String {
    let version = &picture.summary.version;
    match from {
        None => format!("Installation of {version}"),
        Some(from) => format!("Update from {from} to {version}"),
    }
}

fn verdict(picture: &Picture, span: &Span) -> String {
    let (version, took) = (&picture.summary.version, short(rounded(between(span.began, span.until))));
    if span.is_over {
        return format!("Completed {version} after {took}.");
    }
    let plane = &picture.control_plane;
    format!("Not at {version} after {took}: {} of {} operators are.", plane.updated, plane.total)
}

fn facts(picture: &Picture, span: &Span, events: &[Happened]) -> Vec<(String, String)> {
    let repairs: u64 = events.iter().filter(|event| event.reason == REPAIRED).map(|event| event.count).sum();
    let left = picture.control_plane.estimate.interval().filter(|_| !span.is_over);
    let mut facts = vec![
        ("began", Time::from(span.began).to_string()),
        (if span.is_over { "completed" } else { "looked at" }, Time::from(span.until).to_string()),
        ("time", short(between(span.began, span.until))),
        ("operators", picture.control_plane.total.to_string()),
        ("repairs", repairs.to_string()),
    ];
    facts.extend(left.map(|left| ("time left", left)));
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

// === who was done when ===

fn parts<'a>(input: &Input, picture: &'a Picture, span: &Span, is_install: bool) -> Vec<Part<'a>> {
    let end = between(span.began, span.until);
    let mut parts = Vec::new();
    let mut began = 0;
    for level in &picture.levels {
        let mut level_end = began;
        for operator in level.operators.iter().filter(|operator| operator.is_platform) {
            let object = input.operators.iter().find(|it| it.metadata.name == operator.name);
            let is_done = operator.step == Step::Updated;
            let last = object.and_then(last_finish).filter(|at| *at > span.began && is_done);
            let until = match last {
                Some(at) => between(span.began, at).clamp(began, end),
                None if is_done => began,
                None => end,
            };
            level_end = level_end.max(until);
            parts.push(Part { operator, from: began, until, is_done });
        }
        // A first installation brings all levels side by side; without levels nothing is known of an order.
        if !is_install && level.name.is_some() {
            began = level_end;
        }
    }
    parts
}

/// When an operator last turned Progressing off.
fn last_finish(operator: &ClusterOperator) -> Option<Timestamp> {
    let found = operator.status.conditions.find(condition::PROGRESSING).filter(|it| it.is_false())?;
    found.last_transition_time.map(Timestamp::from)
}

fn level(part: &Part<'_>) -> String {
    part.operator.level.clone().unwrap_or_else(|| "-".to_owned())
}

// === tables ===

fn open(picture: &Picture) -> ReportTable {
    let insights = picture.insights.iter().filter(|it| it.level > crate::status::Severity::Info);
    table(
        "Open",
        "What speaks against a good end now.",
        vec![Column::text("level"), Column::text("impact"), Column::text("what"), Column::text("more")],
        insights
            .map(|it| {
                let words = [it.level.as_str(), it.impact.as_str(), &it.summary, &it.description];
                words.map(str::to_owned).into()
            })
            .collect(),
    )
}

fn levels(parts: &[Part<'_>]) -> ReportTable {
    let mut levels: BTreeMap<String, (Seconds, Seconds, usize, usize)> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.operator.level.is_some()) {
        let entry = levels.entry(level(part)).or_insert((part.from, part.until, 0, 0));
        entry.1 = entry.1.max(part.until);
        entry.2 += usize::from(part.is_done);
        entry.3 += 1;
    }
    let rows = levels.into_iter().map(|(name, (from, until, done, all))| {
        vec![name, format!("{done} of {all}"), at(from), at(until), short(until - from)]
    });
    table(
        "Run levels",
        "A level begins when the one before is done.",
        vec![
            Column::text("level"),
            Column::number("operators"),
            Column::number("from"),
            Column::number("until"),
            Column::number("time"),
        ],
        rows.collect(),
    )
}

fn operators(parts: &[Part<'_>]) -> ReportTable {
    let rows = parts.iter().map(|part| {
        let version = part.operator.version.clone().unwrap_or_else(|| "-".to_owned());
        let until = if part.is_done { at(part.until) } else { "-".to_owned() };
        vec![part.operator.name.clone(), level(part), version, state(part.operator), until]
    });
    table(
        "Operators",
        "When each last turned Progressing off, from the beginning.",
        vec![
            Column::text("operator"),
            Column::text("level"),
            Column::text("version"),
            Column::text("state"),
            Column::number("done at"),
        ],
        rows.collect(),
    )
}

/// Of each level the operator that was done last; without an order the last one of all.
fn critical_path(parts: &[Part<'_>], is_install: bool) -> ReportTable {
    let mut last: BTreeMap<String, &Part<'_>> = BTreeMap::new();
    for part in parts {
        let key = if is_install || part.operator.level.is_none() { String::new() } else { level(part) };
        let slower = last.get(&key).is_none_or(|other| part.until > other.until);
        if slower {
            last.insert(key, part);
        }
    }
    let steps = last.into_values().filter(|part| part.until > part.from);
    let rows = steps.map(|part| {
        let why = if part.is_done { String::new() } else { part.operator.message.clone() };
        vec![short(part.until - part.from), level(part), part.operator.name.clone(), why]
    });
    table(
        "Critical path",
        "The operators that determined the end: to be faster, make these faster.",
        vec![
            Column::number("time"),
            Column::text("level"),
            Column::text("operator"),
            Column::text("what it says"),
        ],
        rows.collect(),
    )
}

fn waits(parts: &[Part<'_>]) -> ReportTable {
    let rows = parts.iter().filter(|part| !part.is_done).map(|part| {
        let operator = part.operator;
        let blocks = if operator.blocks.is_empty() { "-".to_owned() } else { operator.blocks.join(", ") };
        let why = if operator.message.is_empty() { &operator.reason } else { &operator.message };
        vec![operator.name.clone(), level(part), state(operator), why.clone(), blocks]
    });
    table(
        "Waits",
        "Who is not done, what it says, and who waits for it.",
        vec![
            Column::text("operator"),
            Column::text("level"),
            Column::text("state"),
            Column::text("why"),
            Column::text("blocks"),
        ],
        rows.collect(),
    )
}

fn repairs(events: &[Happened]) -> ReportTable {
    let repairs = events.iter().filter(|event| event.reason == REPAIRED);
    table(
        "Repairs",
        "What somebody changed and the operator of the cluster restored.",
        vec![Column::number("at"), Column::number("times"), Column::text("what")],
        repairs.map(|event| vec![at(event.at), event.count.to_string(), event.message.clone()]).collect(),
    )
}

/// Operators that were not Available, or Degraded, at some time of the span, as far as they still tell.
fn disruptions(input: &Input, span: &Span) -> ReportTable {
    let mut rows = Vec::new();
    for operator in &input.operators {
        for (kind, bad) in [(condition::AVAILABLE, false), (condition::DEGRADED, true)] {
            let Some(found) = operator.status.conditions.find(kind) else { continue };
            let Some(since) = found.last_transition_time.map(Timestamp::from) else { continue };
            let is_bad = if bad { found.is_true() } else { !found.is_true() };
            let is_inside = since > span.began && since <= span.until;
            let name = &operator.metadata.name;
            let word = if bad { "degraded" } else { "not available" };
            if is_bad {
                let what = format!("is {word} for {}", short(between(since, input.now)));
                let why = masked(&found.message).into_owned();
                rows.push(vec![at(between(span.began, since).max(0)), name.clone(), what, why]);
            } else if is_inside {
                let what = format!("was {word} until then");
                rows.push(vec![at(between(span.began, since)), name.clone(), what, String::new()]);
            }
        }
    }
    table(
        "Disruptions",
        "Operators that were not Available or were Degraded, as far as they still tell.",
        vec![Column::number("at"), Column::text("operator"), Column::text("what"), Column::text("why")],
        rows,
    )
}

fn others(events: &[Happened]) -> ReportTable {
    let others = events.iter().filter(|event| event.reason != REPAIRED);
    table(
        "Events",
        "What the operator of the cluster told meanwhile.",
        vec![
            Column::number("at"),
            Column::text("sort"),
            Column::text("reason"),
            Column::number("times"),
            Column::text("message"),
        ],
        others
            .map(|event| {
                let sort = if event.is_warning { "warning" } else { "normal" };
                let (reason, message) = (event.reason.clone(), event.message.clone());
                vec![at(event.at), sort.to_owned(), reason, event.count.to_string(), message]
            })
            .collect(),
    )
}

fn table(title: &str, about: &str, columns: Vec<Column>, rows: Vec<Vec<String>>) -> ReportTable {
    ReportTable { title: title.to_owned(), about: about.to_owned(), columns, rows }
}

fn at(seconds: Seconds) -> String {
    if seconds == 0 { "0s".to_owned() } else { short(seconds) }
}

// === drawing ===

fn gantt(parts: &[Part<'_>], span: &Span, events: &[Happened]) -> Gantt {
    let lane = |part: &Part<'_>| {
        let kind = if part.is_done { BarKind::Done } else { BarKind::Waiting };
        let text = format!("{}: {}", part.operator.name, state(part.operator));
        let bar = Bar { from: as_float(part.from), until: as_float(part.until), kind, text };
        GanttLane {
            label: part.operator.name.clone(),
            group: part.operator.level.as_ref().map(|level| format!("level {level}")),
            bars: vec![bar],
        }
    };
    let marks = events.iter().filter(|event| event.reason == REPAIRED || event.is_warning);
    Gantt {
        title: "Time".to_owned(),
        seconds: as_float(between(span.began, span.until).max(1)),
        lanes: parts.iter().map(lane).collect(),
        marks: marks
            .map(|event| Mark {
                at: as_float(event.at),
                text: format!("{}: {}", event.reason, event.message),
            })
            .collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "no update takes 2^52 seconds")]
fn as_float(seconds: Seconds) -> f64 {
    seconds as f64
}

fn notes(input: &Input, is_install: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if input.levels.is_empty() {
        notes.push("Run levels are not known: give the release with --release to see them.".to_owned());
    }
    if is_install {
        notes.push(
            "An installation brings all levels side by side: every operator begins at once.".to_owned(),
        );
    }
    notes.push(
        "An operator that worked more than once shows only the end of its last work; a recording (`lockstep apply \
         --record`) shows all of it."
            .to_owned(),
    );
    notes.extend(input.remarks.iter().cloned());
    notes
}

/// An Event of the cluster's operator within the span.
struct Happened {
    at: Seconds,
    is_warning: bool,
    reason: String,
    message: String,
    count: u64,
}

// === impl Happened ===

impl Happened {
    fn of(event: &Value, span: &Span) -> Option<Self> {
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        let time = |key: &str| text(key).parse::<Timestamp>().ok();
        let last = time("lastTimestamp").or_else(|| time("eventTime"))?;
        if last < span.began || last > span.until {
            return None;
        }
        Some(Self {
            at: between(span.began, last),
            is_warning: text("type") == "Warning",
            reason: text("reason").to_owned(),
            message: masked(text("message")).into_owned(),
            count: event["count"].as_u64().unwrap_or(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::status::testing::{a_cluster, a_version, ago, an_operator, with};

    fn event(minutes: i64, reason: &str, sort: &str, message: &str) -> Value {
        json!({"type": sort, "reason": reason, "message": message, "count": 2, "lastTimestamp": ago(minutes, 0)})
    }

    /// Level 10 was done after 20 minutes, level 20 after 50; the last operator is not.
    fn an_update() -> Input {
        let done = |name: &str, minutes: i64| {
            with(an_operator(name, "2.0.0"), "Progressing", "False", &ago(minutes, 0), "", "")
        };
        let late = with(an_operator("late", "1.0.0"), "Progressing", "True", &ago(9, 0), "R", "2 of 3 nodes");
        let sick = with(done("b", 70), "Degraded", "True", &ago(30, 0), "Sick", "it hurts");
        let operators = vec![done("a", 80), sick, done("c", 50), late];
        let history = [
            ("2.0.0", "2", "Partial", &*ago(100, 0), None),
            ("1.0.0", "1", "Completed", &*ago(9000, 0), Some(&*ago(8000, 0))),
        ];
        let mut input = a_cluster(a_version(&history, "Working towards 2.0.0"), operators);
        let levels = [("a", "10"), ("b", "10"), ("c", "20"), ("late", "30")];
        input.levels = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
        input
    }

    fn rows<'a>(report: &'a Report, title: &str) -> Vec<Vec<&'a str>> {
        let table = report.tables.iter().find(|table| table.title == title).unwrap();
        table.rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect()
    }

    #[test]
    fn levels_follow_each_other_and_the_slowest_of_each_is_the_critical_path() {
        let report = report(&an_update(), &[]).unwrap();
        assert_eq!(report.title, "Update from 1.0.0 to 2.0.0");
        assert_eq!(report.verdict, "Not at 2.0.0 after 1h40m: 3 of 4 operators are.");
        assert_eq!(
            rows(&report, "Run levels"),
            [
                ["10", "2 of 2", "0s", "30m", "30m"],
                ["20", "1 of 1", "30m", "50m", "20m"],
                ["30", "0 of 1", "50m", "1h40m", "50m"],
            ]
        );
        assert_eq!(
            rows(&report, "Critical path"),
            [["30m", "10", "b", ""], ["20m", "20", "c", ""], ["50m", "30", "late", "2 of 3 nodes"]]
        );
        let waits = report.waits.unwrap();
        assert_eq!(waits.rows, [["late", "30", "updating", "2 of 3 nodes", "-"]]);
    }

    #[test]
    fn repairs_and_disruptions_of_the_time_are_told() {
        let events = [
            event(20, "DriftRepaired", "Normal", "ConfigMap a/b was changed by somebody and is restored"),
            event(30, "Fighting", "Warning", "field x"),
            event(200, "DriftRepaired", "Normal", "before the update"),
        ];
        let report = report(&an_update(), &events).unwrap();
        assert_eq!(
            rows(&report, "Repairs"),
            [["1h20m", "2", "ConfigMap a/b was changed by somebody and is restored"]]
        );
        assert_eq!(rows(&report, "Events"), [["1h10m", "warning", "Fighting", "2", "field x"]]);
        let disruptions = rows(&report, "Disruptions");
        assert!(
            disruptions.contains(&vec!["1h10m", "b", "is degraded for 30m", "it hurts"]),
            "{disruptions:?}"
        );
        assert_eq!(report.gantt.unwrap().marks.len(), 2);
    }
}
