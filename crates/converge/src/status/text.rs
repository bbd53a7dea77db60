//! A picture as a screen of text.
//!
//! First our own lines, which fit on one screen. While something is updated the sections that people know from
//! `oc adm upgrade status` follow, in its words.

use std::fmt::{self, Write as _};

use jiff::Timestamp;

use lockstep_api::text::visible;
use lockstep_view::table::Table;

use super::duration::{between, short};
use super::insights::Severity;
use super::nodes::{Node, NodeAssessment};
use super::operators::{Level, Operator, Step, Word};
use super::pools::{Pool, PoolAssessment, Tally};
use super::{Picture, Summary};

/// What is told at length.
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Details {
    /// Every node.
    pub nodes: bool,
    /// Every insight with its description.
    pub health: bool,
    /// Every operator that is at work.
    pub operators: bool,
    /// Every operator with everything that it says.
    pub wide: bool,
}

/// How many nodes of a pool are listed at least.
const NODES: usize = 10;
/// How many characters of a reason are shown.
const REASON: usize = 20;
/// How long the bar of the progress is.
const BAR: usize = 40;
/// How many names of a list are told.
const NAMES: usize = 6;

/// The screen.
pub fn text(picture: &Picture, details: Details) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = tell(picture, details, &mut out);
    out
}

fn tell(picture: &Picture, details: Details, out: &mut String) -> fmt::Result {
    if !picture.is_updating {
        writeln!(out, "The cluster is not updating.\n")?;
    }
    summary(picture, out)?;
    levels(picture, details, out)?;
    if picture.is_updating {
        control_plane(picture, details, out)?;
        workers(picture, details, out)?;
    }
    if picture.is_updating || !picture.insights.is_empty() {
        health(picture, details, out)?;
    }
    for remark in &picture.remarks {
        writeln!(out, "\n{}", visible(remark))?;
    }
    Ok(())
}

// === our lines ===

fn summary(picture: &Picture, out: &mut String) -> fmt::Result {
    let Summary { version, from, since, now, counts, .. } = &picture.summary;
    let since = since.map(|since| format!(", for {}", short(since))).unwrap_or_default();
    match from {
        Some(from) => line(out, "Version", &format!("{from} -> {version}{since}"))?,
        None => line(out, "Version", &format!("{version}{since}"))?,
    }
    if let Some(reason) = &picture.summary.paused {
        let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        line(out, "Paused", &format!("yes{reason}: nothing new starts until `lockstep upgrade resume`"))?;
    }
    line(out, "Now", &now.message)?;
    if let Some(failing) = &now.failing {
        line(out, "Failing", failing)?;
    }
    if let (Some(done), Some(total), Some(percent)) = (now.done, now.total, now.percent()) {
        line(out, "Progress", &format!("{} {percent}%, {done} of {total} manifests", bar(done, total)))?;
    }
    if picture.is_updating
        && let Some(interval) = picture.control_plane.estimate.interval()
    {
        line(out, "Time left", &interval)?;
    }
    let words =
        [("Available", counts.available), ("Progressing", counts.progressing), ("Degraded", counts.degraded)];
    let words: Vec<String> = words.iter().map(|(kind, count)| format!("{kind} {}", count.words())).collect();
    line(out, "Operators", &format!("{}: {}", counts.total, words.join("; ")))?;
    ahead(&picture.summary, out)?;
    if let Some(stability) = &picture.summary.stability {
        line(out, "Stability", stability)?;
    }
    if let Some(why) = &picture.summary.not_upgradeable {
        line(out, "Upgradeable", &format!("no, only within the minor version: {why}"))?;
    }
    Ok(())
}

/// What is waited for, and the gates behind it.
fn ahead(summary: &Summary, out: &mut String) -> fmt::Result {
    if !summary.waits_at.is_empty() {
        let level = summary.at_level.as_ref().map(|level| format!("run level {level}: ")).unwrap_or_default();
        let blocks = match summary.blocks {
            0 => String::new(),
            1 => "; 1 operator of later levels is blocked".to_owned(),
            n => format!("; {n} operators of later levels are blocked"),
        };
        line(out, "Waits at", &format!("{level}{}{blocks}", names(&summary.waits_at)))?;
    }
    if summary.ahead.is_empty() {
        return Ok(());
    }
    let gates: usize = summary.ahead.iter().map(|ahead| ahead.operators.len()).sum();
    let levels: Vec<String> = summary
        .ahead
        .iter()
        .map(|ahead| match &ahead.level {
            Some(level) => format!("{level} ({})", names(&ahead.operators)),
            None => names(&ahead.operators),
        })
        .collect();
    line(out, "Gates ahead", &format!("{gates}: {}", levels.join(", ")))
}

/// Operators by level: those that are worth a word, or all of them.
fn levels(picture: &Picture, details: Details, out: &mut String) -> fmt::Result {
    let is_told = |operator: &&Operator| details.wide || is_notable(operator, picture.is_updating);
    let has_levels = picture.levels.iter().any(|level| level.name.is_some());
    let header = if details.wide {
        vec![
            "level",
            "operator",
            "version",
            "available",
            "progressing",
            "degraded",
            "since",
            "blocks",
            "message",
        ]
    } else {
        vec!["level", "operator", "state", "since", "blocks", "message"]
    };
    let skip = usize::from(!has_levels);
    let mut table = Table::new(header.into_iter().skip(skip));
    let mut is_empty = true;
    for level in &picture.levels {
        for operator in level.operators.iter().filter(is_told) {
            is_empty = false;
            let row = row(level, operator, picture, details.wide);
            table.row(row.into_iter().skip(skip));
        }
    }
    if is_empty {
        return Ok(());
    }
    write!(out, "\n= Operators =\n{table}")
}

fn is_notable(operator: &Operator, is_updating: bool) -> bool {
    let is_silent = operator.available == Word::Missing || operator.progressing == Word::Missing;
    let is_working = operator.progressing == Word::True;
    let is_waited_for = !operator.blocks.is_empty();
    operator.is_unavailable()
        || operator.degraded == Word::True
        || is_working
        || is_waited_for
        || is_silent && is_updating
}

fn row(level: &Level, operator: &Operator, picture: &Picture, wide: bool) -> Vec<String> {
    let since = operator.since.map(|since| short(between(since, picture.at))).unwrap_or_default();
    let blocks = match operator.blocks.len() {
        0 => "-".to_owned(),
        n => format!("{n} of later levels"),
    };
    let message = operator.message.lines().next().unwrap_or_default();
    let is_notable = is_notable(operator, picture.is_updating);
    let message = if message.is_empty() && is_notable { operator.reason.as_str() } else { message };
    let level = level.name.clone().unwrap_or_else(|| "-".to_owned());
    let name = operator.name.clone();
    if wide {
        let version = operator.version.clone().unwrap_or_else(|| "-".to_owned());
        let words = [operator.available, operator.progressing, operator.degraded]
            .map(|word| word.as_str().to_owned());
        let [available, progressing, degraded] = words;
        return vec![
            level,
            name,
            version,
            available,
            progressing,
            degraded,
            since,
            blocks,
            message.to_owned(),
        ];
    }
    vec![level, name, state(operator), since, blocks, message.to_owned()]
}

/// How an operator is, in a few words.
pub fn state(operator: &Operator) -> String {
    let health = match (operator.available, operator.degraded) {
        (Word::Missing, _) => "says nothing",
        (available, _) if available != Word::True => "unavailable",
        (_, Word::True) => "degraded",
        _ => "",
    };
    let step = match (operator.step, operator.progressing) {
        (Step::Updated, Word::True) => "progressing",
        (Step::Updated, _) => "",
        (Step::Updating, _) => "updating",
        (Step::Waiting | Step::Unclear, _) => "waiting",
    };
    match (health, step) {
        ("", "") => "fine".to_owned(),
        (health, "") => health.to_owned(),
        ("", step) => step.to_owned(),
        (health, step) => format!("{health}, {step}"),
    }
}

fn line(out: &mut String, name: &str, text: &str) -> fmt::Result {
    let mut lines = text.trim_end().lines();
    writeln!(out, "{:<13} {}", format!("{name}:"), visible(lines.next().unwrap_or_default()))?;
    for more in lines {
        writeln!(out, "{:<13} {}", "", visible(more))?;
    }
    Ok(())
}

fn names(names: &[String]) -> String {
    let told = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

fn bar(done: usize, total: usize) -> String {
    let full = (done * BAR / total.max(1)).min(BAR);
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR - full))
}

// === the known sections ===

fn control_plane(picture: &Picture, details: Details, out: &mut String) -> fmt::Result {
    let plane = &picture.control_plane;
    writeln!(out, "\n= Control Plane =")?;
    if let Some(at) = plane.completed {
        let (version, took) = (&plane.version, short(plane.duration));
        writeln!(out, "Update to {version} successfully completed at {} (duration: {took})", second(at))?;
    } else {
        let (updated, updating, waiting) = (plane.updated, plane.updating.len(), plane.waiting);
        let percent = percent(updated, plane.total);
        writeln!(out, "Assessment:      {}", plane.assessment.as_str())?;
        writeln!(out, "Target Version:  {}", visible(&plane.target_version))?;
        if updating > 0 {
            writeln!(out, "Updating:        {}", visible(&plane.updating.join(", ")))?;
        }
        writeln!(
            out,
            "Completion:      {percent} ({updated} operators updated, {updating} updating, {waiting} waiting)"
        )?;
        let estimate = match plane.estimate.words() {
            Some(_) if plane.is_multi_arch_migration => {
                Some("N/A for Multi-Architecture Migration".to_owned())
            }
            words => words,
        };
        let estimate = estimate.map(|words| format!(" (Est. Time Remaining: {words})")).unwrap_or_default();
        writeln!(out, "Duration:        {}{estimate}", short(plane.duration))?;
        let bad = [(plane.unavailable, "Unavailable"), (plane.degraded, "Available but degraded")];
        let bad = bad.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!(", {n} {word}"));
        let healthy = plane.total - plane.unavailable - plane.degraded;
        writeln!(out, "Operator Health: {healthy} Healthy{}", bad.collect::<String>())?;
    }
    if details.operators {
        updating(picture, out)?;
    }
    let pools = picture.pools.iter().filter(|pool| pool.is_control_plane && !pool.nodes.is_empty());
    for pool in pools {
        if pool.assessment == PoolAssessment::Completed {
            writeln!(out, "\nAll control plane nodes successfully updated to {}", visible(&plane.version))?;
        } else {
            nodes(out, "Control Plane Nodes", pool, details)?;
        }
    }
    Ok(())
}

fn updating(picture: &Picture, out: &mut String) -> fmt::Result {
    let operators = picture.levels.iter().flat_map(|level| &level.operators);
    let mut operators: Vec<&Operator> =
        operators.filter(|it| it.is_platform && it.step == Step::Updating).collect();
    if operators.is_empty() {
        return Ok(());
    }
    operators.sort_by_key(|operator| &operator.name);
    let mut table = Table::new(["name", "since", "reason", "message"]);
    for operator in operators {
        let since = operator.since.map_or_else(|| "-".to_owned(), |since| short(between(since, picture.at)));
        let mut lines = operator.message.lines();
        let first = lines.next().unwrap_or("-");
        table.row([&operator.name, &since, &cut(&operator.reason), first]);
        for more in lines {
            table.row(["", "", "", more]);
        }
    }
    write!(out, "\nUpdating Cluster Operators\n{table}")
}

fn workers(picture: &Picture, details: Details, out: &mut String) -> fmt::Result {
    let pools: Vec<&Pool> = picture.pools.iter().filter(|pool| !pool.is_control_plane).collect();
    if pools.iter().all(|pool| pool.nodes.is_empty()) {
        return Ok(());
    }
    let mut table = Table::new(["worker pool", "assessment", "completion", "status"]);
    for pool in &pools {
        let Tally { total, completed, available, progressing, draining, .. } = pool.tally;
        let (completion, status) = if total == 0 {
            (String::new(), "0 Total".to_owned())
        } else {
            let bad = [(pool.tally.excluded, "Excluded"), (pool.tally.degraded, "Degraded")];
            let bad = bad.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!(", {n} {word}"));
            let good = format!("{available} Available, {progressing} Progressing, {draining} Draining");
            (
                format!("{} ({completed}/{total})", percent(completed, total)),
                format!("{good}{}", bad.collect::<String>()),
            )
        };
        table.row([pool.name.as_str(), pool.assessment.as_str(), &completion, &status]);
    }
    write!(out, "\n= Worker Upgrade =\n\n{table}")?;
    let is_open = |pool: &&&Pool| details.nodes || pool.assessment != PoolAssessment::Completed;
    for pool in pools.iter().filter(|pool| !pool.nodes.is_empty()).filter(is_open) {
        nodes(out, &format!("Worker Pool Nodes: {}", visible(&pool.name)), pool, details)?;
    }
    Ok(())
}

/// The first nodes and all that are in trouble, or every one.
fn nodes(out: &mut String, title: &str, pool: &Pool, details: Details) -> fmt::Result {
    let is_told = |place: usize, node: &Node| {
        let is_bad = node.assessment == NodeAssessment::Degraded || node.trouble.is_some();
        details.nodes || place < NODES || is_bad
    };
    let mut table = Table::new(["name", "assessment", "phase", "version", "est", "message"]);
    let mut omitted = Vec::new();
    for (place, node) in pool.nodes.iter().enumerate() {
        if !is_told(place, node) {
            omitted.push(node);
            continue;
        }
        table.row([
            node.name.as_str(),
            &format!("{:?}", node.assessment),
            &format!("{:?}", node.phase),
            node.version.as_deref().unwrap_or("?"),
            node.estimate,
            node.message.lines().next().unwrap_or_default(),
        ]);
    }
    write!(out, "\n{title}\n{table}")?;
    if omitted.is_empty() {
        return Ok(());
    }
    let Tally { total, completed, available, progressing, outdated, draining, excluded, degraded } =
        Tally::of(omitted);
    writeln!(
        out,
        "...\nOmitted additional {total} Total, {completed} Completed, {available} Available, {progressing} Progressing, \
         {outdated} Outdated, {draining} Draining, {excluded} Excluded, and {degraded} Degraded nodes.\n\
         Pass along --details=nodes to see all information."
    )
}

fn health(picture: &Picture, details: Details, out: &mut String) -> fmt::Result {
    writeln!(out, "\n= Update Health =")?;
    let since = |since: Timestamp| short(between(since, picture.at).max(0));
    if details.health {
        for (place, insight) in picture.insights.iter().enumerate() {
            if place > 0 {
                writeln!(out)?;
            }
            writeln!(out, "Message: {}", visible(&insight.summary))?;
            writeln!(out, "  Since:       {}", since(insight.since))?;
            writeln!(out, "  Level:       {}", insight.level.as_str())?;
            writeln!(out, "  Impact:      {}", insight.impact.as_str())?;
            writeln!(out, "  Reference:   {}", visible(&insight.reference))?;
            if !insight.resources.is_empty() {
                writeln!(out, "  Resources:")?;
            }
            for resources in &insight.resources {
                writeln!(out, "    {}: {}", resources.resource, visible(&resources.names.join(", ")))?;
            }
            let mut lines = insight.description.lines();
            writeln!(out, "  Description: {}", visible(lines.next().unwrap_or_default()))?;
            for more in lines {
                writeln!(out, "               {}", visible(more))?;
            }
        }
        return Ok(());
    }
    let mut table = Table::new(["since", "level", "impact", "message"]);
    for insight in &picture.insights {
        let (level, impact) = (insight.level.as_str(), insight.impact.as_str());
        table.row([since(insight.since).as_str(), level, impact, &insight.summary]);
    }
    write!(out, "{table}")?;
    if picture.insights.iter().any(|insight| insight.level > Severity::Info) {
        let more = "additional description and links to related online documentation";
        writeln!(out, "\nRun with --details=health for {more}")?;
    }
    Ok(())
}

/// NB: to the nearest whole number, which is 100 before all are there when there are more than 200.
#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 operators")]
fn percent(part: usize, whole: usize) -> String {
    format!("{:.0}%", part as f64 * 100.0 / whole.max(1) as f64)
}

fn cut(reason: &str) -> String {
    if reason.is_empty() {
        return "-".to_owned();
    }
    if reason.chars().count() <= REASON {
        return reason.to_owned();
    }
    reason.chars().take(REASON - 3).chain("...".chars()).collect()
}

fn second(at: Timestamp) -> String {
    lockstep_api::Time::from(at).to_string()
}

// === impl Word ===

impl Word {
    /// The word in a table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
            Self::Missing => "-",
        }
    }
}
