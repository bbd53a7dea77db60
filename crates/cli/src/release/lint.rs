//! `lockstep release lint`

use lockstep_graph::lint::{Scope, Severity, lint, output as form};

use crate::args::{FailOn, LintArgs, LintOutput};
use crate::exit::{Outcome, UsageError};
use crate::output;

pub(crate) fn run(args: &LintArgs) -> anyhow::Result<Outcome> {
    // A release that cannot be read was not checked, which is not the same as bad.
    let super::Loaded { release, selection, .. } =
        super::open(&args.source).map_err(|error| UsageError(format!("{error:#}")))?;
    let scope = if args.all_combinations { Scope::AllCombinations } else { Scope::Selected(&selection) };
    let report = lint(&release, scope);
    let severity = match args.fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Info => Severity::Info,
    };
    match args.output {
        LintOutput::Text => output::print(&output::paint_severities(&form::text(&report)))?,
        LintOutput::Json => output::print(&form::json(&report))?,
        LintOutput::Sarif => output::print(&form::sarif(&report))?,
        LintOutput::Junit => output::print(&form::junit(&report, severity))?,
    }
    Ok(if report.has_at_least(severity) { Outcome::Findings } else { Outcome::Clean })
}
