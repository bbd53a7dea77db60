//! Real `kubectl`, and what it is asked to do.

use std::path::Path;
use std::process::{Command, Stdio};

/// Commands and what each of them creates.
pub(crate) const COMMANDS: [(&str, &str); 22] = [
    ("create namespace demo", "namespace demo"),
    ("create configmap words --from-literal=k=v --from-literal=l=w", "configmap words"),
    ("create deployment web --image=example.com/web:1 --replicas=3 --port=8080", "deployment web"),
    ("create service clusterip web --tcp=80:8080", "service web"),
    ("create service clusterip headless --clusterip=None --tcp=80", "service headless"),
    ("create service nodeport outside --tcp=80:http", "service outside"),
    ("create service externalname far --external-name=example.com", "service far"),
    ("create secret generic key --from-literal=k=v", "secret key"),
    (
        "create secret docker-registry pull --docker-server=example.com --docker-username=u --docker-password=p",
        "secret pull",
    ),
    ("create job once --image=example.com/job:1 -- run --fast", "job once"),
    (
        "create cronjob often --image=example.com/job:1 --schedule=*/5\u{a0}*\u{a0}*\u{a0}*\u{a0}*",
        "cronjob often",
    ),
    ("create role reader --verb=get,list --resource=pods,deployments.apps --resource-name=a", "role reader"),
    ("create rolebinding readers --role=reader --serviceaccount=demo:robot --group=g", "rolebinding readers"),
    ("create clusterrole writer --verb=* --resource=configmaps", "clusterrole writer"),
    ("create clusterrole health --verb=get --non-resource-url=/healthz", "clusterrole health"),
    ("create clusterrolebinding writers --clusterrole=writer --user=u", "clusterrolebinding writers"),
    ("create ingress door --class=c --rule=example.com/a*=web:80,tls=key --annotation=a=b", "ingress door"),
    ("create poddisruptionbudget some --selector=app=web --min-available=50%", "pdb some"),
    (
        "create priorityclass high --value=1000 --description=important --preemption-policy=Never",
        "priorityclass high",
    ),
    (
        "create quota little --hard=requests.cpu=1500m,limits.memory=1Gi,pods=2 --scopes=NotBestEffort",
        "quota little",
    ),
    ("create serviceaccount robot", "serviceaccount robot"),
    ("autoscale deployment web --min=2 --max=5 --cpu=80%", "hpa web"),
];

/// What a command left.
pub(crate) struct Run {
    pub(crate) ok: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `kubectl` in the namespace `demo`; a blank inside a word is written as a no-break space.
pub(crate) fn run(kubeconfig: &Path, line: &str) -> Run {
    let kubectl = xtask::kube::assets().unwrap_or_else(|error| panic!("{error}")).join("kubectl");
    let output = Command::new(kubectl)
        .args(["--namespace=demo", "--request-timeout=30s"])
        .args(line.split(' ').map(|word| word.replace('\u{a0}', " ")))
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", kubeconfig.parent().unwrap())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Run {
        ok: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
