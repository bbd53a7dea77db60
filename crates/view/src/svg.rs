//! A small writer of stand-alone SVG drawings: boxes, lines, text, tooltips.
//!
//! Colours come from style classes, so that one drawing fits light and dark.

use std::fmt::Write;

use crate::escape::markup;

/// A drawing that grows by the shapes that are added; later shapes lie above earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    body: String,
    title: String,
    style: &'static str,
}

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rect {
    /// The left edge.
    pub x: usize,
    /// The upper edge.
    pub y: usize,
    /// The extent to the right.
    pub width: usize,
    /// The extent downwards.
    pub height: usize,
}

// === impl Drawing ===

impl Drawing {
    /// An empty drawing; the title is read to those who cannot see it, the style holds the CSS of all classes.
    pub fn new(title: &str, style: &'static str) -> Self {
        Self { body: String::new(), title: title.to_owned(), style }
    }

    /// Adds a rectangle with rounded corners.
    pub fn rect(&mut self, class: &str, at: Rect) {
        let Rect { x, y, width, height } = at;
        let class = markup(class);
        self.add(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>"#
        ));
    }

    /// Adds a straight line from one point to another.
    pub fn line(&mut self, class: &str, (x1, y1): (usize, usize), (x2, y2): (usize, usize)) {
        let class = markup(class);
        self.add(format_args!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    /// Adds one line of text; the point is the left end of its base line.
    pub fn text(&mut self, class: &str, (x, y): (usize, usize), text: &str) {
        let (class, text) = (markup(class), markup(text));
        self.add(format_args!(r#"<text class="{class}" x="{x}" y="{y}">{text}</text>"#));
    }

    /// Starts a group with a tooltip; everything up to [`Drawing::end_group`] belongs to it.
    pub fn begin_group(&mut self, tooltip: &str) {
        self.add(format_args!("<g><title>{}</title>", markup(tooltip)));
    }

    /// Ends the group that was started last.
    pub fn end_group(&mut self) {
        self.add(format_args!("</g>"));
    }

    /// The SVG file of the given size.
    pub fn finish(&self, width: usize, height: usize) -> String {
        let (title, style, body) = (markup(&self.title), self.style, &self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<title>{title}</title>\n<style>\n{style}</style>\n{body}</svg>\n"
        )
    }

    fn add(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "{shape}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_classes_and_tooltips_are_escaped() {
        let mut drawing = Drawing::new("<t>", ".a { fill: red }\n");
        drawing.begin_group("</title><script>");
        drawing.text("\"><script>", (1, 2), "<script>alert(1)</script>\u{0}");
        drawing.end_group();
        let svg = drawing.finish(10, 20);
        assert!(!svg.contains("<script>"), "{svg}");
        assert!(svg.contains("<title>&lt;t&gt;</title>") && svg.contains("&lt;script&gt;alert(1)"), "{svg}");
        assert!(!svg.contains('\u{0}'), "control characters are illegal in XML");
    }

    #[test]
    fn shapes_lie_in_the_order_in_which_they_were_added() {
        let mut drawing = Drawing::new("t", "");
        drawing.rect("a", Rect { x: 1, y: 2, width: 3, height: 4 });
        drawing.line("b", (0, 0), (5, 6));
        let svg = drawing.finish(10, 20);
        let rect = svg.find(r#"<rect class="a" x="1" y="2" width="3" height="4" rx="4"/>"#).unwrap();
        let line = svg.find(r#"<line class="b" x1="0" y1="0" x2="5" y2="6"/>"#).unwrap();
        assert!(rect < line && svg.contains(r#"viewBox="0 0 10 20""#));
    }
}
