//! Creating, extending, dropping and reopening.

use arrow::datatypes::DataType;
use expect_test::{Expect, expect};
use peerage_catalog::{Catalog, CatalogError, NewColumn, NewTable, Table, TableDraft};

use crate::fixture::{Fixture, events, partition};

fn columns(table: &Table) -> String {
    let show = |column: &peerage_catalog::TableColumn| {
        format!("{}:{} {}", column.id, column.name, column.data_type)
    };
    table.columns.iter().map(show).collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn a_table_comes_back_as_it_was_created() {
    let fixture = Fixture::new().await;
    let created = fixture.catalog.create_table(events("events")).await.expect("create");
    let reopened = fixture.reopen().await;
    let table = reopened.table("db", "events").await.expect("there");
    assert_eq!(table, created);
    expect!["1:ts Timestamp(ms, \"UTC\"), 2:host Utf8, 3:bytes Int64"].assert_eq(&columns(&table));
    assert_eq!(table.primary_column().expect("primary").name, "ts");
    assert_eq!(table.sort_by.iter().map(|id| id.0).collect::<Vec<_>>(), [3, 2]);
    assert_eq!(table.settings["codec"], "zstd");
    assert_eq!(table.arrow_schema().field(0).name(), "ts");
    assert!(!table.arrow_schema().field(0).is_nullable());
    table.partition_schema().expect("the partition format knows all types");
}

#[tokio::test]
async fn databases_are_those_with_tables() {
    let fixture = Fixture::new().await;
    assert!(fixture.catalog.databases().await.expect("read").is_empty());
    fixture.catalog.create_table(events("a")).await.expect("create");
    fixture
        .catalog
        .create_table(NewTable { database: "app".into(), ..events("b") })
        .await
        .expect("create");
    assert_eq!(fixture.catalog.databases().await.expect("read"), ["app", "db"]);
    fixture.catalog.drop_table("db", "a").await.expect("drop");
    assert_eq!(fixture.catalog.databases().await.expect("read"), ["app"]);
}

async fn check_refused(table: NewTable, expected: Expect) {
    let fixture = Fixture::new().await;
    let error = fixture.catalog.create_table(table).await.expect_err("refused");
    expected.assert_eq(&error.to_string());
    assert!(fixture.catalog.tables().await.expect("read").is_empty());
}

#[tokio::test]
async fn what_is_no_table_is_refused() {
    let twice = NewColumn::new("ts", DataType::Int64, true);
    check_refused(
        NewTable { name: "a-b".into(), ..events("t") },
        expect![
            "table name 'a-b' is not valid: use letters, digits and _, not beginning with a digit"
        ],
    )
    .await;
    check_refused(
        NewTable { columns: vec![], ..events("t") },
        expect!["table db.t is not valid: it has no columns"],
    )
    .await;
    check_refused(
        NewTable { columns: vec![twice.clone(), twice], ..events("t") },
        expect!["column db.t.ts exists already"],
    )
    .await;
    check_refused(
        NewTable { primary: Some("time".into()), ..events("t") },
        expect!["table db.t is not valid: the primary column time is not among its columns"],
    )
    .await;
    check_refused(
        NewTable { primary: Some("host".into()), ..events("t") },
        expect![[
            r#"table db.t is not valid: primary column "host" has type Utf8, not a timestamp or date"#
        ]],
    )
    .await;
    check_refused(
        NewTable { sort_by: vec!["host".into(), "host".into()], ..events("t") },
        expect!["table db.t is not valid: a column stands twice in the sort order"],
    )
    .await;
}

#[tokio::test]
async fn a_name_is_free_again_after_a_drop_but_ids_are_not() {
    let fixture = Fixture::new().await;
    let first = fixture.catalog.create_table(events("events")).await.expect("create");
    let taken = fixture.catalog.create_table(events("events")).await;
    assert!(matches!(taken, Err(CatalogError::AlreadyExists { what: "table", .. })));
    fixture.catalog.drop_table("db", "events").await.expect("drop");
    let again = fixture.catalog.drop_table("db", "events").await;
    assert!(matches!(again, Err(CatalogError::NotFound { what: "table", .. })));
    let second = fixture.catalog.create_table(events("events")).await.expect("create");
    assert_ne!(first.id, second.id);
    let stale = fixture.catalog.register(first.id, &[partition(0, 1, 1)]).await;
    assert!(matches!(stale, Err(CatalogError::NotFound { .. })));
}

#[tokio::test]
async fn added_columns_get_new_ids() {
    let fixture = Fixture::new().await;
    let table = fixture.catalog.create_table(events("events")).await.expect("create");
    let path = NewColumn::new("path", DataType::Utf8, true);
    let table = fixture.catalog.add_columns(table.id, vec![path.clone()]).await.expect("add");
    expect!["1:ts Timestamp(ms, \"UTC\"), 2:host Utf8, 3:bytes Int64, 4:path Utf8"]
        .assert_eq(&columns(&table));
    let twice = fixture.catalog.add_columns(table.id, vec![path]).await;
    assert!(matches!(twice, Err(CatalogError::AlreadyExists { what: "column", .. })));
    let required = NewColumn::new("must", DataType::Utf8, false);
    let refused = fixture.catalog.add_columns(table.id, vec![required]).await;
    assert!(matches!(refused, Err(CatalogError::InvalidTable { .. })));
}

#[tokio::test]
async fn a_draft_is_committed_with_its_partitions() {
    let fixture = Fixture::new().await;
    let draft = TableDraft::create(events("events")).expect("valid");
    let (table, first) =
        fixture.catalog.commit(draft, vec![partition(0, 1, 1)]).await.expect("create");
    let mut draft = TableDraft::extend(&table);
    let id = draft.add_column(NewColumn::new("path", DataType::Utf8, true)).expect("add");
    let (table, second) =
        fixture.catalog.commit(draft, vec![partition(2, 3, 2)]).await.expect("extend");
    assert!(second > first);
    assert_eq!(table.column("path").expect("added").id, id);
    let snapshot = fixture.catalog.snapshot().await.expect("snapshot");
    assert_eq!(snapshot.partition_count(table.id).await.expect("count"), 2);
}

#[tokio::test]
async fn the_slower_of_two_drafts_is_told() {
    let fixture = Fixture::new().await;
    let table = fixture.catalog.create_table(events("events")).await.expect("create");
    let draft = |name: &str, data_type: DataType| {
        let mut draft = TableDraft::extend(&table);
        draft.add_column(NewColumn::new(name, data_type, true)).expect("add");
        draft
    };
    let commit = |draft, id| {
        let catalog: Catalog = fixture.catalog.clone();
        async move { catalog.commit(draft, vec![partition(0, 1, id)]).await }
    };
    commit(draft("path", DataType::Utf8), 1).await.expect("first");
    commit(draft("path", DataType::Utf8), 2).await.expect("the same column is no conflict");
    commit(TableDraft::extend(&table), 3).await.expect("no column is no conflict");
    let slower = commit(draft("path", DataType::Int64), 4).await;
    assert!(matches!(slower, Err(CatalogError::Conflict { .. })), "{slower:?}");
    let slower = commit(draft("agent", DataType::Utf8), 5).await;
    assert!(matches!(slower, Err(CatalogError::Conflict { .. })), "{slower:?}");
    let snapshot = fixture.catalog.snapshot().await.expect("snapshot");
    assert_eq!(snapshot.partition_count(table.id).await.expect("count"), 3);
}

/// A head, a loader and a demonstration may start in the same moment on a file that is not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_open_a_new_catalog_at_once() {
    let directory = tempfile::tempdir().expect("temporary folder");
    let url = format!("sqlite://{}/catalog.db", directory.path().display());
    let opened: Vec<_> = (0..16)
        .map(|number| {
            let url = url.clone();
            tokio::spawn(async move {
                let catalog = Catalog::open(&url).await.expect("open");
                catalog.create_table(events(&format!("t{number}"))).await.expect("create");
            })
        })
        .collect();
    for task in opened {
        task.await.expect("task");
    }
    let catalog = Catalog::open(&url).await.expect("open");
    assert_eq!(catalog.tables().await.expect("read").len(), 16);
}

#[tokio::test]
async fn only_sqlite_urls_open() {
    for url in ["", "sqlite://", "catalog.db", "postgres://user:secret@host/db"] {
        let error = Catalog::open(url).await.expect_err("refused");
        assert!(matches!(error, CatalogError::InvalidName { what: "catalog", .. }));
        assert!(!error.to_string().contains("secret"));
    }
}

#[tokio::test]
async fn a_file_that_is_no_catalog_is_refused() {
    let directory = tempfile::tempdir().expect("temporary folder");
    let path = directory.path().join("catalog.db");
    std::fs::write(&path, b"this is a text file and no database, whatever its name says")
        .expect("write");
    let error = Catalog::open(&format!("sqlite://{}", path.display())).await.expect_err("refused");
    assert!(matches!(error, CatalogError::Corrupt { .. }), "{error:?}");
}
