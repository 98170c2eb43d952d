//! From a `ScanRequest` that a person could write to the leaf that answers it.

use std::sync::Arc;

use datafusion::common::{Column, ScalarValue, ToDFSchema as _};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, Operator, binary_expr, lit};
use datafusion::prelude::SessionContext;
use datafusion_proto::physical_plan::DefaultPhysicalProtoConverter;
use peerage_engine::{Assignment, PartitionScanCodec, PartitionScanExec, ScanTable};
use peerage_partition::PartitionSchema;
use peerage_proto::v1::scan_predicate::Predicate;
use peerage_proto::v1::{self, ComparisonOperator, literal};

use super::status::ScanRequestError;

/// Predicates nested deeper than this are refused: the recursion is bounded.
const PREDICATE_DEPTH_MAX: u32 = 64;

/// Partitions that one request may name: a head sends a group of one query's partitions.
pub(super) const ASSIGNMENTS_MAX: usize = 100_000;

/// Returns the refusal of a request that names more.
pub(super) fn too_many() -> ScanRequestError {
    ScanRequestError::BadRequest(format!("more than {ASSIGNMENTS_MAX} assignments"))
}

/// Name of the table in the leaf: a request names partitions, not a table.
const TABLE_NAME: &str = "scan";

/// Returns the leaf of a request that brings one, and the output partition to run.
pub(super) fn shipped_leaf(
    node: v1::PartitionScanNode,
    group: u32,
    context: &TaskContext,
) -> Result<(PartitionScanExec, usize), ScanRequestError> {
    let leaf = PartitionScanCodec.from_node(node, context, &DefaultPhysicalProtoConverter {})?;
    let assignments: usize = leaf.groups().iter().map(Vec::len).sum();
    if assignments > ASSIGNMENTS_MAX {
        return Err(too_many());
    }
    let group = usize::try_from(group)
        .ok()
        .filter(|group| *group < leaf.groups().len())
        .ok_or_else(|| ScanRequestError::BadRequest(format!("the leaf has no group {group}")))?;
    Ok((leaf, group))
}

/// Returns the leaf of a request that names partitions, columns and a predicate.
pub(super) fn written_leaf(
    request: &v1::ScanRequest,
    assignments: Vec<Assignment>,
    schema: &PartitionSchema,
) -> Result<PartitionScanExec, ScanRequestError> {
    let column_ids = schema.columns().iter().map(|column| column.id).collect();
    let table = ScanTable::try_new(TABLE_NAME.to_owned(), schema.arrow_schema(), column_ids)?;
    let projection = if request.columns.is_empty() {
        (0..table.schema().fields().len()).collect()
    } else {
        request.columns.iter().map(|name| position(&table, name)).collect::<Result<_, _>>()?
    };
    let limit = match request.limit {
        0 => None,
        limit => Some(usize::try_from(limit).unwrap_or(usize::MAX)),
    };
    let filters = match &request.predicate {
        None => Vec::new(),
        Some(predicate) => {
            let df_schema = Arc::clone(table.schema()).to_dfschema()?;
            let expr = to_expr(predicate, &table, 0)?;
            let expr = SessionContext::new().create_physical_expr(expr, &df_schema)?;
            vec![expr]
        }
    };
    let leaf = PartitionScanExec::try_new(Arc::new(table), projection, vec![assignments])?;
    Ok(leaf.with_filters(filters).with_limit(limit))
}

fn position(table: &ScanTable, name: &str) -> Result<usize, ScanRequestError> {
    table.schema().index_of(name).map_err(|_unknown| {
        let names: Vec<_> =
            table.schema().fields().iter().map(|field| field.name().as_str()).collect();
        ScanRequestError::BadRequest(format!("no column {name:?}; there are: {}", names.join(", ")))
    })
}

fn to_expr(
    predicate: &v1::ScanPredicate,
    table: &ScanTable,
    depth: u32,
) -> Result<Expr, ScanRequestError> {
    let bad = |text: &str| ScanRequestError::BadRequest(text.to_owned());
    if depth > PREDICATE_DEPTH_MAX {
        return Err(bad("the predicate is nested too deep"));
    }
    let column = |name: &String| {
        position(table, name).map(|_| Expr::Column(Column::from_name(name.clone())))
    };
    let all = |list: &v1::PredicateList, op: Operator| {
        list.predicates
            .iter()
            .map(|predicate| to_expr(predicate, table, depth + 1))
            .reduce(|left, right| Ok(binary_expr(left?, op, right?)))
            .unwrap_or_else(|| Ok(lit(op == Operator::And)))
    };
    match predicate.predicate.as_ref().ok_or_else(|| bad("an empty predicate"))? {
        Predicate::All(list) => all(list, Operator::And),
        Predicate::Any(list) => all(list, Operator::Or),
        Predicate::IsNull(name) => Ok(column(name)?.is_null()),
        Predicate::IsNotNull(name) => Ok(column(name)?.is_not_null()),
        Predicate::Compare(compare) => {
            let op = match compare.operator() {
                ComparisonOperator::Equal => Operator::Eq,
                ComparisonOperator::NotEqual => Operator::NotEq,
                ComparisonOperator::Less => Operator::Lt,
                ComparisonOperator::LessOrEqual => Operator::LtEq,
                ComparisonOperator::Greater => Operator::Gt,
                ComparisonOperator::GreaterOrEqual => Operator::GtEq,
                ComparisonOperator::Unspecified => {
                    return Err(bad("a comparison without operator"));
                }
            };
            let literal = compare.literal.as_ref().and_then(|literal| literal.value.as_ref());
            let literal = scalar(literal.ok_or_else(|| bad("a comparison without literal"))?);
            let data_type = table.schema().field(position(table, &compare.column)?).data_type();
            let literal = literal.cast_to(data_type)?;
            Ok(binary_expr(column(&compare.column)?, op, lit(literal)))
        }
    }
}

fn scalar(value: &literal::Value) -> ScalarValue {
    match value {
        literal::Value::Bool(value) => ScalarValue::Boolean(Some(*value)),
        literal::Value::Int(value) => ScalarValue::Int64(Some(*value)),
        literal::Value::Uint(value) => ScalarValue::UInt64(Some(*value)),
        literal::Value::Float(value) => ScalarValue::Float64(Some(*value)),
        literal::Value::String(value) => ScalarValue::Utf8(Some(value.clone())),
        literal::Value::Binary(value) => ScalarValue::Binary(Some(value.to_vec())),
    }
}
