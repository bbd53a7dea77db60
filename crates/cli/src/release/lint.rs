//! `lockstep release lint`

use lockstep_graph::lint::{Scope, Severity, lint, output as form};

use crate::args::{FailOn, LintArgs, LintOutput};
use crate::exit::Outcome;
use crate::output;

pub(crate) fn run(args: &LintArgs) -> anyhow::Result<Outcome> {
    let (release, selection) = super::load(&args.source)?;
    let scope = if args.all_combinations { Scope::AllCombinations } else { Scope::Selected(&selection) };
    let report = lint(&release, scope);
    match args.output {
        LintOutput::Text => output::print(&output::paint_severities(&form::text(&report)))?,
        LintOutput::Json => output::print(&form::json(&report))?,
        LintOutput::Sarif => output::print(&form::sarif(&report))?,
        LintOutput::Junit => output::print(&form::junit(&report))?,
    }
    let severity = match args.fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Info => Severity::Info,
    };
    Ok(if report.has_at_least(severity) { Outcome::Findings } else { Outcome::Clean })
}
