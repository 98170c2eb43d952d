//! Telling how far a load is.
//!
//! Invariant: nothing is written when standard error is not a terminal, so that logs and pipes stay
//! clean.

use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Redraws per second: enough for the eye, nothing for the processor.
const REDRAWS_PER_SECOND: u8 = 8;

/// Hears what a load does while it runs. All methods may be called often and must not block.
pub trait Progress: Send + Sync {
    /// Reading begins; `bytes` is the stored size of all inputs, if it is known.
    fn begin(&self, bytes: Option<u64>);

    /// So many more rows and stored bytes were read.
    fn advance(&self, rows: u64, bytes: u64);

    /// One more partition is stored.
    fn stored(&self, rows: u64, bytes: u64);

    /// The load has ended, well or not.
    fn end(&self);
}

/// Hears everything and says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl Progress for SilentProgress {
    fn begin(&self, _bytes: Option<u64>) {}

    fn advance(&self, _rows: u64, _bytes: u64) {}

    fn stored(&self, _rows: u64, _bytes: u64) {}

    fn end(&self) {}
}

/// One line on standard error: rows, rows per second, bytes, time left.
#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    rows: std::sync::atomic::AtomicU64,
    stored: std::sync::atomic::AtomicU64,
}

impl ProgressLine {
    /// Returns a line that is drawn when standard error is a terminal.
    #[must_use]
    pub fn new() -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
        let bar = ProgressBar::with_draw_target(None, target);
        Self { bar, rows: 0.into(), stored: 0.into() }
    }

    /// Shows the counts after a change.
    fn show(&self) {
        use std::sync::atomic::Ordering::Relaxed;
        let rows = self.rows.load(Relaxed);
        let seconds = self.bar.elapsed().as_secs().max(1);
        self.bar.set_message(format!(
            "{} rows, {} rows/s, {} stored",
            HumanCount(rows),
            HumanCount(rows / seconds),
            HumanBytes(self.stored.load(Relaxed)),
        ));
    }
}

impl Default for ProgressLine {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for ProgressLine {
    fn begin(&self, bytes: Option<u64>) {
        let template = match bytes {
            Some(bytes) => {
                self.bar.set_length(bytes);
                "{bar:24} {percent:>3}%  {bytes}/{total_bytes}  {msg}  ETA {eta}"
            }
            None => "{spinner} {bytes} read  {msg}  {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn advance(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, std::sync::atomic::Ordering::Relaxed);
        self.bar.inc(bytes);
        self.show();
    }

    fn stored(&self, _rows: u64, bytes: u64) {
        self.stored.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        self.show();
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
