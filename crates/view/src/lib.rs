//! Tables, SVG drawings and HTML pages from plain data.
//!
//! Values in, text out: no clock, no files, no network, nothing of our other crates. The caller fills a model
//! ([`changes::Changes`], [`flow::Flow`], [`gantt::Gantt`], [`report::Report`], [`table::Table`]) and picks a form. Every string of a model counts as untrusted: names come out
//! of release files, and none of them may become markup, a terminal escape or a second line.

pub mod changes;
pub mod flow;
pub mod gantt;
pub mod report;
pub mod svg;
pub mod table;

mod escape;
mod shell;
