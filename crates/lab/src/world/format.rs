//! The fields of a scenario file: names, forms and meanings.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::Rule;

use super::shape::{Field, Shape, Variant, span_schema, table, to_schema};

/// The version of the format that this code reads.
pub(crate) const API_VERSION: &str = "lab.lockstep.dev/v1";
/// The kind of the document.
pub(crate) const KIND: &str = "Scenario";

/// The whole file.
pub(crate) const SCENARIO: Shape = Shape::Record(FILE);

const FILE: &[Field] = &[
    Field::required(
        "apiVersion",
        Shape::Exactly(API_VERSION),
        "The version of this format: `lab.lockstep.dev/v1`.",
    ),
    Field::required("kind", Shape::Exactly(KIND), "Always `Scenario`."),
    Field::new("seed", Shape::Count, "Seed of all random draws; a seed on the command line wins. Default 0."),
    Field::new(
        "base",
        Shape::Word(&["default", "instant"]),
        "What holds where this file says nothing: believable durations, or everything healthy at once without Pods. Default `default`.",
    ),
    Field::new("nodes", Shape::List(&Shape::Record(NODE)), "The machines; replaces those of the base."),
    Field::new(
        "workloads",
        Shape::List(&Shape::Record(WORKLOAD)),
        "Rules for Deployments, DaemonSets, StatefulSets, Jobs and bare Pods; the first match wins, then the base.",
    ),
    Field::new(
        "operators",
        Shape::List(&Shape::Record(OPERATOR)),
        "Rules for what operators report; the first match wins, then the base.",
    ),
    Field::new("people", Shape::List(&Shape::Record(PERSON)), "Edits by people and foreign controllers."),
    Field::new(
        "faults",
        Shape::List(&Shape::Fault),
        "Faults of the API server; only the embedded server obeys them. Each needs a name of its own.",
    ),
];

const NODE: &[Field] = &[
    Field::new("count", Shape::Count, "How many machines of this sort. Default: one per name, or 1."),
    Field::new(
        "roles",
        Shape::List(&Shape::Text),
        "Roles as in `node-role.kubernetes.io/ROLE`. Default `worker`. A control plane that is no worker is tainted.",
    ),
    Field::new(
        "names",
        Shape::List(&Shape::Text),
        "Their names. Default: the first role and a number, such as `worker-0`.",
    ),
    Field::new("readyAfter", Shape::Span, "From the start until Ready. Default 10s to 40s."),
    Field::new(
        "leases",
        Shape::Flag,
        "Also renew a Lease in `kube-node-lease` every 10 seconds. Default `false`.",
    ),
];

const WORKLOAD: &[Field] = &[
    Field::new("kind", Shape::Text, "Kind, with `*` for any letters. Default any."),
    Field::new("namespace", Shape::Text, "Namespace, with `*`. Default any."),
    Field::new("name", Shape::Text, "Name of the workload (not of its Pods), with `*`. Default any."),
    Field::new(
        "readyAfter",
        Shape::Span,
        "From the start of a Pod until it is ready; of a Job, until it ends. Default 5s to 40s.",
    ),
    Field::new("behaviour", Shape::Choice(WORKLOAD_BEHAVIOUR), "What becomes of it. Default `ready`."),
    Field::new(
        "recoversAfter",
        Shape::Span,
        "From the start of a Pod until a bad behaviour ends. Default never.",
    ),
    Field::new(
        "pods",
        Shape::Flag,
        "Whether there are ReplicaSets, Pods and Events, or only the workload's own status. Default `true`.",
    ),
];

const MESSAGE: Field =
    Field::new("message", Shape::Text, "The text that the cluster shows. Default: that of a real cluster.");

const WORKLOAD_BEHAVIOUR: &[Variant] = &[
    Variant { name: "ready", fields: &[], about: "Becomes ready, or a Job completes." },
    Variant {
        name: "crashLoop",
        fields: &[
            Field::new("runsFor", Shape::Span, "How long the container runs each time. Default 2s."),
            Field::new("exitCode", Shape::Count, "Its exit code. Default 1."),
            MESSAGE,
        ],
        about: "The first container ends again and again, with growing pauses.",
    },
    Variant {
        name: "imagePullFailure",
        fields: &[MESSAGE],
        about: "The image of the first container cannot be pulled.",
    },
    Variant { name: "pending", fields: &[MESSAGE], about: "No node takes the Pod." },
    Variant {
        name: "never",
        fields: &[MESSAGE],
        about: "The container runs and is never ready; a Job never ends.",
    },
    Variant {
        name: "flapping",
        fields: &[Field::new("period", Shape::Span, "How long it is ready, and how long not. Default 30s.")],
        about: "Ready and not ready in turns.",
    },
    Variant { name: "fails", fields: &[MESSAGE], about: "A Job fails; for other kinds as `crashLoop`." },
];

const REASON: Field = Field::new("reason", Shape::Text, "The reason of the condition.");
const AFTER: Field = Field::new(
    "after",
    Shape::Span,
    "From the moment the operator is up. Default: when it would be healthy.",
);
const FOR: Field = Field::new("for", Shape::Span, "How long. Default for ever.");
const PERIOD: Field =
    Field::new("period", Shape::Span, "How long each of the two states lasts. Default 30s.");

const OPERATOR: &[Field] = &[
    Field::new("name", Shape::Text, "Name of the ClusterOperator, with `*`. Default any."),
    Field::new(
        "deployment",
        Shape::Text,
        "`NAMESPACE/NAME` of the Deployment that it runs in. Default: those of the same run level and component of the release.",
    ),
    Field::new(
        "appearsAfter",
        Shape::Span,
        "From the Deployment's readiness, or without one from the ClusterOperator's creation, until it is up. Default 1s to 5s.",
    ),
    Field::new("availableAfter", Shape::Span, "From being up until Available. Default 10s to 60s."),
    Field::new(
        "progressingFor",
        Shape::Span,
        "From being up until it stops Progressing and reports its versions. Default 20s to 120s.",
    ),
    Field::new(
        "versions",
        Shape::Texts,
        "What it reports. Default: the versions of its manifest in the release.",
    ),
    Field::new("behaviour", Shape::Choice(OPERATOR_BEHAVIOUR), "What it does besides. Default `healthy`."),
    Field::new(
        "upgradeable",
        Shape::Record(UPGRADEABLE),
        "The condition Upgradeable, which is else left out.",
    ),
    Field::new(
        "steps",
        Shape::List(&Shape::Record(STEP)),
        "An exact script instead of the durations and the behaviour above.",
    ),
    Field::new("creates", Shape::List(&Shape::Record(CREATE)), "Objects that it makes at run time."),
    Field::new(
        "runtimeNamespaces",
        Shape::Flag,
        "Whether it makes the namespaces that the real operator of this name makes. Default `true`.",
    ),
];

const OPERATOR_BEHAVIOUR: &[Variant] = &[
    Variant {
        name: "healthy",
        fields: &[],
        about: "Available, not Progressing, not Degraded, the versions of the release.",
    },
    Variant {
        name: "hang",
        fields: &[MESSAGE],
        about: "Stays Progressing and never reports the new versions.",
    },
    Variant {
        name: "degraded",
        fields: &[AFTER, FOR, REASON, MESSAGE],
        about: "Degraded (first generation: Failing).",
    },
    Variant { name: "unavailable", fields: &[AFTER, FOR, REASON, MESSAGE], about: "Not Available." },
    Variant {
        name: "flap",
        fields: &[AFTER, FOR, PERIOD, REASON, MESSAGE],
        about: "Available and not Available in turns.",
    },
    Variant {
        name: "oscillate",
        fields: &[AFTER, FOR, PERIOD, REASON, MESSAGE],
        about: "Progressing and not Progressing in turns.",
    },
    Variant {
        name: "oldVersion",
        fields: &[Field::new(
            "version",
            Shape::Text,
            "What it reports instead of each version. Default: what it reported before, or `0.0.0`.",
        )],
        about: "Healthy, but it reports an old version.",
    },
    Variant { name: "silent", fields: &[], about: "Never reports anything." },
];

const UPGRADEABLE: &[Field] = &[
    Field::required(
        "status",
        Shape::Word(&["True", "False", "Unknown"]),
        "Whether an update to the next minor version is safe.",
    ),
    REASON,
    MESSAGE,
];

const STEP: &[Field] = &[
    Field::required("after", Shape::Span, "From the moment the operator is up."),
    Field::new("conditions", Shape::List(&Shape::Record(CONDITION)), "Conditions to set; others stay."),
    Field::new("versions", Shape::Texts, "Versions to report from now on."),
];

const CONDITION: &[Field] = &[
    Field::required("type", Shape::Text, "Such as `Available`, `Progressing`, `Degraded`, `Upgradeable`."),
    Field::required("status", Shape::Word(&["True", "False", "Unknown"]), "Whether it holds."),
    REASON,
    MESSAGE,
];

const CREATE: &[Field] = &[
    Field::new("after", Shape::Span, "From the moment the operator is up. Default 0s."),
    Field::new("namespace", Shape::Text, "The name of a Namespace to make."),
    Field::new("object", Shape::Object, "Any object to make, with apiVersion, kind and metadata."),
];

const PERSON: &[Field] = &[
    Field::new("name", Shape::Text, "Who: user agent and field manager of the requests. Default `somebody`."),
    Field::new("at", Shape::Span, "From the start until the first time. Default 0s, or one `every`."),
    Field::new("every", Shape::Span, "Pause before each further time. Default: only once."),
    Field::new("times", Shape::Count, "How often at most. Default: without end."),
    Field::required("object", Shape::Record(TARGET), "Say which object the edit is about."),
    Field::required("do", Shape::Choice(DEED), "Say what happens to it."),
];

const TARGET: &[Field] = &[
    Field::required("apiVersion", Shape::Text, "Such as `apps/v1`."),
    Field::required("kind", Shape::Text, "Such as `Deployment`."),
    Field::new("namespace", Shape::Text, "Its namespace, if it has one."),
    Field::required("name", Shape::Text, "Its name."),
];

const DEED: &[Variant] = &[
    Variant { name: "delete", fields: &[], about: "Deletes it." },
    Variant {
        name: "patch",
        fields: &[
            Field::new("merge", Shape::Object, "A merge patch."),
            Field::new("json", Shape::List(&Shape::Object), "A JSON patch."),
            Field::new("subresource", Shape::Text, "Such as `status`."),
        ],
        about: "Patches it.",
    },
    Variant {
        name: "apply",
        fields: &[Field::new("fields", Shape::Object, "The fields to apply, without identity.")],
        about: "Applies fields to it (server-side apply, with force).",
    },
    Variant {
        name: "label",
        fields: &[
            Field::new("set", Shape::Texts, "Labels to set."),
            Field::new("remove", Shape::List(&Shape::Text), "Labels to take off."),
        ],
        about: "Changes labels.",
    },
    Variant {
        name: "fight",
        fields: &[
            Field::new("field", Shape::Text, "JSON pointer of the field, such as `/spec/replicas`."),
            Field::new("value", Shape::Anything, "What it is set to whenever it is something else."),
            Field::new("every", Shape::Span, "How often it looks. Default 10s."),
        ],
        about: "Sets a field again whenever somebody changed it.",
    },
];

/// The records of the format in the order of the documentation, with their headings.
const CHAPTERS: &[(&str, &[Field])] = &[
    ("The file", FILE),
    ("nodes[]", NODE),
    ("workloads[]", WORKLOAD),
    ("operators[]", OPERATOR),
    ("operators[].upgradeable", UPGRADEABLE),
    ("operators[].steps[]", STEP),
    ("operators[].steps[].conditions[]", CONDITION),
    ("operators[].creates[]", CREATE),
    ("people[]", PERSON),
    ("people[].object", TARGET),
];

/// The choices of the format, with their headings.
const CHOICES: &[(&str, &[Variant])] = &[
    ("workloads[].behaviour", WORKLOAD_BEHAVIOUR),
    ("operators[].behaviour", OPERATOR_BEHAVIOUR),
    ("people[].do", DEED),
];

/// The JSON Schema of a scenario file.
pub fn scenario_schema() -> Value {
    let mut schema = to_schema(&SCENARIO);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["$id"] = "https://lockstep.dev/schemas/lab/v1/scenario.json".into();
    schema["title"] = "Scenario of the lockstep lab".into();
    schema["$defs"] = json!({"duration": span_schema()});
    schema
}

/// The reference of all fields as Markdown: the tables of `docs/reference/scenario.md`.
pub fn scenario_reference() -> String {
    // Writing to a string cannot fail.
    let mut out = String::new();
    for (heading, fields) in CHAPTERS {
        let _ = write!(out, "### {heading}\n\n{}\n", table(fields));
    }
    for (heading, variants) in CHOICES {
        let _ = write!(out, "### {heading}\n\n| word | fields | meaning |\n|---|---|---|\n");
        for Variant { name, fields, about } in *variants {
            let fields: Vec<String> =
                fields.iter().map(|field| format!("`{}`: {}", field.name, field.about)).collect();
            let fields = if fields.is_empty() { "–".to_owned() } else { fields.join("<br>") };
            let _ = writeln!(out, "| `{name}` | {fields} | {about} |");
        }
        out.push('\n');
    }
    out.push_str(&Rule::reference());
    out
}
