//! What a run that is stopped leaves open.

use super::board::{Board, State, TaskProgress};
use super::time::span;
use super::{Seconds, Step};

/// How many things are told one by one.
const TOLD: usize = 20;

// === impl Board ===

impl Board {
    /// For everything that is open: what and why, gates first; and how many tasks have not had their turn.
    pub fn unfinished(&self, now: Seconds) -> Vec<String> {
        let (gates, others): (Vec<_>, Vec<_>) =
            self.opened().map(|(_, task)| task).partition(|task| task.plan.step == Step::Gate);
        let open: Vec<&TaskProgress> = gates.into_iter().chain(others).collect();
        let mut lines: Vec<String> = open.iter().take(TOLD).map(|task| line(task, now)).collect();
        if open.len() > TOLD {
            lines.push(format!("and {} more", open.len() - TOLD));
        }
        let pending = self.tasks().iter().filter(|task| task.state == State::Pending).count();
        match pending {
            0 => {}
            1 => lines.push("1 task has not had its turn".to_owned()),
            n => lines.push(format!("{n} tasks have not had their turn")),
        }
        lines
    }
}

fn line(task: &TaskProgress, now: Seconds) -> String {
    let object = &task.plan.object;
    // Most sentences name the object themselves.
    let named = |sentence: &str| {
        if sentence.contains(object.as_str()) { sentence.to_owned() } else { format!("{object}: {sentence}") }
    };
    match &task.state {
        State::Waiting { since, wait } => format!("{} (for {})", named(&wait.sentence), span(now - since)),
        State::Failed { sentence, .. } => named(sentence),
        State::Pending | State::Running { .. } | State::Done { .. } => format!("{object} is being applied"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::whole;
    use super::super::{Happening, Wait, WaitReason};
    use super::*;

    #[test]
    fn in_the_middle_of_a_run_something_is_open() {
        let mut board = Board::new();
        let mut most = 0;
        for event in whole() {
            board.on(&event);
            most = most.max(board.unfinished(event.at).len());
        }
        assert!(most > 0, "somewhere in the middle something was open");
    }

    #[test]
    fn a_wait_is_told_with_its_sentence_and_age() {
        let events = whole();
        let Some(first) = events.first() else { panic!("the example has events") };
        let mut board = Board::new();
        board.on(first);
        let tasks = board.tasks().len();
        let wait =
            Wait { reason: WaitReason::ServerBusy, sentence: "the server is busy".into(), provider: None };
        board.on(&super::super::Event { at: 1.0, what: Happening::Started { task: 0 } });
        board.on(&super::super::Event { at: 2.0, what: Happening::Waiting { task: 0, wait } });
        let lines = board.unfinished(62.0);
        let object = &board.tasks()[0].plan.object;
        assert_eq!(lines[0], format!("{object}: the server is busy (for 1m00s)"));
        assert_eq!(lines[1], format!("{} tasks have not had their turn", tasks - 1));
    }
}
