//! `table` and `inspect`.

use expect_test::expect;
use serde_json::Value;

use crate::fixture::Fixture;

const COLUMNS: &str = "ts timestamp, host utf8, bytes int64";

async fn with_rows() -> Fixture {
    let fixture = Fixture::new();
    let create =
        ["table", "create", "db.t", "--columns", COLUMNS, "--primary", "ts", "--sort-by", "host"];
    let answer = fixture.run(&create).await.expect("create");
    assert_eq!(answer, "created table db.t");
    let path = fixture.write(
        "a.csv",
        b"ts,host,bytes\n2015-05-17T10:05:03Z,a.example,1\n2015-05-17T10:05:04Z,b.example,\n",
    );
    fixture.load(&[&path]).await.expect("load");
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_listed_and_shown() {
    let fixture = with_rows().await;
    let list = fixture.run(&["table", "list"]).await.expect("list");
    let words: Vec<Vec<&str>> =
        list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        words[0],
        ["table", "columns", "primary", "partitions", "rows", "bytes", "from", "to"]
    );
    assert_eq!(words[1][..5], ["db.t", "3", "ts", "1", "2"]);
    assert_eq!(words[1][7..], ["2015-05-17T10:05:03.000Z", "2015-05-17T10:05:04.000Z"]);

    let show = fixture.run(&["table", "show", "db.t", "--partitions"]).await.expect("show");
    assert!(show.contains(" 1  ts      Timestamp(µs, \"UTC\")  not null  primary"), "{show}");
    assert!(show.contains(" 2  host    Utf8                  null      sort 1"), "{show}");
    let name = fixture.partitions().await[0].name.to_string();
    assert!(show.contains(&name), "{show}");

    let json = fixture.run(&["table", "show", "db.t", "--json"]).await.expect("show");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["rows"], &json["partition_count"]), (&2.into(), &1.into()));
    assert_eq!(json["columns"][1]["name"], "host");
    let json = fixture.run(&["table", "list", "--json"]).await.expect("list");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json[0]["min_ms"], 1_431_857_103_000_i64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_dropped_only_when_asked_for_plainly() {
    let fixture = with_rows().await;
    let error = fixture.run(&["table", "drop", "db.t"]).await.expect_err("refused");
    expect!["error: table db.t has 1 partitions with 2 rows and is not dropped without --yes; try --dry-run to see what would go, then --yes"]
        .assert_eq(&fixture.line(&error));
    let dry = fixture.run(&["table", "drop", "db.t", "--dry-run"]).await.expect("dry run");
    assert!(dry.starts_with("would drop table db.t: 1 partitions, 2 rows, "), "{dry}");
    assert_eq!(fixture.partitions().await.len(), 1);
    fixture.run(&["table", "drop", "db.t", "--yes"]).await.expect("drop");
    let error = fixture.run(&["table", "show", "db.t"]).await.expect_err("gone");
    expect!["error: table db.t does not exist; try peerage table list to see what exists"]
        .assert_eq(&fixture.line(&error));
}

#[tokio::test(flavor = "multi_thread")]
async fn creating_twice_is_an_error_unless_allowed() {
    let fixture = Fixture::new();
    let create = ["table", "create", "db.t", "--columns", COLUMNS];
    fixture.run(&create).await.expect("create");
    let error = fixture.run(&create).await.expect_err("taken");
    expect!["error: table db.t exists already"].assert_eq(&fixture.line(&error));
    let again = [&create[..], &["--if-missing"]].concat();
    assert_eq!(fixture.run(&again).await.expect("fine"), "table db.t exists");
    let wrong = ["table", "create", "db.u", "--columns", "ts time"];
    let line = fixture.line(&fixture.run(&wrong).await.expect_err("type"));
    assert!(
        line.starts_with("error: columns of table db.u: column ts: unknown type 'time'"),
        "{line}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_inspected_by_name_folder_and_file() {
    let fixture = with_rows().await;
    let partition = &fixture.partitions().await[0];
    let by_name = format!("db.t/{}", partition.name);
    let text = fixture.run(&["inspect", &by_name, "--verify"]).await.expect("by name");
    for line in [
        "as the catalog says, as the manifest says",
        "primary  ts, 2015-05-17T10:05:03.000Z to 2015-05-17T10:05:04.000Z",
        "rows     2 in 1 blocks of 4096",
        "a.example",
        "bloom",
    ] {
        assert!(text.contains(line), "'{line}' is not in:\n{text}");
    }
    assert!(!text.contains("WRONG"), "{text}");

    let folder = fixture.path("data").join(&partition.path);
    let by_folder = folder.display().to_string();
    let json = fixture.run(&["inspect", &by_folder, "--json"]).await.expect("by folder");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["manifest"]["ok"]["rows"], 2);
    assert_eq!(json["index"]["ok"]["blocks"], 1);
    assert_eq!(json["data"]["ok"]["row_groups"][0]["rows"], 2);
    let sections = json["index"]["ok"]["sections"].as_array().expect("sections");
    assert!(!sections.is_empty() && sections.iter().all(|section| section["verdict"] == "ok"));

    for (file, part) in
        [("manifest.pb", "manifest"), ("index.bin", "index"), ("data.parquet", "data")]
    {
        let path = folder.join(file).display().to_string();
        let json = fixture.run(&["inspect", &path, "--json"]).await.expect(file);
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert!(json[part]["ok"].is_object(), "{file}: {json}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_reported_and_the_rest_is_shown() {
    let fixture = with_rows().await;
    let partition = &fixture.partitions().await[0];
    let folder = fixture.path("data").join(&partition.path);
    for file in ["manifest.pb", "index.bin", "data.parquet"] {
        let path = folder.join(file);
        let good = std::fs::read(&path).expect("read");
        for place in [0, good.len() / 2, good.len() - 9, good.len() - 1] {
            let mut bad = good.clone();
            bad[place] ^= 0x55;
            std::fs::write(&path, &bad).expect("write");
            let name = format!("db.t/{}", partition.name);
            let text = fixture.run(&["inspect", &name, "--verify"]).await.expect("report");
            assert!(text.contains("WRONG: the catalog says"), "{file} at {place}:\n{text}");
        }
        std::fs::write(&path, &good[..good.len() / 2]).expect("write");
        let path = path.display().to_string();
        let text = fixture.run(&["inspect", &path]).await.expect("report");
        assert!(text.contains("does not decode"), "{file}:\n{text}");
        std::fs::write(&path, &good).expect("write");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_inspected_is_said() {
    let fixture = Fixture::new();
    let line = |error| fixture.line(&error);
    expect!["error: nowhere is neither a file or folder nor database.table/PARTITION; try peerage table show database.table --partitions to list partitions"]
        .assert_eq(&line(fixture.run(&["inspect", "nowhere"]).await.expect_err("no target")));
    let folder = fixture.path("").display().to_string();
    let error = line(fixture.run(&["inspect", &folder]).await.expect_err("no partition"));
    assert!(error.contains("holds no partition"), "{error}");
}
