//! The screen, drawn from its state: a head, the view, what happened last, and a line of keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use lockstep_api::text::visible;
use lockstep_converge::status::duration::{between, short};
use lockstep_converge::status::text::state as state_of;
use lockstep_converge::status::{Operator, Picture, Step, Word};

use super::state::{Entry, Mode, Sort, State, View, level_state};

/// Rows of the head, and of the last events below a view.
const HEAD: u16 = 4;
const RECENT: u16 = 5;
/// A screen with fewer rows has no room for the last events.
const ROOM: u16 = 18;
/// Columns: level, name, the three conditions, since.
const LEVEL: usize = 5;
const NAME: usize = 25;
const SINCE: usize = 8;

/// Draws the screen.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &State) {
    let area = frame.area();
    let recent = if area.height >= ROOM && state.view != View::Events { RECENT } else { 0 };
    let [head, body, below, foot] = Layout::vertical([
        Constraint::Length(HEAD.min(area.height.saturating_sub(1))),
        Constraint::Fill(1),
        Constraint::Length(recent),
        Constraint::Length(1),
    ])
    .areas(area);
    let width = usize::from(area.width);
    put(frame, head, head_lines(state, width));
    let rows = usize::from(body.height);
    put(frame, body, body_lines(state, width, rows));
    if recent > 0 {
        let mut lines = vec![heading("LAST EVENTS", width)];
        let newest = state.entries.iter().take(usize::from(recent) - 1);
        lines.extend(newest.map(|entry| entry_line(entry, state, width)));
        put(frame, below, lines);
    }
    put(frame, foot, vec![foot_line(state, width)]);
}

fn put(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    frame.render_widget(Paragraph::new(lines), area);
}

// === head ===

fn head_lines(state: &State, width: usize) -> Vec<Line<'static>> {
    let Some(picture) = &state.picture else {
        let text = state.trouble.clone().unwrap_or_else(|| "Asking the cluster …".to_owned());
        return vec![bold("lockstep top", width), plain(&text, width)];
    };
    let summary = &picture.summary;
    let version = match &summary.from {
        Some(from) => format!("{from} -> {}", summary.version),
        None => summary.version.clone(),
    };
    let since = summary.since.map(|since| format!("  for {}", short(since))).unwrap_or_default();
    let percent = match (summary.now.percent(), summary.now.done, summary.now.total) {
        (Some(percent), Some(done), Some(total)) if picture.is_updating => {
            format!("  {percent}% ({done}/{total})")
        }
        _ => String::new(),
    };
    let left = picture.control_plane.estimate.interval().filter(|_| picture.is_updating);
    let left = left.map(|left| format!("  {left} left")).unwrap_or_default();
    let counts = summary.counts;
    let silent = counts.available.missing.max(counts.progressing.missing).max(counts.degraded.missing);
    let silent = if silent == 0 { String::new() } else { format!(", {silent} do not report all of them") };
    let conditions = format!(
        "{} operators: {} Available, {} Progressing, {} Degraded{silent}",
        counts.total, counts.available.yes, counts.progressing.yes, counts.degraded.yes
    );
    let now = match (&state.trouble, &summary.now.failing) {
        (Some(trouble), _) => format!("Not seen any more: {trouble}"),
        (None, Some(failing)) => format!("Failing: {failing}"),
        (None, None) => format!("Now: {}", summary.now.message),
    };
    let waits = match (&summary.at_level, summary.waits_at.is_empty()) {
        (_, true) => format!("Waits for nothing{}", gates(picture)),
        (Some(level), false) => {
            format!("Waits at run level {level}: {}{}", summary.waits_at.join(", "), gates(picture))
        }
        (None, false) => format!("Waits for {}{}", summary.waits_at.join(", "), gates(picture)),
    };
    vec![
        bold(&format!("lockstep top  {version}{since}{percent}{left}"), width),
        plain(&now, width),
        plain(&waits, width),
        plain(&conditions, width),
    ]
}

fn gates(picture: &Picture) -> String {
    let ahead: usize = picture.summary.ahead.iter().map(|ahead| ahead.operators.len()).sum();
    if ahead == 0 { String::new() } else { format!("; {ahead} gates ahead") }
}

// === body ===

fn body_lines(state: &State, width: usize, rows: usize) -> Vec<Line<'static>> {
    if let Mode::Reading { title, lines, from } = &state.mode {
        let mut shown = vec![heading(&title.to_uppercase(), width)];
        let wrapped = lines.iter().flat_map(|line| wrap(line, width));
        shown.extend(wrapped.skip(*from).take(rows.saturating_sub(1)).map(|line| plain(&line, width)));
        return shown;
    }
    let (title, all): (String, Vec<Line<'static>>) = match state.view {
        View::Operators => (
            format!("{:<LEVEL$} {:<NAME$} A P D {:<SINCE$} STATE", "LEVEL", "OPERATOR", "SINCE"),
            state
                .operators()
                .iter()
                .map(|(level, operator)| {
                    let level = level.name.as_deref().unwrap_or("-");
                    operator_line(level, operator, state, width)
                })
                .collect(),
        ),
        View::Levels => (
            format!("{:<LEVEL$} {:<7} {:<11} OPERATORS THAT ARE NOT DONE", "LEVEL", "DONE", "STATE"),
            level_lines(state, width),
        ),
        View::Events => (
            "TIME      WHAT     TEXT".to_owned(),
            state.happened().into_iter().map(|entry| entry_line(entry, state, width)).collect(),
        ),
    };
    let mut lines = vec![heading(&title, width)];
    let room = rows.saturating_sub(1).max(1);
    // The selected row stays on the screen.
    let from = state.selected.saturating_sub(room - 1);
    if all.is_empty() {
        lines.push(plain(
            if state.filter.is_empty() { "(nothing yet)" } else { "(the filter lets nothing pass)" },
            width,
        ));
    }
    for (place, line) in all.into_iter().enumerate().skip(from).take(room) {
        lines.push(if place == state.selected {
            line.style(Style::new().add_modifier(Modifier::REVERSED))
        } else {
            line
        });
    }
    lines
}

fn operator_line(level: &str, operator: &Operator, state: &State, width: usize) -> Line<'static> {
    let now = state.picture.as_ref().map(|picture| picture.at);
    let since = operator.since.zip(now).map(|(since, now)| short(between(since, now).max(0)));
    let sign = |word: Word| match word {
        Word::True => '+',
        Word::False => '-',
        Word::Unknown => '?',
        Word::Missing => '.',
    };
    let message = operator.message.lines().next().unwrap_or_default();
    let message =
        if operator.is_fine() || message.is_empty() { String::new() } else { format!(": {message}") };
    let blocks = match operator.blocks.len() {
        0 => String::new(),
        n => format!(" (blocks {n})"),
    };
    let text = format!(
        "{level:<LEVEL$} {:<NAME$} {} {} {} {:<SINCE$} {}{blocks}{message}",
        cut(&operator.name, NAME),
        sign(operator.available),
        sign(operator.progressing),
        sign(operator.degraded),
        cut(&since.unwrap_or_default(), SINCE),
        state_of(operator),
    );
    let colour = if operator.is_unavailable() {
        Some(Color::Red)
    } else if operator.is_degraded() {
        Some(Color::Yellow)
    } else if operator.step != Step::Updated || operator.progressing == Word::True {
        Some(Color::Cyan)
    } else {
        None
    };
    coloured(&text, colour, state, width)
}

fn level_lines(state: &State, width: usize) -> Vec<Line<'static>> {
    let Some(picture) = &state.picture else { return Vec::new() };
    let first = picture.summary.at_level.as_deref();
    let line = |level: &&lockstep_converge::status::Level| {
        let name = level.name.as_deref().unwrap_or("-");
        let is_blocked = first.is_some_and(|first| level.name.as_deref().is_some_and(|name| name > first));
        let stands = level_state(level, is_blocked);
        let open = level.operators.iter().filter(|operator| operator.step != Step::Updated);
        let open: Vec<&str> = open.map(|operator| operator.name.as_str()).collect();
        let done = format!("{}/{}", level.updated, level.operators.len());
        let text = format!("{name:<LEVEL$} {done:<7} {stands:<11} {}", open.join(", "));
        coloured(&text, (stands == "waits here").then_some(Color::Cyan), state, width)
    };
    state.levels().iter().map(line).collect()
}

fn entry_line(entry: &Entry, state: &State, width: usize) -> Line<'static> {
    let (word, colour) = match entry.what {
        Sort::Change => ("change", None),
        Sort::Event => ("event", None),
        Sort::Warning => ("warning", Some(Color::Yellow)),
        Sort::Repair => ("repair", Some(Color::Cyan)),
    };
    let time = entry.at.to_string();
    let time = time.get(11..19).unwrap_or_default();
    coloured(&format!("{time}  {word:<8} {}", entry.text), colour, state, width)
}

// === foot ===

fn foot_line(state: &State, width: usize) -> Line<'static> {
    let text = match (&state.mode, &state.notice) {
        (_, Some(notice)) => notice.clone(),
        (Mode::Filtering, _) => format!("/{}_", state.filter),
        (Mode::Commanding(command), _) => format!(":{command}_"),
        (Mode::Reading { .. }, _) => "j/k scroll   Esc back   Ctrl-C quit".to_owned(),
        (Mode::Moving, _) if !state.filter.is_empty() => {
            format!(
                "filter: {} ({} rows)   Esc drops it   Enter why   ? help   q quit",
                state.filter,
                state.rows()
            )
        }
        (Mode::Moving, _) => {
            "1 operators  2 levels  3 events   / filter   Enter why   ? help   q quit".to_owned()
        }
    };
    bold(&text, width)
}

// === lines ===

fn heading(text: &str, width: usize) -> Line<'static> {
    let padded = format!("{:<width$}", cut(text, width));
    Line::from(Span::styled(padded, Style::new().add_modifier(Modifier::UNDERLINED)))
}

fn bold(text: &str, width: usize) -> Line<'static> {
    Line::from(Span::styled(cut(text, width), Style::new().add_modifier(Modifier::BOLD)))
}

fn plain(text: &str, width: usize) -> Line<'static> {
    Line::from(cut(text, width))
}

/// NB: colour only repeats what the words say.
fn coloured(text: &str, colour: Option<Color>, state: &State, width: usize) -> Line<'static> {
    let style = colour.filter(|_| state.has_colour).map_or(Style::new(), |colour| Style::new().fg(colour));
    Line::from(Span::styled(cut(text, width), style))
}

/// One line of a text in at most so many characters.
fn cut(text: &str, width: usize) -> String {
    let text = visible(text.lines().next().unwrap_or_default());
    if text.chars().count() <= width {
        return text.into_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A line of a text in pieces that fit, broken at blanks where there are any.
fn wrap(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start().len();
    let mut lines = Vec::new();
    let mut current = " ".repeat(indent.min(width / 2));
    let mut is_fresh = true;
    for word in line.split_whitespace() {
        let needed = current.chars().count() + usize::from(!is_fresh) + word.chars().count();
        if !is_fresh && needed > width {
            lines.push(std::mem::replace(&mut current, " ".repeat((indent + 2).min(width / 2))));
            is_fresh = true;
        }
        if !is_fresh {
            current.push(' ');
        }
        current.push_str(word);
        is_fresh = false;
    }
    lines.push(current);
    lines
}
