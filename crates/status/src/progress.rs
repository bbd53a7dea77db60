//! How far a release has come, as it was told before: what is told never goes backwards.

use lockstep_graph::report::Run;

/// What a message of Progressing tells of the way to a release: tasks done and all tasks.
pub(crate) fn told(message: &str, version: &str) -> Option<(usize, usize)> {
    let rest = message.strip_prefix("Working towards ")?.strip_prefix(version)?.strip_prefix(": ")?;
    let (done, rest) = rest.split_once(" of ")?;
    let (total, _) = rest.split_once(" done (")?;
    Some((done.parse().ok()?, total.parse().ok()?)).filter(|(done, total)| done <= total)
}

/// A run that tells no less than was told before.
///
/// A successor of the operator, or a run that starts over, begins with nothing done: what it finds in place it counts
/// soon, and nobody has to see that. Where the number of tasks has changed, the same share of them is told.
///
/// *Compatibility*: the reference starts again at nothing.
#[must_use]
pub(crate) fn no_less(run: Run, told: (usize, usize)) -> Run {
    let (done, total) = told;
    if run.total == 0 {
        return Run { done, total, ..run };
    }
    let share = done.saturating_mul(run.total).div_ceil(total.max(1));
    Run { done: run.done.max(share).min(run.total), ..run }
}

#[cfg(test)]
mod tests {
    use lockstep_graph::report::percent;

    use super::*;

    fn run(done: usize, total: usize) -> Run {
        Run { done, total, ..Run::default() }
    }

    #[test]
    fn what_was_told_is_read_back() {
        let of = |message| told(message, "1.2.3");
        assert_eq!(of("Working towards 1.2.3: 334 of 1000 done (33% complete)"), Some((334, 1000)));
        let waiting = "Working towards 1.2.3: 3 of 10 done (30% complete), waiting on dns";
        assert_eq!(of(waiting), Some((3, 10)));
        for other in [
            "",
            "Working towards 1.2.3",
            "Working towards 1.2.3: waiting on dns",
            "Working towards 1.2.4: 3 of 10 done (30% complete)",
            "Working towards 1.2.3: x of 10 done (30% complete)",
            "Working towards 1.2.3: 11 of 10 done (110% complete)",
            "Unable to apply 1.2.3: 3 of 10 done (30% complete)",
            "Cluster version is 1.2.3",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_successor_that_begins_at_nothing_shows_what_was_shown() {
        // Done and total that were told, of the run, and what is told now.
        let rows = [
            ((5, 10), (0, 10), (5, 10)),
            ((5, 10), (7, 10), (7, 10)),
            ((5, 10), (0, 0), (5, 10)),
            ((500, 1000), (0, 900), (450, 900)),
            ((333, 1000), (0, 10), (4, 10)),
            ((10, 10), (3, 7), (7, 7)),
        ];
        for ((done, total), (run_done, run_total), expected) in rows {
            let found = no_less(run(run_done, run_total), (done, total));
            assert_eq!((found.done, found.total), expected);
            assert!(percent(found.done, found.total) >= percent(done, total));
        }
    }
}
