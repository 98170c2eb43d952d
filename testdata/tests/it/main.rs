//! The package's integration tests: the SQL scripts against the oracle.

mod oracle;
