//! What the screen shows and what a key changes in it. Nothing is drawn here, nothing is read, nobody is asked the time.

use std::collections::VecDeque;

use jiff::Timestamp;

use lockstep_converge::status::changes::changes;
use lockstep_converge::status::text::state as state_of;
use lockstep_converge::status::{Level, Operator, Picture, Step};

use super::keys::Key;

/// How much of what happened is remembered.
const MEMORY: usize = 500;
/// How far a page goes.
const PAGE: usize = 10;

/// What is shown in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Every operator.
    Operators,
    /// Every run level, with what waits there.
    Levels,
    /// What happened.
    Events,
}

/// What keys do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They move.
    Moving,
    /// They are letters of the filter.
    Filtering,
    /// They are letters of a command.
    Commanding(String),
    /// A text lies above the view; they scroll it.
    Reading {
        /// What it is about.
        title: String,
        /// The text.
        lines: Vec<String>,
        /// Its first line on the screen.
        from: usize,
    },
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: Timestamp,
    pub(crate) what: Sort,
    pub(crate) text: String,
}

/// What sort of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Something is another than before.
    Change,
    /// The operator of the cluster says something.
    Event,
    /// It warns.
    Warning,
    /// It restored an object.
    Repair,
}

/// What the caller has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing.
    None,
    /// End.
    Quit,
    /// Find out why this operator is as it is, and show it.
    Explain(String),
}

/// The screen.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) view: View,
    pub(crate) mode: Mode,
    pub(crate) filter: String,
    /// The place of the selected row among those that the filter lets pass.
    pub(crate) selected: usize,
    pub(crate) picture: Option<Picture>,
    /// Why nothing, or nothing new, is seen.
    pub(crate) trouble: Option<String>,
    /// Said about the last command.
    pub(crate) notice: Option<String>,
    /// What happened, the newest first.
    pub(crate) entries: VecDeque<Entry>,
    pub(crate) has_colour: bool,
}

// === impl State ===

impl State {
    /// A screen before anything is known.
    pub(crate) fn new(has_colour: bool) -> Self {
        Self {
            view: View::Operators,
            mode: Mode::Moving,
            filter: String::new(),
            selected: 0,
            picture: None,
            trouble: None,
            notice: None,
            entries: VecDeque::new(),
            has_colour,
        }
    }

    /// Takes a new picture, and remembers what is different.
    pub(crate) fn see(&mut self, picture: Picture) {
        let name = self.selected_operator();
        if let Some(before) = &self.picture {
            for text in changes(before, &picture) {
                self.remember(Entry { at: picture.at, what: Sort::Change, text });
            }
        }
        self.picture = Some(picture);
        self.trouble = None;
        // The eye stays on the operator, not on the row.
        let place = name.and_then(|name| self.operators().iter().position(|it| it.1.name == name));
        self.selected = place.unwrap_or(self.selected);
        self.keep_inside();
    }

    /// Remembers something that happened.
    pub(crate) fn remember(&mut self, entry: Entry) {
        let place = self.entries.iter().position(|it| it.at <= entry.at).unwrap_or(self.entries.len());
        if self.entries.get(place) != Some(&entry) {
            self.entries.insert(place, entry);
        }
        self.entries.truncate(MEMORY);
    }

    /// Lays a text above the view.
    pub(crate) fn read(&mut self, title: &str, text: &str) {
        let lines = text.lines().map(str::to_owned).collect();
        self.mode = Mode::Reading { title: title.to_owned(), lines, from: 0 };
    }

    /// Puts more into the text that lies above the view, if it is still this one.
    pub(crate) fn read_on(&mut self, about: &str, text: &str) {
        if let Mode::Reading { title, lines, .. } = &mut self.mode
            && title == about
        {
            *lines = text.lines().map(str::to_owned).collect();
        }
    }

    /// Operators that the filter lets pass, each with its level.
    pub(crate) fn operators(&self) -> Vec<(&Level, &Operator)> {
        let levels = self.picture.iter().flat_map(|picture| &picture.levels);
        let all = levels.flat_map(|level| level.operators.iter().map(move |operator| (level, operator)));
        all.filter(|(_, operator)| {
            self.passes(&[&operator.name, &state_of(operator), &operator.message, &operator.reason])
        })
        .collect()
    }

    /// Levels that the filter lets pass.
    pub(crate) fn levels(&self) -> Vec<&Level> {
        let levels = self.picture.iter().flat_map(|picture| &picture.levels);
        levels
            .filter(|level| {
                let names = level.operators.iter().map(|operator| operator.name.as_str());
                self.passes(&[level.name.as_deref().unwrap_or("-"), &names.collect::<Vec<_>>().join(" ")])
            })
            .collect()
    }

    /// What happened, as far as the filter lets it pass.
    pub(crate) fn happened(&self) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| self.passes(&[&entry.text])).collect()
    }

    /// What a key does.
    pub(crate) fn press(&mut self, key: Key) -> Action {
        if key == Key::Interrupt {
            return Action::Quit;
        }
        self.notice = None;
        match &mut self.mode {
            Mode::Moving => return self.move_by(key),
            Mode::Filtering => self.filter_by(key),
            Mode::Commanding(_) => return self.command_by(key),
            Mode::Reading { lines, from, .. } => {
                let last = lines.len().saturating_sub(1);
                match key {
                    Key::Escape | Key::Letter('q' | '?') | Key::Enter => self.mode = Mode::Moving,
                    key => *from = moved(*from, last, key).unwrap_or(*from),
                }
            }
        }
        Action::None
    }

    fn move_by(&mut self, key: Key) -> Action {
        match key {
            Key::Letter('q') => return Action::Quit,
            Key::Letter('/') => {
                self.filter.clear();
                self.mode = Mode::Filtering;
            }
            Key::Letter(':') => self.mode = Mode::Commanding(String::new()),
            Key::Letter('?') => self.read("Keys", HELP),
            Key::Letter('1') => self.show(View::Operators),
            Key::Letter('2') => self.show(View::Levels),
            Key::Letter('3') => self.show(View::Events),
            Key::Tab => self.show(match self.view {
                View::Operators => View::Levels,
                View::Levels => View::Events,
                View::Events => View::Operators,
            }),
            Key::Escape => self.filter.clear(),
            Key::Enter => return self.open(),
            key => {
                let last = self.rows().saturating_sub(1);
                self.selected = moved(self.selected, last, key).unwrap_or(self.selected);
            }
        }
        self.keep_inside();
        Action::None
    }

    /// Goes deeper: from a level to its operators, from an operator to the reason.
    fn open(&mut self) -> Action {
        match self.view {
            View::Operators => self.selected_operator().map_or(Action::None, Action::Explain),
            View::Levels => {
                let first = self
                    .levels()
                    .get(self.selected)
                    .and_then(|level| level.operators.first().map(|operator| operator.name.clone()));
                self.filter.clear();
                self.show(View::Operators);
                let place = first.and_then(|name| self.operators().iter().position(|it| it.1.name == name));
                self.selected = place.unwrap_or_default();
                Action::None
            }
            View::Events => {
                let text = self.happened().get(self.selected).map(|entry| entry.text.clone());
                if let Some(text) = text {
                    self.read("Event", &text);
                }
                Action::None
            }
        }
    }

    fn filter_by(&mut self, key: Key) {
        match key {
            Key::Letter(letter) => self.filter.push(letter),
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Enter => self.mode = Mode::Moving,
            Key::Escape => {
                self.filter.clear();
                self.mode = Mode::Moving;
            }
            _ => {}
        }
        self.keep_inside();
    }

    fn command_by(&mut self, key: Key) -> Action {
        let Mode::Commanding(command) = &mut self.mode else { return Action::None };
        match key {
            Key::Letter(letter) => command.push(letter),
            Key::Backspace => {
                command.pop();
            }
            Key::Escape => self.mode = Mode::Moving,
            Key::Enter => {
                let command = std::mem::take(command);
                self.mode = Mode::Moving;
                match command.trim() {
                    "q" | "quit" => return Action::Quit,
                    "o" | "op" | "operators" | "co" => self.show(View::Operators),
                    "l" | "levels" | "w" | "waits" => self.show(View::Levels),
                    "e" | "ev" | "events" => self.show(View::Events),
                    "h" | "help" => self.read("Keys", HELP),
                    "" => {}
                    other => {
                        let known = "operators, levels, events, help, quit";
                        self.notice = Some(format!("there is no `:{other}`; there are: {known}"));
                    }
                }
            }
            _ => {}
        }
        Action::None
    }

    fn show(&mut self, view: View) {
        if self.view != view {
            self.view = view;
            self.selected = 0;
        }
    }

    fn selected_operator(&self) -> Option<String> {
        let is_shown = self.view == View::Operators;
        let found = self.operators().get(self.selected).map(|(_, operator)| operator.name.clone());
        found.filter(|_| is_shown)
    }

    /// How many rows the view has.
    pub(crate) fn rows(&self) -> usize {
        match self.view {
            View::Operators => self.operators().len(),
            View::Levels => self.levels().len(),
            View::Events => self.happened().len(),
        }
    }

    fn keep_inside(&mut self) {
        self.selected = self.selected.min(self.rows().saturating_sub(1));
    }

    fn passes(&self, texts: &[&str]) -> bool {
        let wanted = self.filter.to_lowercase();
        wanted.is_empty() || texts.iter().any(|text| text.to_lowercase().contains(&wanted))
    }
}

/// How a level stands: done, waited at, or blocked by an earlier one.
pub(crate) fn level_state(level: &Level, blocked: bool) -> &'static str {
    let is_open =
        level.operators.iter().any(|operator| operator.is_platform && operator.step != Step::Updated);
    match (is_open, blocked) {
        (false, _) => "done",
        (true, false) => "waits here",
        (true, true) => "blocked",
    }
}

fn moved(from: usize, last: usize, key: Key) -> Option<usize> {
    let to = match key {
        Key::Up | Key::Letter('k') => from.saturating_sub(1),
        Key::Down | Key::Letter('j') => from + 1,
        Key::PageUp => from.saturating_sub(PAGE),
        Key::PageDown | Key::Letter(' ') => from + PAGE,
        Key::Home | Key::Letter('g') => 0,
        Key::End | Key::Letter('G') => last,
        _ => return None,
    };
    Some(to.min(last))
}

const HELP: &str = "\
j, k, arrows     up and down            Ctrl-F, Ctrl-B   a page
g, G             first and last         Tab, 1, 2, 3     the next view, or that one
Enter            why an operator is as it is; the operators of a level; an event in full
/ TEXT           only rows with that text; Enter keeps the filter, Esc drops it
: COMMAND        operators, levels (waits), events, help, quit
Esc              back                   q, Ctrl-C        quit

A, P and D are the conditions Available, Progressing and Degraded: + is True,
- is False, ? is Unknown and a dot says that the operator does not report it.
Nothing is written to the cluster.";
