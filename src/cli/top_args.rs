//! The arguments of `wardian top`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// The server's address for operators [default: the setting `admin_listen`].
    #[arg(long = "server", alias = "url", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Seconds between two views.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = interval)]
    pub(crate) interval: f64,
    /// Exit after this many views.
    #[arg(long, value_name = "VIEWS")]
    pub(crate) count: Option<u64>,
    /// Print each view as a line of JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn interval(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3_600.0).contains(seconds));
    seconds.ok_or_else(|| "must be a number of seconds from 0.1 to 3600".to_owned())
}
