//! Which machine takes a Pod: selectors and taints, nothing more.

use std::sync::Arc;

use serde_json::Value;

use crate::Rng;

use super::cache::{Kind, text};
use super::shared::{Shared, lock};

/// All machines, in order of their names.
pub(crate) fn nodes(world: &Shared) -> Vec<Arc<Value>> {
    lock(&world.cache).of_kind(Kind::Node).map(|(_, node)| Arc::clone(node)).collect()
}

/// Chooses a machine for a Pod.
///
/// # Errors
/// The scheduler's sentence about why there is none.
pub(crate) fn choose<'a>(nodes: &'a [Arc<Value>], spec: &Value, rng: &mut Rng) -> Result<&'a str, String> {
    if nodes.is_empty() {
        return Err("no nodes available to schedule pods".to_owned());
    }
    let refusals: Vec<Option<&str>> = nodes.iter().map(|node| refusal(node, spec)).collect();
    let fitting: Vec<&Arc<Value>> =
        nodes.iter().zip(&refusals).filter(|(_, refusal)| refusal.is_none()).map(|(node, _)| node).collect();
    if fitting.is_empty() {
        let mut reasons: Vec<String> = Vec::new();
        let mut seen: Vec<&str> = refusals.iter().copied().flatten().collect();
        seen.sort_unstable();
        for group in seen.chunk_by(|one, two| one == two) {
            reasons.push(format!("{} {}", group.len(), group[0]));
        }
        let all = nodes.len();
        return Err(format!(
            "0/{all} nodes are available: {}. no new claims to deallocate, preemption: 0/{all} nodes are available: {all} Preemption is not helpful for scheduling.",
            reasons.join(", ")
        ));
    }
    let index = usize::try_from(rng.below(fitting.len() as u64)).unwrap_or_default();
    Ok(text(&fitting[index]["metadata"]["name"]))
}

/// Why a machine does not take a Pod.
pub(crate) fn refusal(node: &Value, spec: &Value) -> Option<&'static str> {
    let labels = &node["metadata"]["labels"];
    let selected = spec["nodeSelector"].as_object();
    if selected.into_iter().flatten().any(|(key, value)| labels[key] != *value) {
        return Some("node(s) didn't match Pod's node affinity/selector");
    }
    let taints = node["spec"]["taints"].as_array();
    let repels = |taint: &&Value| matches!(text(&taint["effect"]), "NoSchedule" | "NoExecute");
    let is_tolerated = |taint: &Value| {
        let tolerations = spec["tolerations"].as_array();
        tolerations.into_iter().flatten().any(|toleration| tolerates(toleration, taint))
    };
    let untolerated = taints.into_iter().flatten().filter(repels).any(|taint| !is_tolerated(taint));
    untolerated.then_some("node(s) had untolerated taint(s)")
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let is_unset = |field: &str| text(&toleration[field]).is_empty();
    let fits = |field: &str| is_unset(field) || toleration[field] == taint[field];
    let value = toleration["operator"] == "Exists" || text(&toleration["value"]) == text(&taint["value"]);
    fits("effect") && fits("key") && value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, role: &str, taint: bool) -> Arc<Value> {
        let mut node = json!({"metadata": {"name": name, "labels": {"role": role}}, "spec": {}});
        if taint {
            node["spec"]["taints"] = json!([{"key": "t", "effect": "NoSchedule"}]);
        }
        Arc::new(node)
    }

    #[test]
    fn a_pod_goes_where_its_selector_and_its_tolerations_let_it() {
        let nodes = [node("a", "x", true), node("b", "y", false)];
        let choose = |spec: Value| choose(&nodes, &spec, &mut Rng::new(1)).map(str::to_owned);
        assert_eq!(choose(json!({})), Ok("b".to_owned()));
        let tolerant = json!({"nodeSelector": {"role": "x"}, "tolerations": [{"operator": "Exists"}]});
        assert_eq!(choose(tolerant), Ok("a".to_owned()));
        let refused = choose(json!({"nodeSelector": {"role": "x"}})).unwrap_err();
        assert!(
            refused.starts_with("0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)."),
            "{refused}"
        );
    }
}
