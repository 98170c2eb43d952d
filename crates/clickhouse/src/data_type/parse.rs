//! From the text of a ClickHouse type to the type.
//!
//! Takes what ClickHouse prints and what people write in casts: any white space, `Nested(…)`, named and unnamed
//! tuples, `Decimal32(s)` and its like. The text comes from outside: it may be anything, and reading it never panics
//! nor nests deeper than [`DEPTH_MAX`].

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::{ClickHouseType, IntervalKind};

/// Types inside types; real schemas need three or four.
const DEPTH_MAX: usize = 64;

/// Why a text is not a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeTextError {
    /// The text breaks off or has something else where a part was expected.
    #[error("expected {expected} at byte {offset} of type {text:?}")]
    Malformed {
        /// The whole text.
        text: String,
        /// Where the parser stood.
        offset: usize,
        /// What it expected there.
        expected: &'static str,
    },
    /// No type has this name.
    #[error("unknown type {name:?}")]
    Unknown {
        /// The name that was read.
        name: String,
    },
    /// Types inside types without end.
    #[error("type nested deeper than {DEPTH_MAX}")]
    TooDeep,
}

impl std::str::FromStr for ClickHouseType {
    type Err = TypeTextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut reader = Reader { text, offset: 0 };
        let parsed = reader.data_type(0)?;
        match reader.rest().is_empty() {
            true => Ok(parsed),
            false => Err(reader.malformed("the end")),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Returns what is left, after white space.
    fn rest(&mut self) -> &'a str {
        let rest = self.text.get(self.offset..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.offset = self.text.len().saturating_sub(trimmed.len());
        trimmed
    }

    fn malformed(&self, expected: &'static str) -> TypeTextError {
        TypeTextError::Malformed { text: self.text.to_string(), offset: self.offset, expected }
    }

    /// Takes `wanted` if it comes next.
    fn take(&mut self, wanted: &str) -> bool {
        let is_next = self.rest().starts_with(wanted);
        if is_next {
            self.offset = self.offset.saturating_add(wanted.len());
        }
        is_next
    }

    fn expect(&mut self, wanted: &'static str) -> Result<(), TypeTextError> {
        match self.take(wanted) {
            true => Ok(()),
            false => Err(self.malformed(wanted)),
        }
    }

    /// Takes the characters that `accept` and returns them.
    fn run(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.offset = self.offset.saturating_add(end);
        rest.get(..end).unwrap_or_default()
    }

    fn word(&mut self) -> &'a str {
        self.run(|c| c.is_alphanumeric() || c == '_' || c == '.')
    }

    fn number<N: std::str::FromStr>(&mut self) -> Result<N, TypeTextError> {
        let digits = self.run(|c| c.is_ascii_digit() || c == '-');
        digits.parse().ok().ok_or_else(|| self.malformed("a number"))
    }

    /// Takes a text between `quote`s, with backslash escapes.
    fn quoted(&mut self, quote: char) -> Result<String, TypeTextError> {
        let rest = self.rest();
        let mut chars = rest.char_indices();
        if chars.next().is_none_or(|(_, c)| c != quote) {
            return Err(self.malformed("a quoted text"));
        }
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => text.extend(chars.next().map(|(_, c)| c)),
                c if c == quote => {
                    self.offset = self.offset.saturating_add(at).saturating_add(c.len_utf8());
                    return Ok(text);
                }
                c => text.push(c),
            }
        }
        Err(self.malformed("a closing quote"))
    }

    /// Reads `(item, item, …)`.
    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, TypeTextError>,
    ) -> Result<Vec<T>, TypeTextError> {
        self.expect("(")?;
        let mut items = Vec::new();
        if self.take(")") {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(")") {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn one<T>(
        &mut self,
        item: impl FnOnce(&mut Self) -> Result<T, TypeTextError>,
    ) -> Result<T, TypeTextError> {
        self.expect("(")?;
        let item = item(self)?;
        self.expect(")")?;
        Ok(item)
    }

    fn data_type(&mut self, depth: usize) -> Result<ClickHouseType, TypeTextError> {
        if depth > DEPTH_MAX {
            return Err(TypeTextError::TooDeep);
        }
        let name = self.word();
        self.named(name, depth.saturating_add(1))
    }

    fn named(&mut self, name: &str, depth: usize) -> Result<ClickHouseType, TypeTextError> {
        use ClickHouseType as T;
        Ok(match name {
            "Nothing" => T::Nothing,
            "Bool" => T::Bool,
            "Int8" => T::Int8,
            "Int16" => T::Int16,
            "Int32" => T::Int32,
            "Int64" => T::Int64,
            "Int128" => T::Int128,
            "Int256" => T::Int256,
            "UInt8" => T::UInt8,
            "UInt16" => T::UInt16,
            "UInt32" => T::UInt32,
            "UInt64" => T::UInt64,
            "UInt128" => T::UInt128,
            "UInt256" => T::UInt256,
            "Float32" => T::Float32,
            "Float64" => T::Float64,
            "String" => T::String,
            "Date" => T::Date,
            "Date32" => T::Date32,
            "Time" => T::Time,
            "UUID" => T::Uuid,
            "IPv4" => T::IPv4,
            "IPv6" => T::IPv6,
            "FixedString" => T::FixedString(self.one(Self::number)?),
            "Time64" => T::Time64(self.one(Self::number)?),
            "DateTime" => T::DateTime(match self.take("(") {
                true => Some(self.closing_zone()?),
                false => None,
            }),
            "DateTime64" => self.date_time_64()?,
            "Decimal" => self.decimal()?,
            "Decimal32" => T::Decimal { precision: 9, scale: self.one(Self::number)? },
            "Decimal64" => T::Decimal { precision: 18, scale: self.one(Self::number)? },
            "Decimal128" => T::Decimal { precision: 38, scale: self.one(Self::number)? },
            "Decimal256" => T::Decimal { precision: 76, scale: self.one(Self::number)? },
            "Enum8" | "Enum" => T::Enum8(self.list(Self::enum_value)?),
            "Enum16" => T::Enum16(self.list(Self::enum_value)?),
            "Array" => T::Array(Box::new(self.one(|reader| reader.data_type(depth))?)),
            "Nullable" => T::Nullable(Box::new(self.one(|reader| reader.data_type(depth))?)),
            "LowCardinality" => {
                T::LowCardinality(Box::new(self.one(|reader| reader.data_type(depth))?))
            }
            "Tuple" => T::Tuple(self.list(|reader| reader.element(depth))?),
            "Nested" => T::Array(Box::new(T::Tuple(self.list(|reader| reader.element(depth))?))),
            "Map" => self.map(depth)?,
            name => interval(name)?,
        })
    }

    fn closing_zone(&mut self) -> Result<String, TypeTextError> {
        let zone = self.quoted('\'')?;
        self.expect(")")?;
        Ok(zone)
    }

    fn date_time_64(&mut self) -> Result<ClickHouseType, TypeTextError> {
        self.expect("(")?;
        let digits = self.number()?;
        if self.take(")") {
            return Ok(ClickHouseType::DateTime64(digits, None));
        }
        self.expect(",")?;
        Ok(ClickHouseType::DateTime64(digits, Some(self.closing_zone()?)))
    }

    fn decimal(&mut self) -> Result<ClickHouseType, TypeTextError> {
        let numbers = self.list(Self::number)?;
        match *numbers.as_slice() {
            [precision] => Ok(ClickHouseType::Decimal { precision, scale: 0 }),
            [precision, scale] => Ok(ClickHouseType::Decimal { precision, scale }),
            _ => Err(self.malformed("precision and scale")),
        }
    }

    fn enum_value(&mut self) -> Result<(String, i16), TypeTextError> {
        let text = self.quoted('\'')?;
        self.expect("=")?;
        Ok((text, self.number()?))
    }

    fn map(&mut self, depth: usize) -> Result<ClickHouseType, TypeTextError> {
        self.expect("(")?;
        let key = self.data_type(depth)?;
        self.expect(",")?;
        let value = self.data_type(depth)?;
        self.expect(")")?;
        Ok(ClickHouseType::Map(Box::new(key), Box::new(value)))
    }

    /// Reads `Type` or `name Type`: two words in a row are a name and a type.
    fn element(&mut self, depth: usize) -> Result<(String, ClickHouseType), TypeTextError> {
        if self.rest().starts_with('`') {
            let name = self.quoted('`')?;
            return Ok((name, self.data_type(depth)?));
        }
        if depth > DEPTH_MAX {
            return Err(TypeTextError::TooDeep);
        }
        let word = self.word();
        let has_name = self.rest().starts_with(|c: char| c.is_alphabetic() || c == '_');
        match has_name {
            true => Ok((word.to_string(), self.data_type(depth)?)),
            false => Ok((String::new(), self.named(word, depth.saturating_add(1))?)),
        }
    }
}

fn interval(name: &str) -> Result<ClickHouseType, TypeTextError> {
    name.strip_prefix("Interval")
        .and_then(|unit| IntervalKind::ALL.iter().find(|(_, name)| *name == unit))
        .map(|(kind, _)| ClickHouseType::Interval(*kind))
        .ok_or_else(|| TypeTextError::Unknown { name: name.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parses and prints; `printed` is the text itself when it is already ClickHouse's own form.
    fn check(text: &str, printed: &str) {
        assert_eq!(text.parse::<ClickHouseType>().unwrap().to_string(), printed);
    }

    #[test]
    fn prints_what_it_read() {
        for text in [
            "Nullable(Decimal(18, 6))",
            "LowCardinality(Nullable(String))",
            "Array(Tuple(id UInt32, `a b` Map(String, Array(UInt8))))",
            "Enum8('b' = -2, 'it\\'s' = 3)",
            "DateTime64(3, 'UTC')",
            "DateTime('Europe/Berlin')",
            "Tuple(UInt8, Tuple(Int8))",
            "IntervalMonth",
            "FixedString(16)",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn takes_what_people_write() {
        check(" Decimal64( 3 ) ", "Decimal(18, 3)");
        check("Tuple(\n    id UInt32,\n    name String)", "Tuple(id UInt32, name String)");
        check("Nested(a UInt8, b String)", "Array(Tuple(a UInt8, b String))");
    }

    #[test]
    fn refuses_the_rest() {
        for text in [
            "",
            "Int7",
            "Array(",
            "Array(Int8",
            "Int8)",
            "Decimal(1,2,3)",
            "Enum8('a)",
            "DateTime(UTC)",
        ] {
            assert!(text.parse::<ClickHouseType>().is_err(), "{text}");
        }
        assert_eq!("Array(".repeat(100).parse::<ClickHouseType>(), Err(TypeTextError::TooDeep));
        assert_eq!("Tuple(".repeat(100).parse::<ClickHouseType>(), Err(TypeTextError::TooDeep));
    }

    proptest! {
        #[test]
        fn any_text_is_a_type_or_an_error(text in "[A-Za-z0-9(),'`=\\\\ é-]{0,60}") {
            if let Ok(parsed) = text.parse::<ClickHouseType>() {
                prop_assert_eq!(parsed.to_string().parse::<ClickHouseType>(), Ok(parsed));
            }
        }
    }
}
