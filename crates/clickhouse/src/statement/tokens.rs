//! The token stream of a statement: its limits, its tail, and the marks of what the parser cannot read.
//!
//! Comments and white space are gone after [`read`]; everything behind works on tokens. The limits hold before the
//! parser runs, because a long chain of operators becomes a tree that is as deep as it is long.

use super::dialect::StatementDialect;
use crate::exception::{ErrorCode, Exception};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

/// Longest text that is read here at all; a head's own limit (`limits.query_text_bytes_max`) is below
/// it. Tokens take some 50 times the text's bytes, so this bounds one parse to a few gigabytes at most.
const QUERY_BYTES_MAX: usize = 64 << 20;
/// Operators in one chain: as many levels has the tree, and levels cost stack when it is walked and dropped.
const CHAIN_OPERATORS_MAX: usize = 1_000;

/// What stood behind the statement proper.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) format: Option<String>,
    pub(super) settings: Vec<(String, String)>,
}

/// Returns the tokens of the one statement in `sql`, without white space, comments and closing semicolons.
pub(super) fn read(sql: &str) -> Result<Vec<TokenWithSpan>, Exception> {
    if sql.len() > QUERY_BYTES_MAX {
        return Err(syntax(&format!(
            "Max query size exceeded: {} of {QUERY_BYTES_MAX} bytes",
            sql.len()
        )));
    }
    let mut tokens = Tokenizer::new(&StatementDialect::default(), sql)
        .tokenize_with_location()
        .map_err(|error| syntax(&error.to_string()))?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    while tokens.last().is_some_and(|last| last.token == Token::SemiColon) {
        tokens.pop();
    }
    if tokens.is_empty() {
        return Err(syntax("Empty query"));
    }
    if tokens.iter().any(|token| token.token == Token::SemiColon) {
        return Err(syntax("Multi-statements are not allowed"));
    }
    refuse_long_chain(&tokens)?;
    refuse_parameter(&tokens)?;
    drop_global_in(&mut tokens);
    Ok(tokens)
}

fn syntax(text: &str) -> Exception {
    Exception::new(ErrorCode::SyntaxError, format!("Syntax error: {text}"))
}

/// Returns the unquoted word of a token.
pub(super) fn word(token: Option<&TokenWithSpan>) -> Option<&Word> {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(word),
        _ => None,
    }
}

/// Returns whether the token is this word, in any case.
pub(super) fn is_word(token: Option<&TokenWithSpan>, wanted: &str) -> bool {
    word(token).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
}

/// Links of the chains at one level of brackets.
#[derive(Default)]
struct Links {
    /// Operators since the last separator or clause.
    operators: usize,
    /// UNION and its like, which join whole queries.
    sets: usize,
}

/// Anything that is neither a separator nor an operand counts as a link of a chain.
fn refuse_long_chain(tokens: &[TokenWithSpan]) -> Result<(), Exception> {
    let mut levels: Vec<Links> = Vec::new();
    let mut links = Links::default();
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                levels.push(std::mem::take(&mut links));
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                links = levels.pop().unwrap_or_default();
            }
            Token::Comma => links.operators = 0,
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::Period => {}
            Token::Word(word) => match word.keyword {
                keyword if is_clause(keyword) => links.operators = 0,
                keyword if is_set_operator(keyword) => links.sets += 1,
                keyword if is_operator(keyword) => links.operators += 1,
                _ => {}
            },
            _ => links.operators += 1,
        }
        if links.operators.max(links.sets) > CHAIN_OPERATORS_MAX {
            return Err(Exception::new(
                ErrorCode::TooDeepRecursion,
                format!(
                    "More than {CHAIN_OPERATORS_MAX} operators in one chain; use IN (…) or parentheses"
                ),
            ));
        }
    }
    Ok(())
}

/// The words behind which a new expression begins.
const fn is_clause(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::SELECT
            | Keyword::FROM
            | Keyword::WHERE
            | Keyword::PREWHERE
            | Keyword::GROUP
            | Keyword::HAVING
            | Keyword::ORDER
            | Keyword::LIMIT
            | Keyword::JOIN
            | Keyword::ON
            | Keyword::WHEN
            | Keyword::THEN
            | Keyword::ELSE
    )
}

const fn is_set_operator(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS)
}

const fn is_operator(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::AND
            | Keyword::OR
            | Keyword::XOR
            | Keyword::NOT
            | Keyword::IS
            | Keyword::IN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::BETWEEN
            | Keyword::SIMILAR
            | Keyword::REGEXP
            | Keyword::RLIKE
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::OPERATOR
            | Keyword::OVERLAPS
            | Keyword::MEMBER
            | Keyword::DIV
            | Keyword::NOTNULL
    )
}

/// `{name:Type}` that is still there has no value.
fn refuse_parameter(tokens: &[TokenWithSpan]) -> Result<(), Exception> {
    for window in tokens.windows(3) {
        if let [Token::LBrace, Token::Word(name), Token::Colon] =
            [&window[0].token, &window[1].token, &window[2].token]
        {
            return Err(Exception::new(
                ErrorCode::UnknownQueryParameter,
                format!("Substitution `{}` is not set", name.value),
            ));
        }
    }
    Ok(())
}

/// `GLOBAL IN` says where the right side is computed; here it is always computed once.
fn drop_global_in(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        let is_in = is_word(tokens.get(at + 1), "IN")
            || (is_word(tokens.get(at + 1), "NOT") && is_word(tokens.get(at + 2), "IN"));
        let follows_operand =
            at.checked_sub(1).is_some_and(|before| ends_operand(tokens.get(before)));
        if is_in && follows_operand && is_word(tokens.get(at), "GLOBAL") {
            tokens.remove(at);
        }
        at += 1;
    }
}

/// Cuts FORMAT and SETTINGS, in either order, off the end.
pub(super) fn cut_tail(
    mut tokens: Vec<TokenWithSpan>,
) -> Result<(Vec<TokenWithSpan>, Tail), Exception> {
    refuse_outfile(&tokens)?;
    let mut tail = Tail::default();
    loop {
        if tail.format.is_none()
            && let Some(format) = format_at_end(&tokens)
        {
            tokens.truncate(tokens.len() - 2);
            tail.format = Some(format);
            continue;
        }
        if tail.settings.is_empty()
            && let Some((start, settings)) = settings_at_end(&tokens)
        {
            tokens.truncate(start);
            tail.settings = settings;
            continue;
        }
        return Ok((tokens, tail));
    }
}

fn refuse_outfile(tokens: &[TokenWithSpan]) -> Result<(), Exception> {
    let is_outfile =
        |pair: &[TokenWithSpan]| is_word(pair.first(), "INTO") && is_word(pair.get(1), "OUTFILE");
    match tokens.windows(2).any(is_outfile) {
        true => Err(Exception::not_implemented("INTO OUTFILE")),
        false => Ok(()),
    }
}

/// Returns whether an expression or clause can end with this token, so that a tail clause can follow.
fn ends_operand(token: Option<&TokenWithSpan>) -> bool {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) => {
            word.quote_style.is_some()
                || !matches!(
                    word.keyword,
                    Keyword::SELECT
                        | Keyword::DISTINCT
                        | Keyword::FROM
                        | Keyword::JOIN
                        | Keyword::AS
                        | Keyword::ON
                        | Keyword::USING
                        | Keyword::WHERE
                        | Keyword::PREWHERE
                        | Keyword::HAVING
                        | Keyword::QUALIFY
                        | Keyword::BY
                        | Keyword::AND
                        | Keyword::OR
                        | Keyword::NOT
                        | Keyword::IN
                        | Keyword::LIKE
                        | Keyword::ILIKE
                        | Keyword::BETWEEN
                        | Keyword::IS
                        | Keyword::WHEN
                        | Keyword::THEN
                        | Keyword::ELSE
                        | Keyword::CASE
                        | Keyword::LIMIT
                        | Keyword::OFFSET
                        | Keyword::WITH
                        | Keyword::INTERVAL
                        | Keyword::EXPLAIN
                        | Keyword::ANALYZE
                        | Keyword::VERBOSE
                        | Keyword::DESCRIBE
                        | Keyword::DESC
                        | Keyword::TABLE
                )
                || word.keyword == Keyword::DESC
        }
        Some(
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::HexStringLiteral(_)
            | Token::RParen
            | Token::RBracket
            | Token::RBrace
            | Token::Mul,
        ) => true,
        _ => false,
    }
}

fn format_at_end(tokens: &[TokenWithSpan]) -> Option<String> {
    let [.., before, keyword, name] = tokens else { return None };
    let name = word(Some(name))?;
    (is_word(Some(keyword), "FORMAT") && ends_operand(Some(before))).then(|| name.value.clone())
}

/// Returns where the last SETTINGS clause starts and what it sets, if it reaches to the end.
fn settings_at_end(tokens: &[TokenWithSpan]) -> Option<(usize, Vec<(String, String)>)> {
    let start = (1..tokens.len())
        .rev()
        .find(|&at| is_word(tokens.get(at), "SETTINGS") && ends_operand(tokens.get(at - 1)))?;
    let mut rest = tokens.get(start + 1..)?;
    let mut settings = Vec::new();
    loop {
        let (setting, left) = setting(rest)?;
        settings.push(setting);
        match left {
            [] => return Some((start, settings)),
            [comma, left @ ..] if comma.token == Token::Comma => rest = left,
            _ => return None,
        }
    }
}

type SettingAndRest<'a> = ((String, String), &'a [TokenWithSpan]);

/// Reads `name = value` or, short for 1, `name`.
fn setting(tokens: &[TokenWithSpan]) -> Option<SettingAndRest<'_>> {
    let (name, rest) = tokens.split_first()?;
    let Token::Word(name) = &name.token else { return None };
    match rest {
        [eq, rest @ ..] if eq.token == Token::Eq => {
            let end = value_end(rest)?;
            let value = value_text(rest.get(..end)?);
            Some(((name.value.clone(), value), rest.get(end..)?))
        }
        rest => Some(((name.value.clone(), "1".to_string()), rest)),
    }
}

/// Returns how many tokens a value has: up to the next comma outside brackets.
fn value_end(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.checked_sub(1)?,
            Token::Comma if depth == 0 => return (at > 0).then_some(at),
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Minus | Token::Plus => {}
            Token::Word(_) if depth > 0 || at == 0 => {}
            _ if depth > 0 => {}
            _ => return None,
        }
    }
    (depth == 0 && !tokens.is_empty()).then_some(tokens.len())
}

fn value_text(tokens: &[TokenWithSpan]) -> String {
    match tokens {
        [one] => match &one.token {
            Token::SingleQuotedString(text) => text.clone(),
            token => token.to_string(),
        },
        many => many.iter().map(|token| token.token.to_string()).collect(),
    }
}

/// Returns the name of a ClickHouse clause in the tokens that the parser cannot read.
///
/// Asked only when it failed, so that a column of such a name does no harm.
pub(super) fn known_gap(tokens: &[TokenWithSpan]) -> Option<&'static str> {
    if is_word(tokens.first(), "WITH") && !starts_cte(tokens) {
        return Some("WITH expression AS name");
    }
    (0..tokens.len()).find_map(|at| {
        let is = |offset: usize, wanted: &str| is_word(tokens.get(at + offset), wanted);
        let joins = |offset: usize| {
            ["JOIN", "LEFT", "RIGHT", "INNER", "FULL"].iter().any(|wanted| is(offset, wanted))
        };
        match () {
            () if is(0, "ANY") && joins(1) => Some("ANY JOIN"),
            () if (is(0, "LEFT") || is(0, "RIGHT") || is(0, "INNER")) && is(1, "ANY") => {
                Some("ANY JOIN")
            }
            () if is(0, "ASOF") => Some("ASOF JOIN"),
            () if is(0, "PASTE") && is(1, "JOIN") => Some("PASTE JOIN"),
            () if is(0, "SEMI") && joins(1) => Some("SEMI JOIN in this order (use LEFT SEMI JOIN)"),
            () if is(0, "ANTI") && joins(1) => Some("ANTI JOIN in this order (use LEFT ANTI JOIN)"),
            () if is(0, "WITH") && is(1, "TIES") => Some("LIMIT WITH TIES"),
            () if is(0, "APPLY") => Some("APPLY"),
            () if is(0, "FINAL") => Some("FINAL"),
            () if is(0, "WITH") && is(1, "FILL") => Some("WITH FILL"),
            () if is(0, "INTERPOLATE") => Some("INTERPOLATE"),
            () if is(0, "SAMPLE") => Some("SAMPLE"),
            () if is(0, "ARRAY") && is(1, "JOIN") => Some("ARRAY JOIN"),
            () => None,
        }
    })
}

/// Returns whether WITH is followed by `name AS (`, `name (columns) AS (` or RECURSIVE.
fn starts_cte(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, wanted: &Token| tokens.get(at).is_some_and(|token| token.token == *wanted);
    let has_name = matches!(tokens.get(1).map(|token| &token.token), Some(Token::Word(_)));
    let mut after = 2;
    if is(after, &Token::LParen) {
        let close = (after..tokens.len()).find(|&at| is(at, &Token::RParen));
        after = close.map_or(tokens.len(), |at| at + 1);
    }
    is_word(tokens.get(1), "RECURSIVE")
        || (has_name && is_word(tokens.get(after), "AS") && is(after + 1, &Token::LParen))
}
