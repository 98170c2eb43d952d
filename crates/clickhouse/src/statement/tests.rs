//! Tests of [`parse`](super::parse): what is accepted, what it becomes, and what each refusal says.

use super::*;
use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::{SessionConfig, SessionContext};
use expect_test::{Expect, expect};
use proptest::prelude::*;

/// Prints the parsed statement and what its tail said.
fn shown(parsed: &ParsedStatement) -> String {
    let ParsedStatement { kind, format, settings } = parsed;
    let kind = match kind {
        StatementKind::Query(statement) => statement.to_string(),
        other => format!("{other:?}"),
    };
    let format = format.as_ref().map(|name| format!(" | format {name}")).unwrap_or_default();
    let settings: String =
        settings.iter().map(|(name, value)| format!(" | {name}={value}")).collect();
    format!("{kind}{format}{settings}")
}

fn check(sql: &str, expected: Expect) {
    match parse(sql) {
        Ok(parsed) => expected.assert_eq(&shown(&parsed)),
        Err(error) => expected.assert_eq(&error.to_string()),
    }
}

/// Checks that `sql` is refused with code 48 and that the text names `clause`.
fn refused(sql: &str, clause: &str) {
    let error = parse(sql).expect_err(sql);
    assert_eq!(error.code, ErrorCode::NotImplemented, "{sql}: {error}");
    assert!(error.message.contains(clause), "{sql}: {error}");
}

fn code_of(sql: &str) -> ErrorCode {
    parse(sql).expect_err(sql).code
}

#[test]
fn the_tail_is_cut_off_in_any_order() {
    check("SELECT a FROM t FORMAT JSON", expect!["SELECT a FROM t | format JSON"]);
    check("SELECT a FROM t FORMAT Null;", expect!["SELECT a FROM t | format Null"]);
    check(
        "select a from t settings max_threads = 1, b='x' format TSV ;; -- done",
        expect!["SELECT a FROM t | format TSV | max_threads=1 | b=x"],
    );
    check(
        "SELECT a FROM t FORMAT TSV SETTINGS max_threads=1",
        expect!["SELECT a FROM t | format TSV | max_threads=1"],
    );
    check(
        "SELECT a FROM t SETTINGS x = -1.5, y, z = true",
        expect!["SELECT a FROM t | x=-1.5 | y=1 | z=true"],
    );
    check(
        "SELECT a FROM t SETTINGS f = {'t': 'a = 1, b'}",
        expect!["SELECT a FROM t | f={'t':'a = 1, b'}"],
    );
    check("SELECT 1 AS x /* FORMAT JSON */ FORMAT CSV", expect!["SELECT 1 AS x | format CSV"]);
    check(
        "SELECT a FROM t ORDER BY a DESC FORMAT JSON",
        expect!["SELECT a FROM t ORDER BY a DESC | format JSON"],
    );
    check("SHOW TABLES FORMAT JSON", expect!["ShowTables { database: None } | format JSON"]);
}

#[test]
fn words_of_the_tail_are_names_elsewhere() {
    check("SELECT level AS format FROM ev", expect!["SELECT level AS format FROM ev"]);
    check("SELECT format FROM t", expect!["SELECT format FROM t"]);
    check("SELECT a FROM t WHERE settings = 1", expect!["SELECT a FROM t WHERE settings = 1"]);
    check("SELECT a FROM t ORDER BY format DESC", expect!["SELECT a FROM t ORDER BY format DESC"]);
    check("SELECT a FROM format f", expect!["SELECT a FROM format f"]);
    check("SELECT `FORMAT` FROM t FORMAT CSV", expect!["SELECT `FORMAT` FROM t | format CSV"]);
}

#[test]
fn one_statement_and_no_more() {
    check(
        "SELECT 1; SELECT 2",
        expect![
            "Code: 62. DB::Exception: Syntax error: Multi-statements are not allowed (SYNTAX_ERROR)"
        ],
    );
    check(
        " -- nothing\n ; ",
        expect!["Code: 62. DB::Exception: Syntax error: Empty query (SYNTAX_ERROR)"],
    );
    check("SELECT 'a;b' AS x;", expect!["SELECT 'a;b' AS x"]);
    check(
        "SELEC 1",
        expect![
            "Code: 62. DB::Exception: Syntax error: Expected: an SQL statement, found: SELEC at Line: 1, Column: 1 (SYNTAX_ERROR)"
        ],
    );
    check(
        "SELECT 'a",
        expect![
            "Code: 62. DB::Exception: Syntax error: Unterminated string literal at Line: 1, Column: 8 (SYNTAX_ERROR)"
        ],
    );
}

#[test]
fn parameters_without_a_value() {
    check(
        "SELECT {x:UInt8}",
        expect!["Code: 456. DB::Exception: Substitution `x` is not set (UNKNOWN_QUERY_PARAMETER)"],
    );
    check(
        "SELECT a FROM t WHERE b = ?",
        expect!["Code: 456. DB::Exception: Substitution `?` is not set (UNKNOWN_QUERY_PARAMETER)"],
    );
}

#[test]
fn statements_about_databases_and_tables() {
    check("show databases", expect!["ShowDatabases"]);
    check("SHOW TABLES FROM logs", expect![[r#"ShowTables { database: Some("logs") }"#]]);
    check("SHOW TABLES IN `my db`", expect![[r#"ShowTables { database: Some("my db") }"#]]);
    check("DESC t", expect![[r#"Describe { database: None, table: "t" }"#]]);
    check(
        "DESCRIBE TABLE logs.http",
        expect![[r#"Describe { database: Some("logs"), table: "http" }"#]],
    );
    check(
        "EXISTS TABLE logs.http",
        expect![[r#"Exists { database: Some("logs"), table: "http" }"#]],
    );
    check("EXISTS http", expect![[r#"Exists { database: None, table: "http" }"#]]);
    check("USE logs", expect![[r#"Use { database: "logs" }"#]]);
    refused("SHOW TABLES LIKE 'e%'", "filter in SHOW");
    refused("SHOW PROCESSLIST", "SHOW PROCESSLIST");
    refused("DESCRIBE TABLE (SELECT 1)", "DESCRIBE of a query");
    refused("EXISTS DATABASE logs", "EXISTS DATABASE");
}

#[test]
fn writes_say_what_to_use_instead() {
    check(
        "INSERT INTO t VALUES (1)",
        expect![
            "Code: 164. DB::Exception: INSERT is not accepted, queries only read: add rows with `peerage load` (READONLY)"
        ],
    );
    check(
        "DROP TABLE t",
        expect![
            "Code: 164. DB::Exception: DROP is not accepted, queries only read: manage tables with `peerage table` (READONLY)"
        ],
    );
    for sql in [
        "CREATE TABLE t (a Int8)",
        "ALTER TABLE t DELETE WHERE 1",
        "TRUNCATE t",
        "COPY t TO 'x'",
        "DELETE FROM t",
    ] {
        assert_eq!(code_of(sql), ErrorCode::Readonly, "{sql}");
    }
    assert_eq!(code_of("EXPLAIN INSERT INTO t VALUES (1)"), ErrorCode::Readonly);
    refused("SET max_threads = 1", "SET");
    refused("KILL QUERY WHERE query_id = 'x'", "KILL");
}

#[test]
fn explain() {
    check("EXPLAIN SELECT a FROM t", expect!["EXPLAIN SELECT a FROM t"]);
    check(
        "EXPLAIN ANALYZE SELECT a FROM t FORMAT TSV",
        expect!["EXPLAIN ANALYZE SELECT a FROM t | format TSV"],
    );
    check("EXPLAIN PLAN SELECT a FROM t", expect!["EXPLAIN SELECT a FROM t"]);
    refused("EXPLAIN AST SELECT 1", "EXPLAIN AST");
    refused("EXPLAIN indexes = 1 SELECT 1", "EXPLAIN with settings");
    refused("EXPLAIN SELECT a FROM t FINAL", "FINAL");
}

#[test]
fn what_is_rewritten() {
    check("SELECT a FROM t PREWHERE b", expect!["SELECT a FROM t WHERE b"]);
    check(
        "SELECT a FROM t PREWHERE b OR c WHERE d OR e",
        expect!["SELECT a FROM t WHERE (b OR c) AND (d OR e)"],
    );
    check(
        "SELECT count() AS c FROM t HAVING COUNT() > 1",
        expect!["SELECT count(*) AS c FROM t HAVING COUNT(*) > 1"],
    );
    check("SELECT a FROM t GLOBAL JOIN u USING (a)", expect!["SELECT a FROM t JOIN u USING(a)"]);
    check(
        "SELECT a FROM t WHERE b GLOBAL NOT IN (SELECT 1 AS x)",
        expect!["SELECT a FROM t WHERE b NOT IN (SELECT 1 AS x)"],
    );
}

#[test]
fn what_the_engine_would_drop_or_cannot_do_in_queries() {
    refused("SELECT a FROM (SELECT 1 AS a SETTINGS x = 1)", "SETTINGS inside");
    refused("SELECT a FROM (SELECT a FROM t FORMAT JSON)", "FORMAT inside");
    refused("SELECT a FROM t INTO OUTFILE 'x' FORMAT CSV", "INTO OUTFILE");
    refused("SELECT a FROM t FETCH FIRST 2 ROWS ONLY", "FETCH");
    refused("SELECT a FROM t FOR UPDATE", "FOR UPDATE");
    refused("SELECT a FROM t ORDER BY a LIMIT 1 BY a", "LIMIT BY");
    refused("SELECT a FROM t ORDER BY a WITH FILL", "WITH FILL");
    refused(
        "SELECT a FROM t ORDER BY a WITH FILL FROM 0 TO 10 INTERPOLATE (b AS b)",
        "INTERPOLATE",
    );
    refused("SELECT a FROM t ORDER BY a LIMIT 1 WITH TIES", "WITH TIES");
    refused("SELECT a FROM t UNION ALL SELECT b FROM t ORDER BY ALL", "ORDER BY ALL");
    refused("SELECT a, count() FROM t GROUP BY a WITH TOTALS", "WITH TOTALS");
    refused("SELECT a, count() FROM t GROUP BY a WITH ROLLUP", "WITH ROLLUP");
    refused("SELECT a, count() FROM t GROUP BY a WITH CUBE", "WITH CUBE");
    refused("SELECT a, count() FROM t GROUP BY ALL WITH TOTALS", "WITH TOTALS");
    refused("WITH 5 AS n SELECT n", "WITH expression AS name");
    refused("WITH (SELECT max(a) FROM t) AS m SELECT m", "WITH expression AS name");
    refused("WITH 'h' AS h SELECT h", "WITH expression AS name");
    refused("WITH x -> x * 2 AS f SELECT f(1)", "WITH expression AS name");
    refused("SELECT * APPLY(max) FROM t", "APPLY");
    refused("TABLE t", "TABLE");
}

#[test]
fn what_the_engine_would_drop_or_cannot_do_in_from() {
    refused("SELECT a FROM t FINAL", "FINAL");
    refused("SELECT a FROM t AS x FINAL", "FINAL");
    refused("SELECT a FROM t SAMPLE 0.1", "SAMPLE");
    refused("SELECT a FROM (SELECT a FROM t) SAMPLE 0.1", "SAMPLE");
    refused("SELECT a FROM t ARRAY JOIN b", "ARRAY JOIN");
    refused("SELECT a FROM t LEFT ARRAY JOIN b AS c", "ARRAY JOIN");
    refused("SELECT a FROM t ANY LEFT JOIN u USING (a)", "ANY");
    refused("SELECT a FROM t AS x ANY LEFT JOIN u AS y USING (a)", "ANY");
    refused("SELECT a FROM t JOIN u FINAL USING (a)", "FINAL");
    refused("SELECT a FROM t ASOF JOIN u ON t.a = u.a AND t.b >= u.b", "ASOF");
    refused("SELECT a FROM t PASTE JOIN u", "PASTE");
    refused("SELECT a FROM t SEMI LEFT JOIN u USING (a)", "SEMI");
    refused("SELECT a FROM t LATERAL VIEW explode(b) AS c", "LATERAL VIEW");
    refused("SELECT a FROM db.numbers(10)", "a table function with a database");
    refused("SELECT a FROM f(SETTINGS x = 1)", "SETTINGS in a table function");
}

#[test]
fn what_the_engine_would_drop_or_cannot_do_in_expressions() {
    refused("SELECT quantile(0.5)(a) FROM t", "parameters");
    refused("SELECT upper(DISTINCT a) FROM t", "scalar function upper");
    refused("SELECT abs(a) FILTER (WHERE b) FROM t", "scalar function abs");
    refused("SELECT abs(a) OVER () FROM t", "scalar function abs");
    refused("SELECT abs(a ORDER BY a) FROM t", "scalar function abs");
    refused("SELECT a FROM t ORDER BY sum(a) OVER w", "OVER name outside");
    refused(
        "SELECT sum(a) OVER (w ORDER BY b) FROM t WINDOW w AS (PARTITION BY c)",
        "extends a named window",
    );
    refused("SELECT a FROM t ORDER BY a COLLATE 'en'", "COLLATE");
    refused("SELECT a FROM t WHERE a IN (SELECT b FROM u FINAL)", "FINAL");
    refused("SELECT (SELECT max(b) FROM u FINAL) FROM t", "FINAL");
    refused("SELECT CASE WHEN a THEN (SELECT 1 FROM u SAMPLE 1) END FROM t", "SAMPLE");
}

#[test]
fn what_is_left_alone() {
    for sql in [
        "WITH c AS (SELECT a FROM t) SELECT a FROM c",
        "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a",
        "SELECT a FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1",
        "SELECT sum(a) OVER w AS s FROM t WINDOW w AS (PARTITION BY b ORDER BY c)",
        "SELECT a FROM t GROUP BY ROLLUP(a)",
        "SELECT * EXCEPT (a) FROM t",
        "SELECT a FROM t LEFT SEMI JOIN u ON t.a = u.a",
        "SELECT count(DISTINCT a) AS c FROM t",
        "SELECT sum(a) FILTER (WHERE b) AS s FROM t",
        "SELECT a FROM t ORDER BY a NULLS FIRST LIMIT 2, 3",
        "SELECT a FROM t WHERE (a, b) IN ((1, 2), (3, 4))",
    ] {
        assert!(parse(sql).is_ok(), "{sql}: {:?}", parse(sql));
    }
}

#[test]
fn names_of_columns() {
    check("SELECT 1", expect!["SELECT 1 AS `1`"]);
    check(
        "SELECT 'it''s', NULL, true, -1, 1.50, 2.0",
        expect![[
            r#"SELECT 'it''s' AS `'it\'s'`, NULL AS `NULL`, true AS `true`, -1 AS `-1`, 1.50 AS `1.5`, 2.0 AS `2.`"#
        ]],
    );
    check(
        "SELECT COUNT(*), Sum(a), MAX(b) FROM t",
        expect!["SELECT COUNT(*) AS `count()`, Sum(a) AS `Sum(a)`, MAX(b) AS `max(b)` FROM t"],
    );
    check(
        "SELECT a + 1 * 2, (a - b) / c FROM t",
        expect![
            "SELECT a + 1 * 2 AS `plus(a, multiply(1, 2))`, (a - b) / c AS `divide(minus(a, b), c)` FROM t"
        ],
    );
    check(
        "SELECT a = 1, m['k'], [1, 2], upper(substring(s, 1, 2)) FROM t",
        expect![
            "SELECT a = 1 AS `equals(a, 1)`, m['k'] AS `arrayElement(m, 'k')`, [1, 2] AS `[1, 2]`, upper(SUBSTRING(s, 1, 2)) AS `upper(substring(s, 1, 2))` FROM t"
        ],
    );
    check(
        "SELECT count(DISTINCT s) FROM t",
        expect!["SELECT count(DISTINCT s) AS `countDistinct(s)` FROM t"],
    );
}

#[test]
fn names_that_are_not_given() {
    check("SELECT a, t.b, * FROM t", expect!["SELECT a, t.b, * FROM t"]);
    check(
        "SELECT CASE WHEN a THEN 1 END, sum(a) OVER () FROM t",
        expect!["SELECT CASE WHEN a THEN 1 END, sum(a) OVER () FROM t"],
    );
    check("SELECT 1, 1, 2 AS `3`, 3", expect!["SELECT 1, 1, 2 AS `3`, 3"]);
    check("SELECT x FROM (SELECT 1)", expect!["SELECT x FROM (SELECT 1)"]);
    check("SELECT 1 UNION ALL SELECT 2", expect!["SELECT 1 AS `1` UNION ALL SELECT 2"]);
}

/// The engine takes the names and finds the same rows under them.
#[tokio::test]
async fn named_columns_can_be_grouped_and_sorted() {
    let mut config = SessionConfig::new();
    config.options_mut().sql_parser.enable_ident_normalization = false;
    let context = SessionContext::new_with_config(config);
    let setup =
        "CREATE TABLE t AS SELECT column1 AS a, column2 AS b FROM (VALUES (1, 2), (1, 3), (2, 5))";
    context.sql(setup).await.unwrap().collect().await.unwrap();
    for (sql, header, rows) in [
        ("SELECT count() FROM t", "count()", 1),
        (
            "SELECT a + 1, count() FROM t GROUP BY a + 1 ORDER BY count() DESC",
            "plus(a, 1), count()",
            2,
        ),
        ("SELECT DISTINCT a + 1 FROM t ORDER BY a + 1", "plus(a, 1)", 2),
        ("SELECT a + b FROM t UNION ALL SELECT 9 FROM t ORDER BY a + b DESC", "plus(a, b)", 6),
        ("SELECT sum(b) FILTER (WHERE a = 1) AS s FROM t", "s", 1),
        ("SELECT sum(b), max(b) FROM t HAVING sum(b) > 1", "sum(b), max(b)", 1),
        ("SELECT b - a FROM t ORDER BY b - a LIMIT 1 SETTINGS x = 1 FORMAT CSV", "minus(b, a)", 1),
        ("SELECT 1 UNION ALL SELECT 2 FROM t", "1", 4),
        ("SELECT a FROM t PREWHERE a = 1 OR a = 2 WHERE b = 2 OR b = 5", "a", 2),
        ("SELECT sum(b) OVER w AS s FROM t WINDOW w AS (PARTITION BY a)", "s", 3),
    ] {
        let StatementKind::Query(statement) = parse(sql).unwrap().kind else { panic!("{sql}") };
        let plan = context.state().statement_to_plan(*statement).await.unwrap();
        let frame = context.execute_logical_plan(plan).await.unwrap();
        let names: Vec<_> =
            frame.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names.join(", "), header, "{sql}");
        let batches = frame.collect().await.unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), rows, "{sql}");
    }
}

/// The longest chain that is taken is walked and dropped on the smallest stack that a thread of ours has.
#[test]
fn long_chains_need_no_deep_stack() {
    let chain = |count: usize| format!("SELECT {}a FROM t", "a + ".repeat(count));
    let work = move || {
        assert!(parse(&chain(1_000)).is_ok());
        assert_eq!(code_of(&chain(1_001)), ErrorCode::TooDeepRecursion);
        let unions = vec!["SELECT 1"; 1_002].join(" UNION ALL ");
        assert_eq!(code_of(&unions), ErrorCode::TooDeepRecursion);
        let casts = format!("SELECT a{}", "::INT".repeat(2_000));
        assert_eq!(code_of(&casts), ErrorCode::TooDeepRecursion);
        let parens = format!("SELECT {}1{}", "(".repeat(2_000), ")".repeat(2_000));
        assert_eq!(code_of(&parens), ErrorCode::TooDeepRecursion);
        let nots = format!("SELECT {} 1", "NOT ".repeat(900));
        assert!(parse(&nots).is_err());
        let cases = vec!["WHEN a = 1 AND b = 2 THEN 3"; 700].join(" ");
        assert!(parse(&format!("SELECT CASE {cases} END FROM t")).is_ok());
        let list = vec!["1"; 50_000].join(", ");
        assert!(parse(&format!("SELECT a FROM t WHERE a IN ({list})")).is_ok());
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

proptest! {
    #[test]
    fn any_text_is_a_statement_or_an_exception(text in ".{0,120}") {
        drop(parse(&text));
    }

    #[test]
    fn any_words_are_a_statement_or_an_exception(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..24),
    ) {
        drop(parse(&words.join(" ")));
    }
}

const WORDS: &[&str] = &[
    "SELECT", "FROM", "WHERE", "PREWHERE", "GROUP", "BY", "ORDER", "LIMIT", "WITH", "TOTALS",
    "FILL", "FORMAT", "SETTINGS", "JSON", "a", "t", "count", "(", ")", ",", "=", "+", "*", "1",
    "'x'", ";", "AS", "UNION", "ALL", "JOIN", "ON", "USING", "{", "}", ":", "x", "IN", "GLOBAL",
    "NOT", "CASE", "WHEN", "THEN", "END", "OVER", "FINAL", "SAMPLE", "ARRAY", "[", "]", "SHOW",
    "TABLES", "DESCRIBE", "EXPLAIN", "INSERT", "INTO", "OUTFILE", "EXISTS", "USE", ".", "-",
    "INTERVAL", "DAY", "::", "Int8", "CAST", "DISTINCT", "NULL", "AND", "OR", "BETWEEN", "LIKE",
    "`q`", "\"d\"", "->", "VALUES", "ROLLUP", "--",
];
