//! What the records of a bootstrap host's services say.

use super::snapshot::Record;

/// One service in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Service<'a> {
    pub(super) has_started: bool,
    pub(super) is_successful: bool,
    /// The stage that failed last.
    pub(super) failing_stage: &'a str,
    /// The last lines of the journal at that point.
    pub(super) last_error: &'a str,
    /// When the last entry was written.
    pub(super) at: &'a str,
}

/// Reads the records of one service.
///
/// *Compatibility*: a failing end of the service directly after a failing end of a stage keeps that stage.
pub(super) fn read(records: &[Record]) -> Service<'_> {
    let failed = |record: &Record| record.result == "failure";
    let ended = |record: &Record| ["service end", "post-command end"].contains(&record.phase.as_str());
    let mut failing: Option<&Record> = None;
    for (at, record) in records.iter().enumerate().filter(|(_, record)| failed(record)) {
        let follows_a_stage = record.phase == "service end"
            && at
                .checked_sub(1)
                .and_then(|before| records.get(before))
                .is_some_and(|before| failed(before) && before.phase == "stage end");
        if !follows_a_stage {
            failing = Some(record);
        }
    }
    Service {
        has_started: records.iter().any(|record| record.phase == "service start"),
        is_successful: records.last().is_some_and(|last| ended(last) && last.result == "success"),
        failing_stage: failing.map_or("", |record| &record.stage),
        last_error: failing.map_or("", |record| &record.error_message),
        at: records.last().map_or("", |record| &record.timestamp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(phase: &str, result: &str, stage: &str) -> Record {
        let (phase, result, stage) = (phase.to_owned(), result.to_owned(), stage.to_owned());
        Record { phase, result, stage, error_message: "said so".into(), ..Record::default() }
    }

    #[test]
    fn end_of_the_service_after_a_failed_stage_keeps_the_stage() {
        let records = [
            record("service start", "", ""),
            record("stage end", "failure", "wait-for-etcd"),
            record("service end", "failure", ""),
        ];
        let service = read(&records);
        assert_eq!((service.failing_stage, service.is_successful), ("wait-for-etcd", false));
        let again = [records[0].clone(), record("service end", "failure", "")];
        assert_eq!(read(&again).failing_stage, "");
    }

    #[test]
    fn last_entry_decides_whether_it_was_successful() {
        let mut records = vec![record("service start", "", ""), record("service end", "success", "")];
        assert!(read(&records).is_successful);
        records.push(record("service start", "", ""));
        assert!(!read(&records).is_successful);
        assert!(!read(&[]).has_started);
    }
}
