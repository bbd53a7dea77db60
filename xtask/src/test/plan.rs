//! The steps of `cargo xtask test`, cheap ones first.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;
use crate::error::io_error;
use crate::workspace::root;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) what: String,
    pub(super) action: Action,
}

/// How a step is run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// Waits for the binaries that were asked for at the beginning.
    Kube,
    /// Compares the generated data with a fresh one.
    Schema,
    /// A `cargo` command.
    Cargo(Cargo),
}

/// A `cargo` command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cargo {
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(&'static str, &'static str)>,
    /// Whether it starts a private API server.
    pub(super) needs_kube: bool,
    /// The `cargo` extension that it is left out without.
    pub(super) tool: Option<&'static str>,
}

/// All steps in their order; the suites are the files of the `tests` package.
pub(super) fn plan() -> Result<Vec<Step>, Error> {
    let mut steps = vec![
        cargo("fmt", "the sources are formatted", "fmt --all --check"),
        cargo(
            "clippy",
            "no warning, in tests neither",
            "clippy --workspace --all-targets --locked -- -D warnings",
        ),
        cargo("build", "everything compiles", "test --workspace --no-run --locked"),
        cargo(
            "unit",
            "unit, property and snapshot tests",
            "test --workspace --lib --bins --locked --no-fail-fast",
        ),
        cargo(
            "doc-tests",
            "the examples in the documentation",
            "test --workspace --doc --locked --no-fail-fast",
        ),
        cargo("rustdoc", "the documentation has no broken link", "doc --workspace --no-deps --locked")
            .with(|cargo| cargo.environment.push(("RUSTDOCFLAGS", "-D warnings"))),
        cargo("deny", "licences, sources and duplicates", "deny --locked check bans licenses sources")
            .with(|cargo| cargo.tool = Some("deny")),
    ];
    let suites = suites(&root().join("tests/tests"))?;
    let (with_kube, without): (Vec<_>, Vec<_>) = suites.into_iter().partition(Step::needs_kube);
    steps.extend(without);
    steps.push(Step {
        name: "kube".into(),
        what: "the binaries of a real Kubernetes are there".into(),
        action: Action::Kube,
    });
    steps.extend(with_kube);
    steps.push(Step {
        name: "schema".into(),
        what: "the files in crates/schema/data are what a real API server says".into(),
        action: Action::Schema,
    });
    Ok(steps)
}

/// The steps with these names, in the order of the plan; no names mean all steps.
pub(super) fn only(steps: Vec<Step>, names: &[&str]) -> Result<Vec<Step>, Error> {
    if let Some(unknown) = names.iter().find(|name| !steps.iter().any(|step| step.name == **name)) {
        return Err(Error::Data {
            from: format!("step `{unknown}`"),
            what: "there is no such step; `cargo xtask test --list` names them".into(),
        });
    }
    let is_wanted = |step: &Step| names.is_empty() || names.contains(&step.name.as_str());
    Ok(steps.into_iter().filter(is_wanted).collect())
}

/// Why the generated data cannot be compared here.
pub(super) fn schema_obstacle(kube_failed: bool) -> Option<String> {
    if kube_failed {
        return Some("the step `kube` failed".into());
    }
    let why = "Go is not installed, and its sources say which versions were removed";
    (!runs("go", "version")).then(|| why.into())
}

/// Whether a `cargo` extension can be run.
fn is_installed(tool: &str) -> bool {
    runs(&format!("cargo-{tool}"), "--version")
}

fn runs(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    let status = command.arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn cargo(name: &str, what: &str, arguments: &str) -> Step {
    let arguments = arguments.split(' ').map(str::to_owned).collect();
    let action = Action::Cargo(Cargo { arguments, ..Cargo::default() });
    Step { name: name.into(), what: what.into(), action }
}

/// A step for each file of the folder, in the order of their names.
fn suites(folder: &Path) -> Result<Vec<Step>, Error> {
    let reading = || io_error(format!("reading `{}`", folder.display()));
    let mut steps = Vec::new();
    for entry in fs::read_dir(folder).map_err(reading())? {
        let path = entry.map_err(reading())?.path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(io_error(format!("reading `{}`", path.display())))?;
        steps.push(suite(&path.file_stem().unwrap_or_default().to_string_lossy(), &text));
    }
    steps.sort_by(|one, two| one.name.cmp(&two.name));
    Ok(steps)
}

// NB: `--workspace` as in the step `build`, or other features would be compiled once more.
fn suite(name: &str, text: &str) -> Step {
    let arguments = format!("test --workspace --test {name} --locked -- --show-output");
    let first = text.lines().next().unwrap_or_default();
    cargo(name, first.trim_start_matches("//!").trim().trim_end_matches('.'), &arguments)
        .with(|cargo| cargo.needs_kube = text.contains("xtask::kube"))
}

// === impl Step ===

impl Step {
    fn with(mut self, change: impl FnOnce(&mut Cargo)) -> Self {
        if let Action::Cargo(cargo) = &mut self.action {
            change(cargo);
        }
        self
    }

    fn needs_kube(&self) -> bool {
        matches!(&self.action, Action::Cargo(cargo) if cargo.needs_kube)
    }
}

// === impl Cargo ===

impl Cargo {
    /// Whether the command runs tests, so that a run without any is a failure.
    pub(super) fn must_test(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--test")
    }

    /// Why the command cannot be run here.
    pub(super) fn obstacle(&self, kube_failed: bool) -> Option<String> {
        if self.needs_kube && kube_failed {
            return Some("the step `kube` failed".into());
        }
        self.tool.filter(|tool| !is_installed(tool)).map(|tool| format!("cargo-{tool} is not installed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(steps: &[Step]) -> Vec<&str> {
        steps.iter().map(|step| step.name.as_str()).collect()
    }

    #[test]
    fn every_file_of_the_tests_package_is_a_step() {
        let steps = plan().unwrap();
        for name in ["architecture", "crd_validation", "example_releases", "fuzz", "hostile_input"] {
            assert!(names(&steps).contains(&name), "{name}");
        }
    }

    #[test]
    fn what_needs_a_server_comes_after_its_binaries() {
        let steps = plan().unwrap();
        let place = |name: &str| steps.iter().position(|step| step.name == name).expect(name);
        assert!(place("architecture") < place("kube") && place("kube") < place("example_releases"));
        let needs = |name: &str| steps[place(name)].needs_kube();
        assert!(needs("kube_fixture") && !needs("fuzz"));
    }

    #[test]
    fn chosen_steps_keep_the_order_of_the_plan_and_a_wrong_name_is_refused() {
        let chosen = only(plan().unwrap(), &["unit", "fmt"]).unwrap();
        assert_eq!(names(&chosen), ["fmt", "unit"]);
        let error = only(plan().unwrap(), &["fmt", "units"]).unwrap_err().to_string();
        assert!(error.contains("`units`") && error.contains("--list"), "{error}");
    }

    #[test]
    fn without_its_tool_or_its_server_a_step_has_an_obstacle() {
        let cargo = |needs_kube, tool| Cargo { needs_kube, tool, ..Cargo::default() };
        assert_eq!(cargo(true, None).obstacle(true).as_deref(), Some("the step `kube` failed"));
        assert_eq!(cargo(true, None).obstacle(false), None);
        assert_eq!(cargo(false, None).obstacle(true), None);
        let text = cargo(false, Some("no-such-tool")).obstacle(false);
        assert_eq!(text.as_deref(), Some("cargo-no-such-tool is not installed"));
        assert_eq!(schema_obstacle(true).as_deref(), Some("the step `kube` failed"));
    }

    #[test]
    fn a_suite_is_described_by_the_first_line_of_its_file() {
        assert_eq!(suite("a", "//! What it proves.\n//! More.\n").what, "What it proves");
    }
}
