use super::*;

const KUBECONFIG: &str = "apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: a, user: u, namespace: n}}
- {name: two, context: {cluster: b, user: u}}
clusters:
- {name: a, cluster: {server: 'https://a.example.com:6443'}}
- {name: b, cluster: {server: 'https://b.example.com', proxy-url: 'socks5://proxy.example.com:1080'}}
users:
- {name: u, user: {token: t}}
";

async fn of(args: ClusterArgs) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::from_yaml(KUBECONFIG)?;
    let files = Files { paths: Vec::new(), source: "a test", is_named: true };
    let mut config = of_kubeconfig(&args, kubeconfig, &files).await?;
    apply_flags(&mut config, &args)?;
    Ok(config)
}

#[tokio::test]
async fn the_context_decides_and_flags_outweigh_it() {
    let config = of(ClusterArgs::default()).await.unwrap();
    assert_eq!((config.cluster_url.host(), config.default_namespace.as_str()), (Some("a.example.com"), "n"));
    let args =
        ClusterArgs { context: Some("two".into()), namespace: Some("m".into()), ..ClusterArgs::default() };
    let config = of(args).await.unwrap();
    assert_eq!((config.cluster_url.host(), config.default_namespace.as_str()), (Some("b.example.com"), "m"));
    assert_eq!(config.proxy_url.unwrap().to_string(), "socks5://proxy.example.com:1080/");
    let args = ClusterArgs {
        cluster: Some("b".into()),
        server: Some("https://c:1".into()),
        ..ClusterArgs::default()
    };
    let config = of(args).await.unwrap();
    assert_eq!((config.cluster_url.host(), config.proxy_url.is_some()), (Some("c"), true));
}

#[tokio::test]
async fn a_token_takes_the_place_of_every_other_login() {
    let args = ClusterArgs {
        token: Some("secret".into()),
        impersonate: Some("bob".into()),
        ..ClusterArgs::default()
    };
    let login = of(args).await.unwrap().auth_info;
    assert!(login.token.is_some() && login.exec.is_none() && login.client_certificate.is_none());
    assert_eq!((login.impersonate.as_deref(), login.impersonate_groups), (Some("bob"), None));
}

#[tokio::test]
async fn mistakes_are_named_with_what_there_is() {
    for (args, part) in [
        (
            ClusterArgs { context: Some("three".into()), ..ClusterArgs::default() },
            "no context \"three\"; there are: one, two",
        ),
        (ClusterArgs { user: Some("x".into()), ..ClusterArgs::default() }, "no user \"x\""),
        (
            ClusterArgs { server: Some("c:1/x".into()), ..ClusterArgs::default() },
            "--server: \"c:1/x\" is no address",
        ),
    ] {
        let error = of(args).await.unwrap_err();
        assert!(format!("{error:#}").contains(part), "{error:#}");
        assert!(error.is::<UsageError>());
    }
}

#[tokio::test]
async fn a_client_can_be_made_with_every_sort_of_proxy() {
    // Whoever runs the command has chosen it by then.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    for proxy in ["socks5://p:1", "http://p:1", "https://p:1"] {
        let mut config = of(ClusterArgs::default()).await.unwrap();
        config.proxy_url = Some(proxy.parse().unwrap());
        assert!(Client::try_from(config).is_ok(), "{proxy}");
    }
}

#[test]
fn a_named_file_that_is_not_there_is_a_mistake_and_one_of_several_is_not() {
    let folder = env::temp_dir().join(format!("lockstep-kubeconfig-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config");
    std::fs::write(&file, KUBECONFIG).unwrap();
    let missing = folder.join("missing");
    let files = |paths| Files { paths, source: "--kubeconfig", is_named: true };
    let found = read(&files(vec![missing.clone(), file])).unwrap().unwrap();
    assert_eq!(found.current_context.as_deref(), Some("one"));
    let error = read(&files(vec![missing])).unwrap_err().to_string();
    assert!(error.contains("missing (--kubeconfig)"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
