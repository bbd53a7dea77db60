//! Three replicas of `lockstep operator` on a real server while they are killed, the API server restarts, etcd stands still
//! and people edit and delete what is managed: never two writers, no lost entry of the history, and it always converges.
//!
//! `LOCKSTEP_CHAOS_SECONDS` says for how long (60), `LOCKSTEP_SEED` what happens when.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in the functions that tests share")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lockstep_apply::modify::ClusterFacts;
use lockstep_lab::Rng;
use lockstep_tests::cli::root;
use lockstep_tests::clients::Call;
use lockstep_tests::operator::{
    DEPLOYMENT, FIRST_IMAGE, Failures, LEASE, Launch, Observer, Replica, VERSION, bring_version, is_at,
    signal, until,
};
use lockstep_tests::real::{Chosen, Real, SET, Wanted, wanted, wanted_in};
use lockstep_tests::releases::example;
use lockstep_tests::writers::{changes_of_hands, intruders, writes};
use serde_json::{Value, json};
use xtask::kube::ServerOptions;

/// How long the cluster may take to converge when it is left alone.
const PATIENCE: Duration = Duration::from_mins(4);
const USERS: [&str; 3] = ["replica-0", "replica-1", "replica-2"];

/// The replicas, and who plays the kubelet for them.
struct Stage {
    real: Real,
    folder: tempfile::TempDir,
    replicas: BTreeMap<usize, (String, Replica)>,
    tally: BTreeMap<&'static str, usize>,
}

impl Stage {
    fn count(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    /// Starts who does not run, each from the image that the Deployment names; ends who runs from another one.
    async fn play_kubelet(&mut self) {
        let deployment = self.real.get(DEPLOYMENT).await;
        let image = deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
        let target = release("1.1.0").display().to_string();
        let (image, version) =
            if image == Some(&target) { (target, "1.1.0") } else { (FIRST_IMAGE.to_owned(), "1.0.0") };
        for (number, user) in USERS.iter().enumerate() {
            if let Some((of, replica)) = self.replicas.get_mut(&number) {
                if !replica.is_running() {
                    self.replicas.remove(&number);
                } else if *of != image && deployment.is_object() {
                    replica.terminate();
                    continue;
                } else {
                    continue;
                }
            }
            let kubeconfig = self.real.kube.kubeconfig_of(user);
            let launch = Launch::new(&kubeconfig, &image, &release(version), self.folder.path(), user);
            self.replicas.insert(number, (image.clone(), launch.start()));
        }
    }

    /// The replica that holds the Lease, by what it called itself.
    async fn holder(&self) -> Option<usize> {
        let lease = self.real.get(LEASE).await;
        let holder = lease["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty())?.to_owned();
        let is_it = |(_, (_, replica)): &(&usize, &(String, Replica))| replica.log().contains(&holder);
        self.replicas.iter().find(is_it).map(|(number, _)| *number)
    }

    async fn disturb(&mut self, rng: &mut Rng, objects: &[Wanted]) {
        match rng.below(10) {
            0..=2 => {
                let victim = match self.holder().await {
                    Some(holder) => holder,
                    None => usize::try_from(rng.below(3)).unwrap(),
                };
                if let Some((_, mut replica)) = self.replicas.remove(&victim) {
                    replica.kill();
                    self.count("kill -9");
                }
            }
            3 => {
                let victim = usize::try_from(rng.below(3)).unwrap();
                if let Some((_, replica)) = self.replicas.get(&victim) {
                    replica.terminate();
                    self.count("SIGTERM");
                }
            }
            4 => {
                let away = Duration::from_millis(rng.below(3000));
                tokio::task::block_in_place(|| self.real.kube.restart_api_server(away)).unwrap();
                self.count("API server restarts");
            }
            5 => {
                let etcd = self.real.kube.pid_of("etcd").unwrap();
                signal(etcd, "STOP");
                tokio::time::sleep(Duration::from_millis(1000 + rng.below(7000))).await;
                signal(etcd, "CONT");
                self.count("etcd stands still");
            }
            6 => {
                // A replica that stands still, and goes on when its lease is over.
                let victim = self.holder().await.unwrap_or_default();
                if let Some((_, replica)) = self.replicas.get(&victim) {
                    signal(replica.pid(), "STOP");
                    tokio::time::sleep(Duration::from_millis(2000 + rng.below(6000))).await;
                    signal(replica.pid(), "CONT");
                    self.count("replica stands still");
                }
            }
            _ => {
                for _ in 0..=rng.below(5) {
                    let object = &objects[usize::try_from(rng.below(objects.len() as u64)).unwrap()];
                    let change = json!([{"op": "remove", "path": "/metadata/labels"}]);
                    if rng.below(2) == 0 {
                        drop(Call::new("DELETE", object.path()).send(&self.real.client).await);
                    } else {
                        drop(self.real.intrude(&object.path(), &change).await);
                    }
                    self.count("edits and deletions");
                }
            }
        }
    }
}

fn release(version: &str) -> PathBuf {
    root().join("examples/releases").join(version)
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn three_replicas_survive_what_happens_to_them_and_never_write_at_once() {
    let (seconds, seed) = (number("LOCKSTEP_CHAOS_SECONDS", 60), number("LOCKSTEP_SEED", 1));
    println!("{seconds} s of chaos, seed {seed} (LOCKSTEP_CHAOS_SECONDS, LOCKSTEP_SEED)");
    let mut rng = Rng::new(seed);
    let releases: [Chosen; 2] = ["1.0.0", "1.1.0"].map(example);
    let users: Vec<String> = USERS.map(str::to_owned).to_vec();
    let options = ServerOptions { users: users.clone(), ..ServerOptions::default() };
    let real = Real::start_with(options, &releases.each_ref()).await;
    bring_version(&real.client).await;
    let observer = Observer::start(real.server());
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage { real, folder, replicas: BTreeMap::new(), tally: BTreeMap::new() };
    // Definitions and namespaces take everything in them away; that is another story than drift.
    let is_small =
        |it: &Wanted| !matches!(&*it.id.kind, "CustomResourceDefinition" | "Namespace" | "ClusterOperator");
    let objects: Vec<Wanted> = wanted(&releases[0]).into_iter().filter(is_small).collect();

    let start = Instant::now();
    let mut is_asked = false;
    while start.elapsed() < Duration::from_secs(seconds) {
        stage.play_kubelet().await;
        tokio::time::sleep(Duration::from_millis(300 + rng.below(2500))).await;
        if !is_asked && start.elapsed() > Duration::from_secs(seconds / 2) {
            let update = json!({"spec": {"desiredUpdate": {"image": release("1.1.0"), "force": true}}});
            let call = Call::new("PATCH", VERSION).body("application/merge-patch+json", update.to_string());
            is_asked = call.send(&stage.real.client).await.is_some_and(|answer| answer.code == 200);
        }
        stage.disturb(&mut rng, &objects).await;
    }
    assert!(is_asked, "nobody asked for the update");
    println!("{:?}", stage.tally);

    // Left alone, it converges. Who was replaced comes back as its successor.
    let calm = Instant::now();
    loop {
        stage.play_kubelet().await;
        if is_at(&stage.real.get(VERSION).await, "1.1.0") {
            break;
        }
        let logs = || stage.replicas.values().map(|(_, it)| it.log()).collect::<Vec<_>>().join("\n---\n");
        assert!(calm.elapsed() < PATIENCE, "it does not converge\n{}", logs());
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let client = stage.real.client.clone();
    let done = until(&client, "the end", PATIENCE, None, |object| is_at(object, "1.1.0")).await;
    println!("converged {:.1} s after the chaos", calm.elapsed().as_secs_f64());
    let entries: Vec<&Value> = done["status"]["history"].as_array().unwrap().iter().collect();
    let versions: Vec<&str> = entries.iter().filter_map(|entry| entry["version"].as_str()).collect();
    assert_eq!(versions, ["1.1.0", "1.0.0"], "one entry per release");
    let facts = ClusterFacts::read(Some(&done), None, None, None, SET).unwrap();
    // Of the operator's own Deployment only the operator knows the image.
    let is_ours = |it: &Wanted| it.id.name == "cluster-version-operator" && it.id.kind == "Deployment";
    for object in wanted_in(&releases[1], &facts).iter().filter(|it| is_small(it) && !is_ours(it)) {
        let live = stage.real.until(&object.path(), |live| object.is_met_by(live)).await;
        assert!(live.is_ok(), "{} is not as it should be: {live:?}", object.id);
    }
    assert_eq!(observer.broken_laws(Failures::Expected), Vec::<String>::new());
    let writes = writes(stage.real.kube.audit_log().unwrap(), &users);
    println!("{} writes, the lease changed hands {} times", writes.len(), changes_of_hands(&writes));
    assert!(writes.len() > 200 && changes_of_hands(&writes) > 1, "nothing happened");
    assert_eq!(intruders(&writes), Vec::<String>::new(), "two wrote at once");
}
