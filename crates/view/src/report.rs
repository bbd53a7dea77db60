//! The report of a run as one self-contained HTML page: no other file is loaded, and there is no script.

use std::fmt::Write;

use serde::Serialize;

use crate::escape::{breakable, markup};
use crate::gantt::{Gantt, gantt_svg};
use crate::shell::{Shell, begin, facts, open_header};

/// The look of all pages, then what only this one has.
const CSS: &str = concat!(include_str!("base.css"), include_str!("report.css"));

/// What the page shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// What was run, such as `Rehearsal of 4.20.0`.
    pub title: String,
    /// One sentence under the title.
    pub subtitle: String,
    /// How it ended, in a sentence.
    pub verdict: String,
    /// Whether that is how it should end.
    pub is_good: bool,
    /// Named values for the summary, in this order.
    pub facts: Vec<(String, String)>,
    /// Tables that stand before the drawings: what is missing, times per level and operator, the critical path.
    pub tables: Vec<ReportTable>,
    /// Who did what when.
    pub gantt: Option<Gantt>,
    /// A stand-alone SVG file of the graph, as [`flow_svg`](crate::flow::flow_svg) makes it. It is shown as an image,
    /// so that nothing in it can run.
    pub graph_svg: Option<String>,
    /// What was waited for, and why.
    pub waits: Option<ReportTable>,
    /// Sentences for the reader, shown at the end.
    pub notes: Vec<String>,
}

/// A table with a heading.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportTable {
    /// Its heading.
    pub title: String,
    /// A sentence about what it says; may be empty.
    pub about: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows; missing cells at the end are empty.
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Column {
    /// What stands above it.
    pub name: String,
    /// Whether it holds numbers or durations, which stand at the right.
    pub is_number: bool,
}

// === impl Column ===

impl Column {
    /// A column of texts.
    pub fn text(name: &str) -> Self {
        Self { name: name.to_owned(), is_number: false }
    }

    /// A column of numbers or durations.
    pub fn number(name: &str) -> Self {
        Self { name: name.to_owned(), is_number: true }
    }
}

/// The report as an HTML page with inline style, for light, dark and paper.
pub fn report_html(report: &Report) -> String {
    let mut html = String::new();
    // Writing to a String cannot fail, so the results of `write!` are not looked at in this file.
    let skip = ("content", "content");
    begin(
        &mut html,
        &Shell { title: &report.title, css: CSS, policy: "img-src data:", class: "report", skip },
    );
    header(&mut html, report);
    html.push_str("<main id=\"content\">\n");
    let before = report.tables.iter().filter(|table| !table.rows.is_empty());
    for (place, table) in before.enumerate() {
        write_table(&mut html, &format!("t{place}"), table);
    }
    if let Some(gantt) = &report.gantt {
        section(&mut html, "time", "Time");
        let _ = writeln!(html, "<div class=\"scroll drawing\">\n{}</div>\n</section>", gantt_svg(gantt));
    }
    if let Some(waits) = report.waits.as_ref().filter(|waits| !waits.rows.is_empty()) {
        write_table(&mut html, "waits", waits);
    }
    if let Some(svg) = &report.graph_svg {
        section(&mut html, "graph", "Order");
        let _ = writeln!(
            html,
            "<div class=\"scroll drawing\"><img alt=\"The order of the release\" src=\"{}\"></div>\n</section>",
            data_address(svg)
        );
    }
    notes(&mut html, report);
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

fn header(html: &mut String, report: &Report) {
    open_header(html, &report.title, &report.subtitle);
    if !report.verdict.is_empty() {
        let class = if report.is_good { "verdict" } else { "verdict bad" };
        let _ = writeln!(html, "<p class=\"{class}\">{}</p>", breakable(&report.verdict));
    }
    facts(html, &report.facts);
    html.push_str("<nav aria-label=\"Sections\">\n");
    let tables = report.tables.iter().filter(|table| !table.rows.is_empty());
    for (place, table) in tables.enumerate() {
        let _ = writeln!(html, "<a href=\"#t{place}\">{}</a>", markup(&table.title));
    }
    let waits = report.waits.as_ref().filter(|waits| !waits.rows.is_empty());
    let waits = waits.map(|waits| ("waits", waits.title.as_str()));
    let time = report.gantt.as_ref().map(|_| ("time", "Time"));
    let graph = report.graph_svg.as_ref().map(|_| ("graph", "Order"));
    for (id, name) in [time, waits, graph].into_iter().flatten() {
        let _ = writeln!(html, "<a href=\"#{id}\">{}</a>", markup(name));
    }
    html.push_str("</nav>\n</header>\n");
}

fn section(html: &mut String, id: &str, title: &str) {
    let _ = writeln!(
        html,
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{}</h2>",
        markup(title)
    );
}

fn write_table(html: &mut String, id: &str, table: &ReportTable) {
    section(html, id, &table.title);
    if !table.about.is_empty() {
        let _ = writeln!(html, "<p class=\"about\">{}</p>", markup(&table.about));
    }
    html.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    let class = |column: &Column| if column.is_number { " class=\"number\"" } else { "" };
    for column in &table.columns {
        let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(column), markup(&column.name));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for (place, column) in table.columns.iter().enumerate() {
            let cell = row.get(place).map_or("", String::as_str);
            let _ = write!(html, "<td{}>{}</td>", class(column), breakable(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table></div>\n</section>\n");
}

fn notes(html: &mut String, report: &Report) {
    if report.notes.is_empty() {
        return;
    }
    section(html, "notes", "Notes");
    html.push_str("<ul>\n");
    for note in &report.notes {
        let _ = writeln!(html, "<li>{}</li>", markup(note));
    }
    html.push_str("</ul>\n</section>\n");
}

/// An SVG file as the address of an image, with everything escaped that could end it.
fn data_address(svg: &str) -> String {
    let mut address = String::from("data:image/svg+xml;charset=utf-8,");
    for byte in svg.bytes() {
        match byte {
            plain if plain.is_ascii_alphanumeric() || b"-_.~/:=,;".contains(&plain) => {
                address.push(char::from(plain));
            }
            other => {
                let _ = write!(address, "%{other:02X}");
            }
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::examples::a_small_flow;
    use crate::flow::flow_svg;
    use crate::gantt::examples::a_small_chart;

    fn a_report() -> Report {
        let level = |name: &str, time: &str| vec![name.to_owned(), time.to_owned()];
        Report {
            title: "Rehearsal of 4.20.0".into(),
            subtitle: "Default scenario, seed 7, virtual time.".into(),
            verdict: "It converges after 4m10s.".into(),
            is_good: true,
            facts: vec![("Version".into(), "4.20.0".into()), ("Writes".into(), "951".into())],
            tables: vec![
                ReportTable {
                    title: "Time per level".into(),
                    about: "From the first start to the last end.".into(),
                    columns: vec![Column::text("Level"), Column::number("Time")],
                    rows: vec![level("07", "1m50s"), level("10", "2m19s")],
                },
                ReportTable { title: "Fights".into(), ..ReportTable::default() },
            ],
            gantt: Some(a_small_chart()),
            graph_svg: Some(flow_svg(&a_small_flow())),
            waits: Some(ReportTable {
                title: "Waits".into(),
                about: String::new(),
                columns: vec![Column::text("Reason"), Column::number("Longest")],
                rows: vec![level("operator updating", "2m19s")],
            }),
            notes: vec!["Operators are scripted.".into()],
        }
    }

    #[test]
    fn the_page_holds_every_part() {
        let styles = ("(?s)<style>.*?</style>", "<style/>");
        let drawings = ("(?s)<svg .*</svg>", "<svg/>");
        let images = ("data:image[^\"]*", "data:image/…");
        insta::with_settings!({filters => vec![styles, drawings, images]}, {
            insta::assert_snapshot!(report_html(&a_report()), @r##"
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
            <title>Rehearsal of 4.20.0</title>
            <style/>
            </head>
            <body class="report">
            <a class="skip" href="#content">Skip to the content</a>
            <header class="top">
            <h1>Rehearsal of 4.<wbr>20.<wbr>0</h1>
            <p class="subtitle">Default scenario, seed 7, virtual time.</p>
            <p class="verdict">It converges after 4m10s.<wbr></p>
            <dl class="facts">
            <div><dt>Version</dt><dd>4.<wbr>20.<wbr>0</dd></div>
            <div><dt>Writes</dt><dd>951</dd></div>
            </dl>
            <nav aria-label="Sections">
            <a href="#t0">Time per level</a>
            <a href="#time">Time</a>
            <a href="#waits">Waits</a>
            <a href="#graph">Order</a>
            </nav>
            </header>
            <main id="content">
            <section id="t0" aria-labelledby="t0-h">
            <h2 id="t0-h">Time per level</h2>
            <p class="about">From the first start to the last end.</p>
            <div class="scroll"><table>
            <thead><tr><th scope="col">Level</th><th scope="col" class="number">Time</th></tr></thead>
            <tbody>
            <tr><td>07</td><td class="number">1m50s</td></tr>
            <tr><td>10</td><td class="number">2m19s</td></tr>
            </tbody>
            </table></div>
            </section>
            <section id="time" aria-labelledby="time-h">
            <h2 id="time-h">Time</h2>
            <div class="scroll drawing">
            <svg/>
            </div>
            </section>
            <section id="waits" aria-labelledby="waits-h">
            <h2 id="waits-h">Waits</h2>
            <div class="scroll"><table>
            <thead><tr><th scope="col">Reason</th><th scope="col" class="number">Longest</th></tr></thead>
            <tbody>
            <tr><td>operator updating</td><td class="number">2m19s</td></tr>
            </tbody>
            </table></div>
            </section>
            <section id="graph" aria-labelledby="graph-h">
            <h2 id="graph-h">Order</h2>
            <div class="scroll drawing"><img alt="The order of the release" src="data:image/…"></div>
            </section>
            <section id="notes" aria-labelledby="notes-h">
            <h2 id="notes-h">Notes</h2>
            <ul>
            <li>Operators are scripted.</li>
            </ul>
            </section>
            </main>
            </body>
            </html>
            "##);
        });
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_nothing_runs() {
        let page = report_html(&a_report());
        for part in ["<script", "src=\"http", "href=\"http", "url(", "@import", "<link"] {
            assert!(!page.contains(part), "{part}");
        }
        assert!(page.contains("default-src 'none'"));
        // Each of the two drawings names the SVG format; these are the only addresses.
        let addresses = page.matches("http://").count() + page.matches("https://").count();
        assert_eq!(addresses, 2);
    }

    #[test]
    fn hostile_texts_stay_text() {
        let evil = || "\"><script>alert(1)</script>".to_owned();
        let mut report = a_report();
        report.title = evil();
        report.subtitle = evil();
        report.verdict = evil();
        report.facts = vec![(evil(), evil())];
        report.tables[0].title = evil();
        report.tables[0].about = evil();
        report.tables[0].columns[0].name = evil();
        report.tables[0].rows[0][0] = evil();
        report.notes = vec![evil()];
        report.graph_svg = Some(evil());
        let page = report_html(&report);
        assert!(!page.contains("<script") && !page.contains("\"><script"), "{page}");
    }

    #[test]
    fn a_table_without_rows_is_left_out() {
        assert!(!report_html(&a_report()).contains("Fights"));
    }
}
