//! From the many failures of a run to the one that is shown.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::names::reason;

use super::failure::{Effect, Failure, RunError};

/// The one failure of a run that is shown, or nothing when the run was only interrupted.
pub fn shown(errors: impl IntoIterator<Item = RunError>) -> Option<Failure> {
    let failures = errors.into_iter().filter_map(|error| match error {
        RunError::Interrupted { .. } => None,
        RunError::Failed(failure) => Some(failure),
    });
    one_of(condense(failures))
}

/// Tells failures of several cluster operators for one reason as one.
///
/// *Order*: failures of other tasks as they come, then those of cluster operators by reason.
pub fn condense(failures: impl IntoIterator<Item = Failure>) -> Vec<Failure> {
    let (of_gates, mut condensed): (Vec<_>, Vec<_>) = failures.into_iter().partition(Failure::is_of_gate);
    let mut groups: BTreeMap<&str, Vec<Failure>> = BTreeMap::new();
    for failure in of_gates {
        groups.entry(failure.reason).or_default().push(failure);
    }
    condensed.extend(groups.into_values().flat_map(as_one));
    condensed
}

/// The whole list as one failure: itself, or a list of what is wrong.
///
/// *Compatibility*: failures that say the same word for word are one failure, as the reference promises; it makes a
/// list with one entry of them.
pub fn one_of(failures: Vec<Failure>) -> Option<Failure> {
    let strongest = failures.iter().map(|failure| failure.effect).max()?;
    let texts: BTreeSet<(&str, &str)> =
        failures.iter().map(|failure| (failure.reason, failure.message.as_str())).collect();
    if texts.len() == 1 {
        return failures.into_iter().find(|failure| failure.effect == strongest);
    }
    let lines: BTreeSet<String> = failures.iter().map(|failure| format!("\n* {}", failure.message)).collect();
    let lines: String = lines.into_iter().collect();
    let message = format!("Multiple errors are preventing progress:{lines}");
    Some(Failure { parts: failures, ..Failure::new(reason::MULTIPLE_ERRORS, message) })
}

/// What of a shown failure is a problem: a list without those that are still on their way.
pub fn failing_part(failure: &Failure) -> Option<Failure> {
    if failure.reason != reason::MULTIPLE_ERRORS {
        return Some(failure.clone());
    }
    one_of(failure.parts.iter().filter(|part| part.effect != Effect::None).cloned().collect())
}

/// Failures of one reason as one, if they have a plural.
fn as_one(mut group: Vec<Failure>) -> Vec<Failure> {
    let Some(plural) = group.first().and_then(|failure| failure.plural).filter(|_| group.len() > 1) else {
        return group;
    };
    group.sort_by(|one, other| one.names.cmp(&other.names));
    let names: Vec<String> = group.iter().flat_map(|failure| failure.names.iter().cloned()).collect();
    let message = plural.form.replace("%s", &names.join(", "));
    let effect = group.iter().map(|failure| failure.effect).max().unwrap_or_default();
    vec![Failure {
        names,
        task: group[0].task.clone(),
        parts: group,
        ..Failure::new(plural.reason, message).with_effect(effect)
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::failure::ApiError;
    use crate::report::summary;
    use crate::task::fixture::{a_task, tasks};
    use crate::task::{Role, Task};
    use crate::{Frontier, InstallOrder, Mode, NodeId, build};

    fn gate(operator: &str) -> Task {
        Task { role: Role::Gate, ..a_task(operator) }
    }

    fn an_operator(operator: &str, state: &str, reason: &'static str, plural: [&'static str; 2]) -> Failure {
        Failure::new(reason, format!("Cluster operator {operator} is {state}"))
            .about(operator)
            .with_plural(plural[0], plural[1])
            .of_task(&gate(operator))
    }

    fn updating(operator: &str) -> Failure {
        let plural = [reason::CLUSTER_OPERATORS_UPDATING, "Cluster operators %s are updating versions"];
        an_operator(operator, "updating versions", reason::CLUSTER_OPERATOR_UPDATING, plural)
            .with_effect(Effect::None)
    }

    fn degraded(operator: &str, effect: Effect) -> Failure {
        let plural = [reason::CLUSTER_OPERATORS_DEGRADED, "Cluster operators %s are degraded"];
        an_operator(operator, "degraded", reason::CLUSTER_OPERATOR_DEGRADED, plural).with_effect(effect)
    }

    fn not_available(operator: &str) -> Failure {
        let plural = [reason::CLUSTER_OPERATORS_NOT_AVAILABLE, "Cluster operators %s are not available"];
        an_operator(operator, "not available", reason::CLUSTER_OPERATOR_NOT_AVAILABLE, plural)
            .with_effect(Effect::Fail)
    }

    fn not_found() -> Failure {
        let error = ApiError::Status { code: 404, reason: "NotFound" };
        Failure::of_api_error(&a_task("pod"), error, "pods \"pod\" not found")
    }

    fn messages(failures: &[Failure]) -> Vec<&str> {
        failures.iter().map(|failure| failure.message.as_str()).collect()
    }

    #[test]
    fn rows_that_stay_apart() {
        assert_eq!(condense([]), []);
        assert_eq!(condense([updating("test-co-A"), not_found()]), [not_found(), updating("test-co-A")]);
        assert_eq!(
            condense([updating("test-co-B"), not_available("test-co-A"), not_found()]),
            [not_found(), not_available("test-co-A"), updating("test-co-B")]
        );
    }

    #[test]
    fn operators_with_one_reason_are_told_as_one() {
        let found = condense([updating("test-co-B"), updating("test-co-A")]);
        assert_eq!(messages(&found), ["Cluster operators test-co-A, test-co-B are updating versions"]);
        assert_eq!((found[0].reason, found[0].effect), ("ClusterOperatorsUpdating", Effect::None));
        assert_eq!(found[0].names, ["test-co-A", "test-co-B"]);
        assert_eq!(found[0].name(), "test-co-A, test-co-B");
        assert_eq!(found[0].parts, [updating("test-co-A"), updating("test-co-B")]);

        let found = condense([
            updating("test-co-B"),
            updating("test-co-A"),
            degraded("test-co-C", Effect::FailAfterInterval),
        ]);
        assert_eq!(found[0], degraded("test-co-C", Effect::FailAfterInterval));
        assert_eq!(found[1].message, "Cluster operators test-co-A, test-co-B are updating versions");
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn the_strongest_effect_of_a_group_counts() {
        let found = condense([
            degraded("test-co-B", Effect::Fail),
            degraded("test-co-A", Effect::None),
            degraded("test-co-C", Effect::FailAfterInterval),
        ]);
        assert_eq!(messages(&found), ["Cluster operators test-co-A, test-co-B, test-co-C are degraded"]);
        assert_eq!((found[0].reason, found[0].effect), ("ClusterOperatorsDegraded", Effect::Fail));
        let found =
            condense([degraded("test-co-A", Effect::None), degraded("test-co-C", Effect::FailAfterInterval)]);
        assert_eq!(found[0].effect, Effect::FailAfterInterval);
    }

    #[test]
    fn failures_without_a_plural_stay_apart() {
        let bare = |operator: &str| Failure { plural: None, ..updating(operator) };
        assert_eq!(condense([bare("b"), bare("a")]), [bare("b"), bare("a")]);
    }

    #[test]
    fn an_interruption_alone_shows_nothing() {
        let interrupted =
            || RunError::Interrupted { done: 1, total: 2, cause: "context canceled".to_owned() };
        assert_eq!(shown([interrupted(), interrupted()]), None);
        let failed = RunError::Failed(not_found());
        assert_eq!(shown([interrupted(), failed]), Some(not_found()));
    }

    #[test]
    fn failures_that_say_the_same_are_one_with_the_strongest_effect() {
        let same = |effect| Failure::new("R", "the same").with_effect(effect);
        let found = one_of(vec![same(Effect::None), same(Effect::Fail)]).unwrap();
        assert_eq!(found, same(Effect::Fail));
        let reference = "MultipleErrors: Multiple errors are preventing progress:\n* the same";
        assert_ne!(format!("{}: {found}", found.reason), reference);
    }

    fn next(frontier: &Frontier) -> Option<NodeId> {
        frontier.ready().next()
    }

    /// Runs to the end; what a file fails with stands in `failing`.
    fn run(files: &[&str], failing: &[(&str, Failure)]) -> (usize, Vec<RunError>) {
        let graph = build(tasks(files), Mode::Installing, InstallOrder::Flat, 0);
        let mut frontier = Frontier::new(&graph);
        let mut errors = Vec::new();
        while let Some(node) = next(&frontier) {
            let task = frontier.start(node).unwrap();
            let failure = failing.iter().find(|(file, _)| *file == &*graph.tasks[task].file);
            if let Some((_, failure)) = failure {
                frontier.fail(node, failure.message.clone()).unwrap();
                errors.push(RunError::Failed(failure.clone()));
            } else {
                frontier.finish(node).unwrap();
            }
        }
        (frontier.counts().0, errors)
    }

    #[test]
    fn several_failures_are_a_list_and_what_is_on_its_way_is_no_problem() {
        let (one, two, three) = ("0000_10_a_file", "0000_20_a_file", "0000_20_b_file");
        let fails = |name: &str, effect| {
            Failure::new("ReconcileFailed", format!("Failed to reconcile {name} resource"))
                .with_effect(effect)
        };
        let failing = [(one, fails("10-a-file", Effect::None)), (three, fails("20-b-file", Effect::Fail))];
        let (done, errors) = run(&[one, two, three], &failing);
        let failure = shown(errors).unwrap();
        assert_eq!(done, 1);
        assert_eq!((failure.reason, failure.effect), ("MultipleErrors", Effect::Unset));
        assert_eq!(
            failure.message,
            "Multiple errors are preventing progress:\n* Failed to reconcile 10-a-file resource\n* Failed to reconcile \
             20-b-file resource"
        );
        assert_eq!(failing_part(&failure).unwrap(), fails("20-b-file", Effect::Fail));
        let reference = "an unknown error has occurred: MultipleErrors";
        assert_ne!(summary(&failure), reference);
        assert_eq!(summary(&failure), "Failed to reconcile 20-b-file resource (and 1 more)");
    }

    #[test]
    fn parts_that_are_a_problem_stay_a_list() {
        let list = |parts: Vec<Failure>| one_of(parts).unwrap();
        let (fail, wait) = (not_available("A"), updating("B"));
        let late = degraded("C", Effect::FailAfterInterval);
        let both = list(vec![fail.clone(), late.clone()]);
        assert_eq!(failing_part(&both).unwrap(), both);
        assert_eq!(failing_part(&list(vec![fail.clone(), wait.clone()])).unwrap(), fail);
        assert_eq!(failing_part(&list(vec![wait.clone(), updating("D")])), None);
        assert_eq!(failing_part(&list(vec![fail, wait.clone(), late])).unwrap(), both);
        assert_eq!(failing_part(&wait).unwrap(), wait, "one failure is left to its effect");
    }

    #[test]
    fn a_refused_manifest_blocks_the_rest_of_its_component() {
        let task = Task { index: 1, total: 2, ..a_task("0000_10_a_1") };
        let missing = Failure::of_api_error(&task, ApiError::KindNotServed, "no resource match");
        let (done, errors) = run(&["0000_10_a_1", "0000_10_a_2"], &[("0000_10_a_1", missing)]);
        assert_eq!((done, errors.len()), (0, 1), "the second is never tried");
        let task = Task {
            index: 3,
            total: 3,
            id: lockstep_api::ResourceId::new("", "Test", "", "file-yml"),
            ..task
        };
        let plain = Failure::of_api_error(&task, ApiError::Other, "no");
        assert_eq!(
            (plain.reason, plain.message.as_str()),
            ("UpdatePayloadFailed", "Could not update test \"file-yml\" (3 of 3)")
        );
        assert_eq!(summary(&plain), "the update could not be applied");
    }
}
