//! Columns as `kubectl get` and `oc get` print them.

use std::fmt::{Display, Formatter, Result};

use crate::escape::plain;

/// Blanks between two columns.
const GAP: usize = 3;

/// A table: upper-case header, left-aligned columns three blanks apart, nothing behind the last column.
///
/// ```
/// use lockstep_view::table::Table;
/// let mut table = Table::new(["name", "kind"]);
/// table.row(["version", "ClusterVersion"]);
/// table.row(["dns", "ClusterOperator"]);
/// assert_eq!(table.to_string(), "NAME      KIND\nversion   ClusterVersion\ndns       ClusterOperator\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    lines: Vec<Vec<String>>,
    max_width: Option<usize>,
}

// === impl Table ===

impl Table {
    /// An empty table with these columns; the header is written in upper case.
    pub fn new<S: AsRef<str>>(header: impl IntoIterator<Item = S>) -> Self {
        let header = header.into_iter().map(|cell| plain(cell.as_ref()).to_uppercase()).collect();
        Self { lines: vec![header], max_width: None }
    }

    /// An empty table that prints no header.
    pub fn without_header() -> Self {
        Self::default()
    }

    /// Cuts lines longer than this many characters; a cut line ends in `…`.
    #[must_use]
    pub fn max_width(mut self, characters: usize) -> Self {
        self.max_width = Some(characters);
        self
    }

    /// Adds one row; missing cells at its end are empty.
    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.lines.push(cells.into_iter().map(|cell| plain(cell.as_ref())).collect());
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column: usize| self.lines.iter().filter_map(move |line| line.get(column));
        (0..columns).map(|column| cells(column).map(|cell| width(cell)).max().unwrap_or(0)).collect()
    }
}

impl Display for Table {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let widths = self.widths();
        for cells in &self.lines {
            let padded =
                cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<w$}", w = width + GAP));
            let line: String = padded.collect();
            let line = line.trim_end();
            match self.max_width {
                Some(max) => writeln!(out, "{}", cut(line, max))?,
                None => writeln!(out, "{line}")?,
            }
        }
        Ok(())
    }
}

/// The width of a text: its number of characters.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text in at most `max` characters; a shortened one ends in `…`.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(max.saturating_sub(1)).collect();
    if max > 0 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_in_characters() {
        let mut table = Table::new(["name", "version", "since"]);
        table.row(["größe", "4.20.0", "5m"]);
        table.row(["a", "", "1h"]);
        table.row(["alone"]);
        assert_eq!(
            table.to_string(),
            "NAME    VERSION   SINCE\ngröße   4.20.0    5m\na                 1h\nalone\n"
        );
    }

    #[test]
    fn a_maximum_width_cuts_the_line_and_says_so() {
        let mut table = Table::new(["name", "message"]).max_width(14);
        table.row(["dns", "waiting for pods"]);
        table.row(["net", "fine"]);
        assert_eq!(table.to_string(), "NAME   MESSAGE\ndns    waitin…\nnet    fine\n");
    }

    #[test]
    fn a_line_end_in_a_cell_does_not_start_a_row() {
        let mut table = Table::without_header();
        table.row(["a\nb", "c"]);
        assert_eq!(table.to_string(), "a\u{fffd}b   c\n");
    }
}
