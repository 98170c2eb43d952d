//! Short bounds of long byte strings.
//!
//! Invariant: [`lower`] is at most the value, [`upper`] is at least the value, in byte order. Left
//! out: whether the text is still UTF-8; a bound is compared, never shown.

/// Returns the greatest lower bound of `value` that has at most `limit` bytes: its prefix.
pub(crate) fn lower(value: &[u8], limit: usize) -> &[u8] {
    value.get(..limit).unwrap_or(value)
}

/// Returns an upper bound of `value` of at most `limit` bytes: the value where it fits, else the
/// successor of its prefix. `None` where no string of that length is an upper bound.
pub(crate) fn upper(value: &[u8], limit: usize) -> Option<Vec<u8>> {
    match value.get(..limit) {
        Some(prefix) if value.len() > limit => successor(prefix),
        _ => Some(value.to_vec()),
    }
}

/// Returns the smallest string that is greater than every string that starts with `prefix`, or
/// `None` where there is none: an empty prefix, or one of 0xff alone.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut next = prefix.to_vec();
    while let Some(last) = next.last_mut() {
        if let Some(greater) = last.checked_add(1) {
            *last = greater;
            return Some(next);
        }
        next.pop();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, proptest};

    fn check_upper(value: &[u8], limit: usize, expected: Option<&[u8]>) {
        assert_eq!(upper(value, limit).as_deref(), expected);
    }

    #[test]
    fn upper_is_rounded_up_only_where_it_is_cut() {
        check_upper(b"abc", 3, Some(b"abc"));
        check_upper(b"abcd", 3, Some(b"abd"));
        check_upper(b"ab\xff\xff", 3, Some(b"ac"));
        check_upper(b"\xff\xff\xff", 2, None);
        check_upper(b"\xff\xff", 2, Some(b"\xff\xff"));
        check_upper(b"", 2, Some(b""));
    }

    proptest! {
        #[test]
        fn bounds_are_sound(value: Vec<u8>, limit in 0_usize..20) {
            assert!(lower(&value, limit) <= value.as_slice());
            assert!(lower(&value, limit).len() <= limit);
            if let Some(upper) = upper(&value, limit) {
                assert!(upper.as_slice() >= value.as_slice());
                assert!(upper.len() <= limit);
            }
        }

        #[test]
        fn successor_is_above_every_extension(prefix: Vec<u8>, tail in any::<Vec<u8>>()) {
            if let Some(next) = successor(&prefix) {
                assert!(next > [prefix, tail].concat());
            }
        }
    }
}
