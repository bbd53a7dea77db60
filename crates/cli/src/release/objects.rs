//! `lockstep release objects`

use lockstep_payload::{Folder, Manifest, listing};

use crate::args::{FolderArg, ObjectsArgs, ObjectsOutput};
use crate::exit::Outcome;
use crate::output;

pub(crate) fn run(args: &ObjectsArgs) -> anyhow::Result<Outcome> {
    let super::Loaded { release, selection, .. } = super::open(&args.source)?;
    super::tell_skipped(&release);
    let in_folder = |manifest: &&Manifest| match args.folder {
        FolderArg::All => true,
        FolderArg::Manifests => manifest.folder == Folder::Manifests,
        FolderArg::ReleaseManifests => manifest.folder == Folder::ReleaseManifests,
    };
    let wanted = |manifest: &&Manifest| !args.selected || selection.check(manifest).is_ok();
    let manifests = release.manifests.iter().filter(in_folder).filter(wanted);
    match args.output {
        ObjectsOutput::Tsv => output::print(&listing::tsv(manifests))?,
        ObjectsOutput::Json => output::print_json(&listing::json(manifests))?,
    }
    Ok(Outcome::Clean)
}
