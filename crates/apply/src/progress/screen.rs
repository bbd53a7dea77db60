//! A run on a terminal, as plain text: bars, what is under way, what is waited for and why.

use std::fmt::Write as _;

use lockstep_api::text::visible;

use super::board::{Board, LevelProgress, State};
use super::time::{clock, left, span};
use super::{Eta, Outcome, Seconds};

/// Width of the bar of one level.
const SMALL_BAR: usize = 8;
/// Blanks between two levels in a row.
const GAP: usize = 3;
/// From this height on there are blank lines between the sections.
const ROOMY: usize = 20;

/// A titled list that may be cut.
struct Section {
    title: String,
    rows: Vec<String>,
    /// The row that must be seen, where the list is a window; else the list is cut at its end and says so.
    focus: Option<usize>,
    /// Who gets space first; 0 is the first.
    rank: usize,
}

/// The screen for a terminal of this size: at most `height` lines of at most `width` characters.
pub fn screen(board: &Board, eta: Option<Eta>, now: Seconds, width: usize, height: usize) -> Vec<String> {
    let mut lines = vec![title(board, now, width), overall(board, eta, now, width)];
    let sections = sections(board, now, width);
    let blank = usize::from(height >= ROOMY);
    let spaces = allot(&sections, height.saturating_sub(lines.len()), 1 + blank);
    for (section, space) in sections.into_iter().zip(spaces).filter(|(_, space)| *space > 0) {
        if blank == 1 {
            lines.push(String::new());
        }
        lines.push(section.title.clone());
        lines.extend(section.shown(space));
    }
    lines.truncate(height);
    lines.iter().map(|line| cut(&visible(line), width)).collect()
}

/// What runs on the left, the clock on the right.
fn title(board: &Board, now: Seconds, width: usize) -> String {
    let (mode, version) = (board.mode(), board.version());
    let text = match board.ended().map(|ended| ended.outcome) {
        None => format!("{mode} {version}"),
        Some(Outcome::Converged) => format!("{mode} {version}: converged"),
        Some(Outcome::Failed) => format!("{mode} {version}: failed"),
        Some(Outcome::TimedOut) => format!("{mode} {version}: not converged in time"),
        Some(Outcome::Cancelled) => format!("{mode} {version}: cancelled"),
    };
    let clock = clock(now);
    let room = width.saturating_sub(clock.chars().count() + 1);
    format!("{:<room$} {clock}", cut(&text, room))
}

fn overall(board: &Board, eta: Option<Eta>, now: Seconds, width: usize) -> String {
    let (done, total) = (board.done(), board.tasks().len());
    let mut text = format!(" {done} of {total} done ({}%)", board.percent());
    if let Some(eta) = eta {
        // Writing to a String cannot fail.
        let _ = write!(text, ", {} left", left(eta, now));
    }
    let room = width.saturating_sub(text.chars().count());
    format!("{}{text}", bar(done, total, room))
}

/// All sections in the order in which they are shown.
fn sections(board: &Board, now: Seconds, width: usize) -> Vec<Section> {
    let (rows, focus) = level_rows(board.levels(), width);
    let levels = Section { title: "Levels".to_owned(), rows, focus: Some(focus), rank: 3 };
    let running: Vec<String> = board.running().map(|(_, task)| format!("  {}", task.plan.object)).collect();
    let limit = board.concurrency().map(|limit| format!(" of up to {limit}")).unwrap_or_default();
    let applying = Section::new(format!("Applying {}{limit}", running.len()), running, 4);
    let failed: Vec<String> = board
        .failed()
        .filter_map(|(_, task)| match &task.state {
            State::Failed { sentence, retry_at, .. } => {
                let again = match retry_at {
                    Some(again) => format!("again in {}", span(again - now)),
                    None => "not tried again".to_owned(),
                };
                Some(format!("  {}: {sentence} ({again})", task.plan.object))
            }
            _ => None,
        })
        .collect();
    let failed = Section::new(format!("Failed {}", failed.len()), failed, 1);
    let fights: Vec<String> = board
        .fights()
        .map(|fight| {
            let (rounds, manager) = (fight.rounds, &fight.manager);
            format!("  {} {}: {manager} changed it back {rounds} times", fight.object, fight.field)
        })
        .collect();
    let fights = Section::new(format!("Fights {}", fights.len()), fights, 2);
    let waits: Vec<String> = board
        .open_waits()
        .map(|record| {
            let object = &board.tasks()[record.task].plan.object;
            let (since, sentence) = (span(now - record.since), &record.wait.sentence);
            // Sentences about a gate name the operator themselves.
            let object = if sentence.contains(object) { String::new() } else { format!("{object}: ") };
            format!("  {since:>6}  {object}{sentence}")
        })
        .collect();
    let waits = Section::new(format!("Waiting for {}", waits.len()), waits, 0);
    let missing = board.ended().map(|ended| ended.missing.clone()).unwrap_or_default();
    let missing = missing.into_iter().map(|missing| format!("  {missing}")).collect::<Vec<_>>();
    let missing = Section::new(format!("Missing {}", missing.len()), missing, 0);
    let all = [levels, applying, failed, fights, waits, missing];
    all.into_iter().filter(|section| !section.rows.is_empty()).collect()
}

/// The levels as cells of equal width, as many side by side as fit, and the row of the first that is not done.
fn level_rows(levels: &[LevelProgress], width: usize) -> (Vec<String>, usize) {
    let name = levels.iter().map(|level| level.name.chars().count()).max().unwrap_or(0);
    let number = levels.iter().map(|level| level.total.to_string().len()).max().unwrap_or(1);
    let cell = |level: &LevelProgress| {
        let (done, total) = (level.done, level.total);
        format!("{:<name$} {} {done:>number$}/{total:<number$}", level.name, bar(done, total, SMALL_BAR))
    };
    let cell_width = name + 1 + SMALL_BAR + 1 + number + 1 + number;
    let in_a_row = (width.saturating_sub(2) + GAP).checked_div(cell_width + GAP).unwrap_or(1).max(1);
    let gap = " ".repeat(GAP);
    let row = |levels: &[LevelProgress]| {
        let cells: Vec<String> = levels.iter().map(cell).collect();
        format!("  {}", cells.join(&gap)).trim_end().to_owned()
    };
    let open = levels.iter().position(|level| level.done < level.total).unwrap_or(0);
    (levels.chunks(in_a_row).map(row).collect(), open / in_a_row)
}

/// How many rows each section gets: one for each by rank, then one more for each in turn.
fn allot(sections: &[Section], space: usize, overhead: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|place| sections[*place].rank);
    let mut given = vec![0; sections.len()];
    let mut space = space;
    loop {
        let before = space;
        for &place in &order {
            let price = if given[place] == 0 { 1 + overhead } else { 1 };
            if given[place] < sections[place].rows.len() && price <= space {
                given[place] += 1;
                space -= price;
            }
        }
        if space == before {
            return given;
        }
    }
}

/// A bar of this width, filled as far as the part that is done.
fn bar(done: usize, total: usize, width: usize) -> String {
    let filled = (done * width).checked_div(total).unwrap_or(0).min(width);
    "█".repeat(filled) + &"░".repeat(width - filled)
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        short.push('…');
    }
    short
}

// === impl Section ===

impl Section {
    fn new(title: String, rows: Vec<String>, rank: usize) -> Self {
        Self { title, rows, focus: None, rank }
    }

    fn shown(mut self, space: usize) -> Vec<String> {
        let more = self.rows.len().saturating_sub(space);
        if let Some(focus) = self.focus {
            self.rows.drain(..focus.min(more));
        }
        self.rows.truncate(space);
        // A single row is worth more than the number of those that are not there; the title has the number as well.
        if more > 0
            && space > 1
            && self.focus.is_none()
            && let Some(last) = self.rows.last_mut()
        {
            *last = format!("  … and {} more", more + 1);
        }
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::{half, whole};
    use super::super::{Event, Happening, Level, PlannedTask, Step, Wait, WaitReason};
    use super::*;

    fn board(events: &[Event]) -> Board {
        let mut board = Board::new();
        for event in events {
            board.on(event);
        }
        board
    }

    fn text(board: &Board, now: Seconds, width: usize, height: usize) -> String {
        let eta = Eta { from: 230.0, to: 275.0 };
        let eta = board.ended().is_none().then_some(eta);
        screen(board, eta, now, width, height).join("\n")
    }

    /// 17 levels of 60 tasks; the first 6 are done, and each task of the seventh waits.
    fn a_large_run() -> Board {
        let plan = |task: usize| PlannedTask {
            object: format!("Widget shop/{task}"),
            file: String::new(),
            level: Some((task / 60).to_string()),
            component: None,
            step: Step::Apply,
        };
        let tasks = (0..17 * 60).map(plan).collect();
        let level = |place: usize| Level {
            name: format!("{:02}", place * 5),
            tasks: (place * 60..(place + 1) * 60).collect(),
        };
        let levels = (0..17).map(level).collect();
        let began = Happening::Began { version: "1.0.0".into(), mode: "updating".into(), tasks, levels };
        let mut board = board(&[Event { at: 0.0, what: began }]);
        for task in 0..360 {
            board.on(&Event { at: 1.0, what: Happening::Done { task } });
        }
        for task in 360..420 {
            let sentence = "the kind Widget is not served".to_owned();
            let wait = Wait { reason: WaitReason::KindNotServed, sentence, provider: None };
            board.on(&Event { at: 2.0, what: Happening::Waiting { task, wait } });
        }
        board
    }

    #[test]
    fn half_way_everything_that_matters_is_on_the_screen() {
        insta::assert_snapshot!(text(&board(&half()), 180.0, 90, 24), @r"
        updating 4.20.0                                                                      03:00
        █████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░ 4 of 7 done (57%), 50–95 s left

        Levels
          07 ████████ 3/3   10 ██░░░░░░ 1/4

        Applying 1 of up to 16
          CustomResourceDefinition widgets.example.com

        Fights 1
          Deployment openshift-network-operator/network-operator /spec/replicas: autoscaler chang…

        Waiting for 2
           1m09s  Widget shop/one: the kind Widget is not served; 0000_10_shop_00.yaml brings it
           1m09s  ClusterOperator dns reports 4.19.0; it must report 4.20.0
        ");
    }

    #[test]
    fn at_the_end_only_the_bars_and_the_fights_are_left() {
        insta::assert_snapshot!(text(&board(&whole()), 250.0, 60, 12), @r"
        updating 4.20.0: converged                             04:10
        █████████████████████████████████████████ 7 of 7 done (100%)
        Levels
          07 ████████ 3/3   10 ████████ 4/4
        Fights 1
          Deployment openshift-network-operator/network-operator /s…
        ");
    }

    #[test]
    fn a_large_run_shows_a_window_of_each_list() {
        insta::assert_snapshot!(text(&a_large_run(), 62.0, 80, 14), @r"
        updating 1.0.0                                                             01:02
        ███████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 360 of 1020 done (35%), 2–4 min left
        Levels
          00 ████████ 60/60   05 ████████ 60/60   10 ████████ 60/60   15 ████████ 60/60
          20 ████████ 60/60   25 ████████ 60/60   30 ░░░░░░░░  0/60   35 ░░░░░░░░  0/60
          40 ░░░░░░░░  0/60   45 ░░░░░░░░  0/60   50 ░░░░░░░░  0/60   55 ░░░░░░░░  0/60
          60 ░░░░░░░░  0/60   65 ░░░░░░░░  0/60   70 ░░░░░░░░  0/60   75 ░░░░░░░░  0/60
          80 ░░░░░░░░  0/60
        Waiting for 60
           1m00s  Widget shop/360: the kind Widget is not served
           1m00s  Widget shop/361: the kind Widget is not served
           1m00s  Widget shop/362: the kind Widget is not served
           1m00s  Widget shop/363: the kind Widget is not served
          … and 56 more
        ");
    }

    #[test]
    fn the_screen_fits_every_size() {
        for board in [Board::new(), board(&half()), board(&whole()), a_large_run()] {
            for (width, height) in [(0, 0), (1, 1), (10, 3), (40, 8), (80, 24), (200, 60)] {
                let lines = screen(&board, Some(Eta { from: 200.0, to: 300.0 }), 180.0, width, height);
                assert!(lines.len() <= height, "{width}×{height}: {} lines", lines.len());
                let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
                assert!(widest <= width, "{width}×{height}: {widest} wide");
            }
        }
    }

    #[test]
    fn the_longest_wait_is_the_last_that_gives_way() {
        let lines = screen(&a_large_run(), None, 62.0, 60, 5);
        assert_eq!(
            lines[2..4],
            ["Waiting for 60", "   1m00s  Widget shop/360: the kind Widget is not served"]
        );
    }
}
