//! Why an operator is as it is, as far as a picture tells.

use std::fmt::Write as _;

use lockstep_converge::status::duration::{between, short};
use lockstep_converge::status::text::state;
use lockstep_converge::status::{Operator, Picture};

/// The text about one operator.
pub(crate) fn why(picture: &Picture, name: &str) -> String {
    let mut all = picture.levels.iter().flat_map(|level| &level.operators);
    let Some(operator) = all.find(|operator| operator.name == name) else {
        return format!("ClusterOperator {name} is gone");
    };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = tell(picture, operator, &mut text);
    text
}

fn tell(picture: &Picture, operator: &Operator, out: &mut String) -> std::fmt::Result {
    let name = &operator.name;
    let since = operator.since.map(|since| format!(", since {}", short(between(since, picture.at).max(0))));
    writeln!(out, "ClusterOperator {name}: {}{}", state(operator), since.unwrap_or_default())?;
    let version = operator.version.as_deref().unwrap_or("no version");
    writeln!(out, "It reports {version}; the cluster goes to {}", picture.summary.version)?;
    writeln!(
        out,
        "Available {}, Progressing {}, Degraded {}",
        operator.available.as_str(),
        operator.progressing.as_str(),
        operator.degraded.as_str()
    )?;
    if !operator.reason.is_empty() || !operator.message.is_empty() {
        writeln!(out, "\n{}", operator.reason)?;
        for line in operator.message.lines() {
            writeln!(out, "  {line}")?;
        }
    }
    match &operator.blocks[..] {
        [] => {}
        blocks => writeln!(out, "\nIt blocks {}: {}", blocks.len(), blocks.join(", "))?,
    }
    let is_about = |names: &[String]| names.iter().any(|it| it == name);
    let insights = picture.insights.iter().filter(|it| it.resources.iter().any(|it| is_about(&it.names)));
    for insight in insights {
        writeln!(out, "\n{}: {} ({})", insight.level.as_str(), insight.summary, insight.reference)?;
    }
    writeln!(out, "\nNext: kubectl describe clusteroperator {name}")
}
