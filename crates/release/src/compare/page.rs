//! What differs, as a page.

use lockstep_payload::changes;
use lockstep_view::changes::{Changes, Entry, Group, Line, Mark, changes_html};

use super::words::short;
use super::{Change, Counts, ImageDiff, Move, ObjectDiff, ReleaseDiff};

// === impl ReleaseDiff ===

impl ReleaseDiff {
    /// The comparison as one self-contained HTML page.
    pub fn html(&self) -> String {
        changes_html(&self.page())
    }

    fn page(&self) -> Changes {
        let Counts { added, removed, changed } = self.release_manifests;
        let own = self.manifests;
        let update = if self.update_declared { "declared" } else { "not declared" };
        let facts = [
            ("From", self.from.version.clone()),
            ("To", self.to.version.clone()),
            ("Update", update.to_owned()),
            ("Objects", format!("{} → {}", self.from.objects, self.to.objects)),
            ("Images", format!("{} → {}", self.from.images, self.to.images)),
        ];
        let counts = [
            ("objects added", added),
            ("objects removed", removed),
            ("objects changed", changed),
            ("of the operator itself", own.added + own.removed + own.changed),
            ("incompatible", self.incompatible),
            ("images changed", self.images.changed.len()),
        ];
        Changes {
            title: format!("{} → {}", self.from.version, self.to.version),
            subtitle: "What differs between two releases.".to_owned(),
            facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            counts: counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
            groups: self.groups().into_iter().filter(|group| !group.entries.is_empty()).collect(),
        }
    }

    fn groups(&self) -> Vec<Group> {
        let group = |title: &str, about: &str, entries: Vec<Entry>| Group {
            title: title.to_owned(),
            about: about.to_owned(),
            entries,
        };
        let objects = |change: Change| {
            self.objects.iter().filter(move |object| object.change == change).map(entry).collect()
        };
        let incompatible = self.objects.iter().filter(|object| !object.incompatible.is_empty());
        let capabilities = &self.capabilities;
        let named = |mark: Mark| move |name: &String| Entry { mark, name: name.clone(), ..Entry::default() };
        let mut needs: Vec<Entry> = capabilities.added.iter().map(named(Mark::Added)).collect();
        needs.extend(capabilities.removed.iter().map(named(Mark::Removed)));
        needs.extend(capabilities.moved.iter().map(moved));
        let renamed = self.renamed.iter().map(|found| Entry {
            name: found.to.clone(),
            place: format!("was {}", found.from),
            ..Entry::default()
        });
        let deletions = self.deletions.iter().map(|found| Entry {
            mark: Mark::Removed,
            kind: found.id.kind.clone(),
            name: full_name(&found.id),
            place: found.file.clone(),
            ..Entry::default()
        });
        vec![
            group(
                "Incompatible changes of definitions",
                "After these, something that worked does not: a version is gone, or objects that were valid are refused.",
                incompatible.map(incompatible_entry).collect(),
            ),
            group("Capabilities", "", needs),
            group("Deletions", "Objects that the second release removes from clusters.", deletions.collect()),
            group("Objects added", "", objects(Change::Added)),
            group(
                "Objects removed",
                "The release no longer holds them; clusters keep them.",
                objects(Change::Removed),
            ),
            group("Objects changed", "", objects(Change::Changed)),
            group(
                "Run levels",
                "Objects at another level or in another component.",
                self.moved.iter().map(moved).collect(),
            ),
            group("Files renamed", "", renamed.collect()),
            group("Images", "By component and commit.", self.images()),
        ]
    }

    fn images(&self) -> Vec<Entry> {
        let entry = |mark: Mark, note: &str, image: &ImageDiff| {
            let commits = [&image.from_commit, &image.to_commit].map(|commit| commit.as_deref().map(short));
            let range = match commits {
                [Some(old), Some(new)] if old != new => format!("{old} → {new}"),
                [Some(only), _] | [_, Some(only)] => only.to_owned(),
                [None, None] => String::new(),
            };
            Entry {
                mark,
                name: image.name.clone(),
                place: [range, image.source.clone().unwrap_or_default()].join("  ").trim().to_owned(),
                tags: if note.is_empty() { Vec::new() } else { vec![note.to_owned()] },
                ..Entry::default()
            }
        };
        let images = &self.images;
        let all = [
            (Mark::Added, "", &images.added),
            (Mark::Removed, "", &images.removed),
            (Mark::Changed, "", &images.changed),
            (Mark::Changed, "rebuilt", &images.rebuilt),
        ];
        all.into_iter()
            .flat_map(|(mark, note, found)| found.iter().map(move |image| entry(mark, note, image)))
            .collect()
    }
}

fn full_name(id: &super::ResourceId) -> String {
    if id.namespace.is_empty() { id.name.clone() } else { format!("{}/{}", id.namespace, id.name) }
}

fn moved(found: &Move) -> Entry {
    let or_none = |text: &str| if text.is_empty() { "(none)".to_owned() } else { text.to_owned() };
    Entry {
        mark: Mark::Changed,
        kind: found.id.kind.clone(),
        name: full_name(&found.id),
        place: format!("{} → {}", or_none(&found.from), or_none(&found.to)),
        ..Entry::default()
    }
}

fn incompatible_entry(object: &ObjectDiff) -> Entry {
    let line = |one: &super::Incompatible| Line {
        path: one.path.clone(),
        text: format!("{} ({})", one.message, one.rule),
    };
    Entry {
        mark: Mark::Incompatible,
        kind: object.id.kind.clone(),
        name: full_name(&object.id),
        place: object.component.clone(),
        lines: object.incompatible.iter().map(line).collect(),
        ..Entry::default()
    }
}

fn entry(object: &ObjectDiff) -> Entry {
    let mark = match object.change {
        Change::Added => Mark::Added,
        Change::Removed => Mark::Removed,
        Change::Changed => Mark::Changed,
    };
    let mut tags: Vec<String> =
        object.cause.and_then(super::Cause::only).map(str::to_owned).into_iter().collect();
    tags.extend(object.deleted.then(|| "deleted".to_owned()));
    tags.extend((!object.incompatible.is_empty()).then(|| "incompatible".to_owned()));
    let is_changed = object.change == Change::Changed;
    Entry {
        mark,
        kind: object.id.kind.clone(),
        name: full_name(&object.id),
        place: object.component.clone(),
        tags,
        lines: if is_changed { object.variants.iter().flat_map(lines).collect() } else { Vec::new() },
    }
}

/// The changed fields of one variant, below a line that says which it is.
fn lines(variant: &super::VariantDiff) -> Vec<Line> {
    let mut found = Vec::new();
    if !variant.audience.is_empty() {
        let what = match variant.change {
            Change::Added => "new variant",
            Change::Removed => "variant gone",
            Change::Changed => "variant",
        };
        found.push(Line { path: variant.file.clone(), text: format!("{what}: {}", variant.audience) });
    }
    for field in &variant.fields {
        let text = changes::text(std::slice::from_ref(&field.shown));
        let text =
            text.trim_end().strip_prefix(&format!("{}: ", field.shown.path)).unwrap_or(&text).to_owned();
        found.push(Line { path: field.shown.path.clone(), text });
    }
    found
}
