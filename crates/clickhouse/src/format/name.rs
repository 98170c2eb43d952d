//! The names of the formats, as one table: variant, name, content type, other names.
//!
//! Names are case-sensitive as in ClickHouse. A name that is not in the table is the exception 73.

use super::{
    BlockWriter, FormatSettings, ResultColumn, columnar, delimited, json, pretty, vertical,
};
use crate::exception::{ErrorCode, Exception};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

const TSV: &str = "text/tab-separated-values; charset=UTF-8";
const CSV: &str = "text/csv; charset=UTF-8; header=absent";
const CSV_HEADER: &str = "text/csv; charset=UTF-8; header=present";
const JSON: &str = "application/json; charset=UTF-8";
const NDJSON: &str = "application/x-ndjson; charset=UTF-8";
const PLAIN: &str = "text/plain; charset=UTF-8";
const BINARY: &str = "application/octet-stream";

macro_rules! output_formats {
    ($($variant:ident, $content_type:ident $(, $alias:literal)*;)+) => {
        /// A format in which results can be asked for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the variants are ClickHouse's own format names")]
        pub enum OutputFormat {
            $($variant,)+
        }

        impl OutputFormat {
            /// Every format.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name as ClickHouse writes it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }

            /// Returns the value of the header Content-Type.
            pub const fn content_type(self) -> &'static str {
                match self { $(Self::$variant => $content_type,)+ }
            }
        }

        impl FromStr for OutputFormat {
            type Err = Exception;

            fn from_str(name: &str) -> Result<Self, Exception> {
                match name {
                    $(stringify!($variant) $(| $alias)* => Ok(Self::$variant),)+
                    name => Err(Exception::new(
                        ErrorCode::UnknownFormat,
                        format!("Unknown format {name}"),
                    )),
                }
            }
        }
    };
}

output_formats! {
    TabSeparated, TSV, "TSV";
    TabSeparatedWithNames, TSV, "TSVWithNames";
    TabSeparatedWithNamesAndTypes, TSV, "TSVWithNamesAndTypes";
    TabSeparatedRaw, TSV, "TSVRaw", "Raw";
    TabSeparatedRawWithNames, TSV, "TSVRawWithNames", "RawWithNames";
    TabSeparatedRawWithNamesAndTypes, TSV, "TSVRawWithNamesAndTypes", "RawWithNamesAndTypes";
    TSKV, TSV;
    CSV, CSV;
    CSVWithNames, CSV_HEADER;
    CSVWithNamesAndTypes, CSV_HEADER;
    Values, PLAIN;
    Vertical, PLAIN;
    Markdown, PLAIN, "MD";
    JSON, JSON;
    JSONStrings, JSON;
    JSONCompact, JSON;
    JSONCompactStrings, JSON;
    JSONEachRow, NDJSON, "JSONLines", "NDJSON", "JSONL";
    JSONStringsEachRow, NDJSON;
    PrettyJSONEachRow, NDJSON, "PrettyJSONLines", "PrettyNDJSON";
    JSONCompactEachRow, PLAIN;
    JSONCompactEachRowWithNames, PLAIN;
    JSONCompactEachRowWithNamesAndTypes, PLAIN;
    JSONCompactStringsEachRow, PLAIN;
    JSONCompactStringsEachRowWithNames, PLAIN;
    JSONCompactStringsEachRowWithNamesAndTypes, PLAIN;
    Pretty, PLAIN;
    PrettyMonoBlock, PLAIN;
    PrettyNoEscapes, PLAIN;
    PrettyNoEscapesMonoBlock, PLAIN;
    PrettyCompact, PLAIN;
    PrettyCompactMonoBlock, PLAIN;
    PrettyCompactNoEscapes, PLAIN;
    PrettyCompactNoEscapesMonoBlock, PLAIN;
    PrettySpace, PLAIN;
    PrettySpaceMonoBlock, PLAIN;
    PrettySpaceNoEscapes, PLAIN;
    PrettySpaceNoEscapesMonoBlock, PLAIN;
    Null, PLAIN;
    ArrowStream, BINARY;
    Parquet, BINARY;
}

impl Display for OutputFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the writer of a format.
pub(super) fn writer(
    format: OutputFormat,
    columns: Vec<ResultColumn>,
    settings: FormatSettings,
) -> Box<dyn BlockWriter> {
    use OutputFormat as F;
    use delimited::{Delimited, Header, Layout};
    use json::{Document, EachRow, Shape};
    use pretty::{Pretty, Style};
    let delimited = |layout, header| -> Box<dyn BlockWriter> {
        Box::new(Delimited::new(layout, header, columns.clone(), settings.clone()))
    };
    let document = |shape, strings| -> Box<dyn BlockWriter> {
        Box::new(Document::new(shape, strings, columns.clone(), settings.clone()))
    };
    let each_row = |shape, header, strings| -> Box<dyn BlockWriter> {
        Box::new(EachRow::new(shape, header, strings, columns.clone(), settings.clone()))
    };
    let pretty = |style| -> Box<dyn BlockWriter> {
        Box::new(Pretty::new(style, columns.clone(), settings.clone()))
    };
    match format {
        F::TabSeparated => delimited(Layout::Tsv, Header::None),
        F::TabSeparatedWithNames => delimited(Layout::Tsv, Header::Names),
        F::TabSeparatedWithNamesAndTypes => delimited(Layout::Tsv, Header::NamesAndTypes),
        F::TabSeparatedRaw => delimited(Layout::Raw, Header::None),
        F::TabSeparatedRawWithNames => delimited(Layout::Raw, Header::Names),
        F::TabSeparatedRawWithNamesAndTypes => delimited(Layout::Raw, Header::NamesAndTypes),
        F::TSKV => delimited(Layout::Tskv, Header::None),
        F::CSV => delimited(Layout::Csv, Header::None),
        F::CSVWithNames => delimited(Layout::Csv, Header::Names),
        F::CSVWithNamesAndTypes => delimited(Layout::Csv, Header::NamesAndTypes),
        F::Values => delimited(Layout::Values, Header::None),
        F::Markdown => delimited(Layout::Markdown, Header::Names),
        F::Vertical => Box::new(vertical::Vertical::new(columns, settings)),
        F::JSON => document(Shape::Object, false),
        F::JSONStrings => document(Shape::Object, true),
        F::JSONCompact => document(Shape::Array, false),
        F::JSONCompactStrings => document(Shape::Array, true),
        F::JSONEachRow => each_row(Shape::Object, Header::None, false),
        F::JSONStringsEachRow => each_row(Shape::Object, Header::None, true),
        F::PrettyJSONEachRow => each_row(Shape::PrettyObject, Header::None, false),
        F::JSONCompactEachRow => each_row(Shape::Array, Header::None, false),
        F::JSONCompactEachRowWithNames => each_row(Shape::Array, Header::Names, false),
        F::JSONCompactEachRowWithNamesAndTypes => {
            each_row(Shape::Array, Header::NamesAndTypes, false)
        }
        F::JSONCompactStringsEachRow => each_row(Shape::Array, Header::None, true),
        F::JSONCompactStringsEachRowWithNames => each_row(Shape::Array, Header::Names, true),
        F::JSONCompactStringsEachRowWithNamesAndTypes => {
            each_row(Shape::Array, Header::NamesAndTypes, true)
        }
        F::Pretty | F::PrettyMonoBlock | F::PrettyNoEscapes | F::PrettyNoEscapesMonoBlock => {
            pretty(Style::Full)
        }
        F::PrettyCompact
        | F::PrettyCompactMonoBlock
        | F::PrettyCompactNoEscapes
        | F::PrettyCompactNoEscapesMonoBlock => pretty(Style::Compact),
        F::PrettySpace
        | F::PrettySpaceMonoBlock
        | F::PrettySpaceNoEscapes
        | F::PrettySpaceNoEscapesMonoBlock => pretty(Style::Space),
        F::Null => Box::new(columnar::Null),
        F::ArrowStream => Box::new(columnar::ArrowStream::new(&columns)),
        F::Parquet => Box::new(columnar::Parquet::new(&columns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for &format in OutputFormat::ALL {
            assert_eq!(format.name().parse::<OutputFormat>(), Ok(format));
        }
        for (alias, format) in [
            ("TSV", OutputFormat::TabSeparated),
            ("TSVWithNamesAndTypes", OutputFormat::TabSeparatedWithNamesAndTypes),
            ("NDJSON", OutputFormat::JSONEachRow),
            ("JSONLines", OutputFormat::JSONEachRow),
            ("MD", OutputFormat::Markdown),
        ] {
            assert_eq!(alias.parse::<OutputFormat>(), Ok(format));
        }
    }

    #[test]
    fn unknown_and_miswritten_names_are_code_73() {
        for name in ["", "tsv", "Json", "Protobuf"] {
            let error = name.parse::<OutputFormat>().unwrap_err();
            assert_eq!(error.code, ErrorCode::UnknownFormat, "{name}");
        }
    }
}
