//! Why an operator is as it is: what it says itself, and, once the cluster was asked, the cause.

use std::fmt::Write as _;

use lockstep_converge::gather::Camera;
use lockstep_converge::status::duration::{between, short};
use lockstep_converge::status::text::state;
use lockstep_converge::status::{Operator, Picture};
use lockstep_health::why::{About, about, diagnose, told};

/// Takes a picture of the whole cluster and finds the cause of how an operator is.
pub(crate) async fn cause(camera: Camera<'_>, name: &str) -> String {
    let snapshot = camera.picture().await;
    told(&about(diagnose(&snapshot), &About::Operator(name.to_owned())))
}

/// The text about one operator; without the cause, which takes a moment, it says that it is looked for.
pub(crate) fn why(picture: &Picture, name: &str, cause: Option<&str>) -> String {
    let mut all = picture.levels.iter().flat_map(|level| &level.operators);
    let Some(operator) = all.find(|operator| operator.name == name) else {
        return format!("ClusterOperator {name} is gone");
    };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = tell(picture, operator, cause, &mut text);
    text
}

fn tell(picture: &Picture, operator: &Operator, cause: Option<&str>, out: &mut String) -> std::fmt::Result {
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
    match cause {
        Some(cause) => write!(out, "\n{cause}")?,
        None => writeln!(out, "\nLooking for the cause …")?,
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
