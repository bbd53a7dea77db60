use http::Request;
use serde_json::{Value, json};

use super::*;
use crate::{Lab, LabOptions};

/// A lab in virtual time with a world in it.
struct Stage {
    lab: Lab,
    _tasks: JoinSet<WorldError>,
}

impl Stage {
    fn open(scenario: &str) -> Self {
        let text = format!("apiVersion: lab.lockstep.dev/v1\nkind: Scenario\n{scenario}");
        let scenario = Scenario::read("test", text.as_bytes()).unwrap();
        let clock = Arc::new(Clock::simulated());
        let lab = Lab::new(LabOptions { clock: Arc::clone(&clock), ..LabOptions::default() });
        let mut tasks = JoinSet::new();
        tasks.spawn(World::new(lab.client(), scenario, None, clock, 1).run());
        Self { lab, _tasks: tasks }
    }

    async fn create(&self, path: &str, object: &Value) -> Value {
        let request = Request::post(path).header("content-type", "application/json");
        self.lab.client().request(request.body(object.to_string().into()).unwrap()).await.unwrap()
    }

    async fn get(&self, path: &str) -> Value {
        self.lab.client().request(Request::get(path).body(Vec::new()).unwrap()).await.unwrap_or_default()
    }
}

fn pod(name: &str, owner: &Value) -> Value {
    let owner = json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

#[tokio::test(start_paused = true)]
async fn pods_whose_owners_are_there_stay_whatever_the_world_follows() {
    // Where ReplicaSets are played, theirs makes a Pod of its own and takes one away.
    for (scenario, names) in [("base: instant\n", &["of-set", "mirror"][..]), ("nodes: []\n", &["mirror"])] {
        let stage = Stage::open(scenario);
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}});
        let set = stage.create("/apis/apps/v1/namespaces/default/replicasets", &set).await;
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
        let node = stage.create("/api/v1/nodes", &node).await;
        let pods = "/api/v1/namespaces/default/pods";
        let mut labelled = pod("of-set", &set);
        labelled["metadata"]["labels"] = json!({"a": "b"});
        stage.create(pods, &labelled).await;
        stage.create(pods, &pod("mirror", &node)).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
        for &name in names {
            let found = stage.get(&format!("{pods}/{name}")).await;
            assert_eq!(found["metadata"]["name"], name, "{scenario}: {name} is gone");
            assert_eq!(found["metadata"]["deletionTimestamp"], Value::Null, "{scenario}: {name} ends");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_flapping_workload_without_a_period_does_not_stop_the_world() {
    for pods in ["true", "false"] {
        let stage = Stage::open(&format!(
            "workloads: [{{readyAfter: 1s, pods: {pods}, behaviour: {{flapping: {{period: 0s}}}}}}]\n"
        ));
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}});
        stage.create("/apis/apps/v1/namespaces/default/deployments", &deployment).await;
        let mut seen = BTreeSet::new();
        for _ in 0..120 {
            tokio::time::sleep(Duration::from_millis(700)).await;
            let status = stage.get("/apis/apps/v1/namespaces/default/deployments/d").await;
            seen.insert(status["status"]["readyReplicas"].as_u64().unwrap_or_default());
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1], "pods: {pods}");
    }
}
