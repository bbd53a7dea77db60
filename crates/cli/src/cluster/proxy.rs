//! Which proxy leads to the server.
//!
//! NB: the client's own reading of `NO_PROXY` compares it with the address of the proxy, not with that of the server.

use std::net::IpAddr;

use kube::config::Kubeconfig;

/// The `proxy-url` of the cluster that will be used.
pub(super) fn of_kubeconfig(
    kubeconfig: &Kubeconfig,
    context: Option<&str>,
    cluster: Option<&str>,
) -> Option<String> {
    let of_context = || {
        let named = kubeconfig.contexts.iter().find(|it| Some(it.name.as_str()) == context)?;
        Some(named.context.as_ref()?.cluster.as_str())
    };
    let name = cluster.or_else(of_context)?;
    let named = kubeconfig.clusters.iter().find(|it| it.name == name)?;
    named.cluster.as_ref()?.proxy_url.clone().filter(|url| !url.is_empty())
}

/// Whether a host is one of the exceptions of `NO_PROXY`: names with what is below them, addresses, networks, `*`.
pub(super) fn is_exempt(host: &str, exceptions: &str) -> bool {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    let is_local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    is_local
        || exceptions.split(',').map(str::trim).filter(|it| !it.is_empty()).any(|exception| {
            let exception = exception.to_ascii_lowercase();
            match (&address, exception.split_once('/')) {
                (Some(address), Some((network, bits))) => is_in_network(*address, network, bits),
                (Some(address), None) => exception == "*" || exception.parse() == Ok(*address),
                (None, _) => is_name_below(&host, &exception),
            }
        })
}

fn is_name_below(host: &str, exception: &str) -> bool {
    let name = exception.trim_start_matches("*.").trim_start_matches('.');
    exception == "*" || host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
}

fn is_in_network(address: IpAddr, network: &str, bits: &str) -> bool {
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    let (value, of_network, width) = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
        _ => return false,
    };
    // A shift by the whole width means that every address is in the network.
    bits <= width && (value ^ of_network).checked_shr(width - bits).unwrap_or_default() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_names_addresses_and_networks_of_the_server() {
        for (host, exceptions, expected) in [
            ("api.example.com", "example.com", true),
            ("api.example.com", ".example.com", true),
            ("api.example.com", "*.example.com", true),
            ("api.notexample.com", "example.com", false),
            ("api.example.com", "other.com, api.example.com", true),
            ("api.example.com", "*", true),
            ("api.example.com", "", false),
            ("10.1.2.3", "10.0.0.0/8", true),
            ("11.1.2.3", "10.0.0.0/8", false),
            ("10.1.2.3", "0.0.0.0/0", true),
            ("10.1.2.3", "10.1.2.3", true),
            ("[fd00::1]", "fd00::/16", true),
            ("127.0.0.1", "", true),
            ("localhost", "", true),
        ] {
            assert_eq!(is_exempt(host, exceptions), expected, "{host} {exceptions}");
        }
    }
}
