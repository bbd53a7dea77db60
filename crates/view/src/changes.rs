//! What differs between two things as one self-contained HTML page: no other file is loaded, and it works without scripts.

use std::fmt::Write;

use serde::Serialize;

use crate::escape::{breakable, markup};
use crate::shell::{Shell, begin, counts, facts, open_header};

/// The look of all pages, then what only this one has.
const CSS: &str = concat!(include_str!("base.css"), include_str!("tools.css"), include_str!("changes.css"));
const SCRIPT: &str = include_str!("changes.js");
/// Most lines that one entry shows; the text form has them all.
const MOST_LINES: usize = 200;

/// What the page shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Changes {
    /// What is compared, such as `4.20.0 → 4.21.0`.
    pub title: String,
    /// One sentence under the title.
    pub subtitle: String,
    /// Named values for the summary, in this order.
    pub facts: Vec<(String, String)>,
    /// Numbers for the summary, in this order.
    pub counts: Vec<(String, usize)>,
    /// What differs, in sections.
    pub groups: Vec<Group>,
}

/// One section.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Group {
    /// Its heading.
    pub title: String,
    /// A sentence about it; may be empty.
    pub about: String,
    /// What is in it.
    pub entries: Vec<Entry>,
}

/// One thing that differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Entry {
    /// What became of it.
    pub mark: Mark,
    /// Its kind; may be empty.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Where it is; may be empty.
    pub place: String,
    /// Short remarks.
    pub tags: Vec<String>,
    /// What differs in it; shown on demand.
    pub lines: Vec<Line>,
}

/// One difference inside a thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// Where.
    pub path: String,
    /// What.
    pub text: String,
}

/// What became of a thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Mark {
    /// Nothing that has a sign.
    #[default]
    Plain,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is not as it was.
    Changed,
    /// It is not as it was, and somebody will notice.
    Incompatible,
}

// === impl Mark ===

impl Mark {
    /// Class and sign, and the word that a screen reader says for it.
    fn sign(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Plain => ("plain", "·", ""),
            Self::Added => ("added", "+", "added"),
            Self::Removed => ("removed", "−", "removed"),
            Self::Changed => ("changed", "~", "changed"),
            Self::Incompatible => ("incompatible", "!", "incompatible"),
        }
    }
}

/// The changes as an HTML page with inline style and script, for light, dark and paper.
pub fn changes_html(changes: &Changes) -> String {
    let mut html = String::new();
    // Writing to a String cannot fail, so the results of `write!` are not looked at in this file.
    let policy = "script-src 'unsafe-inline'";
    let skip = ("content", "content");
    begin(&mut html, &Shell { title: &changes.title, css: CSS, policy, class: "changes", skip });
    header(&mut html, changes);
    html.push_str("<main id=\"content\">\n");
    toolbar(&mut html, changes);
    for (place, group) in changes.groups.iter().enumerate() {
        write_group(&mut html, place, group);
    }
    if changes.groups.is_empty() {
        html.push_str("<p>Nothing differs.</p>\n");
    }
    let _ = write!(html, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    html
}

fn header(html: &mut String, changes: &Changes) {
    open_header(html, &changes.title, &changes.subtitle);
    facts(html, &changes.facts);
    counts(html, changes.counts.iter().cloned());
    html.push_str("<nav aria-label=\"Sections\">\n");
    for (place, group) in changes.groups.iter().enumerate() {
        let count = group.entries.len();
        let _ = writeln!(html, "<a href=\"#g{place}\">{} ({count})</a>", markup(&group.title));
    }
    html.push_str("</nav>\n</header>\n");
}

/// NB: hidden until the script shows it: without the script its controls would do nothing.
fn toolbar(html: &mut String, changes: &Changes) {
    let total: usize = changes.groups.iter().map(|group| group.entries.len()).sum();
    let _ = writeln!(
        html,
        "<form class=\"tools\" role=\"search\" hidden>\n\
         <label for=\"find\">Find</label>\n\
         <input id=\"find\" type=\"search\" autocomplete=\"off\" placeholder=\"kind, name, component or field\">\n\
         <button type=\"button\" id=\"content-only\" aria-pressed=\"false\">Without images and version</button>\n\
         <button type=\"button\" id=\"none\">Close all</button>\n\
         <output id=\"found\" for=\"find\">{total} changes</output>\n</form>",
    );
}

fn write_group(html: &mut String, place: usize, group: &Group) {
    let _ = writeln!(
        html,
        "<section id=\"g{place}\" aria-labelledby=\"g{place}h\">\n<h2 id=\"g{place}h\">{} <span>{}</span></h2>",
        markup(&group.title),
        group.entries.len(),
    );
    if !group.about.is_empty() {
        let _ = writeln!(html, "<p class=\"about\">{}</p>", markup(&group.about));
    }
    html.push_str("<ul>\n");
    for entry in &group.entries {
        write_entry(html, entry);
    }
    html.push_str("</ul>\n</section>\n");
}

fn write_entry(html: &mut String, entry: &Entry) {
    let (class, sign, word) = entry.mark.sign();
    let is_trivial = entry.tags.iter().any(|tag| tag.starts_with("only "));
    let trivial = if is_trivial { " trivial" } else { "" };
    let mut title = format!("<span class=\"sign\" title=\"{word}\">{sign}</span> <span class=\"what\">");
    if !entry.kind.is_empty() {
        let _ = write!(title, "<b>{}</b> ", breakable(&entry.kind));
    }
    let _ = write!(title, "<code>{}</code>", breakable(&entry.name));
    for tag in &entry.tags {
        let _ = write!(title, " <span class=\"tag\">{}</span>", markup(tag));
    }
    if !entry.place.is_empty() {
        let _ = write!(title, " <span class=\"place\">{}</span>", breakable(&entry.place));
    }
    title.push_str("</span>");
    if entry.lines.is_empty() {
        let _ = writeln!(html, "<li class=\"{class}{trivial}\"><div class=\"row\">{title}</div></li>");
        return;
    }
    let open = if entry.mark == Mark::Incompatible { " open" } else { "" };
    let _ = writeln!(
        html,
        "<li class=\"{class}{trivial}\"><details{open}><summary class=\"row\">{title}</summary>\n<ul class=\"lines\">"
    );
    for line in entry.lines.iter().take(MOST_LINES) {
        let _ = writeln!(
            html,
            "<li><code>{}</code> <span>{}</span></li>",
            breakable(&line.path),
            breakable(&line.text)
        );
    }
    if let Some(more) = entry.lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        let _ = writeln!(html, "<li><span>… and {more} more; the text form has them all</span></li>");
    }
    html.push_str("</ul></details></li>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn an_entry(text: &str) -> Entry {
        let owned = || text.to_owned();
        Entry {
            mark: Mark::Changed,
            kind: owned(),
            name: owned(),
            place: owned(),
            tags: vec![owned()],
            lines: vec![Line { path: owned(), text: owned() }],
        }
    }

    fn a_page(text: &str) -> Changes {
        let owned = || text.to_owned();
        Changes {
            title: owned(),
            subtitle: owned(),
            facts: vec![(owned(), owned())],
            counts: vec![(owned(), 1)],
            groups: vec![Group { title: owned(), about: owned(), entries: vec![an_entry(text)] }],
        }
    }

    #[test]
    fn markup_in_any_field_is_inert() {
        let html = changes_html(&a_page(
            "</style></script><script>alert(1)</script><img src=x onerror='alert(1)'>\"",
        ));
        assert_eq!(html.matches("<script>").count(), 1, "only our own script");
        assert_eq!((html.matches("</style>").count(), html.matches("<img").count()), (1, 0));
        assert!(html.matches("&lt;script&gt;").count() >= 13, "and each field is still shown");
    }

    #[test]
    fn nothing_points_outside_the_page_and_links_have_targets() {
        let html = changes_html(&a_page("x"));
        for outside in ["http:", "https:", "://", "src=", "url(", "@import", "<link"] {
            assert!(!html.contains(outside), "{outside}");
        }
        assert!(html.contains("href=\"#g0\"") && html.contains("id=\"g0\""));
    }

    #[test]
    fn a_very_long_list_is_cut_and_says_so() {
        let mut page = a_page("x");
        let line = page.groups[0].entries[0].lines[0].clone();
        page.groups[0].entries[0].lines = vec![line; MOST_LINES + 3];
        assert!(changes_html(&page).contains("and 3 more"));
    }

    #[test]
    fn no_difference_is_said() {
        assert!(changes_html(&Changes::default()).contains("Nothing differs."));
    }
}
