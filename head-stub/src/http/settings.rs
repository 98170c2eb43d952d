//! Settings of one query, from the URL and from SQL.
//!
//! A setting that would change an answer and is not honoured is refused, never ignored. What only
//! tunes another engine, or says how the wire is to be used, is accepted without effect.

use std::time::Duration;

use peerage_clickhouse::{ErrorCode, Exception, FormatSettings};

/// Accepted without effect: none of them changes an answer here.
const WITHOUT_EFFECT: [&str; 24] = [
    "readonly",
    "log_queries",
    "log_comment",
    "enable_http_compression",
    "http_zlib_compression_level",
    "send_progress_in_http_headers",
    "http_headers_progress_interval_ms",
    "cancel_http_readonly_queries_on_client_close",
    "http_write_exception_in_output_format",
    "add_http_cors_header",
    "http_response_buffer_size",
    "output_format_parallel_formatting",
    "max_threads",
    "max_block_size",
    "max_memory_usage",
    "max_query_size",
    "priority",
    "use_uncompressed_cache",
    "load_balancing",
    "connect_timeout",
    "receive_timeout",
    "send_timeout",
    "date_time_input_format",
    "allow_experimental_analyzer",
];

/// What a query may set.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) format: FormatSettings,
    /// `None` is UTC.
    pub(super) time_zone: Option<String>,
    pub(super) max_execution_time: Option<Duration>,
    pub(super) waits_for_end: bool,
}

impl Settings {
    /// Sets one setting; the last of a name wins.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), Exception> {
        let bad = || {
            let message = format!("Bad value {value:?} of setting {name}");
            Exception::new(ErrorCode::BadArguments, message)
        };
        match name {
            "session_timezone" => {
                self.time_zone = match value {
                    "" | "UTC" => None,
                    zone => {
                        zone.parse::<arrow::array::timezone::Tz>().map_err(|_unknown| bad())?;
                        Some(zone.to_owned())
                    }
                };
            }
            "max_execution_time" => {
                let seconds: f64 = value.parse().map_err(|_not_a_number| bad())?;
                let limit = Duration::try_from_secs_f64(seconds).map_err(|_out_of_range| bad())?;
                self.max_execution_time = (!limit.is_zero()).then_some(limit);
            }
            "wait_end_of_query" | "http_wait_end_of_query" => {
                self.waits_for_end = match value {
                    "1" | "true" => true,
                    "0" | "false" => false,
                    _ => return Err(bad()),
                };
            }
            _ if self.format.set(name, value)? || WITHOUT_EFFECT.contains(&name) => {}
            _ => {
                let message = format!("Unknown setting {name:?}, or one that is not supported");
                return Err(Exception::new(ErrorCode::UnknownSetting, message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: &str, expected: Option<u16>) {
        let code = Settings::default().set(name, value).err().map(|error| error.code.number());
        assert_eq!(code, expected, "{name}={value}");
    }

    #[test]
    fn settings_are_honoured_accepted_or_refused() {
        check("max_execution_time", "1.5", None);
        check("max_execution_time", "-1", Some(36));
        check("max_execution_time", "soon", Some(36));
        check("session_timezone", "Europe/Berlin", None);
        check("session_timezone", "Moon/Crater", Some(36));
        check("output_format_json_quote_64bit_integers", "1", None);
        check("max_threads", "4", None);
        check("additional_table_filters", "{}", Some(115));
        check("no_such_setting", "1", Some(115));
    }
}
