//! The closed set of error codes that we raise, as one table: variant, number, ClickHouse name, HTTP status.
//!
//! The numbers and names are ClickHouse's and never change. The status is the one that its HTTP interface answers
//! with; only overload is 503, because clients retry on it.

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal, $status:literal;)+) => {
        /// One ClickHouse error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the number that ClickHouse gives the code.
            pub const fn number(self) -> u16 {
                match self { $(Self::$variant => $number,)+ }
            }

            /// Returns the name that ClickHouse gives the code.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the HTTP status that ClickHouse answers with.
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }
        }
    };
}

error_codes! {
    /// A text is not a value of the type that it was read as.
    CannotParseText = 6, "CANNOT_PARSE_TEXT", 400;
    /// A column is named twice.
    DuplicateColumn = 15, "DUPLICATE_COLUMN", 400;
    /// An argument has a value that makes no sense.
    BadArguments = 36, "BAD_ARGUMENTS", 400;
    /// A text is not a date and time.
    CannotParseDateTime = 41, "CANNOT_PARSE_DATETIME", 400;
    /// A function got too many or too few arguments.
    NumberOfArgumentsDoesntMatch = 42, "NUMBER_OF_ARGUMENTS_DOESNT_MATCH", 500;
    /// A function or operator got arguments of types that it does not take.
    IllegalTypeOfArgument = 43, "ILLEGAL_TYPE_OF_ARGUMENT", 500;
    /// No such function or table function.
    UnknownFunction = 46, "UNKNOWN_FUNCTION", 404;
    /// No such column.
    UnknownIdentifier = 47, "UNKNOWN_IDENTIFIER", 404;
    /// A clause, statement or type that is not supported.
    NotImplemented = 48, "NOT_IMPLEMENTED", 501;
    /// A fault of ours.
    LogicalError = 49, "LOGICAL_ERROR", 500;
    /// No such type.
    UnknownType = 50, "UNKNOWN_TYPE", 404;
    /// Two types that do not go together.
    TypeMismatch = 53, "TYPE_MISMATCH", 400;
    /// The table is already there.
    TableAlreadyExists = 57, "TABLE_ALREADY_EXISTS", 500;
    /// WHERE or HAVING is no condition.
    IllegalTypeOfColumnForFilter = 59, "ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER", 500;
    /// No such table.
    UnknownTable = 60, "UNKNOWN_TABLE", 404;
    /// The text is not a statement.
    SyntaxError = 62, "SYNTAX_ERROR", 400;
    /// No such output format.
    UnknownFormat = 73, "UNKNOWN_FORMAT", 404;
    /// Reading a file failed.
    CannotReadFromFileDescriptor = 74, "CANNOT_READ_FROM_FILE_DESCRIPTOR", 500;
    /// No such database.
    UnknownDatabase = 81, "UNKNOWN_DATABASE", 404;
    /// No such setting.
    UnknownSetting = 115, "UNKNOWN_SETTING", 404;
    /// Stored bytes are not what they should be.
    IncorrectData = 117, "INCORRECT_DATA", 400;
    /// SAMPLE on a table that cannot be sampled.
    SamplingNotSupported = 141, "SAMPLING_NOT_SUPPORTED", 500;
    /// An integer was divided by zero.
    IllegalDivision = 153, "ILLEGAL_DIVISION", 500;
    /// The query reads or returns more rows than allowed.
    TooManyRows = 158, "TOO_MANY_ROWS", 500;
    /// The query ran out of time.
    TimeoutExceeded = 159, "TIMEOUT_EXCEEDED", 408;
    /// A statement that writes.
    Readonly = 164, "READONLY", 500;
    /// An aggregate function stands where none may stand.
    IllegalAggregation = 184, "ILLEGAL_AGGREGATION", 500;
    /// No user of that name.
    UnknownUser = 192, "UNKNOWN_USER", 403;
    /// A password is needed.
    RequiredPassword = 194, "REQUIRED_PASSWORD", 401;
    /// Too many queries run at once.
    TooManySimultaneousQueries = 202, "TOO_MANY_SIMULTANEOUS_QUERIES", 500;
    /// A peer could not be reached in time.
    SocketTimeout = 209, "SOCKET_TIMEOUT", 503;
    /// A peer could not be reached.
    NetworkError = 210, "NETWORK_ERROR", 500;
    /// A selected column is neither grouped nor aggregated.
    NotAnAggregate = 215, "NOT_AN_AGGREGATE", 500;
    /// The query needs more memory than allowed.
    MemoryLimitExceeded = 241, "MEMORY_LIMIT_EXCEEDED", 500;
    /// Every peer failed.
    AllConnectionTriesFailed = 279, "ALL_CONNECTION_TRIES_FAILED", 500;
    /// The query is nested too deeply.
    TooDeepRecursion = 306, "TOO_DEEP_RECURSION", 400;
    /// The query reads or returns more bytes than allowed.
    TooManyBytes = 307, "TOO_MANY_BYTES", 500;
    /// A column name fits more than one column.
    AmbiguousColumnName = 352, "AMBIGUOUS_COLUMN_NAME", 500;
    /// Another query of the session is running.
    SessionIsLocked = 373, "SESSION_IS_LOCKED", 500;
    /// POST without a length.
    HttpLengthRequired = 381, "HTTP_LENGTH_REQUIRED", 411;
    /// No type holds the values of all branches.
    NoCommonType = 386, "NO_COMMON_TYPE", 500;
    /// The query was cancelled.
    QueryWasCancelled = 394, "QUERY_WAS_CANCELLED", 500;
    /// The condition of a join is not one.
    InvalidJoinOnExpression = 403, "INVALID_JOIN_ON_EXPRESSION", 500;
    /// A number does not fit its type.
    DecimalOverflow = 407, "DECIMAL_OVERFLOW", 500;
    /// The server has no room for the query now.
    CannotScheduleTask = 439, "CANNOT_SCHEDULE_TASK", 503;
    /// A parameter of the query has no value.
    UnknownQueryParameter = 456, "UNKNOWN_QUERY_PARAMETER", 500;
    /// A parameter of the query has a value that is not of its type.
    BadQueryParameter = 457, "BAD_QUERY_PARAMETER", 500;
    /// The account may not do that.
    AccessDenied = 497, "ACCESS_DENIED", 403;
    /// The object store failed.
    S3Error = 499, "S3_ERROR", 500;
    /// Wrong user or password.
    AuthenticationFailed = 516, "AUTHENTICATION_FAILED", 403;
    /// Anything else.
    UnknownException = 1002, "UNKNOWN_EXCEPTION", 500;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_ascending() {
        for pair in ErrorCode::ALL.windows(2) {
            assert!(pair[0].number() < pair[1].number(), "{pair:?}");
        }
        let mut names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }
}
