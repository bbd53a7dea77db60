//! In which order manifests are applied, and what a run does when something is not ready.

use std::collections::BTreeSet;

use lockstep_graph::order::{Generator, permute};
use lockstep_graph::report::percent;
use lockstep_graph::{Frontier, InstallOrder, Mode, Task, build};
use lockstep_payload::{CapabilityFilter, Folder, Selection};

use super::Difference;
use super::fixture::{HA, a_map, a_release, a_selection, load, next, ready, stem, tasks};

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "one-sort-over-both-folders",
        title: "One sort goes over both folders",
        decision: "D1",
        case: "load order of `0000_00_cvo` and `0000_90_cvo` in `manifests/`, `0000_03_a` and `0000_90_b` in \
               `release-manifests/`",
        reference: "0000_00_cvo, 0000_90_cvo, 0000_03_a, 0000_90_b",
        ours: "0000_00_cvo, 0000_03_a, 0000_90_b, 0000_90_cvo",
        why: "The reference loads one folder after the other, so its own last files run before everybody's first ones. \
              The version hash is still taken in its order.",
        observe: || {
            let files = [
                (Folder::Manifests, "0000_00_cvo"),
                (Folder::Manifests, "0000_90_cvo"),
                (Folder::ReleaseManifests, "0000_03_a"),
                (Folder::ReleaseManifests, "0000_90_b"),
            ];
            let files = files.iter().fold(a_release(), |release, (folder, name)| {
                release.with(*folder, format!("{name}_1.yaml"), a_map(&name.replace('_', "-"), ""))
            });
            let release = load(&files).unwrap();
            let loaded = release.manifests.iter().map(|it| it.file.trim_end_matches("_1.yaml"));
            loaded.collect::<Vec<_>>().join(", ")
        },
    },
    Difference {
        id: "operators-at-their-turn",
        title: "A ClusterOperator is created when its turn comes",
        decision: "D3",
        case: "what is written first in an installation of the ConfigMap `0000_10_a_1` and the ClusterOperator `0000_10_a_2`",
        reference: "0000_10_a_2, in a pass of its own over all ClusterOperators; then 0000_10_a_1",
        ours: "0000_10_a_1",
        why: "The pass is there so that an operator that never starts is visible and its related objects are known. Ours writes the \
              related objects when it creates the ClusterOperator, and until then names the operator as what it waits for.",
        observe: || {
            let operator = format!(
                "apiVersion: config.openshift.io/v1\nkind: ClusterOperator\nmetadata:\n  name: a\n  annotations:\n    \
                 {HA}: \"true\"\n"
            );
            let files = a_release().with(Folder::ReleaseManifests, "0000_10_a_1.yaml", a_map("a", "")).with(
                Folder::ReleaseManifests,
                "0000_10_a_2.yaml",
                operator,
            );
            let release = load(&files).unwrap();
            let graph = build(Task::list(&release.manifests), Mode::Installing, InstallOrder::default(), 0);
            ready(&graph, &Frontier::new(&graph)).join(", ")
        },
    },
    Difference {
        id: "install-order-option",
        title: "An installation can follow the run levels",
        decision: "D2",
        case: "what starts at once in an installation of `0000_10_a_1` and `0000_20_b_1`",
        reference: "always: 0000_10_a_1, 0000_20_b_1",
        ours: "flat, the default: 0000_10_a_1, 0000_20_b_1; run-level: 0000_10_a_1",
        why: "The platform's documentation describes an installation in the order of run levels. It is a choice and not the default, \
              because a real platform would wait for itself: its network operator has a high level.",
        observe: || {
            let first = |order| {
                let graph = build(tasks(&["0000_10_a_1", "0000_20_b_1"]), Mode::Installing, order, 0);
                ready(&graph, &Frontier::new(&graph)).join(", ")
            };
            format!(
                "flat, the default: {}; run-level: {}",
                first(InstallOrder::default()),
                first(InstallOrder::RunLevel)
            )
        },
    },
    Difference {
        id: "longest-chain-first",
        title: "The longest chain starts first",
        decision: "D3",
        case: "an installation of component `a` with one file and `b` with three: who starts first",
        reference: "0000_10_a_1, 0000_10_b_1",
        ours: "0000_10_b_1, 0000_10_a_1",
        why: "The reference starts nodes by their number. A run ends when its longest chain ends, so that one should not \
              start last.",
        observe: || {
            let files = ["0000_10_a_1", "0000_10_b_1", "0000_10_b_2", "0000_10_b_3"];
            let graph = build(tasks(&files), Mode::Installing, InstallOrder::Flat, 0);
            ready(&graph, &Frontier::new(&graph)).join(", ")
        },
    },
    Difference {
        id: "a-walk-is-never-started-over",
        title: "A run goes on where it waited",
        decision: "events, not passes",
        case: "`a_2` is not ready the first time; what is applied until all of `a_1`, `a_2`, `a_3` is done",
        reference: "a_1, a_2, a_1, a_2, a_3",
        ours: "a_1, a_2, a_2, a_3",
        why: "The reference ends the run, pauses and starts again with the first manifest. Here a node that is not ready \
              waits, holds nothing and is woken by the event that it waits for.",
        observe: || applied(1, |frontier, node| frontier.wait(node, "not ready").unwrap()),
    },
    Difference {
        id: "a-failed-task-is-tried-again-alone",
        title: "A failed task is tried again, not the run",
        decision: "events, not passes",
        case: "`a_2` is refused twice; what is applied until all of `a_1`, `a_2`, `a_3` is done",
        reference: "a_1, a_2, a_2, a_1, a_2, a_3",
        ours: "a_1, a_2, a_2, a_2, a_3",
        why: "The reference tries a task twice, then ends the run and starts over, so progress goes backwards.",
        observe: || applied(2, |frontier, node| frontier.fail(node, "refused").unwrap()),
    },
    Difference {
        id: "a-stopped-run-is-no-error",
        title: "A run that is stopped says how far it came",
        decision: "D13",
        case: "one worker has done `0000_10_a_1` and is told to stop before `0000_10_b_1`",
        reference: "1 incomplete task nodes, beginning with configmap \"default/0000-10-b-1\" (2 of 2)\ncontext canceled",
        ours: "1 of 2 done, next: configmap \"default/0000-10-b-1\" (2 of 2)",
        why: "Nothing is wrong with a task that nobody started. The reference reports it as an error, and with it the \
              cancellation.",
        observe: || {
            let graph = build(tasks(&["0000_10_a_1", "0000_10_b_1"]), Mode::Updating, InstallOrder::Flat, 0);
            let mut frontier = Frontier::new(&graph);
            let node = next(&frontier).unwrap();
            frontier.start(node).unwrap();
            frontier.finish(node).unwrap();
            let (done, total) = frontier.counts();
            let task = next(&frontier).and_then(|node| frontier.task(node)).unwrap();
            format!("{done} of {total} done, next: {}", graph.tasks[task])
        },
    },
    Difference {
        id: "shuffle",
        title: "The order of reconciling is another shuffle",
        decision: "accident of the reference",
        case: "the nodes 1 to 8, shuffled for the attempts 0 to 7",
        reference: "the order that Go's generator gives for the seed 0",
        ours: "3 6 1 4 5 7 2 8",
        why: "Only that the order changes every eight attempts and depends on nothing else matters; Go's generator is not \
              part of the contract.",
        observe: || {
            let mut buckets = vec![(1..=8).map(|node| vec![node]).collect::<Vec<_>>()];
            permute(&mut buckets, &mut Generator::new(0));
            buckets[0].iter().map(|node| node[0].to_string()).collect::<Vec<_>>().join(" ")
        },
    },
    Difference {
        id: "only-included-manifests-count",
        title: "Only included manifests count",
        decision: "D9",
        case: "everything is applied of three manifests, one of which belongs to a capability that is off",
        reference: "2 of 3 done (66% complete)",
        ours: "2 of 2 done (100% complete)",
        why: "The reference counts what it will skip, so a finished run never reaches its total.",
        observe: || {
            let capability = "    capability.openshift.io/name: Console\n";
            let files = a_release()
                .with(Folder::ReleaseManifests, "0000_10_a_1.yaml", a_map("one", ""))
                .with(Folder::ReleaseManifests, "0000_10_a_2.yaml", a_map("two", capability))
                .with(Folder::ReleaseManifests, "0000_10_a_3.yaml", a_map("three", ""));
            let release = load(&files).unwrap();
            let known = Some(BTreeSet::from(["Console".to_owned()]));
            let capabilities = Some(CapabilityFilter { known, enabled: BTreeSet::new() });
            let selection = Selection { capabilities, ..a_selection() };
            let graph =
                build(Task::list(release.selected(&selection)), Mode::Updating, InstallOrder::Flat, 0);
            let mut frontier = Frontier::new(&graph);
            while let Some(node) = next(&frontier) {
                frontier.start(node).unwrap();
                frontier.finish(node).unwrap();
            }
            let (done, total) = frontier.counts();
            format!("{done} of {total} done ({}% complete)", percent(done, total))
        },
    },
];

/// Runs three files of one component; the second one ends otherwise for so many times.
fn applied(times: usize, otherwise: fn(&mut Frontier, usize)) -> String {
    let files = ["0000_10_a_1", "0000_10_a_2", "0000_10_a_3"];
    let graph = build(tasks(&files), Mode::Updating, InstallOrder::Flat, 0);
    let mut frontier = Frontier::new(&graph);
    let mut tried: Vec<String> = Vec::new();
    while let Some(node) = next(&frontier) {
        let task = frontier.start(node).unwrap();
        let name = stem(&graph, task).replace("0000_10_", "");
        let earlier = tried.iter().filter(|it| **it == name).count();
        let is_done = name != "a_2" || earlier == times;
        tried.push(name);
        if is_done {
            frontier.finish(node).unwrap();
        } else {
            otherwise(&mut frontier, node);
            frontier.wake(node).unwrap();
        }
    }
    tried.join(", ")
}
