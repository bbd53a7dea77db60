//! What every page begins with: head, policy, title and facts. A page loads no other file, and its policy says so.

use std::fmt::Write;

use crate::escape::{breakable, markup};

/// The beginning of a page.
pub(crate) struct Shell<'a> {
    pub(crate) title: &'a str,
    pub(crate) css: &'a str,
    /// What the page may have beside inline style.
    pub(crate) policy: &'a str,
    /// Class of the body.
    pub(crate) class: &'a str,
    /// Where a keyboard gets by skipping the header, and what it is called.
    pub(crate) skip: (&'a str, &'a str),
}

// Writing to a String cannot fail, so the results of `write!` are not looked at in this file.

/// Writes everything before the header.
pub(crate) fn begin(html: &mut String, shell: &Shell<'_>) {
    let Shell { title, css, policy, class, skip: (target, name) } = shell;
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         {policy}; base-uri 'none'; form-action 'none'\">\n\
         <title>{}</title>\n<style>\n{css}</style>\n</head>\n<body class=\"{class}\">\n\
         <a class=\"skip\" href=\"#{target}\">Skip to the {name}</a>\n",
        markup(title),
    );
}

/// Opens the header with a title and, if there is one, a sentence under it.
pub(crate) fn open_header(html: &mut String, title: &str, subtitle: &str) {
    let _ = writeln!(html, "<header class=\"top\">\n<h1>{}</h1>", breakable(title));
    if !subtitle.is_empty() {
        let _ = writeln!(html, "<p class=\"subtitle\">{}</p>", markup(subtitle));
    }
}

/// Named values.
pub(crate) fn facts(html: &mut String, facts: &[(String, String)]) {
    html.push_str("<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", markup(name), breakable(value));
    }
    html.push_str("</dl>\n");
}

/// Named numbers.
pub(crate) fn counts(html: &mut String, counts: impl IntoIterator<Item = (String, usize)>) {
    html.push_str("<dl class=\"facts counts\">\n");
    for (name, count) in counts {
        let _ = writeln!(html, "<div><dt>{}</dt><dd>{count}</dd></div>", markup(&name));
    }
    html.push_str("</dl>\n");
}
