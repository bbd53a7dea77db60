//! `lockstep release info`

use std::fmt::Write as _;
use std::time::Instant;

use serde_json::json;

use lockstep_api::text::visible;
use lockstep_graph::info::ReleaseInfo;
use lockstep_release::Wanted;
use lockstep_release::platform::host_architecture;
use lockstep_view::table::Table;

use crate::args::{InfoArgs, InfoOutput};
use crate::exit::Outcome;
use crate::output;

/// So many bytes are fetched for the manifests of the operator itself; a foreign image does not say which layer has them.
const CHEAP: u64 = 8 * 1024 * 1024;

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<Outcome> {
    if args.images.is_any() {
        return super::images::run(args);
    }
    let start = Instant::now();
    let source = &args.source;
    let opened =
        super::block_on(super::fetch(&source.release, &source.registry, Wanted::EverythingWithin(CHEAP)))?;
    let super::Loaded { release, selection, cluster } = super::load_opened(&opened, &source.selection)?;
    let loaded = start.elapsed();
    let mut info = ReleaseInfo::of(&release, &selection, host_architecture());
    if let Some(bytes) = opened.left_out() {
        info.warnings.push(format!(
            "the manifests of the operator itself are not counted: {bytes} bytes of layers would have to be fetched for them"
        ));
    }
    if !cluster.has_release_image() {
        let text = "versionHash is that of an unnamed release image; give --release-image to compare it with a cluster's";
        info.warnings.push(text.to_owned());
    }
    let counted = start.elapsed();
    match args.output {
        InfoOutput::Text => output::print(&text(args, &info))?,
        InfoOutput::Json => output::print_json(&info)?,
        InfoOutput::Yaml => output::print_yaml(&info)?,
    }
    if args.timings {
        let milliseconds = |duration: std::time::Duration| (duration.as_secs_f64() * 10_000.0).round() / 10.0;
        let timings = json!({
            "loadMs": milliseconds(loaded),
            "selectAndHashMs": milliseconds(counted.saturating_sub(loaded)),
            "printMs": milliseconds(start.elapsed().saturating_sub(counted)),
        });
        output::note(&format!("timings: {timings}"));
    }
    // The process ends here: giving back a hundred thousand small pieces of memory first would only take time.
    std::mem::forget(release);
    Ok(Outcome::Clean)
}

fn text(args: &InfoArgs, info: &ReleaseInfo) -> String {
    let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    let excluded: Vec<String> =
        info.excluded.iter().map(|(filter, count)| format!("{count} {filter}")).collect();
    let mut facts = Table::without_header();
    facts.row(["version", &info.version]);
    facts.row(["architecture", &info.architecture]);
    facts.row(["version hash", &info.version_hash]);
    facts.row(["created", info.created.as_deref().unwrap_or("unknown")]);
    facts.row(["url", info.url.as_deref().unwrap_or("none")]);
    facts.row(["channels", &list(&info.channels)]);
    facts.row(["updates from", &list(&info.previous)]);
    facts.row(["cluster", &args.source.selection.summary()]);
    facts.row(["objects", &format!("{}, of which {} selected", info.objects, info.selected)]);
    facts.row(["left out by", &list(&excluded)]);
    facts.row(["images", &info.images.to_string()]);

    let mut levels = Table::new(["level", "assigned to", "objects", "components"]);
    for level in &info.run_levels {
        let name = if level.level.is_empty() { "(none)" } else { &level.level };
        let components: Vec<String> = level
            .components
            .iter()
            .map(|(component, count)| {
                format!("{} {count}", if component.is_empty() { "(none)" } else { component })
            })
            .collect();
        let objects: usize = level.components.values().sum();
        levels.row([name, level.owner.unwrap_or("–"), &objects.to_string(), &components.join(", ")]);
    }

    let mut kinds: Vec<(&String, &usize)> = info.kinds.iter().collect();
    kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(**count), (*kind).clone()));
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{kind} {count}")).collect();

    let mut out = format!("{facts}\n{levels}\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "cluster operators ({}): {}",
        info.cluster_operators.len(),
        list(&info.cluster_operators)
    );
    let _ = writeln!(out, "kinds ({}): {}", kinds.len(), kinds.join(", "));
    for warning in &info.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    out.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}
