//! What differs, as text for a terminal.

use std::fmt::Write as _;

use lockstep_api::text::visible;
use lockstep_payload::changes;
use lockstep_view::table::Table;

use super::words::short;
use super::{Change, Counts, ImageDiff, Move, ObjectDiff, ReleaseDiff, ResourceId};

/// What of a comparison is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// Objects that are new.
    Added,
    /// Objects that are gone.
    Removed,
    /// Objects that are not as they were.
    Changed,
    /// Definitions that changed in an incompatible way.
    Incompatible,
}

// === impl ReleaseDiff ===

impl ReleaseDiff {
    /// Keeps only some objects, and nothing else beside them; the counts stay those of the whole.
    #[must_use]
    pub fn only(mut self, only: Option<Only>, object: Option<(&str, &str)>) -> Self {
        let is_wanted = |found: &ObjectDiff| match only {
            None => true,
            Some(Only::Added) => found.change == Change::Added,
            Some(Only::Removed) => found.change == Change::Removed,
            Some(Only::Changed) => found.change == Change::Changed,
            Some(Only::Incompatible) => !found.incompatible.is_empty(),
        };
        let is_named = |id: &ResourceId| {
            object.is_none_or(|(kind, name)| id.kind.eq_ignore_ascii_case(kind) && id.name == name)
        };
        if only.is_none() && object.is_none() {
            return self;
        }
        self.objects.retain(|found| is_wanted(found) && is_named(&found.id));
        self.moved.retain(|found| only.is_none() && is_named(&found.id));
        self.deletions.retain(|found| only.is_none() && is_named(&found.id));
        self.renamed.clear();
        self.images = super::ImagesDiff::default();
        self.capabilities = super::CapabilitiesDiff::default();
        self
    }

    /// The comparison as text: the counts, what is incompatible, then everything else.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let declared = if self.update_declared { "declares" } else { "does not declare" };
        // Writing to a string cannot fail, so the results of `write!` are not looked at in this file.
        let _ = writeln!(
            out,
            "{} → {}: {} {declared} an update from {}",
            self.from.version, self.to.version, self.to.version, self.from.version
        );
        let mut counts = Table::new(["objects", "added", "removed", "changed"]);
        for (folder, found) in [("release-manifests", self.release_manifests), ("manifests", self.manifests)]
        {
            let Counts { added, removed, changed } = found;
            counts.row([folder, &added.to_string(), &removed.to_string(), &changed.to_string()]);
        }
        let _ = write!(out, "\n{counts}");
        self.write_incompatible(&mut out);
        self.write_capabilities(&mut out);
        self.write_deletions(&mut out);
        self.write_images(&mut out);
        self.write_moves(&mut out);
        self.write_objects(&mut out);
        if self.is_empty() {
            out.push_str("\nnothing differs\n");
        }
        out.split('\n').map(visible).collect::<Vec<_>>().join("\n")
    }

    fn write_incompatible(&self, out: &mut String) {
        let found: Vec<&ObjectDiff> =
            self.objects.iter().filter(|object| !object.incompatible.is_empty()).collect();
        if found.is_empty() {
            return;
        }
        let total: usize = found.iter().map(|object| object.incompatible.len()).sum();
        let _ = writeln!(out, "\nincompatible changes of definitions ({total}):");
        for object in found {
            let _ = writeln!(out, "  {}", object.id.name);
            for one in &object.incompatible {
                let path = if one.path.is_empty() { String::new() } else { format!("{}: ", one.path) };
                let _ = writeln!(out, "    ! {path}{} ({})", one.message, one.rule);
            }
        }
    }

    fn write_capabilities(&self, out: &mut String) {
        let capabilities = &self.capabilities;
        for (what, names) in [("added", &capabilities.added), ("removed", &capabilities.removed)] {
            if !names.is_empty() {
                let _ = writeln!(out, "\ncapabilities {what} ({}): {}", names.len(), names.join(", "));
            }
        }
        write_moved(out, "objects that need other capabilities", &capabilities.moved);
    }

    fn write_deletions(&self, out: &mut String) {
        if self.deletions.is_empty() {
            return;
        }
        let _ = writeln!(out, "\ndeleted from clusters ({}):", self.deletions.len());
        for found in &self.deletions {
            let was = if found.was_there { "" } else { " (not in the release before)" };
            let _ = writeln!(out, "  {}  {}{was}", name(&found.id), found.file);
        }
    }

    fn write_images(&self, out: &mut String) {
        let names = |images: &[ImageDiff]| {
            images.iter().map(|image| image.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let images = &self.images;
        for (what, found) in [
            ("added", &images.added),
            ("removed", &images.removed),
            ("rebuilt without a known change", &images.rebuilt),
        ] {
            if !found.is_empty() {
                let _ = writeln!(out, "\nimages {what} ({}): {}", found.len(), names(found));
            }
        }
        if images.changed.is_empty() {
            return;
        }
        let _ = writeln!(out, "\nimages changed ({}):", images.changed.len());
        let mut table = Table::without_header();
        for image in &images.changed {
            let commit = |commit: &Option<String>| short(commit.as_deref().unwrap_or("unknown")).to_owned();
            let range = format!("{} → {}", commit(&image.from_commit), commit(&image.to_commit));
            table.row(["", &image.name, &range, image.source.as_deref().unwrap_or_default()]);
        }
        let _ = write!(out, "{table}");
    }

    fn write_moves(&self, out: &mut String) {
        write_moved(out, "objects at another run level or in another component", &self.moved);
        if !self.renamed.is_empty() {
            let _ = writeln!(out, "\nfiles renamed ({}):", self.renamed.len());
            for found in &self.renamed {
                let _ = writeln!(out, "  {} → {}", found.from, found.to);
            }
        }
    }

    fn write_objects(&self, out: &mut String) {
        for (what, change) in
            [("added", Change::Added), ("removed", Change::Removed), ("changed", Change::Changed)]
        {
            let of_kind = || self.objects.iter().filter(move |object| object.change == change);
            if of_kind().next().is_none() {
                continue;
            }
            let _ = writeln!(out, "\nobjects {what} ({}):", of_kind().count());
            for object in of_kind() {
                write_object(out, object);
            }
        }
    }
}

fn write_moved(out: &mut String, what: &str, moved: &[Move]) {
    if moved.is_empty() {
        return;
    }
    let or_none = |text: &str| if text.is_empty() { "(none)".to_owned() } else { text.to_owned() };
    let _ = writeln!(out, "\n{what} ({}):", moved.len());
    for found in moved {
        let _ = writeln!(out, "  {}  {} → {}", name(&found.id), or_none(&found.from), or_none(&found.to));
    }
}

fn write_object(out: &mut String, object: &ObjectDiff) {
    let mut notes = vec![object.component.as_str()];
    notes.extend(object.deleted.then_some("deleted"));
    notes.extend(object.cause.and_then(super::Cause::only));
    let _ = writeln!(out, "  {} {}  ({})", mark(object.change), name(&object.id), notes.join(", "));
    if object.change != Change::Changed {
        return;
    }
    for variant in &object.variants {
        if !variant.audience.is_empty() || variant.change != Change::Changed {
            let _ = writeln!(out, "    {} {}  [{}]", mark(variant.change), variant.file, variant.audience);
        }
        let shown: Vec<_> = variant.fields.iter().map(|field| field.shown.clone()).collect();
        for line in changes::text(&shown).lines() {
            let _ = writeln!(out, "      {line}");
        }
    }
}

fn mark(change: Change) -> char {
    match change {
        Change::Added => '+',
        Change::Removed => '-',
        Change::Changed => '~',
    }
}

/// `Kind namespace/name`.
pub(super) fn name(id: &ResourceId) -> String {
    let namespace = if id.namespace.is_empty() { String::new() } else { format!("{}/", id.namespace) };
    format!("{} {namespace}{}", id.kind, id.name)
}
