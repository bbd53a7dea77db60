//! What can be tried from outside: the name, the port and the readiness of the API server.

use std::time::Duration;

use lockstep_apply::server::{Call, Server};
use lockstep_health::why::snapshot::{Outcome, Probe, Through};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// How long one probe may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tries the address of the API server, and asks it whether it is ready.
pub(super) async fn probes(server: &Server, address: &str) -> Vec<Probe> {
    let mut probes = Vec::new();
    if let Some((host, port)) = host_and_port(address) {
        let place = format!("{host}:{port}");
        let looked_up = limited(lookup_host(place.clone())).await.map(|_| ());
        let is_found = looked_up.is_ok();
        if host.parse::<std::net::IpAddr>().is_err() {
            probes.push(Probe::Dns { name: host, from: String::new(), outcome: outcome(looked_up) });
        }
        if is_found {
            let connected = limited(TcpStream::connect(place.clone())).await.map(|_| ());
            let outcome = outcome(connected);
            probes.push(Probe::Tcp { address: place, through: Through::LoadBalancer, outcome });
        }
    }
    probes.extend(readiness(server, address).await);
    probes
}

/// `/readyz`, part by part.
async fn readiness(server: &Server, address: &str) -> Option<Probe> {
    let url = format!("{}/readyz?verbose", address.trim_end_matches('/'));
    let through = Through::LoadBalancer;
    Some(match server.send(Call::raw("/readyz?verbose")).await {
        Ok(answer) => {
            let body = answer.object.as_str().unwrap_or_default().to_owned();
            Probe::Http { url, through, outcome: Outcome::Good, status: Some(answer.code), body }
        }
        Err(refusal) => {
            let text = refusal.explain("/readyz");
            Probe::Http { url, through, outcome: Outcome::Failed(text.clone()), status: None, body: text }
        }
    })
}

async fn limited<T>(work: impl Future<Output = std::io::Result<T>>) -> Result<T, String> {
    match timeout(PATIENCE, work).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("i/o timeout after {} s", PATIENCE.as_secs())),
    }
}

fn outcome(result: Result<(), String>) -> Outcome {
    match result {
        Ok(()) => Outcome::Good,
        Err(error) => Outcome::Failed(error),
    }
}

/// Host and port of an address; 443 where it names none.
fn host_and_port(address: &str) -> Option<(String, u16)> {
    let uri: http::Uri = address.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    let default = if uri.scheme_str() == Some("http") { 80 } else { 443 };
    Some((host, uri.port_u16().unwrap_or(default)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        let of = |address| host_and_port(address);
        assert_eq!(of("https://api.example.com:6443/"), Some(("api.example.com".to_owned(), 6443)));
        assert_eq!(of("https://api.example.com"), Some(("api.example.com".to_owned(), 443)));
        assert_eq!(of(""), None);
    }
}
