//! A list of strings in one buffer, so that a column of hundreds of thousands of different values
//! costs two allocations.

/// Strings that are looked up by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Pool {
    text: String,
    ends: Vec<usize>,
}

impl Pool {
    /// Returns the pool of `name(0)`, `name(1)`, … up to `count` names.
    pub(super) fn new(count: u32, mut name: impl FnMut(u32, &mut String)) -> Self {
        let mut pool = Self::default();
        for member in 0..count {
            name(member, &mut pool.text);
            pool.ends.push(pool.text.len());
        }
        pool
    }

    /// Returns the string with this number.
    pub(super) fn get(&self, member: u32) -> &str {
        let member = member as usize;
        let start = if member == 0 { 0 } else { self.ends[member - 1] };
        &self.text[start..self.ends[member]]
    }
}

/// Appends decimal digits without the formatting machinery, which would cost more than the row.
pub(super) fn push_number(text: &mut String, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = digit(number % 10);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.push_str(str::from_utf8(&digits[start..]).expect("digits are ASCII"));
}

/// Appends the lowest `count` hexadecimal digits of a number, at most 16.
pub(super) fn push_hex(text: &mut String, number: u64, count: usize) {
    let mut digits = [b'0'; 16];
    for (place, byte) in digits.iter_mut().rev().enumerate() {
        *byte = digit(number >> (4 * place) & 15);
    }
    let shown = &digits[digits.len() - count.min(digits.len())..];
    text.push_str(str::from_utf8(shown).expect("digits are ASCII"));
}

/// Returns the ASCII digit of a value below 16.
fn digit(value: u64) -> u8 {
    let value = u8::try_from(value).expect("a digit is below 16");
    if value < 10 { b'0' + value } else { b'a' - 10 + value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let pool = Pool::new(3, |member, text| push_number(text, u64::from(member) * 100));
        assert_eq!([pool.get(0), pool.get(1), pool.get(2)], ["0", "100", "200"]);
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        for number in [0, 7, 10, 12_345, u64::MAX] {
            let (mut decimal, mut hex) = (String::new(), String::new());
            push_number(&mut decimal, number);
            push_hex(&mut hex, number, 16);
            assert_eq!(decimal, number.to_string());
            assert_eq!(hex, format!("{number:016x}"));
        }
    }
}
