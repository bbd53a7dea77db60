//! Flags that say which cluster a command talks to, and as whom; the same for every command that does.

use std::time::Duration;

use clap::Args;

/// Which cluster, as whom.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ClusterArgs {
    /// Kubeconfig files, separated by `:`; without it those of `KUBECONFIG`, then `~/.kube/config`, then the service
    /// account of the Pod that this runs in.
    #[arg(long, value_name = "FILES")]
    pub(crate) kubeconfig: Option<String>,
    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The cluster of the kubeconfig, instead of that of the context.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The user of the kubeconfig, instead of that of the context.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The namespace, instead of that of the context.
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    /// Act as this user.
    #[arg(long = "as", value_name = "USER")]
    pub(crate) impersonate: Option<String>,
    /// Act as a member of this group (repeatable); needs --as.
    #[arg(long = "as-group", value_name = "GROUP", requires = "impersonate")]
    pub(crate) impersonate_groups: Vec<String>,
    /// The address of the API server, instead of that of the kubeconfig.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// A token to log in with, instead of what the kubeconfig says.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// How long one request may take: `30s`, `2m`; 0 means as long as it takes.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) request_timeout: Duration,
}

/// A whole number with a unit; without one it is seconds, as in kubectl.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write 30s, 2m or 1h");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let scale = match unit {
        "ms" => return Ok(Duration::from_millis(number)),
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    number.checked_mul(scale).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        cluster: ClusterArgs,
    }

    fn parse(arguments: &[&str]) -> Result<ClusterArgs, String> {
        let arguments = ["x"].iter().chain(arguments);
        Command::try_parse_from(arguments).map(|it| it.cluster).map_err(|error| error.to_string())
    }

    #[test]
    fn times_are_read_with_their_unit() {
        for (text, seconds) in [("30s", 30), ("2m", 120), ("1h", 3600), ("5", 5), ("0", 0)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "s", "1d", "-1s", "1.5s", "99999999999999999999s", "18446744073709551615h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_group_without_a_user_is_refused() {
        assert!(parse(&["--as-group", "g"]).unwrap_err().contains("--as"));
        let args = parse(&["--as", "u", "--as-group", "g", "--as-group", "h", "-n", "x"]).unwrap();
        assert_eq!(args.impersonate_groups, ["g", "h"]);
        assert_eq!(args.request_timeout, Duration::from_secs(30));
    }
}
