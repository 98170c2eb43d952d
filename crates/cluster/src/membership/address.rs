//! The address of a peer's gRPC services: `host:port`.
//!
//! Invariant: a [`PeerAddress`] is the authority of a valid `http://` URL, in one spelling, so that
//! two texts of one address are equal. Left out: resolving names.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// Longest address, in bytes: a DNS name has up to 253, a port up to 5.
const ADDRESS_BYTES_MAX: usize = 260;

/// `host:port`, where the host is a DNS name, an IPv4 address or an IPv6 address in brackets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerAddress(String);

/// A text that is not the address of a peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{value}` is not the address of a peer; write host:port, such as 10.0.0.7:8124 or peer-1:8124"
)]
pub struct PeerAddressError {
    /// The text, cut to the length of the longest address.
    pub value: String,
}

impl PeerAddress {
    /// Returns `host:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `http://host:port`.
    pub fn url(&self) -> Url {
        Url::parse(&format!("http://{}", self.0)).expect("parsing the address went through a URL")
    }
}

impl FromStr for PeerAddress {
    type Err = PeerAddressError;

    fn from_str(text: &str) -> Result<Self, PeerAddressError> {
        let parsed = || -> Option<Self> {
            let (_, port) = text.rsplit_once(':')?;
            let port: u16 = port.parse().ok().filter(|port| *port != 0)?;
            let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
            if text.len() > ADDRESS_BYTES_MAX || !text.chars().all(is_plain) {
                return None;
            }
            let url = Url::parse(&format!("http://{text}")).ok()?;
            let host = url.host_str()?;
            (url.path() == "/" && url.port_or_known_default() == Some(port))
                .then(|| Self(format!("{host}:{port}")))
        };
        parsed().ok_or_else(|| PeerAddressError {
            value: text.chars().take(ADDRESS_BYTES_MAX).collect(),
        })
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let parsed = text.parse::<PeerAddress>().ok();
            let parsed = parsed.map(|it| (it.to_string(), it.url().to_string()));
            let expected = expected.map(|(a, b)| (a.to_owned(), b.to_owned()));
            assert_eq!(parsed, expected, "{text}");
        };
        check("10.0.0.7:8124", Some(("10.0.0.7:8124", "http://10.0.0.7:8124/")));
        check("Peer-1:8124", Some(("peer-1:8124", "http://peer-1:8124/")));
        check("peer:80", Some(("peer:80", "http://peer/")));
        check("[::1]:8124", Some(("[::1]:8124", "http://[::1]:8124/")));
        check("peer", None);
        check("peer:0", None);
        check("peer:70000", None);
        check(":8124", None);
        check("::1:8124", None);
        check("http://peer:8124", None);
        check("user@peer:8124", None);
        check("peer:8124/path", None);
        check("300.0.0.1:80", None);
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_has_a_url(text in ".*|[a-z0-9.:\\[\\]_-]{1,20}:[0-9]{1,5}") {
            if let Ok(address) = text.parse::<PeerAddress>() {
                prop_assert!(address.url().host().is_some());
                prop_assert_eq!(address.to_string().parse::<PeerAddress>(), Ok(address));
            }
        }
    }
}
