//! The ClickHouse HTTP interface: from a request to who, what and how, and back.

mod access;
mod request;
mod respond;
mod settings;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use peerage_access::Accounts;
use peerage_clickhouse::{ErrorCode, Exception};
use tracing::{Instrument as _, info_span};

use crate::http::request::{HttpQuery, Parameters};
use crate::http::respond::exception_response;
use crate::query::QueryEngine;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct HttpState {
    pub(crate) engine: QueryEngine,
    pub(crate) accounts: Accounts,
    pub(crate) metrics: Option<PrometheusHandle>,
    pub(crate) query_text_bytes_max: usize,
}

/// Returns the routes of a head.
pub(crate) fn router(state: HttpState) -> Router {
    let limit = DefaultBodyLimit::max(state.query_text_bytes_max);
    Router::new()
        .route("/ping", get(ok))
        .route("/replicas_status", get(ok))
        .route("/metrics", get(render_metrics))
        .fallback(query)
        .layer(limit)
        .with_state(Arc::new(state))
}

async fn ok() -> &'static str {
    "Ok.\n"
}

async fn render_metrics(State(state): State<Arc<HttpState>>) -> String {
    state.metrics.as_ref().map(PrometheusHandle::render).unwrap_or_default()
}

/// Any path takes a query, so that a proxy may put a prefix in front.
async fn query(
    State(state): State<Arc<HttpState>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Response {
    let parameters = Parameters::parse(uri.query().unwrap_or_default());
    let query_id = request::query_id(&parameters, &headers);
    let span = info_span!("query", query_id);
    async move {
        if method == Method::OPTIONS {
            return StatusCode::NO_CONTENT.into_response();
        }
        if method != Method::POST && parameters.get("query").is_none() {
            return greeting(&uri);
        }
        let answered = match text(&state, &method, &headers, &parameters, body) {
            Ok(text) => answer(&state, &method, &headers, parameters, text, &query_id).await,
            Err(exception) => Err(exception),
        };
        answered.unwrap_or_else(|exception| exception_response(&exception, &query_id))
    }
    .instrument(span)
    .await
}

async fn answer(
    state: &Arc<HttpState>,
    method: &Method,
    headers: &HeaderMap,
    parameters: Parameters,
    text: String,
    query_id: &str,
) -> Result<Response, Exception> {
    let decision = access::decide(&state.accounts, headers, &parameters)?;
    let query = HttpQuery::read(headers, &parameters, text, query_id, decision)?;
    if *method == Method::HEAD {
        return Ok(respond::head_response(&query));
    }
    respond::run(&state.engine, query).await
}

/// Returns the SQL text: the `query` parameter, a line break, and the body.
fn text(
    state: &HttpState,
    method: &Method,
    headers: &HeaderMap,
    parameters: &Parameters,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<String, Exception> {
    let has_length = headers.contains_key(header::CONTENT_LENGTH)
        || headers.contains_key(header::TRANSFER_ENCODING);
    if method == Method::POST && !has_length {
        let message = "The Transfer-Encoding is not chunked and there is no Content-Length header \
                       for POST request";
        return Err(Exception::new(ErrorCode::HttpLengthRequired, message));
    }
    let too_long = || {
        let message = format!(
            "Query is too long: the limit is {} bytes (limits.query_text_bytes_max of the cluster \
             file)",
            state.query_text_bytes_max
        );
        Exception::new(ErrorCode::SyntaxError, message)
    };
    let body = body.map_err(|rejected| match rejected.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_long(),
        _ => Exception::new(ErrorCode::BadArguments, rejected.body_text()),
    })?;
    if let Some(coding) =
        headers.get(header::CONTENT_ENCODING).filter(|coding| *coding != "identity")
    {
        let what = format!("Content-Encoding {coding:?} of a request");
        return Err(Exception::not_implemented(what));
    }
    let body = std::str::from_utf8(&body).map_err(|error| {
        Exception::new(ErrorCode::SyntaxError, format!("The query is not UTF-8: {error}"))
    })?;
    let parameter = parameters.get("query").unwrap_or_default();
    let text = match (parameter.is_empty(), body.is_empty()) {
        (false, false) => format!("{parameter}\n{body}"),
        (false, true) => parameter.to_owned(),
        (true, _) => body.to_owned(),
    };
    if text.len() > state.query_text_bytes_max {
        return Err(too_long());
    }
    if text.trim().is_empty() {
        return Err(Exception::new(ErrorCode::SyntaxError, "Empty query"));
    }
    Ok(text)
}

/// Answers a path without a query.
fn greeting(uri: &Uri) -> Response {
    if uri.path() == "/" {
        return "Ok.\n".into_response();
    }
    let text = format!(
        "There is no handle {}.\n\nUse / or /ping for health checks.\nOr send queries with POST, or with \
         GET in the parameter `query`.\n",
        uri.path()
    );
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}
