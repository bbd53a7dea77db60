//! A scenario: how machines, workloads, operators and people behave.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use lockstep_payload::yaml;

use super::format::{API_VERSION, KIND, SCENARIO};
use super::node;
use super::shape::check;
use super::span::Span;
use crate::Rule;

/// A script of how the world around an API server behaves.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Scenario {
    /// Seed of all draws, where the file names one.
    pub seed: Option<u64>,
    /// Faults of the API server, checked; whoever runs a server adds them.
    pub faults: Vec<Rule>,
    pub(crate) base: Base,
    pub(crate) nodes: Option<Vec<NodeGroup>>,
    pub(crate) workloads: Vec<WorkloadRule>,
    pub(crate) operators: Vec<OperatorRule>,
    pub(crate) people: Vec<Person>,
}

/// What holds where the rules say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Base {
    /// Everything turns healthy after believable durations.
    #[default]
    Default,
    /// Everything is healthy at once, and there are no Pods.
    Instant,
}

/// Machines of one sort.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeGroup {
    pub(crate) count: Option<usize>,
    pub(crate) roles: Vec<String>,
    pub(crate) names: Vec<String>,
    pub(crate) ready_after: Option<Span>,
    pub(crate) leases: bool,
}

/// How some workloads behave.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkloadRule {
    pub(crate) kind: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) ready_after: Option<Span>,
    pub(crate) behaviour: Option<WorkloadBehaviour>,
    pub(crate) recovers_after: Option<Span>,
    pub(crate) pods: Option<bool>,
}

/// What becomes of a workload.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum WorkloadBehaviour {
    Ready,
    CrashLoop { runs_for: Option<Span>, exit_code: Option<i32>, message: Option<String> },
    ImagePullFailure { message: Option<String> },
    Pending { message: Option<String> },
    Never { message: Option<String> },
    Flapping { period: Option<Span> },
    Fails { message: Option<String> },
}

/// How some operators behave.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OperatorRule {
    pub(crate) name: Option<String>,
    pub(crate) deployment: Option<String>,
    pub(crate) appears_after: Option<Span>,
    pub(crate) available_after: Option<Span>,
    pub(crate) progressing_for: Option<Span>,
    pub(crate) versions: Option<BTreeMap<String, String>>,
    pub(crate) behaviour: Option<OperatorBehaviour>,
    pub(crate) upgradeable: Option<Upgradeable>,
    pub(crate) steps: Vec<Step>,
    pub(crate) creates: Vec<Create>,
    pub(crate) runtime_namespaces: Option<bool>,
}

/// What an operator does besides becoming healthy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum OperatorBehaviour {
    Healthy,
    Hang { message: Option<String> },
    Degraded(Trouble),
    Unavailable(Trouble),
    Flap(Trouble),
    Oscillate(Trouble),
    OldVersion { version: Option<String> },
    Silent,
}

/// When trouble starts, how long it lasts and what is said about it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Trouble {
    pub(crate) after: Option<Span>,
    #[serde(rename = "for")]
    pub(crate) lasts: Option<Span>,
    pub(crate) period: Option<Span>,
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
}

/// The condition Upgradeable.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Upgradeable {
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) message: String,
}

/// One step of an exact script.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Step {
    pub(crate) after: Span,
    #[serde(default)]
    pub(crate) conditions: Vec<StepCondition>,
    pub(crate) versions: Option<BTreeMap<String, String>>,
}

/// A condition that a step sets.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct StepCondition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) message: String,
}

/// An object that an operator makes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Create {
    pub(crate) after: Option<Span>,
    pub(crate) namespace: Option<String>,
    pub(crate) object: Option<Value>,
}

/// Somebody who edits an object.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Person {
    #[serde(default = "somebody")]
    pub(crate) name: String,
    pub(crate) at: Option<Span>,
    pub(crate) every: Option<Span>,
    pub(crate) times: Option<u64>,
    pub(crate) object: Target,
    #[serde(rename = "do")]
    pub(crate) deed: Deed,
}

fn somebody() -> String {
    "somebody".to_owned()
}

/// The object of an edit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Target {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// An edit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Deed {
    Delete,
    Patch { merge: Option<Value>, json: Option<Value>, subresource: Option<String> },
    Apply { fields: Option<Value> },
    Label { set: Option<BTreeMap<String, String>>, remove: Option<Vec<String>> },
    Fight { field: Option<String>, value: Option<Value>, every: Option<Span> },
}

/// Why a scenario was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// It is no YAML.
    #[error("{file}: {cause}")]
    Syntax {
        /// The file.
        file: String,
        /// What is wrong.
        cause: String,
    },
    /// It is not one document.
    #[error("{file}: a scenario is one YAML document, this file has {count}")]
    Documents {
        /// The file.
        file: String,
        /// How many there are.
        count: usize,
    },
    /// Fields are wrong; all of them are listed.
    #[error("{}", .problems.iter().map(|problem| format!("{file}: {problem}")).collect::<Vec<_>>().join("\n"))]
    Fields {
        /// The file.
        file: String,
        /// One sentence per problem, with the path of the field and what to do.
        problems: Vec<String>,
    },
}

// === impl Scenario ===

impl Scenario {
    /// Everything is healthy at once, and there are no Pods; for suites and benchmarks.
    pub fn instant() -> Self {
        Self { base: Base::Instant, ..Self::default() }
    }

    /// Reads a scenario file; `file` is its name for messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its path and what to write instead.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self, ScenarioError> {
        let documents = yaml::documents(bytes)
            .map_err(|error| ScenarioError::Syntax { file: file.to_owned(), cause: error.to_string() })?;
        let count = documents.len();
        let [document] = <[_; 1]>::try_from(documents)
            .map_err(|_| ScenarioError::Documents { file: file.to_owned(), count })?;
        Self::of_value(file, document.value)
    }

    fn of_value(file: &str, mut value: Value) -> Result<Self, ScenarioError> {
        let refuse = |problems| Err(ScenarioError::Fields { file: file.to_owned(), problems });
        // An unknown version first: complaints about its fields would lead astray.
        if value["apiVersion"] != API_VERSION || value["kind"] != KIND {
            let found = format!("{} {}", value["apiVersion"], value["kind"]);
            let what = format!(
                "the file: apiVersion and kind are {found}; this lockstep reads `{API_VERSION}` `{KIND}`: change them, or use the lockstep that the file was written for"
            );
            return refuse(vec![what]);
        }
        let mut problems = Vec::new();
        check(&SCENARIO, &mut value, "", &mut problems);
        if !problems.is_empty() {
            return refuse(problems);
        }
        // What is left are numbers out of range; the checks above know the path of everything else.
        let scenario: Self = match serde_json::from_value(value) {
            Ok(scenario) => scenario,
            Err(error) => return refuse(vec![format!("the file: {error}")]),
        };
        let problems = scenario.contradictions();
        if problems.is_empty() { Ok(scenario) } else { refuse(problems) }
    }

    /// What no single field shows to be wrong.
    fn contradictions(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut names = BTreeSet::new();
        for (index, rule) in self.faults.iter().enumerate().filter(|(_, rule)| !names.insert(&rule.name)) {
            problems.push(format!(
                "faults[{index}].name: there is a fault `{}` already; use another name",
                rule.name
            ));
        }
        for (index, person) in self.people.iter().enumerate() {
            let Deed::Apply { fields: Some(fields) } = &person.deed else { continue };
            let path = format!("people[{index}].do.apply.fields");
            let metadata = match fields.get("metadata") {
                None => None,
                Some(Value::Object(metadata)) => Some(metadata),
                Some(other) => {
                    problems.push(format!("{path}.metadata: `{other}` is no object with fields"));
                    None
                }
            };
            let identity = ["name", "namespace", "generateName", "uid", "resourceVersion"];
            for key in identity.iter().filter(|key| metadata.is_some_and(|it| it.contains_key(**key))) {
                problems.push(format!(
                    "{path}.metadata.{key}: `people[{index}].object` says which object it is; leave it out"
                ));
            }
        }
        problems.extend(node::contradictions(self.nodes.as_deref().unwrap_or_default()));
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: lab.lockstep.dev/v1\nkind: Scenario\n";

    fn read(text: &str) -> Result<Scenario, ScenarioError> {
        Scenario::read("my.yaml", format!("{HEAD}{text}").as_bytes())
    }

    #[test]
    fn an_empty_scenario_is_the_default_one() {
        assert_eq!(read(""), Ok(Scenario::default()));
        assert_eq!(read("base: instant\n"), Ok(Scenario::instant()));
    }

    #[test]
    fn every_section_is_read() {
        let scenario = read(
            "seed: 7\nnodes: [{count: 2, roles: [worker], leases: true}]\n\
             workloads: [{name: 'dns*', behaviour: crashLoop, recoversAfter: 5m}]\n\
             operators:\n- name: dns\n  behaviour: {degraded: {after: 1m, for: 2m, reason: R}}\n  versions: {operator: '1'}\n\
             people:\n- at: 1m\n  object: {apiVersion: v1, kind: ConfigMap, namespace: a, name: b}\n  do: delete\n\
             faults: [{name: down, effect: {outage: {}}}]\n",
        )
        .unwrap();
        assert_eq!(scenario.seed, Some(7));
        assert!(matches!(scenario.workloads[0].behaviour, Some(WorkloadBehaviour::CrashLoop { .. })));
        let Some(OperatorBehaviour::Degraded(trouble)) = &scenario.operators[0].behaviour else { panic!() };
        assert_eq!(trouble.lasts, Some(Span::seconds(120)));
        assert_eq!(scenario.people[0].deed, Deed::Delete);
        assert_eq!(scenario.faults.len(), 1);
    }

    #[test]
    fn an_unknown_field_is_refused_with_file_path_and_what_is_known() {
        let error = read("workloads:\n- readyafter: 5s\n").unwrap_err().to_string();
        assert!(
            error.starts_with("my.yaml: workloads[0].readyafter: there is no such field; known are: kind,"),
            "{error}"
        );
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_its_place() {
        let apply = |fields: &str| {
            format!(
                "people:\n- object: {{apiVersion: v1, kind: ConfigMap, namespace: a, name: b}}\n  do: {{apply: {{fields: {fields}}}}}\n"
            )
        };
        for (text, problem) in [
            ("faults: [{anything: goes}]\n".to_owned(), "faults[0]: unknown field `anything`"),
            (
                "faults: [{name: a, effect: {refuse: {code: 418}}}]\n".to_owned(),
                "faults[0]: effect.refuse.code: 418",
            ),
            (
                "faults: [{name: a, effect: {outage: {}}}, {name: a, effect: {outage: {}}}]\n".to_owned(),
                "faults[1].name: there is a fault `a` already",
            ),
            (apply("{metadata: x}"), "people[0].do.apply.fields.metadata: `\"x\"` is no object"),
            (
                apply("{metadata: {name: x}}"),
                "people[0].do.apply.fields.metadata.name: `people[0].object` says",
            ),
            ("nodes: [{count: 1001}]\n".to_owned(), "nodes[0].count: 1001 machines are too many"),
            (
                "nodes: [{names: [a, b]}, {names: [a]}]\n".to_owned(),
                "nodes[1]: there is a machine `a` already",
            ),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("my.yaml: {problem}")), "{text}: {error}");
        }
        assert!(read(&apply("{metadata: {labels: {a: b}}}")).is_ok());
    }

    #[test]
    fn an_unknown_version_is_refused_before_its_fields() {
        let text = b"apiVersion: lab.lockstep.dev/v2\nkind: Scenario\nnewField: 1\n";
        let error = Scenario::read("my.yaml", text).unwrap_err().to_string();
        assert!(
            error.contains("lab.lockstep.dev/v2") && error.contains("reads `lab.lockstep.dev/v1`"),
            "{error}"
        );
        assert!(!error.contains("newField"), "{error}");
    }

    #[test]
    fn two_documents_and_no_yaml_are_refused() {
        assert_eq!(
            read("---\na: 1\n").unwrap_err().to_string(),
            "my.yaml: a scenario is one YAML document, this file has 2"
        );
        assert!(read("a: [\n").unwrap_err().to_string().starts_with("my.yaml: line "));
    }
}
