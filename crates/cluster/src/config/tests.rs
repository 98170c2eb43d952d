//! What cluster files are taken, what they mean, and what people read about those that are not.

use expect_test::{Expect, expect};
use url::Url;

use super::*;

const MINIMAL: &str = "\
version: 1
catalog: { url: 'sqlite://./catalog.db' }
storages:
  main: { url: 'file://./data' }
membership: { static: ['127.0.0.1:8124'] }
";

fn example() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cluster.example.yaml");
    std::fs::read_to_string(path).expect("the example is there")
}

fn parsed(text: &str) -> ClusterConfig {
    match ClusterConfig::parse(text, "c.yaml", Path::new("/base")) {
        Ok(config) => config,
        Err(error) => panic!("{error}"),
    }
}

fn message(text: &str) -> String {
    match ClusterConfig::parse(text, "c.yaml", Path::new("/base")) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Checks the message after the minimal file's only occurrence of `from` became `to`.
fn check(from: &str, to: &str, expected: Expect) {
    assert_eq!(MINIMAL.matches(from).count(), 1, "{from}");
    expected.assert_eq(&message(&MINIMAL.replace(from, to)));
}

/// Checks the message after `more` was added to the minimal file, from line 6 on.
fn check_more(more: &str, expected: Expect) {
    expected.assert_eq(&message(&format!("{MINIMAL}{more}\n")));
}

#[test]
fn the_example_parses_and_shows_the_defaults() {
    let config = parsed(&example());
    assert_eq!(config.head, HeadConfig::default());
    assert_eq!(config.limits, QueryLimitsConfig::default());
    let cache = PeerCacheConfig { path: "/base/cache".into(), ..PeerCacheConfig::default() };
    assert_eq!(config.peer, PeerConfig { cache, ..PeerConfig::default() });
    assert_eq!(config.storages.len(), 2);
}

#[test]
fn the_example_has_every_key() {
    let example = example();
    let s3 = "s3: { url: 's3://b'";
    for (from, to) in [
        ("version: 1", "version: 1\nzz: 1".to_owned()),
        ("db' }", "db', zz: 1 }".to_owned()),
        ("data' }", "data', zz: 1 }".to_owned()),
        ("data' }", format!("data' }}\n  {s3}, credentials: {{ zz: 1 }} }}")),
        ("['127.0.0.1:8124'] }", "['127.0.0.1:8124'], zz: 1 }".to_owned()),
        ("membership:", "head: { zz: 1 }\nmembership:".to_owned()),
        ("membership:", "peer: { zz: 1 }\nmembership:".to_owned()),
        ("membership:", "peer: { cache: { zz: 1 } }\nmembership:".to_owned()),
        ("membership:", "limits: { zz: 1 }\nmembership:".to_owned()),
    ] {
        let text = MINIMAL.replace(from, &to);
        let error = ClusterConfig::parse(&text, "c", Path::new("/")).expect_err(&to);
        let ConfigError::UnknownKey { key, known, .. } = error else { panic!("{error}") };
        assert_eq!(key, "zz");
        assert!(!known.is_empty());
        for key in known {
            assert!(
                example.contains(&format!(" {key}:")) || example.contains(&format!("\n{key}:")),
                "{key}"
            );
        }
    }
}

#[test]
fn a_minimal_file_gets_defaults_and_absolute_paths() {
    let effective = parsed(MINIMAL).effective();
    expect![[r#"
        version: 1
        catalog:
          url: sqlite:///base/catalog.db
        storages:
          main:
            url: file:///base/data
        default_storage: main
        head:
          http: 127.0.0.1:8123
          query_timeout: 1m
        peer:
          grpc: 127.0.0.1:8124
          http: 127.0.0.1:8125
          cache:
            path: /base/cache
            bytes_max: 10GiB
          memory_max: 2GiB
          target_partitions: 0
          fetches_in_flight_max: 16
        membership:
          static:
          - 127.0.0.1:8124
        limits:
          query_text_bytes_max: 1MiB
          queries_in_flight_max: 100
    "#]]
    .assert_eq(&effective);
}

#[test]
fn the_effective_configuration_is_the_same_configuration() {
    let pods = MINIMAL.replace("static: ['127.0.0.1:8124']", "pods_file: p.txt, poll_interval: 2s");
    for text in [MINIMAL, &pods, &example()] {
        let config = parsed(text);
        assert_eq!(parsed(&config.effective()), config);
    }
}

#[test]
fn storages_say_where_they_are() {
    let more = "  eu:
    url: s3://bucket/a/b/
    endpoint: http://127.0.0.1:8333
    region: us-east-1
    allow_http: true
    credentials: { access_key_id_env: EU_ID, secret_access_key_env: EU_SECRET }
default_storage: eu
membership:";
    let config = parsed(&MINIMAL.replace("membership:", more));
    let StorageConfig::S3(s3) = config.default_storage_config() else { panic!("not s3") };
    assert_eq!((s3.bucket.as_str(), s3.prefix.as_str()), ("bucket", "a/b"));
    assert_eq!(s3.endpoint.as_ref().map(Url::as_str), Some("http://127.0.0.1:8333/"));
    assert_eq!(s3.region.as_deref(), Some("us-east-1"));
    let credentials = s3.credentials.as_ref().expect("given");
    assert_eq!(credentials.secret_access_key_env, "EU_SECRET");
    assert_eq!(config.storages["main"], StorageConfig::File { root: "/base/data".into() });
}

#[test]
fn unknown_missing_and_repeated_keys() {
    check_more(
        "heads: {}",
        expect![
            "c.yaml:6:1: unknown key `heads`; known here: version, catalog, storages, default_storage, head, peer, membership, limits"
        ],
    );
    check_more(
        "peer:\n  cache:\n    byte_max: 1GiB",
        expect!["c.yaml:8:5: unknown key `byte_max`; known here: path, bytes_max"],
    );
    check(
        "catalog: { url: 'sqlite://./catalog.db' }\n",
        "",
        expect!["c.yaml:4:1: missing key `catalog`; add it to this section"],
    );
    check(
        "version: 1",
        "versions: 1",
        expect!["c.yaml:5:1: missing key `version`; add it to this section"],
    );
    check(
        "catalog: { url: 'sqlite://./catalog.db' }",
        "catalog: {}",
        expect!["c.yaml:2:10: missing key `url`; add it to this section"],
    );
    check_more(
        "version: 1",
        expect!["c.yaml:6:1: `version` stands here twice; see docs/cluster.example.yaml"],
    );
}

#[test]
fn malformed_text() {
    expect!["c.yaml:1:1: unexpected end of input; see docs/cluster.example.yaml"]
        .assert_eq(&message(""));
    expect!["c.yaml:2:4: unclosed bracket '['; see docs/cluster.example.yaml"]
        .assert_eq(&message("version: 1\nx: [1"));
    check(
        "version: 1",
        "version: one",
        expect!["c.yaml:1:10: a whole number is expected here; see docs/cluster.example.yaml"],
    );
    check_more(
        "peer: { target_partitions: -1 }",
        expect!["c.yaml:6:28: a whole number is expected here; see docs/cluster.example.yaml"],
    );
    check_more(
        "head: 3",
        expect!["c.yaml:6:7: a section of keys is expected here; see docs/cluster.example.yaml"],
    );
    check(
        "['127.0.0.1:8124']",
        "{ a: 1 }",
        expect!["c.yaml:5:23: a list is expected here; see docs/cluster.example.yaml"],
    );
}

#[test]
fn a_section_whose_keys_are_all_commented_out_has_its_defaults() {
    let config = parsed(&format!("{MINIMAL}head:\npeer:\n  cache:\nlimits:\n"));
    assert_eq!(config, parsed(MINIMAL));
}

#[test]
fn the_version_comes_first() {
    let later = MINIMAL.replace("version: 1", "version: 2\nnew_key: 1");
    expect!["c.yaml:1:10: version: version 2 is not known to this program; write 1 or install the version that the file is for"].assert_eq(&message(&later));
}

#[test]
fn sizes_durations_and_counts() {
    check_more(
        "peer: { memory_max: 2048 }",
        expect![
            "c.yaml:6:21: peer.memory_max: `2048` is not a size; write a whole number with a unit, such as 512MiB or 10GiB (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"
        ],
    );
    check_more(
        "peer: { memory_max: 1MiB }",
        expect![
            "c.yaml:6:21: peer.memory_max: 1MiB is out of range; write a value from 64MiB to 1024TiB"
        ],
    );
    check_more(
        "peer:\n  cache:\n    bytes_max: 2PiB",
        expect![
            "c.yaml:8:16: peer.cache.bytes_max: `2PiB` is not a size; write a whole number with a unit, such as 512MiB or 10GiB (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"
        ],
    );
    check_more(
        "head: { query_timeout: 60 }",
        expect![
            "c.yaml:6:24: head.query_timeout: `60` is not a duration; write a whole number with a unit, such as 500ms, 30s or 2m (ms, s, m, h, d)"
        ],
    );
    check_more(
        "head: { query_timeout: 2d }",
        expect!["c.yaml:6:24: head.query_timeout: 2d is out of range; write a value from 1s to 1d"],
    );
    check_more(
        "peer: { fetches_in_flight_max: 0 }",
        expect![
            "c.yaml:6:32: peer.fetches_in_flight_max: 0 is out of range; write a value from 1 to 1024"
        ],
    );
    check_more(
        "limits: { queries_in_flight_max: 99999999999999999 }",
        expect![
            "c.yaml:6:34: limits.queries_in_flight_max: 99999999999999999 is out of range; write a value from 1 to 10000"
        ],
    );
}

#[test]
fn addresses() {
    check_more(
        "head: { http: localhost:8123 }",
        expect![
            "c.yaml:6:15: head.http: `localhost:8123` is not a listen address; write IP:port, such as 127.0.0.1:8123 or 0.0.0.0:8123"
        ],
    );
    check_more(
        "peer: { http: 127.0.0.1:8124 }",
        expect![
            "c.yaml:6:15: peer.http: 127.0.0.1:8124 is also the address of peer.grpc; give each its own port"
        ],
    );
    check(
        "['127.0.0.1:8124']",
        "['127.0.0.1']",
        expect![
            "c.yaml:5:24: membership.static: `127.0.0.1` is not the address of a peer; write host:port, such as 10.0.0.7:8124 or peer-1:8124"
        ],
    );
    check(
        "['127.0.0.1:8124']",
        "['peer-1:8124', 'http://peer-2:8124']",
        expect![
            "c.yaml:5:39: membership.static: `http://peer-2:8124` is not the address of a peer; write host:port, such as 10.0.0.7:8124 or peer-1:8124"
        ],
    );
    check(
        "['127.0.0.1:8124']",
        "['a:1', 'A:1']",
        expect!["c.yaml:5:31: membership.static: A:1 is in the list twice; remove one"],
    );
    check(
        "['127.0.0.1:8124']",
        "[]",
        expect!["c.yaml:5:23: membership.static: 0 peers; write a list of 1 to 4096"],
    );
}

#[test]
fn membership_has_exactly_one_source() {
    check(
        "static: ['127.0.0.1:8124']",
        "",
        expect![
            "c.yaml:5:13: membership: needs exactly one source; write either static (a list of host:port) or pods_file (a path)"
        ],
    );
    check(
        "static: ['127.0.0.1:8124']",
        "static: ['a:1'], pods_file: p.txt",
        expect![
            "c.yaml:5:13: membership: needs exactly one source; write either static (a list of host:port) or pods_file (a path)"
        ],
    );
    check(
        "static: ['127.0.0.1:8124']",
        "static: ['a:1'], poll_interval: 1s",
        expect![
            "c.yaml:5:47: membership.poll_interval: has no meaning for a static list; remove it"
        ],
    );
    check(
        "static: ['127.0.0.1:8124']",
        "pods_file: p.txt, poll_interval: 1ms",
        expect![
            "c.yaml:5:48: membership.poll_interval: 1ms is out of range; write a value from 100ms to 1m"
        ],
    );
    check(
        "static: ['127.0.0.1:8124']",
        "pods_file: ''",
        expect![
            "c.yaml:5:26: membership.pods_file: is empty; write a path, relative ones start at the cluster file's folder"
        ],
    );
}

#[test]
fn storages_and_catalog() {
    check(
        "main: { url: 'file://./data' }",
        "{}",
        expect!["c.yaml:4:3: storages: 0 storages; write 1 to 64"],
    );
    check(
        "main:",
        "Main:",
        expect![
            "c.yaml:4:9: storages.Main: is not a storage name; write 1 to 64 of a-z, 0-9, - and _"
        ],
    );
    check(
        "file://./data",
        "file://data",
        expect![
            "c.yaml:4:16: storages.main.url: is neither a file:// nor an s3:// URL; write file://./data (relative to the cluster file), file:///absolute/data or s3://bucket/prefix"
        ],
    );
    check(
        "file://./data",
        "s3://",
        expect![
            "c.yaml:4:16: storages.main.url: has no valid bucket name after s3://; write file://./data (relative to the cluster file), file:///absolute/data or s3://bucket/prefix"
        ],
    );
    check(
        "sqlite://./catalog.db",
        "postgres://user:pass@host/db",
        expect![
            "c.yaml:2:17: catalog.url: is not a catalog URL; write sqlite://./catalog.db (relative to the cluster file) or sqlite:///absolute/catalog.db"
        ],
    );
    check(
        "data' }",
        "data', region: x }",
        expect![
            "c.yaml:4:41: storages.main.region: has no meaning for a file:// storage; remove it"
        ],
    );
    check(
        "data' }",
        "data' }\n  b: { url: 's3://b' }",
        expect![
            "c.yaml:4:3: default_storage: missing with several storages; write one of: b, main"
        ],
    );
    check(
        "version: 1",
        "version: 1\ndefault_storage: x",
        expect!["c.yaml:2:18: default_storage: `x` is none of the storages; write one of: main"],
    );
    check(
        "'file://./data' }",
        "'s3://b', endpoint: 'http://h:1' }",
        expect![
            "c.yaml:4:36: storages.main.endpoint: is plain http; write https:// or add allow_http: true to send data unencrypted"
        ],
    );
    check(
        "'file://./data' }",
        "'s3://b', region: 'a b' }",
        expect![
            "c.yaml:4:34: storages.main.region: is not a region; write a name such as us-east-1"
        ],
    );
}

#[test]
fn pasted_secrets_are_refused_and_not_repeated() {
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    let credentials = |id: &str, key: &str| {
        let source = format!("{{ access_key_id_env: {id}, secret_access_key_env: '{key}' }}");
        MINIMAL.replace("'file://./data' }", &format!("'s3://b', credentials: {source} }}"))
    };
    let endpoint = format!("'s3://b', endpoint: 'http://id:{secret}@h:1' }}");
    for text in [
        credentials("AKIAIOSFODNN7EXAMPLE", "NAME"),
        credentials("NAME", secret),
        MINIMAL.replace("'file://./data' }", &endpoint),
        MINIMAL.replace("file://./data", &format!("s3://id:{secret}@b")),
    ] {
        let message = message(&text);
        assert_ne!(message, "no error");
        assert!(!message.contains(secret) && !message.contains("AKIA"), "{message}");
    }
}

#[test]
fn files_that_are_not_cluster_files() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("c.yaml");
    assert!(matches!(ClusterConfig::load(&path), Err(ConfigError::Unreadable { .. })));
    assert!(matches!(ClusterConfig::load(folder.path()), Err(ConfigError::NotACluster { .. })));
    std::fs::write(&path, [0xff, 0xfe]).expect("write");
    assert!(matches!(ClusterConfig::load(&path), Err(ConfigError::NotACluster { .. })));
    std::fs::write(&path, vec![b' '; (1 << 20) + 1]).expect("write");
    assert!(matches!(ClusterConfig::load(&path), Err(ConfigError::NotACluster { .. })));
    std::fs::write(&path, MINIMAL).expect("write");
    let config = ClusterConfig::load(&path).expect("good");
    let root = folder.path().join("data");
    assert_eq!(config.storages["main"], StorageConfig::File { root });
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in ".{0,200}", at in 0..MINIMAL.len()) {
        drop(ClusterConfig::parse(&text, "c", Path::new("/")));
        let mut mutated = MINIMAL.to_owned();
        mutated.insert_str(at, &text);
        drop(ClusterConfig::parse(&mutated, "c", Path::new("/")));
    }
}
