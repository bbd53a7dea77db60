//! The audit log of a private server: who asked it for what.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A request that a server took; a watch counts when it is opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Who sent it.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; `get` also for no object at all.
    pub verb: String,
    /// The address without its query.
    pub path: String,
    /// Whether it is about one object, by its name.
    pub has_name: bool,
    /// That name, also of an object that is created; else empty.
    pub name: String,
    /// When it came, as the log writes it.
    pub received: String,
    /// When it was answered; for a watch, when it began.
    pub answered: String,
    /// The code of the answer.
    pub code: u64,
}

/// A log that is read on from where the last reading ended.
#[derive(Clone, Debug)]
pub struct AuditLog {
    file: PathBuf,
    offset: u64,
}

// === impl AuditLog ===

impl AuditLog {
    /// The log of a server that was started with one.
    pub fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), offset: 0 }
    }

    /// The requests that came since the last call.
    pub fn read(&mut self) -> io::Result<Vec<Request>> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // What is behind the last end of a line is still being written.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        self.offset += bytes.len() as u64;
        Ok(bytes.split(|byte| *byte == b'\n').filter_map(Request::of).collect())
    }
}

// === impl Request ===

impl Request {
    /// A line of the log; nothing for what is no event, and for the second event of a watch.
    pub fn of(line: &[u8]) -> Option<Self> {
        let event: Value = serde_json::from_slice(line).ok()?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verb = text(&event["verb"]);
        if (verb == "watch") != (event["stage"] == "ResponseStarted") {
            return None;
        }
        let uri = text(&event["requestURI"]);
        Some(Self {
            user: text(&event["user"]["username"]),
            verb,
            path: uri.split('?').next().unwrap_or_default().to_owned(),
            has_name: event["objectRef"]["name"].is_string(),
            name: text(&event["objectRef"]["name"]),
            received: text(&event["requestReceivedTimestamp"]),
            answered: text(&event["stageTimestamp"]),
            code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
        })
    }

    /// Whether it keeps a connection open for what will happen.
    pub fn is_watch(&self) -> bool {
        self.verb == "watch"
    }

    /// Whether it may change something; a dry run counts.
    pub fn is_write(&self) -> bool {
        matches!(&*self.verb, "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// Whether it reads one object.
    pub fn is_object_read(&self) -> bool {
        self.verb == "get" && self.has_name
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use serde_json::json;

    use super::*;

    fn a_line(verb: &str, stage: &str, uri: &str, name: Option<&str>) -> String {
        let object =
            name.map_or(json!({"resource": "pods"}), |name| json!({"resource": "pods", "name": name}));
        json!({"verb": verb, "stage": stage, "requestURI": uri, "objectRef": object, "user": {"username": "me"}})
            .to_string()
    }

    #[test]
    fn a_watch_counts_once_and_when_it_is_opened() {
        let of = |verb, stage| Request::of(a_line(verb, stage, "/x", None).as_bytes()).is_some();
        assert!(of("watch", "ResponseStarted") && !of("watch", "ResponseComplete"));
        assert!(of("list", "ResponseComplete") && !of("list", "ResponseStarted"));
    }

    #[test]
    fn reads_of_one_object_and_writes_are_told_apart() {
        let of = |verb, name| {
            Request::of(a_line(verb, "ResponseComplete", "/api/v1/pods?limit=5", name).as_bytes()).unwrap()
        };
        assert!(of("get", Some("a")).is_object_read() && !of("get", None).is_object_read());
        assert!(!of("list", None).is_object_read() && !of("list", None).is_write());
        assert!(of("patch", Some("a")).is_write());
        assert_eq!(of("list", None).path, "/api/v1/pods");
        assert_eq!(of("list", None).user, "me");
    }

    #[test]
    fn a_line_that_is_being_written_is_read_when_it_is_whole() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut log = AuditLog::new(file.path());
        let line = a_line("list", "ResponseComplete", "/x", None);
        let (start, end) = line.split_at(10);
        write!(file, "{line}\n{start}").unwrap();
        assert_eq!(log.read().unwrap().len(), 1);
        assert_eq!(log.read().unwrap().len(), 0);
        writeln!(file, "{end}").unwrap();
        assert_eq!(log.read().unwrap().len(), 1);
    }
}
