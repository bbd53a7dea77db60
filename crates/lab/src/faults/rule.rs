//! A rule: which requests, what happens to them, when and how often.

use serde::{Deserialize, Serialize};

use super::request::{Asked, Verb};
use super::span::{Offset, Span};

/// One fault on purpose.
///
/// # Example
/// ```yaml
/// name: slow-lists
/// match: {verbs: [list], resources: [pods, deployments.apps]}
/// effect: {latency: {from: 100ms, to: 2s}}
/// from: 5m
/// for: 10m
/// probability: 0.5
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Its name, unique in a lab; also the seed of its randomness.
    pub name: String,
    /// Which requests it concerns; all when this is left out.
    #[serde(default, rename = "match", skip_serializing_if = "Match::is_empty")]
    pub matching: Match,
    /// What happens to them.
    pub effect: Effect,
    /// From when on, counted from the start of the lab; left out: from when it is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Span>,
    /// For how long; left out: until it is removed.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// How often at most; left out: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// How likely, from 0 to 1; left out: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// Which requests a rule concerns. What is left out matches everything; what is there must all match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// What the request wants to do. Discovery and health have no verb and match only where this is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<Verb>,
    /// The resources: `pods`, `deployments.apps`, `*.apps`, `*`; with `/status` only that subresource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_name: Option<String>,
    /// What the `User-Agent` of the client begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Effect {
    /// It waits this long and goes on; with `to` a random time between both.
    Latency {
        /// The shortest time.
        from: Span,
        /// The longest time; left out: the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Span>,
    },
    /// It is refused as the real server refuses.
    Refuse {
        /// 401, 403, 404, 409, 429, 500 or 503.
        code: u16,
        /// When the client may come again, for 429 (left out: after one second) and 503; whole seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<Span>,
    },
    /// It is not executed; a timeout is the answer.
    TimeoutBeforeCommit {
        /// When the answer comes.
        #[serde(default)]
        after: Span,
        /// Whether no answer comes at all.
        #[serde(default)]
        hang: bool,
    },
    /// It is executed, and a timeout is the answer all the same.
    TimeoutAfterCommit {
        /// When the answer comes, after it was executed.
        #[serde(default)]
        after: Span,
        /// Whether no answer comes at all.
        #[serde(default)]
        hang: bool,
    },
    /// A watch ends, also one that was open before.
    DropWatch {
        /// How long after its start, or after the start of the rule where that is later.
        #[serde(default)]
        after: Span,
    },
    /// A watch stays open and says nothing any more, not even bookmarks; also one that was open before.
    StallWatch {
        /// How long after its start, or after the start of the rule where that is later.
        #[serde(default)]
        after: Span,
    },
    /// The version of a watch or list is too old: 410.
    ExpireWatch {},
    /// Nobody is there: every request gets a 503 that is no answer of an API server, and open watches end.
    Outage {},
    /// The clock of the lab is set forward or back, once, whatever is asked.
    ClockJump {
        /// By how much: `5m`, `-1h`.
        by: Offset,
    },
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RuleError {
    /// The name cannot be used.
    #[error("name: {0:?} is no name for a rule; use letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// The name is in use.
    #[error("name: there is a rule {0:?} already; remove it first, or use another name")]
    Exists(String),
    /// The code is none of those that can be asked for.
    #[error("effect.refuse.code: {0} is none of 401, 403, 404, 409, 429, 500 and 503")]
    Code(u16),
    /// The server says when to come again only with two codes.
    #[error("effect.refuse.retryAfter: only with the codes 429 and 503, not with {0}; leave it out")]
    RetryAfter(u16),
    /// The range is the wrong way round.
    #[error("effect.latency: `from: {from}` is more than `to: {to}`; exchange them")]
    Range {
        /// What should be the shortest time.
        from: Span,
        /// What should be the longest time.
        to: Span,
    },
    /// The effect is one of watches, and the verbs leave them out.
    #[error("match.verbs: `{0}` needs the verb `watch`; add it, or leave the verbs out")]
    NoWatch(&'static str),
    /// A clock jump happens once and to everybody.
    #[error("{0}: a clock jump happens once and to everybody; leave the field out")]
    Jump(&'static str),
    /// A probability is from 0 to 1.
    #[error("probability: {0} is not between 0 and 1")]
    Probability(f64),
    /// A rule that never has an effect.
    #[error("times: 0 means never; leave the rule out")]
    Never,
    /// A resource that cannot be matched.
    #[error(
        "match.resources: {0:?} is no resource; write `pods`, `deployments.apps`, `*.apps`, `*` or `pods/status`"
    )]
    Resource(String),
}

// === impl Rule ===

impl Rule {
    /// Whether the rule makes sense.
    pub fn check(&self) -> Result<(), RuleError> {
        let is_name_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if self.name.is_empty() || !self.name.bytes().all(is_name_letter) {
            return Err(RuleError::Name(self.name.clone()));
        }
        if let Some(probability) = self.probability.filter(|it| !(0.0..=1.0).contains(it)) {
            return Err(RuleError::Probability(probability));
        }
        if self.times == Some(0) {
            return Err(RuleError::Never);
        }
        let is_wrong = |pattern: &&String| Pattern::parse(pattern).is_none();
        if let Some(pattern) = self.matching.resources.iter().find(is_wrong) {
            return Err(RuleError::Resource(pattern.clone()));
        }
        self.check_effect()
    }

    fn check_effect(&self) -> Result<(), RuleError> {
        let verbs = &self.matching.verbs;
        let leaves_out = |verb: Verb| !verbs.is_empty() && !verbs.contains(&verb);
        match &self.effect {
            Effect::Latency { from, to: Some(to) } if from > to => {
                Err(RuleError::Range { from: *from, to: *to })
            }
            Effect::Refuse { code, .. } if ![401, 403, 404, 409, 429, 500, 503].contains(code) => {
                Err(RuleError::Code(*code))
            }
            Effect::Refuse { code, retry_after: Some(_) } if ![429, 503].contains(code) => {
                Err(RuleError::RetryAfter(*code))
            }
            Effect::DropWatch { .. } if leaves_out(Verb::Watch) => Err(RuleError::NoWatch("dropWatch")),
            Effect::StallWatch { .. } if leaves_out(Verb::Watch) => Err(RuleError::NoWatch("stallWatch")),
            Effect::ClockJump { .. } => {
                let fields = [
                    ("match", !self.matching.is_empty()),
                    ("for", self.duration.is_some()),
                    ("times", self.times.is_some()),
                    ("probability", self.probability.is_some()),
                ];
                match fields.iter().find(|(_, is_there)| *is_there) {
                    Some((field, _)) => Err(RuleError::Jump(field)),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

// === impl Match ===

impl Match {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a request is one of those meant.
    pub(super) fn matches(&self, asked: &Asked) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        let is_verb = self.verbs.is_empty() || asked.verb.is_some_and(|verb| self.verbs.contains(&verb));
        let mut patterns = self.resources.iter().filter_map(|pattern| Pattern::parse(pattern));
        let is_resource = self.resources.is_empty() || patterns.any(|pattern| pattern.matches(asked));
        let is_agent = self.user_agent.as_ref().is_none_or(|prefix| asked.user_agent.starts_with(prefix));
        is_verb
            && is_resource
            && is_agent
            && is(&self.namespace, &asked.namespace)
            && is(&self.object_name, &asked.name)
    }
}

/// `RESOURCE[.GROUP][/SUBRESOURCE]`
struct Pattern<'a> {
    resource: &'a str,
    group: &'a str,
    subresource: Option<&'a str>,
}

// === impl Pattern ===

impl<'a> Pattern<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (name, subresource) = match text.split_once('/') {
            Some((name, subresource)) => (name, Some(subresource)),
            None => (text, None),
        };
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        let is_word = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
        };
        let is_right = (resource == "*" || is_word(resource))
            && (!name.contains('.') || is_word(group))
            && subresource.is_none_or(is_word);
        is_right.then_some(Self { resource, group, subresource })
    }

    fn matches(&self, asked: &Asked) -> bool {
        let is_any_group = self.resource == "*" && self.group.is_empty();
        !asked.resource.is_empty()
            && (self.resource == "*" || self.resource == asked.resource)
            && (is_any_group || self.group == asked.group)
            && self.subresource.is_none_or(|it| it == asked.subresource)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::request::tests::asked;
    use super::*;

    fn rule(value: Value) -> Result<Rule, String> {
        let rule: Rule = serde_json::from_value(value).map_err(|error| error.to_string())?;
        rule.check().map_err(|error| error.to_string())?;
        Ok(rule)
    }

    #[test]
    fn a_rule_is_read_and_written_in_the_same_form() {
        for value in [
            json!({"name": "a", "match": {"verbs": ["list", "deletecollection"], "resources": ["pods"], "objectName": "x",
                "userAgent": "kubectl/", "namespace": "n"}, "effect": {"latency": {"from": "100ms", "to": "2s"}},
                "from": "5m", "for": "1h30m", "times": 3, "probability": 0.5}),
            json!({"name": "b", "effect": {"refuse": {"code": 429, "retryAfter": "5s"}}}),
            json!({"name": "c", "effect": {"timeoutAfterCommit": {"after": "1m", "hang": false}}}),
            json!({"name": "d", "effect": {"dropWatch": {"after": "30s"}}}),
            json!({"name": "e", "effect": {"expireWatch": {}}}),
            json!({"name": "f", "effect": {"outage": {}}, "for": "2m"}),
            json!({"name": "g", "effect": {"clockJump": {"by": "-5m"}}}),
        ] {
            assert_eq!(serde_json::to_value(rule(value.clone()).unwrap()).unwrap(), value);
        }
    }

    #[test]
    fn mistakes_are_named_with_their_field() {
        let outage = json!({"outage": {}});
        for (value, part) in [
            (json!({"name": "a b", "effect": outage}), "name: \"a b\""),
            (json!({"name": "a", "effect": outage, "probability": 1.5}), "probability: 1.5"),
            (json!({"name": "a", "effect": outage, "times": 0}), "times: 0"),
            (json!({"name": "a", "effect": outage, "form": "5m"}), "unknown field `form`"),
            (json!({"name": "a", "effect": outage, "from": "5"}), "\"5\" is no duration"),
            (
                json!({"name": "a", "effect": outage, "match": {"resources": ["Pods"]}}),
                "match.resources: \"Pods\"",
            ),
            (json!({"name": "a", "effect": outage, "match": {"verbs": ["read"]}}), "unknown variant `read`"),
            (json!({"name": "a", "effect": {"refuse": {"code": 418}}}), "effect.refuse.code: 418"),
            (
                json!({"name": "a", "effect": {"refuse": {"code": 409, "retryAfter": "1s"}}}),
                "effect.refuse.retryAfter",
            ),
            (json!({"name": "a", "effect": {"latency": {"from": "2s", "to": "1s"}}}), "exchange them"),
            (json!({"name": "a", "effect": {"stallWatch": {}}, "match": {"verbs": ["list"]}}), "match.verbs"),
            (json!({"name": "a", "effect": {"clockJump": {"by": "1h"}}, "times": 2}), "times: a clock jump"),
            (json!({"name": "a", "effect": {"outage": {"x": 1}}}), "unknown field `x`"),
            (json!({"name": "a"}), "missing field `effect`"),
        ] {
            let error = rule(value.clone()).unwrap_err();
            assert!(error.contains(part), "{value}: {error}");
        }
    }

    #[test]
    fn patterns_match_resources_groups_and_subresources() {
        for (pattern, line, expected) in [
            ("pods", "GET /api/v1/pods", true),
            ("pods", "GET /api/v1/namespaces/x/pods/y/status", true),
            ("pods/status", "GET /api/v1/namespaces/x/pods/y", false),
            ("pods/status", "PUT /api/v1/namespaces/x/pods/y/status", true),
            ("pods", "GET /apis/metrics.k8s.io/v1/pods", false),
            ("deployments.apps", "GET /apis/apps/v1/deployments", true),
            ("deployments", "GET /apis/apps/v1/deployments", false),
            ("*.apps", "GET /apis/apps/v1/deployments", true),
            ("*.apps", "GET /api/v1/pods", false),
            ("*", "GET /apis/apps/v1/deployments", true),
            ("*", "GET /version", false),
            (
                "clusteroperators.config.openshift.io",
                "GET /apis/config.openshift.io/v1/clusteroperators",
                true,
            ),
        ] {
            let matching = Match { resources: vec![pattern.into()], ..Match::default() };
            assert_eq!(matching.matches(&asked(line)), expected, "{pattern} {line}");
        }
    }

    #[test]
    fn every_part_of_a_match_must_hold() {
        let matching: Match = serde_json::from_value(
            json!({"verbs": ["get"], "namespace": "x", "objectName": "y", "userAgent": "kubectl/"}),
        )
        .unwrap();
        let mut it = asked("GET /api/v1/namespaces/x/pods/y");
        assert!(!matching.matches(&it), "another program");
        it.user_agent = "kubectl/v1.36.3 (linux/amd64)".into();
        assert!(matching.matches(&it));
        for line in [
            "GET /api/v1/namespaces/x/pods/z",
            "GET /api/v1/namespaces/z/pods/y",
            "PUT /api/v1/namespaces/x/pods/y",
        ] {
            let it = Asked { user_agent: "kubectl/".into(), ..asked(line) };
            assert!(!matching.matches(&it), "{line}");
        }
        assert!(Match::default().matches(&asked("GET /version")));
    }
}
