//! What a request asks for, as checked types.

use axum::http::HeaderMap;
use peerage_access::Decision;
use peerage_clickhouse::{Exception, OutputFormat, StatementKind, parse};
use peerage_engine::session::DEFAULT_DATABASE;

use super::settings::Settings;

/// Longest query id that is taken as given; longer ones would not fit into log fields and headers.
const QUERY_ID_BYTES_MAX: usize = 256;

/// URL parameters that are no settings.
const RESERVED: [&str; 20] = [
    "query",
    "database",
    "default_format",
    "query_id",
    "user",
    "password",
    "quota_key",
    "stacktrace",
    "role",
    "buffer_size",
    "wait_end_of_query",
    "session_id",
    "session_timeout",
    "session_check",
    "close_session",
    "client_protocol_version",
    "compress",
    "decompress",
    "no_cache",
    "",
];

/// The parameters of a URL, decoded.
#[derive(Debug, Clone, Default)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(super) fn parse(query: &str) -> Self {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// Returns a parameter; of a repeated one the last.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_setting = |name: &str| !RESERVED.contains(&name) && !name.starts_with("param_");
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(move |(name, _)| is_setting(name))
    }
}

/// Returns the id that the client gave, or a new one.
pub(super) fn query_id(parameters: &Parameters, headers: &HeaderMap) -> String {
    let by_header = || headers.get("x-clickhouse-query-id").and_then(|value| value.to_str().ok());
    let is_usable = |id: &&str| {
        !id.is_empty() && id.len() <= QUERY_ID_BYTES_MAX && id.bytes().all(|b| b.is_ascii_graphic())
    };
    let given =
        parameters.get("query_id").filter(is_usable).or_else(|| by_header().filter(is_usable));
    given.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}

/// A query that came over HTTP.
#[derive(Debug)]
pub(super) struct HttpQuery {
    pub(super) query_id: String,
    pub(super) statement: StatementKind,
    pub(super) database: String,
    pub(super) format: OutputFormat,
    pub(super) settings: Settings,
    pub(super) decision: Decision,
}

impl HttpQuery {
    pub(super) fn read(
        headers: &HeaderMap,
        parameters: &Parameters,
        text: String,
        query_id: &str,
        decision: Decision,
    ) -> Result<Self, Exception> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        for coding in ["compress", "decompress"] {
            if parameters.get(coding).is_some_and(|value| value != "0") {
                return Err(Exception::not_implemented(format!("The parameter {coding}")));
            }
        }
        if parameters.get("role").is_some_and(|role| !role.is_empty()) {
            return Err(Exception::not_implemented("The parameter role"));
        }
        let parsed = parse(&text)?;
        let mut settings = Settings::default();
        for (name, value) in parameters.settings() {
            settings.set(name, value)?;
        }
        if let Some(value) = parameters.get("wait_end_of_query") {
            settings.set("wait_end_of_query", value)?;
        }
        for (name, value) in &parsed.settings {
            settings.set(name, value)?;
        }
        let format = parsed
            .format
            .as_deref()
            .or_else(|| header("x-clickhouse-format"))
            .or_else(|| parameters.get("default_format"))
            .map_or(Ok(OutputFormat::TabSeparated), str::parse)?;
        let database = header("x-clickhouse-database")
            .or_else(|| parameters.get("database"))
            .filter(|name| !name.is_empty())
            .unwrap_or(DEFAULT_DATABASE);
        Ok(Self {
            query_id: query_id.to_owned(),
            statement: parsed.kind,
            database: database.to_owned(),
            format,
            settings,
            decision,
        })
    }
}
