//! A flow as one stand-alone SVG drawing: the rail of stages on the left, the components of each beside it.

use super::{Flow, Lane, Stage, counted};
use crate::escape::plain;
use crate::svg::{Drawing, Rect};
use crate::table::{cut, width};

/// Width of the drawing in pixels; the height follows from the flow.
const WIDTH: usize = 1200;
const MARGIN: usize = 20;
/// Where the text of the rail begins and how many characters fit beside it.
const RAIL_TEXT: usize = 44;
const RAIL_CHARACTERS: usize = 25;
/// Boxes of components: where the first begins, how wide each is, how many stand in a row.
const BOXES: usize = 238;
const BOX: usize = 304;
const GAP: usize = 15;
const IN_A_ROW: usize = 3;
/// A line of text, and the space between a box and its text.
const LINE: usize = 17;
const PADDING: usize = 10;
/// Monospaced characters of 12 px are 7.2 px wide in every common font (0.6 em), so 39 fit into a box.
const BOX_CHARACTERS: usize = 39;
/// What fits into the whole width beside the rail and across the page.
const BAR_CHARACTERS: usize = 125;
const PAGE_CHARACTERS: usize = 155;

const STYLE: &str = "\
.ground { fill: #f6f7f9; rx: 0 }
.box { fill: #ffffff; stroke: #d5dbe4 }
.gated { fill: #ffffff; stroke: #b0701a; stroke-width: 2 }
.bar { fill: #37424f }
.dot { fill: #5b6777 }
.rail { stroke: #b4bdc9; stroke-width: 2 }
text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1a222d }
.title { font-size: 20px; font-weight: 700 }
.label { font-weight: 700 }
.muted { fill: #525e6d }
.gate { fill: #7d4300 }
.onbar { fill: #ffffff; font-weight: 700 }
@media (prefers-color-scheme: dark) {
.ground { fill: #12161c }
.box { fill: #1b212a; stroke: #343e4b }
.gated { fill: #1b212a; stroke: #d99a41 }
.bar { fill: #c8d0da }
.dot { fill: #9aa6b4 }
.rail { stroke: #47525f }
text { fill: #e3e8ee }
.muted { fill: #a3aebb }
.gate { fill: #f0bd72 }
.onbar { fill: #12161c }
}
";

/// The flow as a stand-alone SVG file that follows the reader's light or dark scheme.
pub fn flow_svg(flow: &Flow) -> String {
    let mut shapes = Drawing::new(&flow.title, STYLE);
    let height =
        header_height(flow) + flow.stages.iter().map(stage_height).sum::<usize>() + notes_height(flow);
    shapes.rect("ground", Rect { x: 0, y: 0, width: WIDTH, height });
    header(&mut shapes, flow);
    let mut y = header_height(flow);
    for (i, stage) in flow.stages.iter().enumerate() {
        let is_last = i + 1 == flow.stages.len();
        draw_stage(&mut shapes, stage, y, is_last);
        y += stage_height(stage);
    }
    for (i, note) in flow.notes.iter().enumerate() {
        shapes.text("muted", (MARGIN, y + LINE * (i + 1)), &shown(&format!("Note: {note}"), PAGE_CHARACTERS));
    }
    shapes.finish(WIDTH, height)
}

fn header_height(flow: &Flow) -> usize {
    MARGIN + 26 + LINE * (2 + flow.facts.len()) + MARGIN
}

fn notes_height(flow: &Flow) -> usize {
    if flow.notes.is_empty() { MARGIN } else { LINE * flow.notes.len() + MARGIN }
}

fn header(shapes: &mut Drawing, flow: &Flow) {
    let mut y = MARGIN + 16;
    // The title is 20 px high, so fewer characters fit.
    shapes.text("title", (MARGIN, y), &shown(&flow.title, 90));
    y += 26;
    shapes.text("muted", (MARGIN, y), &shown(&flow.subtitle, PAGE_CHARACTERS));
    y += LINE;
    shapes.text("muted", (MARGIN, y), &flow.size());
    for (name, value) in &flow.facts {
        y += LINE;
        shapes.text("", (MARGIN, y), &shown(&format!("{name}: {value}"), PAGE_CHARACTERS));
    }
}

fn draw_stage(shapes: &mut Drawing, stage: &Stage, top: usize, is_last: bool) {
    if !is_last {
        shapes.line("rail", (MARGIN + 6, top + 12), (MARGIN + 6, top + stage_height(stage) + 4));
    }
    shapes.rect("dot", Rect { x: MARGIN, y: top + 4, width: 12, height: 12 });
    for (i, (class, line)) in rail_lines(stage).iter().enumerate() {
        shapes.text(class, (RAIL_TEXT, top + 15 + LINE * i), line);
    }
    if stage.barrier {
        draw_barrier(shapes, stage, top);
        return;
    }
    let mut y = top;
    for row in stage.lanes.chunks(IN_A_ROW) {
        for (i, lane) in row.iter().enumerate() {
            let at = Rect { x: BOXES + i * (BOX + GAP), y, width: BOX, height: lane_height(lane) };
            draw_lane(shapes, lane, at, stage.mixes_run_levels());
        }
        y += row_height(row) + GAP;
    }
}

fn draw_barrier(shapes: &mut Drawing, stage: &Stage, top: usize) {
    let width = IN_A_ROW * BOX + (IN_A_ROW - 1) * GAP;
    shapes.rect("bar", Rect { x: BOXES, y: top, width, height: barrier_height(stage) });
    for (i, task) in stage.tasks().enumerate() {
        let text = format!("■ barrier: {} {} must complete first", task.kind, task.full_name());
        shapes.text("onbar", (BOXES + PADDING, top + PADDING + 12 + LINE * i), &shown(&text, BAR_CHARACTERS));
    }
}

fn draw_lane(shapes: &mut Drawing, lane: &Lane, at: Rect, say_levels: bool) {
    let gates = gate_lines(lane);
    shapes.begin_group(&lane.component);
    shapes.rect(if gates.is_empty() { "box" } else { "gated" }, at);
    let mut y = at.y + PADDING + 12;
    let mut write = |class: &str, text: &str| {
        shapes.text(class, (at.x + PADDING, y), &shown(text, BOX_CHARACTERS));
        y += LINE;
    };
    write("label", &lane.component);
    let levels =
        lane.levels().filter(|_| say_levels).map(|levels| format!(" · {levels}")).unwrap_or_default();
    write("muted", &format!("{}{levels}", counted(lane.tasks.len(), "manifest")));
    for gate in gates {
        write("gate", &gate);
    }
    shapes.end_group();
}

/// The gates of a lane, broken into lines: the end of the sentence names the object, so it must not be cut.
fn gate_lines(lane: &Lane) -> Vec<String> {
    let gates = lane.tasks.iter().filter_map(|task| task.gate.as_deref());
    gates.flat_map(|gate| wrapped(&format!("◆ {}", plain(gate)), BOX_CHARACTERS)).collect()
}

fn stage_height(stage: &Stage) -> usize {
    let rows: usize = stage.lanes.chunks(IN_A_ROW).map(|row| row_height(row) + GAP).sum();
    let boxes = if stage.barrier { barrier_height(stage) + GAP } else { rows };
    boxes.max(rail_lines(stage).len() * LINE + GAP) + GAP
}

fn barrier_height(stage: &Stage) -> usize {
    2 * PADDING + LINE * stage.tasks().count().max(1)
}

fn row_height(row: &[Lane]) -> usize {
    row.iter().map(lane_height).max().unwrap_or(0)
}

fn lane_height(lane: &Lane) -> usize {
    2 * PADDING + LINE * (2 + gate_lines(lane).len())
}

/// What stands beside the rail, each with its class.
fn rail_lines(stage: &Stage) -> Vec<(&'static str, String)> {
    let mut lines = vec![("label", shown(&stage.label, RAIL_CHARACTERS))];
    let owner = stage.owner.as_deref().unwrap_or_default();
    lines.extend(wrapped(&plain(owner), RAIL_CHARACTERS).into_iter().map(|line| ("muted", line)));
    lines.extend(wrapped(&stage.manner(), RAIL_CHARACTERS).into_iter().map(|line| ("muted", line)));
    lines
}

fn shown(text: &str, characters: usize) -> String {
    cut(&plain(text), characters)
}

/// Lines of at most `max` characters, broken at blanks; a longer word is cut.
fn wrapped(text: &str, max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= max => *line = format!("{line} {word}"),
            _ => lines.push(cut(word, max)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::examples::{a_small_flow, a_task};
    use super::*;

    #[test]
    fn every_component_gate_and_barrier_is_drawn() {
        let svg = flow_svg(&a_small_flow());
        for part in [
            "network operator",
            "2 components side by side",
            "◆ waits for ClusterOperator dns",
            "■ barrier: Job migrate",
        ] {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
        assert_eq!(svg.matches("class=\"gated\"").count(), 2);
        assert_eq!(svg.matches("class=\"box\"").count(), 1);
    }

    #[test]
    fn hostile_names_stay_text() {
        let mut flow = a_small_flow();
        flow.title = "</title><script>alert(1)</script>".into();
        flow.stages[0].lanes[0].component = "<script>".into();
        flow.stages[0].owner = Some("<img src=x>".into());
        let svg = flow_svg(&flow);
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
    }

    #[test]
    fn boxes_of_a_crowded_stage_neither_touch_nor_leave_the_drawing() {
        let lane = |gates: usize| Lane {
            component: "x".repeat(80),
            run_levels: vec!["50".into()],
            tasks: (0..gates)
                .map(|i| {
                    let mut task = a_task(i, "f", "ClusterOperator", "n");
                    task.gate = Some("waits ".repeat(20));
                    task
                })
                .collect(),
        };
        let stage = |lanes| Stage {
            label: "run level 50".into(),
            owner: Some("word ".repeat(30)),
            barrier: false,
            lanes,
        };
        let flow = Flow {
            stages: vec![stage((0..10).map(|i| lane(i % 4)).collect()), stage(vec![lane(0)])],
            ..Flow::default()
        };
        let svg = flow_svg(&flow);
        let boxes = boxes(&svg);
        assert_eq!(boxes.len(), 11);
        for (i, a) in boxes.iter().enumerate() {
            assert!(a.x + a.width <= WIDTH - MARGIN, "{a:?}");
            for b in &boxes[..i] {
                let apart_x = a.x + a.width <= b.x || b.x + b.width <= a.x;
                assert!(apart_x || a.y + a.height <= b.y || b.y + b.height <= a.y, "{a:?} {b:?}");
            }
        }
        let longest = svg.split("<text").skip(1).filter_map(|t| t.split(['>', '<']).nth(1)).map(width).max();
        assert!(longest.unwrap() <= PAGE_CHARACTERS);
    }

    fn boxes(svg: &str) -> Vec<Rect> {
        let number = |line: &str, name: &str| {
            let rest = line.split(&format!(" {name}=\"")).nth(1).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        svg.lines()
            .filter(|line| line.contains("class=\"box\"") || line.contains("class=\"gated\""))
            .map(|l| Rect {
                x: number(l, "x"),
                y: number(l, "y"),
                width: number(l, "width"),
                height: number(l, "height"),
            })
            .collect()
    }
}
