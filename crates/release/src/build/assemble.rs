//! Components and images in, the files of a release out. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use lockstep_api::names::{annotation, file};

use super::metadata::Metadata;
use super::naming::{Names, check_name, destination};
use super::references::{self, Declared};
use super::replace::{Replacement, replace};
use super::stream::Stream;
use super::versions::{self, ComponentVersion};
use super::{BuildError, Problem, check, placeholders, undeclared};

/// A component with its manifests.
#[derive(Debug, Clone, Default)]
pub struct Component {
    /// Name: that of its image.
    pub name: String,
    /// Its files, with `image-references` if it has one.
    pub files: BTreeMap<String, SourceFile>,
}

/// A file of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Content.
    pub bytes: Bytes,
    /// When it was changed last, in seconds since 1970; nothing where that is an accident of this machine.
    pub modified: Option<u64>,
}

/// What is relaxed and what is kept.
#[derive(Debug, Clone)]
pub struct Rules {
    /// What comes before component and file name of a file without run level.
    pub prefix: String,
    /// Whether an operator may name images that there are not.
    pub allow_missing_images: bool,
    /// Whether images that no operator declares are only warnings.
    pub allow_undeclared_images: bool,
    /// Whether the content of manifests is not checked.
    pub skip_manifest_check: bool,
    /// Tags that stay although nobody names them.
    pub keep: BTreeSet<String>,
}

/// Everything that goes into `release-manifests/`.
#[derive(Debug, Clone, Default)]
pub struct Payload {
    /// The version.
    pub name: String,
    /// When the release was made, in seconds since 1970.
    pub created: u64,
    /// `image-references`.
    pub image_references: Bytes,
    /// `release-metadata`.
    pub release_metadata: Bytes,
    /// All other files in the order in which they are written.
    pub files: Vec<PayloadFile>,
    /// The newest change of a file, in seconds since 1970.
    pub newest: u64,
    /// What is wrong but does not stop the build.
    pub warnings: Vec<String>,
    /// What helps to follow the build.
    pub notes: Vec<String>,
}

/// A file of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadFile {
    /// Its name in `release-manifests/`.
    pub name: String,
    /// Content.
    pub bytes: Bytes,
    /// When it was changed last, in seconds since 1970.
    pub modified: u64,
}

/// Makes the files of a release.
///
/// # Order
/// 1. what each operator declares is read, and the images that nobody needs are dropped;
/// 2. each file, by component and name: checked as it is, images replaced, versions replaced, named;
/// 3. images that are none of the release are looked for in what came out.
pub fn assemble(
    mut components: Vec<Component>,
    mut stream: Stream,
    metadata: &Metadata,
    created: Option<u64>,
    rules: &Rules,
) -> Result<Payload, BuildError> {
    components.sort_by(|one, other| one.name.cmp(&other.name));
    let (mut warnings, mut problems) = (metadata.warnings(), Vec::new());
    check_names(&components, &stream, &mut problems);
    let declared = declared(&components, &mut problems);
    if !problems.is_empty() {
        return Err(BuildError::Problems(problems));
    }
    let mut notes = Vec::new();
    if components.is_empty() {
        warnings.push("No operator metadata was found, no operators will be part of the release.".to_owned());
    }
    let users = prune(&mut stream, &components, &declared, rules, &mut notes);
    stream.note_users(&users);
    let defaults = default_versions(&stream)?;
    let images: BTreeSet<&str> = stream.tags.iter().filter_map(|tag| tag.pull_spec()).collect();

    let newest = components.iter().flat_map(|it| it.files.values()).filter_map(|file| file.modified).max();
    let created = created.or(newest).unwrap_or_default();
    let newest = newest.unwrap_or(created);
    let (mut names, mut files) = (Names::default(), Vec::new());
    for (component, declared) in components.iter().zip(&declared) {
        let work = match Work::new(component, declared.as_ref(), &stream, &defaults, rules, &mut warnings) {
            Ok(work) => work,
            Err(found) => {
                problems.extend(found);
                continue;
            }
        };
        for (name, source) in component.files.iter().filter(|(name, _)| *name != file::IMAGE_REFERENCES) {
            let label = format!("{}/{name}", component.name);
            match work.process(&label, name, &source.bytes, &metadata.version, rules) {
                Err(found) => problems.extend(found),
                Ok(bytes) => {
                    if check::is_manifest(name) {
                        let found = undeclared::find(&label, &bytes, &images);
                        if rules.allow_undeclared_images {
                            warnings.extend(found.iter().map(ToString::to_string));
                        } else {
                            problems.extend(found);
                        }
                    }
                    let name = names.claim(&destination(&component.name, name, &rules.prefix));
                    files.push(PayloadFile { name, bytes, modified: source.modified.unwrap_or(created) });
                }
            }
        }
    }
    if !problems.is_empty() {
        return Err(BuildError::Problems(problems));
    }
    stream.name.clone_from(&metadata.version);
    stream.created = Some(rfc3339(created));
    Ok(Payload {
        name: metadata.version.clone(),
        created,
        image_references: stream.write().into(),
        release_metadata: metadata.write().into(),
        files,
        newest,
        warnings,
        notes,
    })
}

/// Seconds since 1970 as a time that people read.
pub fn rfc3339(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

fn check_names(components: &[Component], stream: &Stream, problems: &mut Vec<Problem>) {
    let mut tell = |file: &str, outcome: Result<(), String>| {
        if let Err(why) = outcome {
            problems.push(Problem { file: file.to_owned(), line: 1, why });
        }
    };
    for tag in &stream.tags {
        tell(file::IMAGE_REFERENCES, check_name(&tag.name));
    }
    for component in components {
        tell(&component.name, check_name(&component.name));
        for name in component.files.keys() {
            tell(&component.name, check_name(name));
        }
    }
}

fn declared(components: &[Component], problems: &mut Vec<Problem>) -> Vec<Option<Declared>> {
    let read = |component: &Component| {
        let source = component.files.get(file::IMAGE_REFERENCES)?;
        references::read(&source.bytes).map_err(|error| problems.push(invalid(&component.name, &error))).ok()
    };
    components.iter().map(read).collect()
}

fn invalid(component: &str, error: &references::ReferencesError) -> Problem {
    let why = format!("operator {component:?} contained an invalid image-references file: {error}");
    Problem { file: format!("{component}/{}", file::IMAGE_REFERENCES), line: error.line, why }
}

/// Drops the tags that nobody needs; gives the operators that name each tag.
fn prune(
    stream: &mut Stream,
    components: &[Component],
    declared: &[Option<Declared>],
    rules: &Rules,
    notes: &mut Vec<String>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut users = BTreeMap::<String, BTreeSet<String>>::new();
    let mut kept = rules.keep.clone();
    for (component, declared) in components.iter().zip(declared) {
        kept.insert(component.name.clone());
        for tag in declared.iter().flat_map(|declared| &declared.named) {
            users.entry(tag.clone()).or_default().insert(component.name.clone());
        }
    }
    kept.extend(users.keys().cloned());
    if stream.prune(&kept) > 0 {
        notes.push(format!(
            "Included {} images from {} input operators into the release",
            stream.tags.len(),
            components.len()
        ));
    }
    users
}

fn default_versions(stream: &Stream) -> Result<BTreeMap<String, ComponentVersion>, BuildError> {
    let text = |key: &str| stream.annotations.get(key).map(String::as_str).unwrap_or_default();
    versions::parse(text(annotation::BUILD_VERSIONS), text(annotation::BUILD_VERSION_DISPLAY_NAMES)).map_err(
        |why| {
            BuildError::Refused(format!("unable to read default versions label on input image stream: {why}"))
        },
    )
}

/// What is replaced in the files of one component.
struct Work {
    replacements: Vec<Replacement>,
    versions: versions::Versions,
}

// === impl Work ===

impl Work {
    fn new(
        component: &Component,
        declared: Option<&Declared>,
        stream: &Stream,
        defaults: &BTreeMap<String, ComponentVersion>,
        rules: &Rules,
        warnings: &mut Vec<String>,
    ) -> Result<Self, Vec<Problem>> {
        let none = Declared::default();
        let resolved = declared.unwrap_or(&none).resolve(stream, rules.allow_missing_images);
        let resolved = resolved.map_err(|errors| -> Vec<Problem> {
            errors.iter().map(|error| invalid(&component.name, error)).collect()
        })?;
        let no_notes = BTreeMap::new();
        let tags = resolved
            .iter()
            .map(|(_, tag)| (tag.name.as_str(), tag.annotations.as_ref().unwrap_or(&no_notes)));
        let versions = versions::known(tags, defaults, warnings)
            .map_err(|why| vec![invalid(&component.name, &references::ReferencesError { line: 1, why })])?;
        let replacements = resolved
            .iter()
            .filter_map(|(entry, tag)| {
                Some(Replacement { literal: entry.literal.clone(), target: tag.pull_spec()?.to_owned() })
            })
            .collect();
        Ok(Self { replacements, versions })
    }

    fn process(
        &self,
        label: &str,
        name: &str,
        source: &Bytes,
        release: &str,
        rules: &Rules,
    ) -> Result<Bytes, Vec<Problem>> {
        if check::is_manifest(name) && !rules.skip_manifest_check {
            let problems = check::check(label, source);
            if !problems.is_empty() {
                return Err(problems);
            }
        }
        let bytes = replace(source, &self.replacements);
        let bytes = placeholders::replace(&bytes, Some(release), &self.versions)
            .map_err(|error| vec![Problem { file: label.to_owned(), line: error.line, why: error.why }])?;
        Ok(bytes.into())
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
