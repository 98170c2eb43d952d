//! The gRPC services of a peer, as another head or `grpcurl` would use them.

use std::sync::Arc;

use arrow::array::{AsArray as _, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow::ipc::reader::StreamReader;
use peerage_engine::{Assignment, PLAN_VERSION};
use peerage_proto::v1::peer_control_client::PeerControlClient;
use peerage_proto::v1::query_peer_client::QueryPeerClient;
use peerage_proto::v1::scan_predicate::Predicate;
use peerage_proto::v1::scan_response::Part;
use peerage_proto::v1::{
    CompareColumn, ComparisonOperator, DescribeRequest, Literal, PredicateList, ScanPredicate,
    ScanRequest, ScanStatistics, literal,
};
use peerage_testdata::tables;
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::cluster::{LoadedTables, TestCluster};

/// A peer over one table, and what the catalog says of the table's partitions.
struct Fixture {
    _tables: Arc<LoadedTables>,
    _cluster: TestCluster,
    channel: Channel,
    assignments: Vec<Assignment>,
}

async fn peer() -> Fixture {
    let mut files = tables::checked_in();
    files.retain(|table| table.schema == "nyc" && table.table == "weather");
    let tables = Arc::new(LoadedTables::load(&files).await);
    let cluster = TestCluster::start(&tables, "grpc", 1).await;
    let catalog = tables.catalog().await;
    let table = catalog.table("nyc", "weather").await.expect("loaded");
    let snapshot = catalog.snapshot().await.expect("reads");
    let records = snapshot.partitions(table.id, None).await.expect("listed");
    let assignment = |record: peerage_catalog::PartitionRecord| Assignment {
        name: record.name,
        storage: record.storage,
        path: record.path,
        rows: record.rows,
        manifest: record.manifest,
        index: record.index,
        data: record.data,
    };
    let url = format!("http://{}", cluster.peer_address(0));
    let channel = Channel::from_shared(url).expect("a URL").connect().await.expect("connects");
    let assignments = records.into_iter().map(assignment).collect();
    Fixture { _tables: tables, _cluster: cluster, channel, assignments }
}

fn compare(column: &str, operator: ComparisonOperator, value: literal::Value) -> ScanPredicate {
    let compare = CompareColumn {
        column: column.to_owned(),
        operator: operator.into(),
        literal: Some(Literal { value: Some(value) }),
    };
    ScanPredicate { predicate: Some(Predicate::Compare(compare)) }
}

async fn scan(
    fixture: &Fixture,
    request: ScanRequest,
) -> Result<(Vec<RecordBatch>, ScanStatistics), tonic::Status> {
    let mut client = QueryPeerClient::new(fixture.channel.clone());
    let mut responses = client.scan(request).await?.into_inner();
    let (mut bytes, mut statistics) = (Vec::new(), None);
    while let Some(response) = responses.message().await? {
        match response.part.expect("no empty message") {
            Part::ArrowIpc(piece) => bytes.extend_from_slice(&piece),
            Part::Statistics(last) => statistics = Some(last),
        }
    }
    let reader = StreamReader::try_new(bytes.as_slice(), None).expect("one Arrow stream");
    let batches = reader.collect::<Result<_, _>>().expect("whole batches");
    Ok((batches, statistics.expect("statistics come last")))
}

fn request(fixture: &Fixture) -> ScanRequest {
    let assignments = fixture.assignments.iter().map(Assignment::to_proto).collect();
    ScanRequest { assignments, ..ScanRequest::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_scanned_without_a_head() {
    let fixture = peer().await;
    let all = scan(&fixture, request(&fixture)).await.expect("scans");
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!((rows(&all.0), all.1.rows), (26_115, 26_115));

    let cold_january_at_jfk = PredicateList {
        predicates: vec![
            compare("origin", ComparisonOperator::Equal, literal::Value::String("JFK".to_owned())),
            compare("month", ComparisonOperator::Equal, literal::Value::Int(1)),
            compare("temp", ComparisonOperator::Less, literal::Value::Float(20.0)),
        ],
    };
    let filtered = ScanRequest {
        columns: vec!["month".to_owned(), "temp".to_owned()],
        predicate: Some(ScanPredicate { predicate: Some(Predicate::All(cold_january_at_jfk)) }),
        ..request(&fixture)
    };
    let (batches, statistics) = scan(&fixture, filtered.clone()).await.expect("scans");
    assert!(statistics.rows > 0 && statistics.blocks_pruned > 0, "{statistics:?}");
    assert_eq!(statistics.cache_misses, 0);
    for batch in &batches {
        assert_eq!(batch.num_columns(), 2);
        assert!(
            batch.column(0).as_primitive::<Int64Type>().values().iter().all(|month| *month == 1)
        );
    }
    let limited = ScanRequest { limit: 3, ..filtered };
    assert_eq!(rows(&scan(&fixture, limited).await.expect("scans").0), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_requests_are_refused_by_name() {
    let fixture = peer().await;
    let check = async |request: ScanRequest, code: Code, text: &str| {
        let status = scan(&fixture, request).await.expect_err("is refused");
        assert_eq!(status.code(), code, "{status}");
        assert!(status.message().contains(text), "{status}");
    };
    check(ScanRequest::default(), Code::InvalidArgument, "no assignments").await;
    let unknown = ScanRequest { columns: vec!["nope".to_owned()], ..request(&fixture) };
    check(unknown, Code::InvalidArgument, "no column \"nope\"").await;
    let mut elsewhere = request(&fixture);
    elsewhere.assignments[0].storage = "elsewhere".to_owned();
    check(elsewhere, Code::FailedPrecondition, "not configured on this peer").await;
    let mut outside = request(&fixture);
    outside.assignments[0].path = "../outside".to_owned();
    check(outside, Code::InvalidArgument, "unsafe path").await;
    let mut absent = request(&fixture);
    absent.assignments[0].name = "1-2-01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned();
    absent.assignments[0].path = "nyc/absent".to_owned();
    check(absent, Code::NotFound, "not found").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_describes_itself_and_its_services() {
    let fixture = peer().await;
    let mut control = PeerControlClient::new(fixture.channel.clone());
    let described = control.describe(DescribeRequest {}).await.expect("answers").into_inner();
    assert_eq!(described.plan_version, PLAN_VERSION);
    assert_eq!(described.storages, ["main"]);
    assert!(!described.cache_id.is_empty() && described.cores > 0);

    let mut health = HealthClient::new(fixture.channel.clone());
    let service = "peerage.v1.QueryPeer".to_owned();
    let checked = health.check(HealthCheckRequest { service }).await.expect("answers").into_inner();
    assert_eq!(checked.status(), ServingStatus::Serving);

    let mut reflection = ServerReflectionClient::new(fixture.channel.clone());
    let list = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answers = reflection.server_reflection_info(futures::stream::iter([list])).await;
    let answer = answers.expect("answers").into_inner().message().await.expect("answers");
    let Some(MessageResponse::ListServicesResponse(services)) =
        answer.expect("one").message_response
    else {
        panic!("no list of services");
    };
    let names: Vec<_> = services.service.iter().map(|service| service.name.as_str()).collect();
    assert!(names.contains(&"peerage.v1.QueryPeer") && names.contains(&"peerage.v1.PeerControl"));
}
