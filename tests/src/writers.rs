//! Who wrote while holding the Lease, from the audit log of a real server.

use std::path::Path;

use crate::request_order::{Place, Request, read};

/// A write that the server accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Who.
    pub user: String,
    /// What, for messages.
    pub what: String,
    /// Whether it is to the Lease of the operator.
    pub is_lease: bool,
    /// When the request came; texts of these times sort by time.
    pub received: String,
    /// When it was answered.
    pub answered: String,
}

// === impl Write ===

impl Write {
    /// A request as a write; nothing for what is no accepted write of one of these users.
    fn of(request: Request, users: &[String]) -> Option<Self> {
        let Request { user, verb, object: Place { plural, namespace, name, .. }, code, .. } = request;
        let is_write = matches!(&*verb, "create" | "update" | "patch" | "delete" | "deletecollection");
        if !is_write || !users.contains(&user) || !(200..300).contains(&code) {
            return None;
        }
        Some(Self {
            user,
            is_lease: plural == "leases" && (name == "version" || verb == "create"),
            what: format!("{verb} {plural} {namespace}/{name}"),
            received: request.received,
            answered: request.answered,
        })
    }

    /// Whether everybody may make it: Events are told by who stands by, too, and the first one brings the place of the
    /// Lease.
    fn is_free(&self) -> bool {
        let is_of = |resource: &str| self.what.split(' ').nth(1) == Some(resource);
        is_of("events") || is_of("tokenreviews") || (is_of("namespaces") && self.what.starts_with("create"))
    }
}

/// All accepted writes of some users, in the order in which they came.
///
/// # Panics
/// When the log cannot be read.
pub fn writes(log: &Path, users: &[String]) -> Vec<Write> {
    let (requests, _) = read(log, 0);
    let mut writes: Vec<Write> =
        requests.into_iter().filter_map(|request| Write::of(request, users)).collect();
    writes.sort_by(|one, other| one.received.cmp(&other.received));
    writes
}

/// Every write that came from somebody when another one held the Lease: whose last accepted write to the Lease had been
/// answered before.
pub fn intruders(writes: &[Write]) -> Vec<String> {
    let mut leases: Vec<&Write> = writes.iter().filter(|write| write.is_lease).collect();
    leases.sort_by(|one, other| one.answered.cmp(&other.answered));
    let mut found = Vec::new();
    for write in writes.iter().filter(|write| !write.is_lease && !write.is_free()) {
        let held = leases.iter().take_while(|lease| lease.answered <= write.received).last();
        if held.is_none_or(|lease| lease.user != write.user) {
            let holder = held.map_or("nobody", |lease| lease.user.as_str());
            found.push(format!(
                "{} by {} at {} while {holder} held the lease",
                write.what, write.user, write.received
            ));
        }
    }
    found
}

/// How often the Lease changed hands.
pub fn changes_of_hands(writes: &[Write]) -> usize {
    let holders: Vec<&str> = writes.iter().filter(|write| write.is_lease).map(|write| &*write.user).collect();
    holders.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(user: &str, what: &str, received: &str, answered: &str) -> Write {
        let (user, what, received, answered) =
            (user.to_owned(), what.to_owned(), received.to_owned(), answered.to_owned());
        Write { user, is_lease: what.contains("leases"), what, received, answered }
    }

    #[test]
    fn a_write_after_somebody_else_got_the_lease_is_an_intrusion() {
        let lease = "update leases ns/version";
        let mut writes = vec![
            write("a", lease, "01", "02"),
            write("a", "patch configmaps ns/x", "03", "04"),
            write("b", lease, "05", "07"),
            write("a", "patch configmaps ns/y", "06", "08"),
            write("b", "patch configmaps ns/x", "09", "10"),
            write("a", "create events ns/e", "11", "12"),
        ];
        assert_eq!(
            intruders(&writes),
            Vec::<String>::new(),
            "one that came before the other was answered is none"
        );
        assert_eq!(changes_of_hands(&writes), 1);
        writes.push(write("a", "delete configmaps ns/z", "13", "14"));
        assert_eq!(intruders(&writes).len(), 1);
        assert!(intruders(&writes)[0].starts_with("delete configmaps ns/z by a"), "{writes:?}");
    }
}
