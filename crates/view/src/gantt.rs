//! A Gantt chart as one stand-alone SVG drawing: a lane per row, time from left to right.

use serde::Serialize;

use crate::escape::plain;
use crate::svg::{Drawing, Rect};
use crate::table::cut;

const WIDTH: usize = 1200;
const MARGIN: usize = 20;
/// Where the time axis begins and ends, and how many characters of a label fit before it.
const LEFT: usize = 260;
const RIGHT: usize = WIDTH - MARGIN;
const LABEL_CHARACTERS: usize = 32;
/// The most that a character of the axis takes.
const CHARACTER: usize = 8;
/// Height of the title with its axis, of a lane, and of its bar.
const TOP: usize = 66;
const LANE: usize = 20;
const BAR: usize = 12;
/// The least width of a bar: what is shorter than a pixel happened all the same.
const THINNEST: usize = 2;
/// About how many ticks the axis has.
const TICKS: f64 = 8.0;

/// NB: every class begins with `g-`, because a page that holds the drawing shares its styles with it.
const STYLE: &str = "\
.g-ground { fill: #f6f7f9; rx: 0 }
.g-odd { fill: #eceff3; rx: 0 }
.g-group { fill: #1a222d; font: 700 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace }
.g-title { fill: #1a222d; font: 700 20px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace }
.g-label { fill: #1a222d; font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace }
.g-muted { fill: #525e6d; font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace }
.g-tick { stroke: #d5dbe4; stroke-width: 1 }
.g-mark { stroke: #a3262a; stroke-width: 1; stroke-dasharray: 4 3 }
.g-applying { fill: #2a6fbb }
.g-waiting { fill: #d08a24 }
.g-done { fill: #4d8a57 }
.g-failed { fill: #b4353a }
@media (prefers-color-scheme: dark) {
.g-ground { fill: #12161c }
.g-odd { fill: #1b212a }
.g-group, .g-title, .g-label { fill: #e3e8ee }
.g-muted { fill: #a3aebb }
.g-tick { stroke: #343e4b }
.g-mark { stroke: #ef8a8d }
.g-applying { fill: #6ea8ea }
.g-waiting { fill: #e0a34a }
.g-done { fill: #79b583 }
.g-failed { fill: #e6767a }
}
";

/// Who did what when.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gantt {
    /// What is shown.
    pub title: String,
    /// How long all of it took, in seconds.
    pub seconds: f64,
    /// From top to bottom.
    pub lanes: Vec<GanttLane>,
    /// Moments that concern every lane, such as the end of a run level.
    pub marks: Vec<Mark>,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GanttLane {
    /// What stands left of it: a level, a component, an operator.
    pub label: String,
    /// Under which heading it stands; neighbours of one heading share it.
    pub group: Option<String>,
    /// In any order; later ones lie above earlier ones.
    pub bars: Vec<Bar>,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Its beginning, in seconds.
    pub from: f64,
    /// Its end, in seconds.
    pub until: f64,
    /// What happened in it.
    pub kind: BarKind,
    /// What the reader sees who points at it.
    pub text: String,
}

/// What happens in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BarKind {
    /// Requests are under way.
    Applying,
    /// Something else must happen first.
    Waiting,
    /// All is as it should be.
    Done,
    /// Something failed.
    Failed,
}

/// A moment that concerns every lane.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Mark {
    /// When, in seconds.
    pub at: f64,
    /// What the reader sees who points at it.
    pub text: String,
}

/// The chart as a stand-alone SVG file that follows the reader's light or dark scheme.
pub fn gantt_svg(gantt: &Gantt) -> String {
    let rows = rows(gantt);
    let bottom = TOP + LANE * rows.len();
    let height = bottom + MARGIN;
    let mut shapes = Drawing::new(&gantt.title, STYLE);
    shapes.rect("g-ground", Rect { x: 0, y: 0, width: WIDTH, height });
    // The title is 20 px high, so fewer characters fit.
    shapes.text("g-title", (MARGIN, 32), &shown(&gantt.title, 60));
    legend(&mut shapes);
    for (place, row) in rows.iter().enumerate() {
        if place % 2 == 1 {
            let y = TOP + LANE * place;
            shapes.rect("g-odd", Rect { x: MARGIN, y, width: WIDTH - 2 * MARGIN, height: LANE });
        }
        if let Row::Heading(text) = row {
            shapes.text("g-group", (MARGIN, TOP + LANE * place + 14), &shown(text, LABEL_CHARACTERS));
        }
    }
    axis(&mut shapes, gantt.seconds, bottom);
    for mark in &gantt.marks {
        let x = x(mark.at, gantt.seconds);
        shapes.begin_group(&plain(&mark.text));
        shapes.line("g-mark", (x, TOP), (x, bottom));
        shapes.end_group();
    }
    for (place, row) in rows.iter().enumerate() {
        if let Row::Lane(lane) = row {
            draw_lane(&mut shapes, lane, gantt.seconds, TOP + LANE * place);
        }
    }
    shapes.finish(WIDTH, height)
}

/// What stands in one line of the chart.
enum Row<'a> {
    Heading(&'a str),
    Lane(&'a GanttLane),
}

fn rows(gantt: &Gantt) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for neighbours in gantt.lanes.chunk_by(|a, b| a.group == b.group) {
        let group = neighbours.first().and_then(|lane| lane.group.as_deref());
        rows.extend(group.map(Row::Heading));
        rows.extend(neighbours.iter().map(Row::Lane));
    }
    rows
}

fn legend(shapes: &mut Drawing) {
    let kinds =
        [("g-applying", "applying"), ("g-waiting", "waiting"), ("g-done", "done"), ("g-failed", "failed")];
    for (place, (class, word)) in kinds.into_iter().enumerate() {
        let left = RIGHT - 100 * (kinds.len() - place);
        shapes.rect(class, Rect { x: left, y: 22, width: BAR, height: BAR });
        shapes.text("g-muted", (left + 18, 32), word);
    }
}

fn axis(shapes: &mut Drawing, seconds: f64, bottom: usize) {
    let step = tick(seconds);
    let mut at = 0.0;
    while at <= seconds {
        let x = x(at, seconds);
        shapes.line("g-tick", (x, TOP - 6), (x, bottom));
        // A tick at the very end has no room behind it.
        let text = moment(at);
        let last = WIDTH - text.len() * CHARACTER;
        shapes.text("g-muted", ((x + 3).min(last), TOP - 8), &text);
        at += step;
    }
}

fn draw_lane(shapes: &mut Drawing, lane: &GanttLane, seconds: f64, y: usize) {
    let indent = if lane.group.is_some() { 12 } else { 0 };
    shapes.begin_group(&plain(&lane.label));
    shapes.text("g-label", (MARGIN + indent, y + 14), &shown(&lane.label, LABEL_CHARACTERS - indent / 6));
    shapes.end_group();
    for bar in &lane.bars {
        let class = match bar.kind {
            BarKind::Applying => "g-applying",
            BarKind::Waiting => "g-waiting",
            BarKind::Done => "g-done",
            BarKind::Failed => "g-failed",
        };
        let (from, until) = (x(bar.from, seconds), x(bar.until, seconds));
        let width = until.saturating_sub(from).max(THINNEST);
        let at = Rect { x: from, y: y + (LANE - BAR) / 2, width, height: BAR };
        shapes.begin_group(&plain(&bar.text));
        shapes.rect(class, at);
        shapes.end_group();
    }
}

/// Seconds between two ticks: a round number of seconds, minutes or hours.
fn tick(seconds: f64) -> f64 {
    const ROUND: [f64; 15] =
        [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0];
    let wanted = seconds / TICKS;
    // Longer than two days: as it comes.
    ROUND.into_iter().find(|step| *step >= wanted).unwrap_or(wanted)
}

/// A moment at the axis: `0.5`, `00:30`, `1:02:00`.
fn moment(at: f64) -> String {
    if at.fract() > 0.001 {
        return format!("{at:.1}");
    }
    let whole = pixels(at);
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours == 0 { format!("{minutes:02}:{rest:02}") } else { format!("{hours}:{minutes:02}:{rest:02}") }
}

/// The place of a moment on the axis; what lies outside is drawn at its end.
fn x(at: f64, seconds: f64) -> usize {
    let part = if seconds > 0.0 { (at / seconds).clamp(0.0, 1.0) } else { 0.0 };
    let length = u32::try_from(RIGHT - LEFT).map_or(0.0, f64::from);
    LEFT + pixels(part * length)
}

/// A number in whole pixels.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast that ends at both ends of the range"
)]
fn pixels(number: f64) -> usize {
    number.round() as usize
}

fn shown(text: &str, characters: usize) -> String {
    cut(&plain(text), characters)
}

/// Charts that tests share.
#[cfg(test)]
pub(crate) mod examples {
    use super::*;

    /// Two operators in two levels.
    pub(crate) fn a_small_chart() -> Gantt {
        let bar = |from, until, kind, text: &str| Bar { from, until, kind, text: text.into() };
        let lane = |label: &str, group: &str, bars| GanttLane {
            label: label.into(),
            group: Some(group.into()),
            bars,
        };
        Gantt {
            title: "Update to 4.20.0".into(),
            seconds: 250.0,
            lanes: vec![
                lane(
                    "network",
                    "level 07",
                    vec![
                        bar(0.1, 0.4, BarKind::Applying, "3 manifests"),
                        bar(0.4, 110.5, BarKind::Waiting, "network reports 4.19.0"),
                    ],
                ),
                lane(
                    "dns",
                    "level 10",
                    vec![
                        bar(110.6, 130.0, BarKind::Failed, "429"),
                        bar(130.0, 250.0, BarKind::Done, "all is well"),
                    ],
                ),
            ],
            marks: vec![Mark { at: 110.5, text: "level 07 is done".into() }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::examples::a_small_chart;
    use super::*;

    #[test]
    fn bars_marks_and_lanes_stand_at_their_places() {
        insta::with_settings!({filters => vec![("(?s)<style>.*</style>", "<style/>")]}, {
            insta::assert_snapshot!(gantt_svg(&a_small_chart()), @r#"
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 166" width="1200" height="166" role="img">
            <title>Update to 4.20.0</title>
            <style/>
            <rect class="g-ground" x="0" y="0" width="1200" height="166" rx="4"/>
            <text class="g-title" x="20" y="32">Update to 4.20.0</text>
            <rect class="g-applying" x="780" y="22" width="12" height="12" rx="4"/>
            <text class="g-muted" x="798" y="32">applying</text>
            <rect class="g-waiting" x="880" y="22" width="12" height="12" rx="4"/>
            <text class="g-muted" x="898" y="32">waiting</text>
            <rect class="g-done" x="980" y="22" width="12" height="12" rx="4"/>
            <text class="g-muted" x="998" y="32">done</text>
            <rect class="g-failed" x="1080" y="22" width="12" height="12" rx="4"/>
            <text class="g-muted" x="1098" y="32">failed</text>
            <text class="g-group" x="20" y="80">level 07</text>
            <rect class="g-odd" x="20" y="86" width="1160" height="20" rx="4"/>
            <text class="g-group" x="20" y="120">level 10</text>
            <rect class="g-odd" x="20" y="126" width="1160" height="20" rx="4"/>
            <line class="g-tick" x1="260" y1="60" x2="260" y2="146"/>
            <text class="g-muted" x="263" y="58">00:00</text>
            <line class="g-tick" x1="481" y1="60" x2="481" y2="146"/>
            <text class="g-muted" x="484" y="58">01:00</text>
            <line class="g-tick" x1="702" y1="60" x2="702" y2="146"/>
            <text class="g-muted" x="705" y="58">02:00</text>
            <line class="g-tick" x1="922" y1="60" x2="922" y2="146"/>
            <text class="g-muted" x="925" y="58">03:00</text>
            <line class="g-tick" x1="1143" y1="60" x2="1143" y2="146"/>
            <text class="g-muted" x="1146" y="58">04:00</text>
            <g><title>level 07 is done</title>
            <line class="g-mark" x1="667" y1="66" x2="667" y2="146"/>
            </g>
            <g><title>network</title>
            <text class="g-label" x="32" y="100">network</text>
            </g>
            <g><title>3 manifests</title>
            <rect class="g-applying" x="260" y="90" width="2" height="12" rx="4"/>
            </g>
            <g><title>network reports 4.19.0</title>
            <rect class="g-waiting" x="261" y="90" width="406" height="12" rx="4"/>
            </g>
            <g><title>dns</title>
            <text class="g-label" x="32" y="140">dns</text>
            </g>
            <g><title>429</title>
            <rect class="g-failed" x="667" y="130" width="71" height="12" rx="4"/>
            </g>
            <g><title>all is well</title>
            <rect class="g-done" x="738" y="130" width="442" height="12" rx="4"/>
            </g>
            </svg>
            "#);
        });
    }

    #[test]
    fn hostile_names_stay_text() {
        let mut chart = a_small_chart();
        chart.title = "</title><script>".into();
        chart.lanes[0].label = "<script>".into();
        chart.lanes[0].group = Some("<script>".into());
        chart.lanes[0].bars[0].text = "<script>".into();
        chart.marks[0].text = "<script>".into();
        assert!(!gantt_svg(&chart).contains("<script>"));
    }

    #[test]
    fn impossible_times_stay_inside_the_drawing() {
        let mut chart = a_small_chart();
        let bar = |from, until| Bar { from, until, kind: BarKind::Waiting, text: String::new() };
        chart.lanes[0].bars = vec![bar(-5.0, 9e9), bar(100.0, 50.0), bar(f64::NAN, f64::INFINITY)];
        for (seconds, most) in [(250.0, 920), (0.0, 2)] {
            chart.seconds = seconds;
            let svg = gantt_svg(&chart);
            assert!(svg.contains(&format!(r#"width="{most}" height="12""#)), "{svg}");
            assert!(!svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn the_text_of_a_tick_at_the_end_stays_inside() {
        let svg = gantt_svg(&Gantt { seconds: 840.0, ..a_small_chart() });
        assert!(svg.contains(r#"x="1160" y="58">14:00<"#), "{svg}");
    }

    #[test]
    fn an_axis_has_few_round_ticks() {
        for (seconds, step) in [(0.6, 0.1), (42.0, 10.0), (250.0, 60.0), (3000.0, 600.0), (86400.0, 21600.0)]
        {
            assert!((tick(seconds) - step).abs() < 1e-9, "{seconds}: {}", tick(seconds));
        }
        assert_eq!([moment(0.5), moment(90.0), moment(3720.0)], ["0.5", "01:30", "1:02:00"]);
    }
}
