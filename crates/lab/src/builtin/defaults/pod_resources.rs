//! Requests and limits that follow from one another, in Pods only.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Object;
use crate::builtin::decode::Quantity;

type Amounts = BTreeMap<String, Quantity>;

/// A limit without a request is the request too.
pub(super) fn requests_from_limits(resources: &mut Object) {
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    let requests = super::inside(resources, "requests");
    for (name, amount) in limits {
        requests.entry(name).or_insert(amount);
    }
}

/// Resources of the Pod as a whole, where it has any.
pub(super) fn whole_pod(spec: &mut Object) {
    if !spec.get("resources").is_some_and(Value::is_object) {
        return;
    }
    let (container_requests, container_limits) = (aggregate(spec, "requests"), aggregate(spec, "limits"));
    let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) else { return };
    let mut limits = part(resources, "limits");
    let mut requests = part(resources, "requests");
    if !(limits.is_empty() && requests.is_empty()) {
        for (name, amount) in container_limits.iter().filter(|(name, _)| is_huge_page(name)) {
            if !requests.contains_key(name) {
                limits.entry(name.clone()).or_insert_with(|| amount.to_string().into());
            }
        }
    }
    if !limits.is_empty() {
        // Huge pages cannot be shared out beyond what there is; their request is their limit.
        for (name, amount) in
            container_requests.iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory"))
        {
            requests.entry(name.clone()).or_insert_with(|| amount.to_string().into());
        }
        for (name, amount) in &limits {
            if is_huge_page(name) || matches!(name.as_str(), "cpu" | "memory") {
                requests.entry(name.clone()).or_insert_with(|| amount.clone());
            }
        }
    }
    for (name, amounts) in [("limits", limits), ("requests", requests)] {
        if !amounts.is_empty() {
            resources.insert(name.into(), amounts.into());
        }
    }
}

fn part(resources: &Object, name: &str) -> Object {
    resources.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// What all containers need: the sum of those that run side by side, or what one of those before them needs, if that is more.
fn aggregate(spec: &Object, which: &str) -> Amounts {
    let containers =
        |list: &str| spec.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter();
    let mut sum = Amounts::new();
    for container in containers("containers") {
        add(&mut sum, &amounts(container, which));
    }
    let mut sidecars = Amounts::new();
    let mut most = Amounts::new();
    for container in containers("initContainers") {
        let mut needs = amounts(container, which);
        if container["restartPolicy"] == "Always" {
            add(&mut sum, &needs);
            add(&mut sidecars, &needs);
            needs = sidecars.clone();
        } else {
            add(&mut needs, &sidecars);
        }
        maximum(&mut most, needs);
    }
    maximum(&mut sum, most);
    sum
}

fn amounts(container: &Value, which: &str) -> Amounts {
    let list = container["resources"][which].as_object();
    list.into_iter()
        .flatten()
        .filter_map(|(name, amount)| Some((name.clone(), Quantity::parse(amount.as_str()?).ok()?)))
        .collect()
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        match sum.get_mut(name) {
            Some(sum) => sum.add(amount),
            None => drop(sum.insert(name.clone(), amount.clone())),
        }
    }
}

fn maximum(most: &mut Amounts, other: Amounts) {
    for (name, amount) in other {
        match most.get_mut(&name) {
            Some(most) if most.compare(&amount).is_ge() => {}
            _ => drop(most.insert(name, amount)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole(spec: Value) -> Value {
        let mut spec = spec;
        whole_pod(spec.as_object_mut().unwrap());
        spec["resources"].clone()
    }

    #[test]
    fn the_request_of_a_pod_is_the_sum_of_its_containers_or_its_limit() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        assert_eq!(
            whole(
                json!({"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}, "containers": [container("500m"), container("600m")],
                "initContainers": [container("1")]})
            ),
            json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1100m", "memory": "1Gi"}})
        );
        assert_eq!(
            whole(json!({"resources": {"limits": {"cpu": "2"}}, "containers": [container("500m")],
                "initContainers": [container("1500m")]})),
            json!({"limits": {"cpu": "2"}, "requests": {"cpu": "1500m"}})
        );
    }

    #[test]
    fn a_pod_without_limits_gets_nothing_but_the_huge_pages_of_its_containers() {
        let spec = json!({"resources": {"requests": {"cpu": "1"}},
            "containers": [{"resources": {"limits": {"cpu": "1", "hugepages-2Mi": "4Mi"}}}]});
        assert_eq!(
            whole(spec),
            json!({"requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}})
        );
        assert_eq!(whole(json!({"containers": []})), Value::Null);
    }
}
