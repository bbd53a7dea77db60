//! How many requests may be under way at once: more while the server keeps up, fewer when it does not.

use std::time::Duration;

use tokio::time::Instant;

/// Fewest and most requests at once.
const RANGE: std::ops::RangeInclusive<usize> = 2..=48;
/// With how many a run begins: measured on two cores, fewer leave the server waiting, more add latency and hardly throughput.
const BEGIN: usize = 24;
/// How much better another limit must be before it counts as better.
const NOTICEABLE: f64 = 1.05;

/// Requests at once, and what was learned about the server.
///
/// It climbs: as long as another step in the same direction makes more answers per second it goes on, otherwise it
/// turns round. An answer "too many" halves the limit and stops everything for as long as the server asks.
#[derive(Debug)]
pub(crate) struct Pace {
    limit: usize,
    is_rising: bool,
    /// Answers in this round, and when it began.
    answers: usize,
    began: Option<Instant>,
    /// Answers per second of the round before.
    before: f64,
    /// Nothing may start before.
    held_until: Option<Instant>,
}

// === impl Pace ===

impl Pace {
    pub(crate) fn new() -> Self {
        Self { limit: BEGIN, is_rising: true, answers: 0, began: None, before: 0.0, held_until: None }
    }

    /// How many may be under way at once.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Until when nothing may start, if it may not now.
    pub(crate) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.held_until.filter(|until| *until > now)
    }

    /// The server answered while `under_way` requests were; gives the new limit when it changed.
    pub(crate) fn answered(&mut self, now: Instant, under_way: usize) -> Option<usize> {
        // Where there is not enough to do, nothing can be learned.
        if under_way + 1 < self.limit {
            self.answers = 0;
            self.began = Some(now);
            return None;
        }
        let began = *self.began.get_or_insert(now);
        self.answers += 1;
        if self.answers < self.limit * 4 {
            return None;
        }
        let seconds = now.duration_since(began).as_secs_f64().max(1e-6);
        #[expect(clippy::cast_precision_loss, reason = "a few hundred answers")]
        let rate = self.answers as f64 / seconds;
        if rate < self.before * NOTICEABLE {
            self.is_rising = !self.is_rising;
        }
        self.before = rate;
        self.answers = 0;
        self.began = Some(now);
        let step = (self.limit / 4).max(1);
        self.set(if self.is_rising { self.limit + step } else { self.limit - step.min(self.limit) })
    }

    /// The server asks for fewer requests, or does not answer; gives the new limit when it changed.
    pub(crate) fn refused(&mut self, now: Instant, pause: Duration) -> Option<usize> {
        let until = now + pause;
        self.held_until = Some(self.held_until.map_or(until, |held| held.max(until)));
        self.answers = 0;
        self.began = None;
        self.before = 0.0;
        self.is_rising = true;
        self.set(self.limit / 2)
    }

    fn set(&mut self, limit: usize) -> Option<usize> {
        let limit = limit.clamp(*RANGE.start(), *RANGE.end());
        (std::mem::replace(&mut self.limit, limit) != limit).then_some(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers `count` requests in `seconds`, all slots in use.
    fn round(pace: &mut Pace, now: &mut Instant, count: usize, seconds: f64) {
        for _ in 0..count {
            *now += Duration::from_secs_f64(seconds / f64::from(u32::try_from(count).unwrap()));
            pace.answered(*now, pace.limit());
        }
    }

    #[tokio::test]
    async fn the_limit_rises_while_more_requests_give_more_answers() {
        let (mut pace, mut now) = (Pace::new(), Instant::now());
        for _ in 0..4 {
            let (limit, per_answer) = (pace.limit(), 1.0);
            // Every request takes a second, however many there are: twice as many give twice the answers.
            round(&mut pace, &mut now, limit * 4, 4.0 * per_answer);
        }
        assert!(pace.limit() > BEGIN, "{}", pace.limit());
    }

    #[tokio::test]
    async fn the_limit_turns_round_where_more_requests_give_no_more_answers() {
        let (mut pace, mut now) = (Pace::new(), Instant::now());
        let mut seen = Vec::new();
        for _ in 0..12 {
            let limit = pace.limit();
            // A hundred answers a second, however many are asked at once.
            round(&mut pace, &mut now, limit * 4, f64::from(u32::try_from(limit * 4).unwrap()) / 100.0);
            seen.push(pace.limit());
        }
        assert!(seen.iter().all(|limit| *limit < 48), "{seen:?}");
    }

    #[tokio::test]
    async fn a_refusal_halves_the_limit_and_holds_everything() {
        let (mut pace, now) = (Pace::new(), Instant::now());
        assert_eq!(pace.refused(now, Duration::from_secs(3)), Some(BEGIN / 2));
        assert_eq!(pace.held_until(now), Some(now + Duration::from_secs(3)));
        assert_eq!(pace.held_until(now + Duration::from_secs(3)), None);
    }

    #[tokio::test]
    async fn an_idle_server_teaches_nothing() {
        let (mut pace, mut now) = (Pace::new(), Instant::now());
        for _ in 0..1000 {
            now += Duration::from_millis(1);
            assert_eq!(pace.answered(now, 3), None);
        }
        assert_eq!(pace.limit(), BEGIN);
    }
}
