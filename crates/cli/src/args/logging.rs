//! Flags that say what is logged, and in which form.

use clap::{Args, ValueEnum};

/// What is logged, and in which form.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LoggingArgs {
    /// Form of the log on standard error.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
    /// How much is logged: 0 warnings, 2 what happens, 4 details, 6 everything of ours, 8 libraries too; `RUST_LOG` wins.
    #[arg(short = 'v', long = "v", default_value_t = 2, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=10))]
    pub(crate) verbosity: u8,
}

/// Form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line for people.
    Text,
    /// An object per line.
    Json,
}
