//! The screen as a person sees it, key by key.

use std::collections::BTreeMap;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use lockstep_converge::status::{Input, Picture, picture};

use super::draw::draw;
use super::keys::Key;
use super::state::{Action, Entry, Sort, State, View};

fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Why", "message": message, "lastTransitionTime": "2026-07-01T11:52:57Z"})
}

/// An operator: name, version, Available, Progressing, Degraded, message.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str);

const ROWS: [Row<'_>; 6] = [
    ("console", "1.0.0", "True", "False", "False", ""),
    (
        "dns",
        "1.0.0",
        "True",
        "True",
        "True",
        "Pods of DaemonSet openshift-dns/dns-default are not ready on 2 nodes",
    ),
    ("etcd", "1.1.0", "True", "False", "False", ""),
    ("ingress", "1.0.0", "False", "False", "False", "no router is scheduled"),
    ("kube-apiserver", "1.1.0", "True", "False", "False", ""),
    ("network", "1.1.0", "True", "False", "False", ""),
];

fn a_picture(rows: &[Row<'_>]) -> Picture {
    let operators = rows
        .iter()
        .map(|(name, version, available, progressing, degraded, message)| {
            serde_json::from_value(json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}, "spec": {},
                "status": {"versions": [{"name": "operator", "version": version}], "conditions": [
                    condition("Available", available, message), condition("Progressing", progressing, message),
                    condition("Degraded", degraded, message)]},
            }))
            .unwrap()
        })
        .collect();
    let entry = |version: &str, state: &str| {
        json!({"version": version, "image": version, "state": state, "verified": true,
            "startedTime": "2026-07-01T11:46:00Z", "completionTime": null})
    };
    let message = "Working towards 1.1.0: 30 of 96 done (31% complete), waiting on dns";
    let version = serde_json::from_value(json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "a7f1d4c2-1b1e-4f8a-9c55-0d6a3a1f2b3c"},
        "status": {"desired": {"version": "1.1.0", "image": "i"}, "observedGeneration": 1, "versionHash": "x",
            "availableUpdates": null, "history": [entry("1.1.0", "Partial"), entry("1.0.0", "Completed")],
            "conditions": [condition("Failing", "False", ""), condition("Progressing", "True", message)]},
    }))
    .unwrap();
    let levels = [
        ("dns", "08"),
        ("network", "07"),
        ("etcd", "12"),
        ("kube-apiserver", "20"),
        ("console", "50"),
        ("ingress", "50"),
    ];
    let input = Input {
        version: Some(version),
        operators,
        pools: Vec::new(),
        nodes: Vec::new(),
        configs: Vec::new(),
        config_operator: None,
        alerts: None,
        levels: levels
            .map(|(name, level)| (name.to_owned(), level.to_owned()))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        stability: None,
        remarks: Vec::new(),
        now: "2026-07-01T12:00:00Z".parse().unwrap(),
    };
    picture(&input).unwrap()
}

fn a_state() -> State {
    let mut state = State::new(false);
    state.see(a_picture(&ROWS));
    state
}

fn screen(state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let rows = buffer.content.chunks(usize::from(width));
    rows.map(|row| {
        row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned() + "\n"
    })
    .collect()
}

fn press(state: &mut State, keys: &str) {
    for key in keys.chars() {
        let key = match key {
            '\n' => Key::Enter,
            '\u{1b}' => Key::Escape,
            '\t' => Key::Tab,
            letter => Key::Letter(letter),
        };
        state.press(key);
    }
}

fn selected(state: &State) -> String {
    state.operators()[state.selected].1.name.clone()
}

#[test]
fn the_screen_fits_the_oldest_terminal() {
    let text = screen(&a_state(), 80, 24);
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    insta::assert_snapshot!("80x24", text);
}

#[test]
fn a_wide_screen_shows_whole_messages_and_a_tiny_one_does_not_fail() {
    insta::assert_snapshot!("140x30", screen(&a_state(), 140, 30));
    for (width, height) in [(1, 1), (20, 3), (10, 6), (80, 1)] {
        for keys in ["", "?", "2", "3", "/x"] {
            let mut state = a_state();
            press(&mut state, keys);
            screen(&state, width, height);
        }
    }
}

#[test]
fn every_view_has_its_table() {
    let mut state = a_state();
    press(&mut state, "2");
    insta::assert_snapshot!("levels", screen(&state, 80, 24));
    let mut rows = ROWS;
    rows[1] = ("dns", "1.1.0", "True", "False", "False", "");
    state.see(a_picture(&rows));
    let at = "2026-07-01T11:59:00Z".parse().unwrap();
    state.remember(Entry { at, what: Sort::Repair, text: "DriftRepaired: ConfigMap a/b is restored".into() });
    press(&mut state, ":events\n");
    insta::assert_snapshot!("events", screen(&state, 80, 24));
    press(&mut state, "?");
    insta::assert_snapshot!("help", screen(&state, 80, 24));
}

#[test]
fn a_filter_works_while_it_is_typed_and_escape_drops_it() {
    let mut state = a_state();
    press(&mut state, "/kube");
    assert_eq!(state.rows(), 1);
    assert_eq!(selected(&state), "kube-apiserver");
    assert!(screen(&state, 80, 24).ends_with("/kube_\n"));
    press(&mut state, "\n");
    assert!(screen(&state, 80, 24).contains("filter: kube (1 rows)"));
    press(&mut state, "\u{1b}");
    assert_eq!(state.rows(), 6);
    press(&mut state, "/DEGRADED\n");
    assert_eq!(state.rows(), 1, "states are searched too, whatever their case");
    press(&mut state, "/nobody");
    assert!(screen(&state, 80, 24).contains("(the filter lets nothing pass)"));
    assert_eq!(state.press(Key::Enter), Action::None);
    assert_eq!(state.press(Key::Enter), Action::None, "there is nothing to explain");
}

#[test]
fn keys_move_within_the_rows() {
    let mut state = a_state();
    press(&mut state, "kj");
    assert_eq!(state.selected, 1);
    press(&mut state, "Gj");
    assert_eq!(state.selected, 5);
    press(&mut state, "g");
    state.press(Key::Down);
    state.press(Key::PageDown);
    assert_eq!(state.selected, 5);
    state.press(Key::Home);
    assert_eq!(state.selected, 0);
}

#[test]
fn the_selected_operator_stays_selected_when_rows_move() {
    let mut state = a_state();
    press(&mut state, "jjj");
    let name = selected(&state);
    let mut rows = ROWS.to_vec();
    rows.insert(0, ("aaa", "1.0.0", "True", "True", "False", ""));
    rows.remove(6);
    state.see(a_picture(&rows));
    assert_eq!(selected(&state), name);
}

#[test]
fn enter_asks_why_and_escape_comes_back() {
    let mut state = a_state();
    press(&mut state, "/dns\n");
    assert_eq!(state.press(Key::Enter), Action::Explain("dns".into()));
    let why = |state: &State, cause| super::why::why(state.picture.as_ref().unwrap(), "dns", cause);
    state.read("why dns", &why(&state, None));
    assert!(screen(&state, 80, 24).contains("Looking for the cause"));
    let text = why(&state, Some("ROOT CAUSE\n  [S01] error: no room\n"));
    state.read_on("why another", "nothing");
    state.read_on("why dns", &text);
    insta::assert_snapshot!("why", screen(&state, 80, 24));
    press(&mut state, "j");
    assert!(!screen(&state, 80, 24).contains("ClusterOperator dns: degraded"), "it scrolls");
    press(&mut state, "\u{1b}");
    assert_eq!((state.view, selected(&state).as_str()), (View::Operators, "dns"));
}

#[test]
fn a_level_leads_to_its_operators() {
    let mut state = a_state();
    press(&mut state, "2jj\n");
    assert_eq!((state.view, selected(&state).as_str()), (View::Operators, "etcd"));
}

#[test]
fn commands_lead_to_views_and_an_unknown_one_is_told() {
    let mut state = a_state();
    press(&mut state, ":levels\n");
    assert_eq!(state.view, View::Levels);
    press(&mut state, "\t");
    assert_eq!(state.view, View::Events);
    press(&mut state, ":nonsense\n");
    assert!(screen(&state, 80, 24).contains("there is no `:nonsense`"));
    state.press(Key::Letter(':'));
    state.press(Key::Letter('q'));
    assert_eq!(state.press(Key::Enter), Action::Quit);
}

#[test]
fn control_c_quits_from_everywhere() {
    for keys in ["", "/x", ":x", "?"] {
        let mut state = a_state();
        press(&mut state, keys);
        assert_eq!(state.press(Key::Interrupt), Action::Quit, "{keys}");
    }
    assert_eq!(a_state().press(Key::Letter('q')), Action::Quit);
}

#[test]
fn before_anything_is_known_the_screen_says_so() {
    let mut state = State::new(true);
    assert!(screen(&state, 80, 24).contains("Asking the cluster"));
    state.trouble = Some("no cluster version information available".into());
    assert!(screen(&state, 80, 24).contains("no cluster version information"));
}

#[test]
fn what_is_known_stays_while_nothing_is_seen() {
    let mut state = a_state();
    state.trouble = Some("the server does not answer".into());
    let text = screen(&state, 80, 24);
    assert!(
        text.contains("Not seen any more: the server does not answer") && text.contains("kube-apiserver")
    );
}
