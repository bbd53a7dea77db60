//! The events of a run, in the form in which they are recorded.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Seconds since the run began.
pub type Seconds = f64;

/// An object for people: `Deployment openshift-dns/dns-operator`, `ClusterOperator dns`.
pub type ObjectText = String;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// When.
    pub at: Seconds,
    /// What.
    #[serde(flatten)]
    pub what: Happening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "event")]
pub enum Happening {
    /// A run began. Always the first event.
    Began {
        /// Version of the release.
        version: String,
        /// `installing`, `updating` or `reconciling`.
        mode: String,
        /// All tasks; a task is named by its place here.
        tasks: Vec<PlannedTask>,
        /// The run levels in order, each with its tasks.
        levels: Vec<Level>,
    },
    /// What is in the cluster has been compared with the release.
    Compared {
        /// Objects that are as they should be.
        equal: usize,
        /// Objects that differ.
        different: usize,
        /// Objects that are not there.
        missing: usize,
    },
    /// A request for a task went out.
    Started {
        /// Which task.
        task: usize,
    },
    /// The object was written.
    Applied {
        /// Which task.
        task: usize,
        /// What was done to it.
        verb: Verb,
    },
    /// The object is as it should be; nothing was written.
    Unchanged {
        /// Which task.
        task: usize,
    },
    /// The task cannot go on before something else has happened. Sent again when the sentence changes.
    Waiting {
        /// Which task.
        task: usize,
        /// For what, and why.
        wait: Wait,
    },
    /// What the task waited for has happened.
    Woke {
        /// Which task.
        task: usize,
    },
    /// The task did not work.
    Failed {
        /// Which task.
        task: usize,
        /// One word for machines.
        reason: String,
        /// What is wrong and what to do.
        sentence: String,
        /// When it is tried again; absent when it is given up and the run ends unless something else is left to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Seconds>,
    },
    /// The task is tried again after a failure.
    Retried {
        /// Which task.
        task: usize,
        /// How many times it has failed so far.
        failures: usize,
    },
    /// The task is done.
    Done {
        /// Which task.
        task: usize,
    },
    /// Somebody changed or deleted an object of the release after it was applied.
    Drifted {
        /// The object.
        object: ObjectText,
        /// Paths of what differs; empty when the object or its label is gone.
        fields: Vec<String>,
        /// Who did it, as far as the object tells.
        managers: Vec<String>,
    },
    /// Drift was repaired.
    Repaired {
        /// The object.
        object: ObjectText,
        /// How long it took from the event on.
        seconds: Seconds,
    },
    /// Somebody writes the same field again and again; we write it ever more rarely.
    Fighting {
        /// The object.
        object: ObjectText,
        /// The path.
        field: String,
        /// Who else writes it.
        manager: String,
        /// How often they changed it back.
        rounds: usize,
        /// When we write it next.
        next_at: Seconds,
    },
    /// A difference that applying does not change: admission overrides the release.
    Overridden {
        /// The object.
        object: ObjectText,
        /// The paths.
        fields: Vec<String>,
    },
    /// An object of this set that no manifest names.
    Orphan {
        /// The object.
        object: ObjectText,
    },
    /// How many requests may be under way at once.
    Concurrency {
        /// That many.
        limit: usize,
    },
    /// Something worth a line that belongs to no task.
    Remark {
        /// The line.
        sentence: String,
    },
    /// Every task is done, or the run gave up. Always the last event of a run that was not killed.
    Ended {
        /// How.
        outcome: Outcome,
        /// For each thing that is missing: what and why. Empty when converged.
        missing: Vec<String>,
        /// Writes that the server accepted.
        writes: usize,
    },
}

/// One task as views need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedTask {
    /// The object.
    pub object: ObjectText,
    /// Base name of its file.
    pub file: String,
    /// Run level by the file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Component by the file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// What kind of step it is.
    pub step: Step,
}

/// What kind of step a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// An object is made equal to its manifest.
    Apply,
    /// A ClusterOperator must be well.
    Gate,
    /// A Job must end.
    Job,
    /// An object is removed.
    Delete,
}

/// A run level, or what runs side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Level {
    /// Its name, such as `10`; several levels that are flattened into one have the first and the last: `00–90`.
    pub name: String,
    /// Its tasks.
    pub tasks: Vec<usize>,
}

/// What was done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// It was not there.
    Created,
    /// It differed.
    Changed,
    /// It was there and had to go.
    Deleted,
    /// It was deleted and created again, as asked for.
    Recreated,
}

/// For what a task waits, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// The sort of thing.
    pub reason: WaitReason,
    /// Names the object, the condition and what would end the wait.
    pub sentence: String,
    /// The task that will bring it, when the release has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<usize>,
}

/// The sorts of things that are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WaitReason {
    /// The server does not serve the kind yet.
    KindNotServed,
    /// The namespace is not there, or is just going away.
    NamespaceMissing,
    /// An aggregated API does not answer.
    ApiUnavailable,
    /// An admission or conversion webhook does not answer.
    WebhookUnavailable,
    /// A ClusterOperator is not there yet, or not available.
    OperatorNotAvailable,
    /// A ClusterOperator says that it is degraded.
    OperatorDegraded,
    /// A ClusterOperator is not at the version of the release.
    OperatorUpdating,
    /// A Job has not ended.
    JobRunning,
    /// A CustomResourceDefinition is not established.
    NotEstablished,
    /// An object that must go is still there, for example because of a finalizer.
    Deletion,
    /// The server does not answer, or asks to come back later.
    ServerBusy,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The cluster is at the release.
    Converged,
    /// Something failed that waiting does not mend.
    Failed,
    /// The time was over.
    TimedOut,
    /// Another target took its place, or it was stopped.
    Cancelled,
}

// === impl WaitReason ===

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KindNotServed => "kind not served",
            Self::NamespaceMissing => "namespace missing",
            Self::ApiUnavailable => "API unavailable",
            Self::WebhookUnavailable => "webhook unavailable",
            Self::OperatorNotAvailable => "operator not available",
            Self::OperatorDegraded => "operator degraded",
            Self::OperatorUpdating => "operator updating",
            Self::JobRunning => "job running",
            Self::NotEstablished => "definition not established",
            Self::Deletion => "deletion",
            Self::ServerBusy => "server busy",
        })
    }
}
