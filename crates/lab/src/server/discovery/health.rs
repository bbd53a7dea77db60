//! `/healthz`, `/livez`, `/readyz`.

use std::fmt::Write as _;

use super::{Answer, PLAIN};

const ENDPOINTS: [&str; 3] = ["healthz", "livez", "readyz"];
/// Checks of all three endpoints. The lab's storage answers for etcd.
const COMMON: [&str; 3] = ["ping", "log", "etcd"];
/// Further checks of `/readyz`.
const READY: [&str; 3] = ["etcd-readiness", "informer-sync", "shutdown"];

/// The answer of an endpoint, or of one of its checks. A lab that answers at all is healthy.
pub(super) fn answer(endpoint: &str, check: &str, query: &str) -> Answer {
    if !check.is_empty() {
        let is_known = checks(endpoint).any(|name| name == check);
        return if is_known { ok("ok".into()) } else { Answer::not_found() };
    }
    let mut excluded: Vec<&str> = Vec::new();
    let mut is_verbose = false;
    for (key, value) in query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))) {
        match key {
            "verbose" => is_verbose = true,
            "exclude" => excluded.push(value),
            _ => {}
        }
    }
    if !is_verbose {
        return ok("ok".into());
    }
    let mut lines = String::new();
    for check in checks(endpoint) {
        let how = if excluded.contains(&check) { "excluded: ok" } else { "ok" };
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "[+]{check} {how}");
    }
    excluded.retain(|name| !checks(endpoint).any(|check| check == *name));
    excluded.sort_unstable();
    if !excluded.is_empty() {
        let names: Vec<String> = excluded.iter().map(|name| format!("{name:?}")).collect();
        let names = names.join(",");
        let _ = writeln!(lines, "warn: some health checks cannot be excluded: no matches for {names}");
    }
    ok(format!("{lines}{endpoint} check passed\n"))
}

/// The addresses of all endpoints and checks.
pub(super) fn addresses() -> impl Iterator<Item = String> {
    ENDPOINTS.iter().flat_map(|endpoint| {
        let checks = checks(endpoint).map(move |check| format!("/{endpoint}/{check}"));
        std::iter::once(format!("/{endpoint}")).chain(checks)
    })
}

fn checks(endpoint: &str) -> impl Iterator<Item = &'static str> {
    let more: &[&str] = if endpoint == "readyz" { &READY } else { &[] };
    COMMON.iter().chain(more).copied()
}

fn ok(body: String) -> Answer {
    let headers = vec![("x-content-type-options", "nosniff".into())];
    Answer { code: 200, content_type: PLAIN, headers, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_question_gets_a_plain_ok() {
        for (endpoint, check, query) in
            [("healthz", "", ""), ("readyz", "ping", "verbose"), ("livez", "", "exclude=etcd")]
        {
            let answer = answer(endpoint, check, query);
            assert_eq!((answer.code, answer.body.as_str()), (200, "ok"), "{endpoint} {check}");
        }
    }

    #[test]
    fn a_check_belongs_to_its_endpoint() {
        assert_eq!(answer("readyz", "shutdown", "").code, 200);
        assert_eq!(answer("livez", "shutdown", "").code, 404);
        assert_eq!(answer("readyz", "nope", "").code, 404);
    }

    #[test]
    fn a_verbose_answer_lists_checks_and_exclusions() {
        let answer = answer("livez", "", "verbose&exclude=zzz&exclude=log&exclude=yyy");
        assert_eq!(
            answer.body,
            "[+]ping ok\n[+]log excluded: ok\n[+]etcd ok\n\
             warn: some health checks cannot be excluded: no matches for \"yyy\",\"zzz\"\nlivez check passed\n"
        );
    }
}
