//! Who asks: the three ways in which ClickHouse clients say so, never mixed.

use axum::http::{HeaderMap, header};
use peerage_access::{Accounts, Decision};
use peerage_clickhouse::{ErrorCode, Exception};

use super::request::Parameters;
use crate::exception;

/// Returns what the sender of a request may see.
pub(super) fn decide(
    accounts: &Accounts,
    headers: &HeaderMap,
    parameters: &Parameters,
) -> Result<Decision, Exception> {
    let (user, password) = credentials(headers, parameters)?;
    let account = accounts
        .authenticate(user.as_deref(), password.as_deref())
        .map_err(|error| exception::from_access(&error))?;
    Ok(accounts.decide(&account))
}

type Credentials = (Option<String>, Option<String>);

fn credentials(headers: &HeaderMap, parameters: &Parameters) -> Result<Credentials, Exception> {
    let text =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let by_header = (text("x-clickhouse-user"), text("x-clickhouse-key"));
    let by_parameter =
        (parameters.get("user").map(str::to_owned), parameters.get("password").map(str::to_owned));
    let authorization = text(header::AUTHORIZATION.as_str());
    let is_given = |(user, password): &Credentials| user.is_some() || password.is_some();
    let ways = u8::from(is_given(&by_header))
        + u8::from(is_given(&by_parameter))
        + u8::from(authorization.is_some());
    if ways > 1 {
        let message = "Invalid authentication: it is not allowed to use the Authorization header, the \
                       X-ClickHouse headers and URL parameters together";
        return Err(Exception::new(ErrorCode::AuthenticationFailed, message));
    }
    match authorization {
        Some(authorization) => basic(&authorization),
        None if is_given(&by_header) => Ok(by_header),
        None => Ok(by_parameter),
    }
}

fn basic(authorization: &str) -> Result<Credentials, Exception> {
    let refused = |message: &str| Exception::new(ErrorCode::AuthenticationFailed, message);
    let (scheme, value) = authorization.split_once(' ').unwrap_or((authorization, ""));
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(refused("Invalid authentication: only the scheme Basic is supported"));
    }
    let decoded =
        decode_base64(value.trim()).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(
            || refused("Invalid authentication: the Authorization header is not Base64 text"),
        )?;
    let (user, password) = decoded.split_once(':').unwrap_or((&decoded, ""));
    Ok((Some(user.to_owned()), Some(password.to_owned())))
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &str)], query: &str, expected: &str) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a header value"));
        }
        let actual = match decide(&Accounts, &map, &Parameters::parse(query)) {
            Ok(decision) => decision.account().name().to_owned(),
            Err(exception) => exception.code.number().to_string(),
        };
        assert_eq!(actual, expected);
    }

    #[test]
    fn one_way_at_a_time() {
        check(&[], "", "default");
        check(&[], "user=default&password=", "default");
        check(&[("x-clickhouse-user", "default"), ("x-clickhouse-key", "")], "", "default");
        check(&[("authorization", "Basic ZGVmYXVsdDo=")], "", "default");
        check(&[("authorization", "Basic ZGVmYXVsdDo=")], "user=default", "516");
        check(&[("authorization", "Basic ZGVmYXVsdDp4")], "", "516");
        check(&[("authorization", "Basic %%%")], "", "516");
        check(&[("authorization", "Digest x")], "", "516");
        check(&[], "user=somebody", "516");
    }
}
