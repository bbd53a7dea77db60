//! What `cargo test` wrote, as numbers.

/// The result of one test binary.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Suite {
    /// The crate or file.
    pub(crate) name: String,
    /// Tests that proved something.
    pub(crate) passed: usize,
    /// Tests that failed.
    pub(crate) failed: usize,
    /// Tests that said that they cannot run here; they are not among the passed ones.
    pub(crate) left_out: Vec<LeftOut>,
    /// How long it ran.
    pub(crate) seconds: f64,
}

/// A test that could not run here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LeftOut {
    /// The test.
    pub(crate) test: String,
    /// Why, in its own words.
    pub(crate) why: String,
}

/// What a test prints in front of the reason why it cannot run.
const LEFT_OUT: &str = "LEFT OUT: ";

/// Reads the output of `cargo test`, both streams together; `--show-output` lets tests say that they are left out.
pub(crate) fn read(log: &str) -> Vec<Suite> {
    let mut suites = Vec::new();
    let (mut current, mut test) = (Suite::default(), String::new());
    for line in log.lines() {
        let line = line.trim();
        if let Some(name) = suite_name(line) {
            current = Suite { name, ..Suite::default() };
        } else if let Some(name) = section(line) {
            name.clone_into(&mut test);
        } else if let Some(why) = line.strip_prefix(LEFT_OUT) {
            let is_known = current.left_out.iter().any(|other| other.test == test);
            if !is_known {
                current.left_out.push(LeftOut { test: test.clone(), why: why.to_owned() });
            }
        } else if let Some((passed, failed, seconds)) = result(line) {
            let finished = Suite { passed, failed, seconds, ..std::mem::take(&mut current) };
            let passed = finished.passed.saturating_sub(finished.left_out.len());
            suites.push(Suite { passed, ..finished });
        }
    }
    suites
}

/// `Running unittests src/lib.rs (…/lockstep_api-0123)`, `Running tests/fuzz.rs (…/fuzz-0123)`, `Doc-tests lockstep_api`.
fn suite_name(line: &str) -> Option<String> {
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{name} (documentation)"));
    }
    let (_, path) = line.strip_prefix("Running ")?.split_once('(')?;
    let binary = path.trim_end_matches(')').rsplit('/').next()?;
    Some(binary.rsplit_once('-').map_or(binary, |(name, _)| name).to_owned())
}

/// `---- NAME stdout ----`: what follows was printed by this test.
fn section(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// `test result: ok. 3 passed; 0 failed; …; finished in 0.25s`: passed, failed, seconds.
fn result(line: &str) -> Option<(usize, usize, f64)> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number = |what: &str| {
        counts.split("; ").find_map(|part| part.strip_suffix(what)).and_then(|number| number.parse().ok())
    };
    let seconds = counts.rsplit_once("finished in ")?.1.trim_end_matches('s').parse().ok()?;
    Some((number(" passed")?, number(" failed")?, seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
   Compiling lockstep-api v0.1.0
     Running unittests src/lib.rs (/cache/debug/deps/lockstep_api-b7c1)

running 2 tests
test a ... ok
test b ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.25s

     Running tests/payload_corpus.rs (/cache/debug/deps/payload_corpus-00ff)
---- one stdout ----
LEFT OUT: objects: no real releases here
LEFT OUT: objects: said twice
---- two stdout ----
LEFT OUT: counts: no real releases here
---- three stdout ----
some words
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s

   Doc-tests lockstep_schema
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.00s
";

    #[test]
    fn each_binary_has_its_own_numbers() {
        let found: Vec<_> =
            read(LOG).into_iter().map(|it| (it.name, it.passed, it.failed, it.seconds)).collect();
        assert_eq!(
            found,
            [
                ("lockstep_api".to_owned(), 1, 1, 0.25),
                ("payload_corpus".to_owned(), 1, 0, 1.5),
                ("lockstep_schema (documentation)".to_owned(), 1, 0, 2.0),
            ]
        );
    }

    #[test]
    fn a_test_that_is_left_out_counts_once_and_not_as_passed() {
        let left_out = &read(LOG)[1].left_out;
        let names: Vec<_> = left_out.iter().map(|it| (it.test.as_str(), it.why.as_str())).collect();
        assert_eq!(
            names,
            [("one", "objects: no real releases here"), ("two", "counts: no real releases here"),]
        );
    }

    #[test]
    fn a_log_without_tests_has_no_suites() {
        assert_eq!(read("error[E0308]: mismatched types\ntest result: none\n"), []);
    }
}
