//! `peerage-bench run`: the questions of a suite over real processes and a real S3 server.
//!
//! Each round asks every question in three phases: **cold** is a fresh head and fresh peers with
//! empty caches; **warm** is the same processes again; **restarted** is fresh processes that find
//! manifests and indexes on their disks, as after a deployment. Rounds take turns over all
//! questions, so that a busy moment of the machine does not fall on one of them.
//!
//! Invariant: every single answer is compared with the right one; a wrong answer is an error,
//! however fast it came. Left out: several questions at once, and other systems.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Args;

use crate::answer::Answer;
use crate::bounds::Bound;
use crate::client::HeadClient;
use crate::cluster::{CacheState, Cluster, ClusterPlan, RunningCluster};
use crate::dataset::{DatasetFolder, DatasetKey};
use crate::expected::expected_answers;
use crate::figures::{DataFigures, PhaseFigures, QueryFigures, RunFigures, Sample};
use crate::proxy::Proxy;
use crate::report;
use crate::store::S3Server;
use crate::suite::{Question, Suite};

/// Days of the log: with 20 M rows as many rows per second as a small network has.
const DAYS: u32 = 10;

/// Options of `peerage-bench run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    peerage-bench run --suite logs --rows 2000000\n  \
    peerage-bench run --rows 200000 --queries q1,q4 --rounds 1 --json figures.json\n  \
    peerage-bench run --rows 2000000 --delay-ms 15 \\\n    \
    --bound 'q1.restarted.requests<=1' --bound 'q1.restarted.seconds<=50ms'\n\n\
    Bounds: QUERY.PHASE.FIGURE<=VALUE with PHASE cold, warm or restarted and FIGURE seconds, \
    cpu_seconds, rss_bytes, requests, bytes, round_trips, partitions_read or cache_misses; and \
    data.index_percent<=VALUE. A value may have a unit: KiB, MiB, GiB, ms, s. Times are medians, \
    counts the largest of all rounds.\n\n\
    The data is kept in the folder and used again when rows, seed and version are the same. It \
    needs Python 3 for the S3 server (scripts/s3).")]
pub(crate) struct RunArgs {
    /// Which questions to ask
    #[arg(long, value_enum, default_value = "logs")]
    suite: Suite,
    /// Rows of the log
    #[arg(long, value_name = "N", default_value_t = 2_000_000,
        value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Rows of one partition
    #[arg(long, value_name = "N", default_value_t = 100_000,
        value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    partition_rows: u64,
    /// Seed of the log
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Peers to start
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u16).range(1..=64))]
    peers: u16,
    /// Delay that is added to every request to the object store
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay_ms: u64,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// Warm repeats in each round
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: u32,
    /// Questions to ask, such as q1,q4; all unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    queries: Vec<String>,
    /// Folder for data, caches and logs
    #[arg(long, value_name = "FOLDER", default_value = "target/bench")]
    dir: PathBuf,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Fail unless this holds; may be repeated
    #[arg(long = "bound", value_name = "NAME<=VALUE")]
    bounds: Vec<Bound>,
    /// The program to measure; the `peerage` beside this program unless given
    #[arg(long, value_name = "PATH")]
    peerage: Option<PathBuf>,
    /// Load the data again
    #[arg(long)]
    reload: bool,
    /// Leave the S3 server running, so that the next run need not start it
    #[arg(long)]
    keep_store: bool,
    /// The script that starts the S3 server
    #[arg(long, value_name = "PATH", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/s3"))]
    s3_script: PathBuf,
}

impl RunArgs {
    /// Runs the suite. Returns whether all bounds hold.
    pub(crate) async fn run(self) -> anyhow::Result<bool> {
        let program = program(self.peerage.as_deref())?;
        let key = DatasetKey {
            rows: self.rows,
            partition_rows: self.partition_rows,
            seed: self.seed,
            days: DAYS,
        };
        let questions = chosen(self.suite.questions(&key), &self.queries)?;
        let names: Vec<_> = questions.iter().map(|question| question.name).collect();
        self.bounds.iter().try_for_each(|bound| bound.check_name(&names))?;
        let folder = DatasetFolder::prepare(&self.dir, &key)?;
        let store_folder = folder.path("s3");
        if self.reload || !folder.is_loaded() {
            S3Server::stop(&self.s3_script, &store_folder)?;
            folder.clear()?;
        }
        let server = S3Server::start(&self.s3_script, &store_folder, self.keep_store).await?;
        let data = folder.load(&server).await?;
        let expected = expected_answers(&folder, &key, &questions).await?;
        let proxy = Proxy::start(server.address()?, Duration::from_millis(self.delay_ms))
            .await
            .context("start the proxy")?;
        let cluster = Cluster::prepare(ClusterPlan {
            program,
            folder: folder.path("run"),
            catalog_url: folder.catalog_url(),
            store: proxy.address(),
            access: server.access(),
            peers: self.peers,
        })?;
        let mut measured = Vec::new();
        for question in questions {
            let right = expected.get(&question.right_sql).cloned();
            let right = right.context("every question has a right answer")?;
            measured.push(Measured { question, right, phases: Phases::default() });
        }
        let bench = Bench { cluster: &cluster, proxy: &proxy, client: HeadClient::new()? };
        for round in 1..=self.rounds {
            for question in &mut measured {
                eprintln!("round {round} of {}: {}", self.rounds, question.question.name);
                bench.measure(question, self.repeats).await?;
            }
        }
        let queries = measured.into_iter().map(Measured::figures).collect();
        self.conclude(&self.figures(data, queries))
    }

    fn figures(&self, data: DataFigures, queries: Vec<QueryFigures>) -> RunFigures {
        RunFigures {
            suite: self.suite.name(),
            version: env!("CARGO_PKG_VERSION"),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            peers: self.peers,
            delay_ms: self.delay_ms,
            rounds: self.rounds,
            repeats: self.repeats,
            data,
            queries,
        }
    }

    /// Shows and writes the figures and checks the bounds.
    fn conclude(&self, run: &RunFigures) -> anyhow::Result<bool> {
        println!("{}", report::render(run));
        if let Some(path) = &self.json {
            std::fs::write(path, serde_json::to_vec_pretty(run)?)
                .with_context(|| format!("write {}", path.display()))?;
        }
        let broken: Vec<_> = self.bounds.iter().filter_map(|bound| bound.broken_by(run)).collect();
        for broken in &broken {
            eprintln!("bound broken: {broken}");
        }
        if broken.is_empty() && !self.bounds.is_empty() {
            println!("all {} bounds hold", self.bounds.len());
        }
        Ok(broken.is_empty())
    }
}

/// Returns the program that is measured.
fn program(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => std::env::current_exe().context("find this program")?.with_file_name("peerage"),
    };
    ensure!(
        path.is_file(),
        "there is no program {}; build it with `cargo build --release -p peerage`, or name another \
         with --peerage",
        path.display()
    );
    path.canonicalize().with_context(|| format!("find {}", path.display()))
}

/// Returns the questions with these names, all when there are none.
fn chosen(all: Vec<Question>, names: &[String]) -> anyhow::Result<Vec<Question>> {
    let known: Vec<_> = all.iter().map(|question| question.name).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no query {unknown}; there are {}", known.join(", "));
    }
    let is_chosen =
        |question: &Question| names.is_empty() || names.iter().any(|name| name == question.name);
    Ok(all.into_iter().filter(is_chosen).collect())
}

/// A question, its right answer, and what it cost so far.
#[derive(Debug)]
struct Measured {
    question: Question,
    right: Answer,
    phases: Phases,
}

/// The samples of each phase.
#[derive(Debug, Default)]
struct Phases {
    cold: Vec<Sample>,
    warm: Vec<Sample>,
    restarted: Vec<Sample>,
}

impl Measured {
    fn figures(self) -> QueryFigures {
        QueryFigures {
            name: self.question.name,
            title: self.question.title,
            sql: self.question.sql,
            rows: self.right.len(),
            cold: PhaseFigures::of(&self.phases.cold),
            warm: PhaseFigures::of(&self.phases.warm),
            restarted: PhaseFigures::of(&self.phases.restarted),
        }
    }
}

/// What a question is asked with.
#[derive(Debug)]
struct Bench<'a> {
    cluster: &'a Cluster,
    proxy: &'a Proxy,
    client: HeadClient,
}

impl Bench<'_> {
    /// Asks a question once in each phase, and `repeats` times in the warm one.
    async fn measure(&self, measured: &mut Measured, repeats: u32) -> anyhow::Result<()> {
        let Measured { question, right, phases } = measured;
        let running = self.cluster.start(CacheState::Empty).await?;
        phases.cold.push(self.ask(&running, question, right).await?);
        for _ in 0..repeats {
            phases.warm.push(self.ask(&running, question, right).await?);
        }
        running.stop().await;
        let running = self.cluster.start(CacheState::Kept).await?;
        phases.restarted.push(self.ask(&running, question, right).await?);
        running.stop().await;
        Ok(())
    }

    async fn ask(
        &self,
        running: &RunningCluster,
        question: &Question,
        right: &Answer,
    ) -> anyhow::Result<Sample> {
        self.settle().await?;
        self.proxy.reset();
        let cpu = running.cpu();
        let reply = self
            .client
            .ask(running.head(), &question.sql)
            .await
            .with_context(|| format!("measure {}", question.name))?;
        let cpu_seconds =
            running.cpu().zip(cpu).map(|(after, before)| after.seconds_since(&before));
        let traffic = self.settle().await?;
        let answer = Answer::decode(&reply.body)?;
        if let Some(difference) = right.difference(&answer, question.tolerance) {
            bail!("wrong answer to {}: {difference}", question.name);
        }
        Ok(Sample {
            seconds: reply.elapsed.as_secs_f64(),
            cpu_seconds,
            rss_bytes: running.peak_rss_bytes(),
            traffic,
            statistics: reply.statistics,
        })
    }

    async fn settle(&self) -> anyhow::Result<crate::proxy::Traffic> {
        self.proxy.settle().await.context("requests to the object store do not end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_chosen_by_name() {
        let key = DatasetKey { rows: 1, partition_rows: 1, seed: 1, days: 1 };
        let check = |names: &[&str], expected: Result<&[&str], &str>| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            match (chosen(Suite::Logs.questions(&key), &names), expected) {
                (Ok(found), Ok(expected)) => {
                    let found: Vec<_> = found.iter().map(|question| question.name).collect();
                    assert_eq!(found, expected);
                }
                (Err(error), Err(expected)) => assert!(error.to_string().starts_with(expected)),
                (found, _) => panic!("{names:?} gave {found:?}"),
            }
        };
        check(&["q4", "q1"], Ok(&["q1", "q4"]));
        check(&["q4", "q99"], Err("there is no query q99; there are q1, q2"));
        assert_eq!(chosen(Suite::Logs.questions(&key), &[]).map(|all| all.len()).ok(), Some(11));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = program(Some(Path::new("no/such/program"))).expect_err("not there");
        assert!(error.to_string().contains("no/such/program"), "{error}");
    }
}
