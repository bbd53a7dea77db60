//! What is different between two pictures, a line for each: for who reads along without a screen.

use std::collections::BTreeMap;

use lockstep_api::text::visible;

use super::text::state;
use super::{Operator, Picture};

/// The lines that tell how the second picture came from the first.
pub fn changes(before: &Picture, after: &Picture) -> Vec<String> {
    let mut lines = Vec::new();
    let (old, new) = (&before.summary, &after.summary);
    if old.version != new.version {
        lines.push(format!("version: {} -> {}", old.version, new.version));
    }
    if old.now.message != new.now.message {
        lines.push(first(&new.now.message));
    }
    if old.now.failing != new.now.failing {
        match &new.now.failing {
            Some(failing) => lines.push(format!("failing: {}", first(failing))),
            None => lines.push("no longer failing".to_owned()),
        }
    }
    lines.extend(of_operators(before, after));
    let summaries =
        |picture: &Picture| picture.insights.iter().map(|it| it.summary.clone()).collect::<Vec<_>>();
    let (old, new) = (summaries(before), summaries(after));
    for insight in after.insights.iter().filter(|it| !old.contains(&it.summary)) {
        lines.push(format!("{}: {}", insight.level.as_str().to_lowercase(), insight.summary));
    }
    lines.extend(old.iter().filter(|it| !new.contains(it)).map(|it| format!("over: {it}")));
    lines.into_iter().map(|line| visible(&line).into_owned()).collect()
}

fn of_operators(before: &Picture, after: &Picture) -> Vec<String> {
    let (old, mut new) = (by_name(before), by_name(after));
    let mut lines = Vec::new();
    for (name, old) in old {
        match new.remove(name) {
            None => lines.push(format!("operator {name} is gone")),
            Some(new) => {
                let version = (old.version != new.version)
                    .then(|| format!(" at {}", new.version.as_deref().unwrap_or("no version")));
                let is_other = state(old) != state(new);
                if is_other || version.is_some() {
                    let message = if new.message.is_empty() { &new.reason } else { &new.message };
                    let message = if new.is_fine() || message.is_empty() {
                        String::new()
                    } else {
                        format!(": {}", first(message))
                    };
                    lines.push(format!(
                        "operator {name}: {}{}{message}",
                        state(new),
                        version.unwrap_or_default()
                    ));
                }
            }
        }
    }
    lines.extend(new.into_iter().map(|(name, new)| format!("operator {name} has appeared: {}", state(new))));
    lines
}

fn by_name(picture: &Picture) -> BTreeMap<&str, &Operator> {
    let operators = picture.levels.iter().flat_map(|level| &level.operators);
    operators.map(|operator| (operator.name.as_str(), operator)).collect()
}

fn first(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{a_cluster, a_version, ago, an_operator, with};
    use super::super::{Input, picture};
    use super::*;

    fn of(message: &str, operators: Vec<lockstep_api::ClusterOperator>) -> Picture {
        let entry = ("2.0.0", "2", "Partial", &*ago(10, 0), None);
        let before = ("1.0.0", "1", "Completed", &*ago(900, 0), Some(&*ago(800, 0)));
        let input: Input = a_cluster(a_version(&[entry, before], message), operators);
        picture(&input).unwrap()
    }

    #[test]
    fn each_change_is_one_line() {
        let working = |name: &str| {
            with(an_operator(name, "1.0.0"), "Progressing", "True", &ago(1, 0), "R", "at it\nmore")
        };
        let before = of("one", vec![an_operator("a", "1.0.0"), an_operator("b", "1.0.0"), working("c")]);
        let sick = with(an_operator("d", "1.0.0"), "Degraded", "True", &ago(6, 0), "Sick", "it hurts");
        let after = of("two", vec![working("a"), an_operator("c", "2.0.0"), sick]);
        assert_eq!(
            changes(&before, &after),
            [
                "two",
                "operator a: updating: at it",
                "operator b is gone",
                "operator c: fine at 2.0.0",
                "operator d has appeared: degraded, waiting",
                "warning: Cluster Operator d is degraded (Sick)",
                "over: Update is proceeding well",
            ]
        );
        assert_eq!(changes(&after, &after), Vec::<String>::new());
    }
}
