//! The lab on a socket: TLS, credentials, kubeconfig.
