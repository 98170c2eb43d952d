//! The proxy between a real client and a server that says what it is told, over loopback.

use expect_test::{Expect, expect};
use tokio::io::AsyncReadExt as _;

use super::*;

/// Starts a server that gives these answers, one after the other, to the first connection, and returns
/// what it was asked.
async fn server(answers: &'static [&'static str]) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut asked = Vec::new();
        for answer in answers {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("a whole head"));
            }
            let text = String::from_utf8(head.clone()).expect("text");
            let length =
                text.split_once("Content-Length: ").and_then(|(_, rest)| rest.lines().next());
            let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
            stream.read_exact(&mut body).await.expect("a whole body");
            asked.extend(head);
            asked.extend(body);
            stream.write_all(answer.as_bytes()).await.expect("a client that reads");
        }
        String::from_utf8(asked).expect("text")
    });
    (address, asked)
}

/// Sends `requests` one after the other and returns what came back, what the server was asked, and
/// what was counted.
async fn exchange(
    requests: &[&str],
    answers: &'static [&'static str],
) -> (String, String, Traffic) {
    let (upstream, asked) = server(answers).await;
    let proxy = Proxy::start(upstream, Duration::ZERO).await.expect("a free port");
    let mut client = TcpStream::connect(proxy.address()).await.expect("the proxy listens");
    let mut got = Vec::new();
    for (request, answer) in requests.iter().zip(answers) {
        client.write_all(request.as_bytes()).await.expect("the proxy reads");
        let mut back = vec![0; answer.len()];
        client.read_exact(&mut back).await.expect("the whole answer");
        got.extend(back);
    }
    let traffic = proxy.settle().await.expect("no request is left");
    let asked = asked.await.expect("the server ends");
    (String::from_utf8(got).expect("text"), asked, traffic)
}

/// Everything passes unchanged, and is counted so.
async fn check(requests: &[&str], answers: &'static [&'static str], expected: Expect) {
    let (got, asked, traffic) = exchange(requests, answers).await;
    assert_eq!(got, answers.concat());
    assert_eq!(asked, requests.concat());
    let Traffic { methods, failures, bytes, round_trips } = traffic;
    expected.assert_eq(&format!(
        "{methods:?} failures {failures} bytes {bytes} round trips {round_trips}"
    ));
}

const GET: &str = "GET /b/k HTTP/1.1\r\nHost: 127.0.0.1:4711\r\nAuthorization: AWS4 x\r\n\r\n";
const HEAD: &str = "HEAD /b/k HTTP/1.1\r\nHost: h\r\n\r\n";

#[tokio::test]
async fn bodies_are_counted_however_they_end() {
    check(
        &[GET],
        &["HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n\r\nhello"],
        expect![[r#"{"GET": 1} failures 0 bytes 5 round trips 1"#]],
    )
    .await;
    check(
        &[GET],
        &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n"],
        expect![[r#"{"GET": 1} failures 0 bytes 13 round trips 1"#]],
    )
    .await;
    check(
        &[GET],
        &["HTTP/1.1 200 OK\r\n\r\nto the end"],
        expect![[r#"{"GET": 1} failures 0 bytes 10 round trips 1"#]],
    )
    .await;
}

#[tokio::test]
async fn requests_of_one_connection_are_counted_by_method() {
    check(
        &[HEAD, GET, GET],
        &[
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        ],
        expect![[r#"{"GET": 2, "HEAD": 1} failures 1 bytes 2 round trips 3"#]],
    )
    .await;
}

#[tokio::test]
async fn interim_answers_pass_and_are_no_answers() {
    check(
        &[GET],
        &["HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx"],
        expect![[r#"{"GET": 1} failures 0 bytes 1 round trips 1"#]],
    )
    .await;
}

#[tokio::test]
async fn bodies_of_requests_pass() {
    let put = "PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n\r\n!!";
    check(
        &[put],
        &["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
        expect![[r#"{"PUT": 1} failures 0 bytes 0 round trips 1"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_a_failure() {
    let (upstream, _asked) = server(&["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"]).await;
    let proxy = Proxy::start(upstream, Duration::ZERO).await.expect("a free port");
    let mut client = TcpStream::connect(proxy.address()).await.expect("the proxy listens");
    client.write_all(GET.as_bytes()).await.expect("the proxy reads");
    let mut got = String::new();
    client.read_to_string(&mut got).await.expect("the end of the connection");
    let traffic = proxy.settle().await.expect("no request is left");
    assert!(got.ends_with("half"), "{got}");
    assert_eq!((traffic.failures, traffic.bytes), (1, 4));
}

#[tokio::test]
async fn requests_are_delayed_and_counting_begins_anew() {
    let delay = Duration::from_millis(40);
    let (upstream, _asked) = server(&["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]).await;
    let proxy = Proxy::start(upstream, delay).await.expect("a free port");
    let mut client = TcpStream::connect(proxy.address()).await.expect("the proxy listens");
    let started = std::time::Instant::now();
    client.write_all(GET.as_bytes()).await.expect("the proxy reads");
    client.read_u8().await.expect("an answer");
    assert!(started.elapsed() >= delay);
    assert_eq!(proxy.settle().await.map(|traffic| traffic.requests()), Some(1));
    proxy.reset();
    assert_eq!(proxy.settle().await, Some(Traffic::default()));
}

/// Checks the chain of requests that began and ended at these moments.
fn check_chain(requests: &[(u64, u64)], expected: usize) {
    let start = std::time::Instant::now();
    let moment = |moment| start + Duration::from_millis(moment);
    let mut requests = requests.to_vec();
    requests.sort_unstable_by_key(|&(_, ended)| ended);
    let mut chain = traffic::Chain::default();
    let grown =
        requests.iter().filter(|&&(began, ended)| chain.grows(moment(began), moment(ended)));
    assert_eq!(grown.count(), expected);
}

#[test]
fn round_trips_are_the_longest_chain() {
    check_chain(&[], 0);
    check_chain(&[(0, 5), (0, 6), (1, 4)], 1);
    check_chain(&[(0, 2), (0, 3), (3, 5), (3, 9)], 2);
    check_chain(&[(0, 9), (1, 2), (3, 4), (5, 6)], 3);
}

#[test]
fn what_is_unclear_is_refused() {
    fn check(head: &str, expected: &str) {
        let error = RequestHead::parse(head.as_bytes()).expect_err(head);
        assert_eq!(error.to_string(), format!("unexpected HTTP: {expected}"));
    }
    check("GET / HTTP/1.0\r\n\r\n", "a request that is not HTTP/1.1");
    check("GET / HTTP/1.1", "a head that is no text");
    check("PUT / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n", "a request with Expect");
    check("PUT / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "a length that is no number");
    check("PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "an unknown transfer coding");
}
