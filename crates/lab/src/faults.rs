//! Faults on purpose: latency, refusals, lost answers, broken watches, outages.
//!
//! A [`Rule`] says which requests it concerns, what happens to them, when, how often and how likely. Rules come from a
//! scenario, from the program or over HTTP (`/lab/v1/faults`); they are asked in the order in which they were added.
//! Everything that is random comes from the seed, everything that takes time takes the time of the lab.

mod answer;
mod api;
mod request;
mod rule;
mod schema;
mod span;
mod stream;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use futures::future::{pending, select};
use http::{HeaderValue, Response};
use serde::Serialize;
use tokio::sync::watch;

pub use request::Verb;
pub use rule::{Effect, Match, Rule, RuleError};
pub use span::{Offset, Span, SpanError};

use crate::{Clock, Rng, User};
use request::Asked;

/// The header of an answer that is not the server's own; its value is the name of the rule.
pub const FAULT_HEADER: &str = "x-lockstep-fault";

/// The faults of one lab; copies of it are the same.
#[derive(Clone, Debug)]
pub struct Faults(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Arc<Clock>,
    rng: Rng,
    rules: Mutex<Rules>,
    /// Counts changes of the rules: open watches and the schedule look again.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Rules {
    last_id: u64,
    entries: Vec<Entry>,
}

/// A rule at work.
#[derive(Clone, Debug)]
struct Entry {
    id: u64,
    rule: Rule,
    rng: Rng,
    /// From when on it counts, in the time of the lab.
    start: Duration,
    /// From when on it does not count any more.
    end: Option<Duration>,
    hits: u64,
}

/// A rule and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleReport {
    /// The number that [`Faults::add`] gave.
    pub id: u64,
    /// The rule itself.
    pub rule: Rule,
    /// How often it had an effect.
    pub hits: u64,
    /// Where it stands.
    pub state: RuleState,
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleState {
    /// Its time has not come.
    Waiting,
    /// It has an effect on what it matches.
    Active,
    /// Its time is over, or it had its effect as often as it should.
    Over,
}

/// What happens to one request.
#[derive(Debug, Default, PartialEq)]
struct Fate {
    /// How long it waits first.
    delay: Duration,
    /// What it gets instead of an answer, and the name of the rule.
    end: Option<(String, Effect)>,
    /// The outages that it came through: they have decided about the watch that it opens.
    spared: BTreeSet<u64>,
}

// === impl Faults ===

impl Faults {
    /// No faults yet.
    pub fn new(rng: &Rng, clock: Arc<Clock>) -> Self {
        let (changes, _) = watch::channel(0);
        Self(Arc::new(Shared { clock, rng: rng.fork("faults"), rules: Mutex::default(), changes }))
    }

    /// Adds a rule and gives its number.
    pub fn add(&self, rule: Rule) -> Result<u64, RuleError> {
        rule.check()?;
        let now = self.0.clock.elapsed();
        let id = {
            let mut rules = self.rules();
            if rules.entries.iter().any(|entry| entry.rule.name == rule.name) {
                return Err(RuleError::Exists(rule.name));
            }
            rules.last_id += 1;
            let start = rule.from.map_or(now, Duration::from);
            let entry = Entry {
                id: rules.last_id,
                rng: self.0.rng.fork(&rule.name),
                start,
                end: rule.duration.map(|length| start.saturating_add(length.into())),
                hits: 0,
                rule,
            };
            rules.entries.push(entry);
            rules.last_id
        };
        self.jump_when_due();
        self.tell();
        Ok(id)
    }

    /// Takes a rule away; `None` when there is no such rule.
    pub fn remove(&self, name: &str) -> Option<Rule> {
        let removed = {
            let mut rules = self.rules();
            let at = rules.entries.iter().position(|entry| entry.rule.name == name)?;
            rules.entries.remove(at)
        };
        self.tell();
        Some(removed.rule)
    }

    /// Takes all rules away.
    pub fn clear(&self) {
        self.rules().entries.clear();
        self.tell();
    }

    /// All rules in the order in which they were added.
    pub fn list(&self) -> Vec<RuleReport> {
        let now = self.0.clock.elapsed();
        self.rules()
            .entries
            .iter()
            .map(|entry| RuleReport {
                id: entry.id,
                rule: entry.rule.clone(),
                hits: entry.hits,
                state: entry.state(now),
            })
            .collect()
    }

    /// The API behind the faults, and beside it the API of the faults themselves.
    pub fn wrap(&self, api: Router) -> Router {
        api.layer(middleware::from_fn_with_state(self.clone(), pass)).merge(api::router(self.clone()))
    }

    /// Executes what happens by the clock alone, for ever; a lab runs it beside its other tasks.
    pub async fn run_schedule(self) {
        let mut changes = self.0.changes.subscribe();
        loop {
            changes.borrow_and_update();
            self.jump_when_due();
            let wait = self.until_next_jump();
            self.until(wait, &mut changes).await;
        }
    }

    /// Waits this long, or for ever, or until the rules change.
    async fn until(&self, wait: Option<Duration>, changes: &mut watch::Receiver<u64>) {
        let sleep = async {
            match wait {
                Some(wait) => self.0.clock.sleep(wait).await,
                None => pending().await,
            }
        };
        let change = async {
            // Nobody can drop the sender: this is a copy of what owns it.
            let _ = changes.changed().await;
        };
        select(std::pin::pin!(change), std::pin::pin!(sleep)).await;
    }

    /// Decides about a request. Watches that it opens are decided about later, see [`stream`].
    fn decide(&self, asked: &Asked) -> Fate {
        let now = self.0.clock.elapsed();
        let mut fate = Fate::default();
        for entry in &mut self.rules().entries {
            let concerns = match &entry.rule.effect {
                Effect::ClockJump { .. } | Effect::DropWatch { .. } | Effect::StallWatch { .. } => false,
                Effect::ExpireWatch {} => asked.has_version,
                _ => true,
            };
            if !concerns || !entry.strikes(asked, now) {
                if matches!(entry.rule.effect, Effect::Outage {}) && entry.start <= now {
                    fate.spared.insert(entry.id);
                }
                continue;
            }
            match &entry.rule.effect {
                Effect::Latency { from, to } => {
                    fate.delay += between(&mut entry.rng, *from, to.unwrap_or(*from));
                }
                effect => {
                    fate.end = Some((entry.rule.name.clone(), effect.clone()));
                    break;
                }
            }
        }
        fate
    }

    /// Executes the clock jumps whose time has come.
    fn jump_when_due(&self) {
        let now = self.0.clock.elapsed();
        for entry in &mut self.rules().entries {
            if let Effect::ClockJump { by } = entry.rule.effect
                && entry.hits == 0
                && entry.start <= now
            {
                entry.hits = 1;
                self.0.clock.jump(by.into());
            }
        }
    }

    fn until_next_jump(&self) -> Option<Duration> {
        let now = self.0.clock.elapsed();
        let rules = self.rules();
        let waiting = rules.entries.iter().filter(|entry| entry.is_jump() && entry.hits == 0);
        waiting.map(|entry| entry.start.saturating_sub(now)).min()
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        // A panic elsewhere leaves the list whole: every change is one push or one removal.
        self.0.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.0.changes.send_modify(|count| *count += 1);
    }
}

// === impl Entry ===

impl Entry {
    fn is_jump(&self) -> bool {
        matches!(self.rule.effect, Effect::ClockJump { .. })
    }

    fn state(&self, now: Duration) -> RuleState {
        let is_used_up = match self.rule.times {
            Some(times) => self.hits >= times,
            None => self.is_jump() && self.hits > 0,
        };
        if is_used_up || self.end.is_some_and(|end| now >= end) {
            RuleState::Over
        } else if now < self.start {
            RuleState::Waiting
        } else {
            RuleState::Active
        }
    }

    /// Whether the rule has its effect on this request; counts it if so.
    fn strikes(&mut self, asked: &Asked, now: Duration) -> bool {
        if self.state(now) != RuleState::Active || !self.rule.matching.matches(asked) {
            return false;
        }
        // NB: drawn only for requests that match, so other traffic does not change what happens to these.
        let is_hit = self.rule.probability.is_none_or(|probability| self.rng.fraction() < probability);
        self.hits += u64::from(is_hit);
        is_hit
    }
}

/// A duration from a range, both ends included.
fn between(rng: &mut Rng, from: Span, to: Span) -> Duration {
    let (from, to) = (Duration::from(from), Duration::from(to));
    let width = u64::try_from(to.saturating_sub(from).as_micros()).unwrap_or(u64::MAX - 1);
    from + Duration::from_micros(rng.below(width.saturating_add(1)))
}

/// One request on its way through the faults.
async fn pass(State(faults): State<Faults>, request: Request, next: Next) -> Response<Body> {
    // The usual case costs nothing. A watch may outlive it.
    let uri = request.uri();
    let may_watch =
        uri.query().is_some_and(|query| query.contains("watch")) || uri.path().contains("/watch/");
    if faults.rules().entries.is_empty() && !may_watch {
        return next.run(request).await;
    }
    let asked = Asked::of(&request);
    let user = request.extensions().get::<User>().cloned().unwrap_or_default();
    let clock = &faults.0.clock;
    let fate = faults.decide(&asked);
    if !fate.delay.is_zero() {
        clock.sleep(fate.delay).await;
    }
    let Some((name, effect)) = fate.end else {
        let response = next.run(request).await;
        return if asked.verb == Some(Verb::Watch) && response.status().is_success() {
            stream::guard(faults, asked, fate.spared, response)
        } else {
            response
        };
    };
    let mut response = match effect {
        Effect::TimeoutBeforeCommit { after, hang } => {
            wait(clock, after, hang).await;
            answer::timeout()
        }
        Effect::TimeoutAfterCommit { after, hang } => {
            // What the server says is lost, what it did stays done.
            drop(next.run(request).await);
            wait(clock, after, hang).await;
            answer::timeout()
        }
        Effect::Refuse { code, retry_after } => answer::refusal(&asked, &user, code, retry_after),
        Effect::ExpireWatch {} => answer::expired(&asked),
        _ => answer::outage(),
    };
    if let Ok(name) = HeaderValue::try_from(name) {
        response.headers_mut().insert(FAULT_HEADER, name);
    }
    response
}

async fn wait(clock: &Clock, after: Span, is_endless: bool) {
    if is_endless {
        pending::<()>().await;
    }
    clock.sleep(after.into()).await;
}

#[cfg(test)]
mod tests;
