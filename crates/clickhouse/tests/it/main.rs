//! Tests against recorded output of ClickHouse.

// Marked as tests, so that their helpers may unwrap as tests do.
#[cfg(test)]
mod golden;
#[cfg(test)]
mod inputs;
