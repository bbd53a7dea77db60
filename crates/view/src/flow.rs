//! The order of a release, for people: stages one after the other, lanes side by side, tasks from top to bottom.
//!
//! The caller fills a [`Flow`]; [`flow_text`] writes it for a terminal, [`flow_svg`] as a drawing and [`flow_html`]
//! as one self-contained page.

mod drawing;
mod page;
mod text;

use serde::Serialize;

pub use drawing::flow_svg;
pub use page::flow_html;
pub use text::{TextOptions, flow_text};

/// The order of one release in one mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// What is shown, such as `Release 4.20.0`.
    pub title: String,
    /// One sentence under the title: the mode and what it means for the order.
    pub subtitle: String,
    /// Named values for the summary, in this order; counts of stages, manifests and gates are added by the renderers.
    pub facts: Vec<(String, String)>,
    /// Run one after the other, in this order.
    pub stages: Vec<Stage>,
    /// Sentences for the reader, shown at the end.
    pub notes: Vec<String>,
}

/// A part of the order that starts when the one before it is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// The name of the stage, such as `run level 07`.
    pub label: String,
    /// Whom the run level is assigned to, such as `network operator`.
    pub owner: Option<String>,
    /// Whether this is a Job that everything before and behind it waits for.
    pub barrier: bool,
    /// Run side by side.
    pub lanes: Vec<Lane>,
}

/// The tasks of one component in one stage, run one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// The component of the file names, such as `dns-operator`.
    pub component: String,
    /// The run levels of the files, each once; worth showing where a stage holds more than one.
    pub run_levels: Vec<String>,
    /// In the order in which they are applied.
    pub tasks: Vec<TaskBox>,
}

/// One manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskBox {
    /// The place in the whole release, from 1.
    pub index: usize,
    /// The file that holds the manifest.
    pub file: String,
    /// The kind of the object.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The namespace of the object, if it has one.
    pub namespace: Option<String>,
    /// What the task waits for before the lane goes on, such as `waits for ClusterOperator dns`.
    pub gate: Option<String>,
    /// What is special about the manifest: `create-only`, `delete`, a capability …
    pub tags: Vec<String>,
}

// === impl Flow ===

impl Flow {
    /// All lanes, in order.
    pub fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.stages.iter().flat_map(|stage| &stage.lanes)
    }

    /// All tasks, in order.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskBox> {
        self.lanes().flat_map(|lane| &lane.tasks)
    }

    /// What the flow holds, each with its number.
    fn counts(&self) -> Vec<(&'static str, usize)> {
        let barriers = self.stages.iter().filter(|stage| stage.barrier).count();
        let gates = self.tasks().filter(|task| task.gate.is_some()).count();
        let mut counts = vec![
            ("stage", self.stages.len()),
            ("component chunk", self.lanes().count()),
            ("manifest", self.tasks().count()),
            ("gate", gates),
        ];
        counts.extend((barriers > 0).then_some(("barrier", barriers)));
        counts
    }

    /// The counts in one line, such as `17 stages · 86 component chunks · 961 manifests · 34 gates`.
    fn size(&self) -> String {
        let parts: Vec<String> = self.counts().into_iter().map(|(noun, n)| counted(n, noun)).collect();
        parts.join(" · ")
    }
}

// === impl Stage ===

impl Stage {
    fn tasks(&self) -> impl Iterator<Item = &TaskBox> {
        self.lanes.iter().flat_map(|lane| &lane.tasks)
    }

    /// How the stage runs, in words.
    fn manner(&self) -> String {
        match self.lanes.len() {
            _ if self.barrier => "barrier".to_owned(),
            0 => "empty".to_owned(),
            1 => "runs alone".to_owned(),
            n => format!("{n} components side by side"),
        }
    }

    /// Whether lanes of more than one run level meet here, so that each has to say which it belongs to.
    fn mixes_run_levels(&self) -> bool {
        let mut levels = self.lanes.iter().map(|lane| &lane.run_levels);
        let first = levels.next();
        first.is_some_and(|first| first.len() > 1 || levels.any(|other| other != first))
    }
}

// === impl Lane ===

impl Lane {
    /// `run level 50`, `run levels 05, 07`, or nothing.
    fn levels(&self) -> Option<String> {
        match self.run_levels.as_slice() {
            [] => None,
            [one] => Some(format!("run level {one}")),
            more => Some(format!("run levels {}", more.join(", "))),
        }
    }
}

// === impl TaskBox ===

impl TaskBox {
    /// `namespace/name`, or the name alone.
    fn full_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// `1 gate`, `2 gates`.
fn counted(n: usize, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// Flows that the tests of the renderers share.
#[cfg(test)]
pub(crate) mod examples {
    use super::*;

    /// A manifest of a component, with its name spelled in its file name.
    pub(crate) fn a_task(index: usize, file: &str, kind: &str, name: &str) -> TaskBox {
        TaskBox { index, file: file.into(), kind: kind.into(), name: name.into(), ..TaskBox::default() }
    }

    /// Two levels, a Job between them, three components, two gates.
    pub(crate) fn a_small_flow() -> Flow {
        let lane = |component: &str, level: &str, tasks| Lane {
            component: component.into(),
            run_levels: vec![level.into()],
            tasks,
        };
        let gated = |mut task: TaskBox, operator: &str| {
            task.gate = Some(format!("waits for ClusterOperator {operator}"));
            task
        };
        let mut config = a_task(2, "0000_07_network_01_config.yaml", "ConfigMap", "network-config");
        config.namespace = Some("openshift-network".into());
        config.tags = vec!["create-only".into()];
        let network = lane(
            "network",
            "07",
            vec![
                a_task(1, "0000_07_network_00_namespace.yaml", "Namespace", "openshift-network"),
                config,
                gated(
                    a_task(3, "0000_07_network_02_clusteroperator.yaml", "ClusterOperator", "network"),
                    "network",
                ),
            ],
        );
        let migrate = lane("migrate", "20", vec![a_task(4, "0000_20_migrate_00_job.yaml", "Job", "migrate")]);
        let dns = lane(
            "dns",
            "70",
            vec![
                a_task(5, "0000_70_dns_00_namespace.yaml", "Namespace", "openshift-dns"),
                gated(a_task(6, "0000_70_dns_01_clusteroperator.yaml", "ClusterOperator", "dns"), "dns"),
            ],
        );
        let samples = lane(
            "samples",
            "70",
            vec![a_task(7, "0000_70_samples_00_crd.yaml", "CustomResourceDefinition", "s")],
        );
        Flow {
            title: "Release 1.0.0".into(),
            subtitle: "Updating: run levels one after the other.".into(),
            facts: vec![("Version".into(), "1.0.0".into()), ("Profile".into(), "self-managed".into())],
            stages: vec![
                Stage {
                    label: "run level 07".into(),
                    owner: Some("network operator".into()),
                    barrier: false,
                    lanes: vec![network],
                },
                Stage { label: "run level 20".into(), owner: None, barrier: true, lanes: vec![migrate] },
                Stage {
                    label: "run level 70".into(),
                    owner: None,
                    barrier: false,
                    lanes: vec![dns, samples],
                },
            ],
            notes: vec!["Two files are left out by their capability.".into()],
        }
    }
}
