//! `lockstep release rbac`

use lockstep_operator::rights::{self, Rights};

use crate::args::{RbacArgs, RbacOutput};
use crate::exit::Outcome;
use crate::output;

pub(crate) fn run(args: &RbacArgs) -> anyhow::Result<Outcome> {
    let all = super::block_on(async {
        let mut all = vec![super::open_async(&args.source).await?];
        for release in &args.also {
            let opened =
                super::fetch(release, &args.source.registry, lockstep_release::Wanted::Everything).await?;
            all.push(super::load_opened(&opened, &args.source.selection)?);
        }
        Ok(all)
    })?;
    for loaded in &all {
        super::tell_skipped(&loaded.release);
    }
    let manifests = all.iter().flat_map(|loaded| loaded.release.selected(&loaded.selection));
    let rights = if args.in_release {
        Rights::compile(rights::RELEASE_NAME, manifests, &[rights::RELEASE_NAME])
    } else {
        Rights::compile(rights::NAME, manifests, &[])
    };
    for kind in &rights.guessed {
        output::warn(&format!(
            "{kind} is defined neither by the release nor by Kubernetes: its resource is a guess"
        ));
    }
    let versions: Vec<String> =
        all.iter().map(|loaded| loaded.release.metadata.version.to_string()).collect();
    let title = format!("release {}", versions.join(" and "));
    match args.output {
        RbacOutput::Yaml => output::print(&rights::yaml(&title, &rights))?,
        RbacOutput::Text => output::print(&rights::text(&title, &rights))?,
        RbacOutput::Json => output::print_json(&rights::json(&title, &rights))?,
    }
    Ok(Outcome::Clean)
}
