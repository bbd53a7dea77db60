//! Jobs: done, running or failed.

use lockstep_api::names::{condition, reason};
use serde_json::Value;

use crate::facts::{Condition, called, count, count_or, is_true, one_line};
use crate::{Verdict, deletion};

/// A Job is well when it is complete, and bad when it gave up.
///
/// A finished Job that is being removed keeps its verdict: its work is done.
///
/// *Compatibility*: the reference does not wait for a Job, takes one success for all, and knows one cause of failure.
pub(crate) fn of(job: &Value) -> Verdict {
    if is_true(job, condition::COMPLETE) {
        return Verdict::Good;
    }
    if let Some(failed) = Condition::find(job, condition::FAILED).filter(Condition::is_true) {
        let reason = if failed.reason.is_empty() { reason::JOB_FAILED } else { failed.reason };
        return Verdict::bad(one_line(reason), format!("{} failed: {}", called(job), failed.cause()));
    }
    deletion::verdict(job).unwrap_or_else(|| running(job))
}

fn running(job: &Value) -> Verdict {
    let (spec, status) = (&job["spec"], &job["status"]);
    let wanted = count_or(&spec["completions"], 1);
    let (done, active, failed) =
        (count(&status["succeeded"]), count(&status["active"]), count(&status["failed"]));
    let limit = count_or(&spec["backoffLimit"], 6);
    let retries = match failed {
        0 => String::new(),
        failed => format!(", {failed} failed (the Job gives up after {limit} retries)"),
    };
    let counts = format!("{done} of {wanted} done, {active} running{retries}");
    let called = called(job);
    if spec["suspend"] == true {
        let sentence = format!("{called} does not run because spec.suspend is true: {counts}");
        return Verdict::not_yet(reason::JOB_SUSPENDED, sentence);
    }
    let what = if is_true(job, condition::FAILURE_TARGET) {
        "is giving up"
    } else if is_true(job, condition::SUCCESS_CRITERIA_MET) {
        "is finishing"
    } else {
        "is not done"
    };
    Verdict::not_yet(reason::JOB_RUNNING, format!("{called} {what}: {counts}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_job(status: Value) -> Value {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "namespace": "ns"}, "spec": {"completions": 1, "backoffLimit": 4}});
        job["status"] = status;
        job
    }

    fn with(kind: &str) -> Value {
        a_job(json!({"conditions": [{"type": kind, "status": "True"}]}))
    }

    #[test]
    fn complete_job_is_good_also_when_it_is_being_removed() {
        let mut job = with("Complete");
        assert_eq!(of(&job), Verdict::Good);
        job["metadata"]["deletionTimestamp"] = json!("T");
        assert_eq!(of(&job), Verdict::Good);
    }

    #[test]
    fn condition_that_is_false_does_not_finish_a_job() {
        let job = a_job(
            json!({"conditions": [{"type": "Complete", "status": "False"}, {"type": "Failed", "status": "False"}]}),
        );
        assert!(matches!(of(&job), Verdict::NotYet(_)));
    }

    #[test]
    fn failed_job_is_bad_with_its_own_reason() {
        let job = a_job(json!({"failed": 5, "conditions": [{"type": "Failed", "status": "True",
            "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}]}));
        assert_eq!(
            of(&job),
            Verdict::bad(
                "BackoffLimitExceeded",
                "Job ns/j failed: BackoffLimitExceeded: Job has reached the specified backoff limit"
            )
        );
        assert_eq!(of(&with("Failed")), Verdict::bad("JobFailed", "Job ns/j failed: no reason given"));
    }

    #[test]
    fn running_job_counts() {
        let sentence = |status: Value| {
            let verdict = of(&a_job(status));
            assert!(matches!(verdict, Verdict::NotYet(_)));
            verdict.why().unwrap().sentence.clone()
        };
        assert_eq!(sentence(Value::Null), "Job ns/j is not done: 0 of 1 done, 0 running");
        assert_eq!(sentence(json!({"active": 1})), "Job ns/j is not done: 0 of 1 done, 1 running");
        assert_eq!(
            sentence(json!({"active": 1, "failed": 2})),
            "Job ns/j is not done: 0 of 1 done, 1 running, 2 failed (the Job gives up after 4 retries)"
        );
    }

    #[test]
    fn success_counts_only_when_the_job_says_that_it_is_complete() {
        let verdict = of(&a_job(
            json!({"succeeded": 1, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}),
        ));
        assert_eq!(verdict, Verdict::not_yet("JobRunning", "Job ns/j is finishing: 1 of 1 done, 0 running"));
        assert_eq!(
            of(&with("FailureTarget")).why().unwrap().sentence,
            "Job ns/j is giving up: 0 of 1 done, 0 running"
        );
    }

    #[test]
    fn suspended_job_says_so() {
        let mut job = a_job(json!({}));
        job["spec"]["suspend"] = json!(true);
        assert_eq!(of(&job).why().unwrap().reason, "JobSuspended");
    }
}
