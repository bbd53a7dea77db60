use std::net::Ipv4Addr;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::routing::get;
use futures::StreamExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body as ClientBody;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::net::TcpStream;

use super::*;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A router that says who asks, and has a watch without end.
fn router() -> Router {
    let who =
        |Extension(user): Extension<User>| async move { format!("{}: {}", user.name, user.groups.join(",")) };
    let watch = || async {
        let first = futures::stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"first\n"))]);
        Body::from_stream(first.chain(futures::stream::pending()))
    };
    Router::new().route("/who", get(who)).route("/version", get(who)).route("/watch", get(watch))
}

async fn a_lab() -> Serving {
    serve(router(), ServeOptions::new(LOOPBACK)).await.unwrap()
}

async fn client(kubeconfig: &str) -> Client {
    // As a program does; a second attempt changes nothing.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Code and text of an answer.
async fn ask(client: &Client, path: &str) -> (u16, String) {
    let request = Request::get(path).body(ClientBody::empty()).unwrap();
    let response = client.send(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn token_and_certificate_make_the_administrator() {
    let lab = a_lab().await;
    for login in [Login::Token, Login::Certificate] {
        let client = client(&lab.kubeconfig(login)).await;
        let expected = (200, "admin: system:masters,system:authenticated".to_owned());
        assert_eq!(ask(&client, "/who").await, expected, "{login:?}");
    }
    lab.shutdown().await;
}

#[tokio::test]
async fn wrong_or_no_credentials_get_the_status_of_the_real_server() {
    let lab = a_lab().await;
    let other = a_lab().await;
    let right = lab.kubeconfig(Login::Token);
    let wrong = client(&right.replace(lab.token(), "wrong")).await;
    // NB: a token that looks like a number stands in quotes.
    let token = right.lines().find(|line| line.contains("token: ")).unwrap();
    let none = client(&right.replace(token.trim(), "impersonate: \"\"")).await;
    // A certificate of another authority, for the authority of this lab.
    let key = "certificate-authority-data: ";
    let authority =
        |text: &str| text.lines().find_map(|line| Some(line.split_once(key)?.1.to_owned())).unwrap();
    let foreign = other.kubeconfig(Login::Certificate);
    let foreign = foreign.replace(&authority(&foreign), &authority(&right)).replace(&other.url(), &lab.url());
    let foreign = client(&foreign).await;
    for client in [&wrong, &none, &foreign] {
        let (code, body) = ask(client, "/who").await;
        let status: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!((code, &status["reason"]), (401, &"Unauthorized".into()));
        assert_eq!(status["message"], "Unauthorized");
    }
    assert_eq!(ask(&none, "/version").await.1, "system:anonymous: system:unauthenticated");
    assert_eq!(ask(&wrong, "/version").await.0, 401);
}

#[tokio::test]
async fn a_stop_ends_watches_and_closes_the_port() {
    let lab = a_lab().await;
    let client = client(&lab.kubeconfig(Login::Token)).await;
    let request = Request::get("/watch").body(ClientBody::empty()).unwrap();
    let mut watch = client.send(request).await.unwrap().into_body();
    let first = watch.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "first\n");
    let address = lab.address();
    let ((), end) = tokio::join!(lab.shutdown(), watch.frame());
    assert!(end.is_none(), "the end is clean: {end:?}");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_stop_does_not_wait_for_clients_that_say_nothing() {
    let options = ServeOptions { grace: Duration::from_millis(1), ..ServeOptions::new(LOOPBACK) };
    let lab = serve(router(), options).await.unwrap();
    let _silent = TcpStream::connect(lab.address()).await.unwrap();
    let client = client(&lab.kubeconfig(Login::Token)).await;
    assert_eq!(ask(&client, "/who").await.0, 200, "a silent client does not hold up others");
    lab.shutdown().await;
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_a_place() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let lab = serve(router(), ServeOptions { limits, ..ServeOptions::new(LOOPBACK) }).await.unwrap();
    let first = client(&lab.kubeconfig(Login::Token)).await;
    assert_eq!(ask(&first, "/who").await.0, 200);
    let second = client(&lab.kubeconfig(Login::Token)).await;
    let mut waiting = Box::pin(ask(&second, "/who"));
    assert!(futures::poll!(waiting.as_mut()).is_pending());
    drop(first);
    assert_eq!(waiting.await.0, 200);
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_handshake_is_dropped() {
    let limits = Limits { handshake: Duration::from_millis(1), ..Limits::default() };
    let lab = serve(router(), ServeOptions { limits, ..ServeOptions::new(LOOPBACK) }).await.unwrap();
    let silent = TcpStream::connect(lab.address()).await.unwrap();
    silent.readable().await.unwrap();
    assert_eq!(silent.try_read(&mut [0; 8]).unwrap(), 0, "closed by the server");
}

#[tokio::test]
async fn a_busy_port_and_an_open_address_are_refused_with_advice() {
    let lab = a_lab().await;
    let busy = serve(router(), ServeOptions::new(lab.address())).await.unwrap_err();
    assert!(matches!(busy, ServeError::Busy(_)));
    assert!(busy.to_string().contains("choose another port"), "{busy}");
    let open = serve(router(), ServeOptions::new("0.0.0.0:0".parse().unwrap())).await.unwrap_err();
    assert!(open.to_string().contains("127.0.0.1"), "{open}");
}

#[tokio::test]
async fn a_token_can_be_chosen_and_must_fit_into_a_header() {
    let with = |token: &str| ServeOptions { token: Some(token.into()), ..ServeOptions::new(LOOPBACK) };
    let lab = serve(router(), with("chosen")).await.unwrap();
    assert!(lab.kubeconfig(Login::Token).contains("token: chosen"));
    for bad in ["", "two words", "line\n"] {
        assert!(matches!(serve(router(), with(bad)).await, Err(ServeError::Token)), "{bad:?}");
    }
    let (one, two) = (a_lab().await, a_lab().await);
    assert_ne!(one.token(), two.token());
}
