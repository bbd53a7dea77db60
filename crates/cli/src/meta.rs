//! Commands about the command itself.

use clap::CommandFactory as _;
use serde_json::json;

use lockstep_schema::Schema;

use crate::args::{Cli, CompletionArgs, ManArgs, VersionArgs, VersionOutput};
use crate::exit::{Outcome, UsageError};
use crate::output;

/// `lockstep version`
pub(crate) fn version(args: &VersionArgs) -> anyhow::Result<Outcome> {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("LOCKSTEP_COMMIT"));
    match args.output {
        VersionOutput::Text => output::print(&format!("lockstep {version} ({commit})\n"))?,
        VersionOutput::Json => output::print_json(&json!({
            "apiVersion": "lockstep.dev/v1",
            "kind": "Version",
            "version": version,
            "commit": commit,
            "kubernetes": Schema::builtin().kubernetes,
            "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        }))?,
    }
    Ok(Outcome::Clean)
}

/// `lockstep completion`
pub(crate) fn completion(args: &CompletionArgs) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lockstep", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(Outcome::Clean)
}

/// `lockstep man`
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<Outcome> {
    let mut root = Cli::command();
    root.build();
    let mut command = root;
    let mut name = String::from("lockstep");
    for word in &args.command {
        let Some(found) = command.find_subcommand(word).cloned() else {
            let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            let text = format!("`{name}` has no command `{word}`; it has: {}", known.join(", "));
            return Err(UsageError(text).into());
        };
        name = format!("{name}-{}", found.get_name());
        command = found;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).title(name).render(&mut page)?;
    output::print(&String::from_utf8(page)?)?;
    Ok(Outcome::Clean)
}
