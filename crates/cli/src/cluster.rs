//! The way to a cluster: from flags, files and environment to a client.

mod proxy;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::args::ClusterArgs;
use crate::exit::UsageError;

/// A cluster that can be talked to.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    /// The namespace for what names none; a release names those of its objects itself.
    pub(crate) namespace: String,
    /// How long one request may take.
    pub(crate) request_timeout: Duration,
    /// The address of the server, for messages.
    pub(crate) address: String,
}

/// Where a longest time stands for "as long as it takes".
const NO_LIMIT: Duration = Duration::from_hours(24);

/// A client for the cluster that flags and environment name. Nothing is sent yet.
pub(crate) async fn connect(args: &ClusterArgs) -> anyhow::Result<Cluster> {
    let config = config(args).await?;
    let (namespace, address) = (config.default_namespace.clone(), config.cluster_url.to_string());
    let client = lockstep_apply::server::connect(config)
        .with_context(|| format!("preparing the connection to {address} (certificates, login, proxy)"))?;
    let request_timeout = if args.request_timeout.is_zero() { NO_LIMIT } else { args.request_timeout };
    Ok(Cluster { client, namespace, request_timeout, address })
}

async fn config(args: &ClusterArgs) -> anyhow::Result<Config> {
    let files = files(args);
    let mut config = match read(&files)? {
        Some(kubeconfig) => of_kubeconfig(args, kubeconfig, &files).await?,
        None => without_kubeconfig(args, &files)?,
    };
    apply_flags(&mut config, args)?;
    // We wait by ourselves, with a seed, and want to know what the server said.
    config.default_retry = false;
    // A watch is silent for minutes; who reads it has limits of its own.
    config.read_timeout = None;
    Ok(config)
}

/// The files to look at, and where the list comes from.
struct Files {
    paths: Vec<PathBuf>,
    source: &'static str,
    /// Whether it is a mistake when none is there.
    is_named: bool,
}

fn files(args: &ClusterArgs) -> Files {
    let split = |list: &str| env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect();
    if let Some(list) = &args.kubeconfig {
        return Files { paths: split(list), source: "--kubeconfig", is_named: true };
    }
    if let Ok(list) = env::var("KUBECONFIG")
        && !list.is_empty()
    {
        return Files { paths: split(&list), source: "KUBECONFIG", is_named: true };
    }
    let home = env::home_dir().map(|home| home.join(".kube/config"));
    Files { paths: home.into_iter().collect(), source: "the home folder", is_named: false }
}

/// All files of a list as one; of a list, those that are missing are left out, as kubectl does.
fn read(files: &Files) -> anyhow::Result<Option<Kubeconfig>> {
    let mut merged: Option<Kubeconfig> = None;
    for path in files.paths.iter().filter(|path| path.exists()) {
        let next = read_file(path)?;
        merged = Some(match merged {
            None => next,
            Some(first) => first
                .merge(next)
                .with_context(|| format!("putting kubeconfig {} to the others", path.display()))?,
        });
    }
    if merged.is_none() && files.is_named {
        let paths: Vec<String> = files.paths.iter().map(|path| path.display().to_string()).collect();
        let message = format!("no kubeconfig at {} ({}); is the path right?", paths.join(", "), files.source);
        return Err(UsageError(message).into());
    }
    Ok(merged)
}

fn read_file(path: &Path) -> anyhow::Result<Kubeconfig> {
    Kubeconfig::read_from(path).with_context(|| format!("reading kubeconfig {}", path.display()))
}

async fn of_kubeconfig(args: &ClusterArgs, kubeconfig: Kubeconfig, files: &Files) -> anyhow::Result<Config> {
    let context = args.context.as_ref().or(kubeconfig.current_context.as_ref());
    let names: Vec<&str> = kubeconfig.contexts.iter().map(|it| it.name.as_str()).collect();
    if let Some(problem) = context_problem(context.map(String::as_str), &names) {
        return Err(UsageError(format!("{problem} (kubeconfig from {})", files.source)).into());
    }
    let proxy = proxy::of_kubeconfig(&kubeconfig, context.map(String::as_str), args.cluster.as_deref());
    let options = KubeConfigOptions {
        context: args.context.clone(),
        cluster: args.cluster.clone(),
        user: args.user.clone(),
    };
    if let Some(user) = &args.user
        && !kubeconfig.auth_infos.iter().any(|it| it.name == *user)
    {
        return Err(UsageError(format!("the kubeconfig has no user {user:?}")).into());
    }
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .with_context(|| format!("using the kubeconfig from {}", files.source))?;
    config.proxy_url = match proxy {
        Some(proxy) => Some(proxy.parse().with_context(|| format!("reading `proxy-url: {proxy}`"))?),
        None => proxy_of_environment(&config)?,
    };
    Ok(config)
}

/// The proxy that the environment names, unless it also says that this server needs none.
fn proxy_of_environment(config: &Config) -> anyhow::Result<Option<Uri>> {
    let host = config.cluster_url.host().unwrap_or_default().to_owned();
    let read =
        |names: [&str; 2]| names.iter().find_map(|name| env::var(name).ok().filter(|it| !it.is_empty()));
    let Some(url) = read(["HTTPS_PROXY", "https_proxy"]) else { return Ok(None) };
    let exceptions = read(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    if proxy::is_exempt(&host, &exceptions) {
        return Ok(None);
    }
    Ok(Some(url.parse().with_context(|| format!("reading HTTPS_PROXY {url:?}"))?))
}

/// What is wrong with the chosen context, if anything is.
fn context_problem(context: Option<&str>, names: &[&str]) -> Option<String> {
    let known = || {
        if names.is_empty() {
            "there are none".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        }
    };
    match context.filter(|context| !context.is_empty()) {
        None => Some(format!("no context is chosen; give --context NAME, {}", known())),
        Some(context) if !names.contains(&context) => {
            Some(format!("there is no context {context:?}; {}", known()))
        }
        Some(_) => None,
    }
}

/// In a Pod the service account, elsewhere what `--server` names.
fn without_kubeconfig(args: &ClusterArgs, files: &Files) -> anyhow::Result<Config> {
    if let Some(flag) = [("--context", &args.context), ("--cluster", &args.cluster), ("--user", &args.user)]
        .iter()
        .find_map(|(flag, value)| value.is_some().then_some(flag))
    {
        return Err(UsageError(format!(
            "{flag} names something in a kubeconfig, and there is none; give --kubeconfig FILE"
        ))
        .into());
    }
    if let Some(server) = &args.server {
        return Ok(Config::new(address(server)?));
    }
    Config::incluster().map_err(|error| {
        let looked: Vec<String> = files.paths.iter().map(|path| path.display().to_string()).collect();
        let message = format!(
            "no cluster is named: --kubeconfig and KUBECONFIG are not set, {} is not there, and this is no Pod \
             with a service account ({error}); give --kubeconfig FILE, or --server URL and --token TOKEN",
            looked.first().map_or("~/.kube/config", String::as_str)
        );
        UsageError(message).into()
    })
}

fn apply_flags(config: &mut Config, args: &ClusterArgs) -> anyhow::Result<()> {
    if let Some(server) = &args.server {
        config.cluster_url = address(server)?;
    }
    if let Some(namespace) = &args.namespace {
        config.default_namespace.clone_from(namespace);
    }
    let login = &mut config.auth_info;
    if let Some(token) = &args.token {
        // Instead of every other way to log in: two at once would be a riddle.
        *login = kube::config::AuthInfo { token: Some(token.clone().into()), ..Default::default() };
    }
    if let Some(user) = &args.impersonate {
        login.impersonate = Some(user.clone());
        login.impersonate_groups = Some(args.impersonate_groups.clone()).filter(|groups| !groups.is_empty());
    }
    Ok(())
}

fn address(text: &str) -> anyhow::Result<Uri> {
    let uri: Uri = text.parse().map_err(|_| UsageError(wrong_address(text)))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(_)) => Ok(uri),
        _ => Err(UsageError(wrong_address(text)).into()),
    }
}

fn wrong_address(text: &str) -> String {
    format!("--server: {text:?} is no address; write it like https://api.example.com:6443")
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
