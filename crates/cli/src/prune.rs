//! Objects of the set that the release does not name: told, and deleted where that was asked for.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use lockstep_api::names::{group, kind};
use lockstep_api::text::visible;
use lockstep_apply::engine::{self, Orphan};
use lockstep_apply::server::Server;

use crate::args::{ApplyArgs, EventOutput};
use crate::exit::{Outcome, UsageError};
use crate::output;

/// Refuses to begin what could not be finished: nobody is there to be asked.
pub(crate) fn check(args: &ApplyArgs) -> anyhow::Result<()> {
    if !args.prune.is_empty() && !args.yes && !io::stdin().is_terminal() {
        let message =
            "--prune deletes objects and asks before it does; without a terminal give --yes as well";
        return Err(UsageError(message.to_owned()).into());
    }
    if let Some(wrong) = args.prune.iter().find(|name| !name.is_empty() && !name.contains('/')) {
        let message = format!("--prune={wrong}: write kind and name, such as --prune=Namespace/old");
        return Err(UsageError(message).into());
    }
    Ok(())
}

/// Tells what is left over, and deletes what was chosen.
pub(crate) async fn run(args: &ApplyArgs, server: &Server, orphans: &[Orphan]) -> anyhow::Result<Outcome> {
    let (chosen, left) = choose(orphans, &args.prune);
    for name in args.prune.iter().filter(|name| !name.is_empty()) {
        if !orphans.iter().any(|orphan| is_named(orphan, name)) {
            output::warn(&format!("--prune={name}: there is no such object that the release does not name"));
        }
    }
    if !left.is_empty() {
        let titles: Vec<&str> = left.iter().map(|orphan| orphan.title.as_str()).collect();
        let how = if args.prune.is_empty() {
            "--prune deletes what is neither a CustomResourceDefinition nor a Namespace"
        } else {
            "CustomResourceDefinitions and Namespaces go with --prune=KIND/NAME"
        };
        output::note(&format!("left over, no manifest names them: {}; {how}", titles.join(", ")));
    }
    if chosen.is_empty() || !is_wanted(args, &chosen)? {
        return Ok(Outcome::Clean);
    }
    let chosen: Vec<Orphan> = chosen.into_iter().cloned().collect();
    let refused = engine::prune(server, &chosen).await;
    for (title, refusal) in &refused {
        output::warn(&format!("not deleted: {}", refusal.explain(title)));
    }
    output::note(&format!("deleted {} of {}", chosen.len() - refused.len(), chosen.len()));
    Ok(if refused.is_empty() { Outcome::Clean } else { Outcome::Findings })
}

/// What goes and what stays. Namespaces and definitions take what is in them along, so they go only by name.
fn choose<'a>(orphans: &'a [Orphan], asked: &[String]) -> (Vec<&'a Orphan>, Vec<&'a Orphan>) {
    let takes_all = asked.iter().any(String::is_empty);
    orphans.iter().partition(|orphan| {
        asked.iter().any(|name| is_named(orphan, name)) || (takes_all && !holds_others(orphan))
    })
}

fn is_named(orphan: &Orphan, name: &str) -> bool {
    name.split_once('/').is_some_and(|(kind, name)| orphan.resource.kind == kind && orphan.name == name)
}

fn holds_others(orphan: &Orphan) -> bool {
    let resource = &orphan.resource;
    (resource.group.is_empty() && resource.kind == kind::NAMESPACE)
        || (resource.group == group::API_EXTENSIONS && resource.kind == kind::CUSTOM_RESOURCE_DEFINITION)
}

/// Shows the list, and asks unless that was answered before.
fn is_wanted(args: &ApplyArgs, chosen: &[&Orphan]) -> anyhow::Result<bool> {
    let mut list = "to be deleted, because no manifest names them:\n".to_owned();
    for orphan in chosen {
        // Writing to a String cannot fail.
        let _ = writeln!(list, "  {}", visible(&orphan.title));
    }
    match args.output {
        EventOutput::Text => output::print(&list)?,
        // Standard output is for events alone.
        EventOutput::Jsonl => drop(write!(io::stderr(), "{list}")),
    }
    if args.yes {
        return Ok(true);
    }
    let _ = write!(io::stderr(), "delete them? [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use lockstep_apply::kinds::Resource;

    use super::*;

    fn an_orphan(group: &str, kind: &str, name: &str) -> Orphan {
        Orphan {
            title: format!("{kind} {name}"),
            resource: Resource::new(group, "v1", kind, "things", false),
            namespace: None,
            name: name.to_owned(),
            uid: None,
        }
    }

    #[test]
    fn namespaces_and_definitions_go_only_by_name() {
        let orphans = [
            an_orphan("", "ConfigMap", "a"),
            an_orphan("", "Namespace", "b"),
            an_orphan("apiextensions.k8s.io", "CustomResourceDefinition", "c"),
            an_orphan("example.com", "Namespace", "d"),
        ];
        for (asked, expected) in [
            (&[][..], &[][..]),
            (&[""], &["a", "d"]),
            (&["Namespace/b"], &["b"]),
            (&["", "CustomResourceDefinition/c"], &["a", "c", "d"]),
            (&["ConfigMap/b"], &[]),
        ] {
            let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
            let (chosen, left) = choose(&orphans, &asked);
            let names: Vec<&str> = chosen.iter().map(|orphan| orphan.name.as_str()).collect();
            assert_eq!(names, expected, "{asked:?}");
            assert_eq!(chosen.len() + left.len(), orphans.len());
        }
    }
}
