//! What every process of the cluster sets up once: logs, metrics, and the wish to stop.

use std::io::IsTerminal as _;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use thiserror::Error;
use tracing::info;
use tracing_subscriber::EnvFilter;

/// Bounds of duration histograms, in seconds: from an index-only answer to a long scan.
const SECONDS_BUCKETS: [f64; 12] =
    [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 300.0];

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// One readable line an event.
    Text,
    /// One JSON object an event.
    Json,
}

/// Options of every role.
#[derive(Debug, Clone, clap::Args)]
pub struct LogArgs {
    /// What to log: a level, or a filter such as `info,peerage_peer=debug`.
    #[arg(long, env = "PEERAGE_LOG", value_name = "FILTER", default_value = "info")]
    pub log: String,
    /// How to log.
    #[arg(long, env = "PEERAGE_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub log_format: LogForm,
    /// Stop when standard input ends: for a process that must not outlive who started it.
    #[arg(long, env = "PEERAGE_STOP_WITH_PARENT", hide = true)]
    pub stop_with_parent: bool,
}

/// Logs or metrics could not be set up.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The filter of the command line is none.
    #[error("log filter {filter:?} is not valid; try `info` or `info,peerage_peer=debug`")]
    LogFilter {
        /// The filter as given.
        filter: String,
        /// What is wrong.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// Something else in this process has set them up already.
    #[error("cannot set up {what}")]
    AlreadySet {
        /// `logs` or `metrics`.
        what: &'static str,
        /// What the library said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Sends logs to standard error.
pub fn start_logs(args: &LogArgs) -> Result<(), TelemetryError> {
    let env_filter = EnvFilter::try_new(&args.log)
        .map_err(|source| TelemetryError::LogFilter { filter: args.log.clone(), source })?;
    let builder =
        tracing_subscriber::fmt().with_env_filter(env_filter).with_writer(std::io::stderr);
    let started = match args.log_format {
        LogForm::Text => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogForm::Json => builder.json().try_init(),
    };
    started.map_err(|source| TelemetryError::AlreadySet { what: "logs", source })
}

/// Installs the process's metrics; the handle renders them for Prometheus.
pub fn start_metrics() -> Result<PrometheusHandle, TelemetryError> {
    let already_set = |source: metrics_exporter_prometheus::BuildError| {
        TelemetryError::AlreadySet { what: "metrics", source: Box::new(source) }
    };
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS_BUCKETS)
        .map_err(already_set)?
        .install_recorder()
        .map_err(already_set)
}

/// Returns when someone asks the process to stop: SIGTERM, Ctrl-C, or, when it is to stop with its
/// parent, the end of standard input.
pub async fn stop_requested(with_parent: bool) {
    tokio::select! {
        () = interrupted() => info!("stopping: interrupted"),
        () = terminated() => info!("stopping: asked to terminate"),
        () = input_ended(), if with_parent => info!("stopping: the parent process is gone"),
    }
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn terminated() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            terminate.recv().await;
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// Returns when standard input ends. The thread that waits for it is left to the end of the process.
async fn input_ended() {
    let (sender, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok();
        sender.send(()).ok();
    });
    ended.await.ok();
}
