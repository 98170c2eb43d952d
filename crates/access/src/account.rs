//! Who asks: the accounts and the check of their credentials.
//!
//! Invariant: only [`Accounts::authenticate`] makes an [`Account`]. The refusal does not say whether
//! the account exists. Left out: what an account may see (`decision.rs`), and how a request carries
//! credentials (the head's rims know that).

/// The name of the account that everyone has.
pub const DEFAULT_ACCOUNT: &str = "default";

/// How many characters of an unknown account's name an error repeats: enough to notice a slip, too
/// few to fill a log.
pub const ACCOUNT_NAME_SHOWN_MAX: usize = 64;

/// The identity that a request is made with; its credentials were checked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Account {
    name: String,
}

impl Account {
    /// Returns the account's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Why a request gets no account.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The client must send another user or another password.
    #[error(
        "authenticate account `{user}`, the password is incorrect or there is no account with such name"
    )]
    BadCredentials {
        /// The name that was sent, cut to [`ACCOUNT_NAME_SHOWN_MAX`] characters.
        user: String,
    },
}

/// The accounts that there are: one, `default`, whose password is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accounts;

impl Accounts {
    /// Returns the account of these credentials.
    ///
    /// A request that names no user (or an empty one) means [`DEFAULT_ACCOUNT`], and one that sends
    /// no password means the empty one, as ClickHouse has it.
    pub fn authenticate(
        &self,
        user: Option<&str>,
        password: Option<&str>,
    ) -> Result<Account, AccessError> {
        let user = user.filter(|user| !user.is_empty()).unwrap_or(DEFAULT_ACCOUNT);
        if user == DEFAULT_ACCOUNT && password.unwrap_or_default().is_empty() {
            return Ok(Account { name: user.to_owned() });
        }
        let user = user.chars().take(ACCOUNT_NAME_SHOWN_MAX).collect();
        Err(AccessError::BadCredentials { user })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(user: Option<&str>, password: Option<&str>, expected: Result<&str, &str>) {
        let account = Accounts.authenticate(user, password);
        let shown = account.as_ref().map(Account::name).map_err(|error| match error {
            AccessError::BadCredentials { user } => user.as_str(),
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn default_needs_no_password() {
        check(None, None, Ok("default"));
        check(Some(""), Some(""), Ok("default"));
        check(Some("default"), None, Ok("default"));
        check(Some("default"), Some(""), Ok("default"));
    }

    #[test]
    fn everything_else_is_refused() {
        check(Some("default"), Some("guess"), Err("default"));
        check(None, Some("guess"), Err("default"));
        check(Some("admin"), None, Err("admin"));
        check(Some("Default"), None, Err("Default"));
        check(Some("default "), None, Err("default "));
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        check(Some(&"ß".repeat(1000)), None, Err(&"ß".repeat(ACCOUNT_NAME_SHOWN_MAX)));
    }

    #[test]
    fn the_refusal_does_not_say_whether_the_account_exists() {
        let message = |user: &str| {
            let refused = Accounts.authenticate(Some(user), Some("guess"));
            refused.expect_err("wrong").to_string().replace(user, "X")
        };
        assert_eq!(message("default"), message("nobody"));
    }
}
