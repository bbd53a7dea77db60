//! Servers that play the part of a registry or of what stands around one, and remember what they were asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::header;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server of one function.
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
}

/// What to do with a request.
pub(crate) enum Act {
    Answer(Response),
    /// Ask the registry behind.
    Forward(SocketAddr),
    /// Ask the registry behind, and keep back a header of its answer.
    Without(&'static str, SocketAddr),
}

// === impl Front ===

impl Front {
    pub(crate) async fn start(act: impl Fn(&Seen) -> Act + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("the stage is set");
        Self::on(listener, act)
    }

    /// On a port that is known before the function is made.
    pub(crate) fn on(
        listener: TcpListener,
        act: impl Fn(&Seen) -> Act + Clone + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("the stage is set");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let client = Client::builder(TokioExecutor::new()).build_http();
        let kept = Arc::clone(&seen);
        let router = Router::new().fallback(move |request: Request| {
            let text = request
                .headers()
                .get(header::AUTHORIZATION)
                .map(|value| value.to_str().expect("the stage is set").to_owned());
            let one = Seen {
                method: request.method().to_string(),
                path: request.uri().path_and_query().expect("the stage is set").to_string(),
                authorization: text,
            };
            kept.lock().expect("the stage is set").push(one.clone());
            answer(act(&one), client.clone(), request)
        });
        let task =
            tokio::spawn(async move { axum::serve(listener, router).await.expect("the stage is set") });
        Self { address, seen, task }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("the stage is set").clone()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(act: Act, client: Client<HttpConnector, Body>, mut request: Request) -> Response {
    let (kept_back, upstream) = match act {
        Act::Answer(response) => return response,
        Act::Forward(upstream) => (None, upstream),
        Act::Without(header, upstream) => (Some(header), upstream),
    };
    let path = request.uri().path_and_query().expect("the stage is set");
    *request.uri_mut() = format!("http://{upstream}{path}").parse().expect("the stage is set");
    request.headers_mut().remove(header::AUTHORIZATION);
    let mut response = client.request(request).await.expect("the stage is set").map(Body::new);
    if let Some(header) = kept_back {
        response.headers_mut().remove(header);
    }
    response
}

/// An answer with a status, headers and a text.
pub(crate) fn says(status: u16, headers: &[(&str, &str)], text: &str) -> Act {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    Act::Answer(response.body(Body::from(text.to_owned())).expect("the stage is set"))
}
