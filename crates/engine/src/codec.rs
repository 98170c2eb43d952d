//! The leaf on the wire: a [`v1::PartitionScanNode`].
//!
//! Expressions go through the plan's own converter, so that a dynamic filter keeps its identity with
//! the operator that updates it. Decoding is quick and reads no file: the engine waits for it.

use std::panic::catch_unwind;
use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow_ipc::convert::try_schema_from_flatbuffer_bytes;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use datafusion::common::{DataFusionError, Result, internal_err, plan_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::PhysicalExprNode;
use peerage_partition::ColumnId;
use peerage_proto::v1;
use prost::Message as _;

use crate::assignment::Assignment;
use crate::leaf::PartitionScanExec;
use crate::table::ScanTable;

/// Encodes and decodes [`PartitionScanExec`].
#[derive(Debug, Clone, Copy, Default)]
pub struct PartitionScanCodec;

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl PartitionScanCodec {
    /// Returns the wire form of a leaf.
    pub fn to_node(
        self,
        leaf: &PartitionScanExec,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<v1::PartitionScanNode> {
        let encode = |filters: &[Arc<dyn PhysicalExpr>]| {
            filters
                .iter()
                .map(|filter| {
                    Ok(converter.physical_expr_to_proto(filter, &self)?.encode_to_vec().into())
                })
                .collect::<Result<Vec<_>>>()
        };
        let position = |&position: &usize| u32::try_from(position).map_err(external);
        let group = |group: &Vec<Assignment>| v1::AssignmentGroup {
            assignments: group.iter().map(Assignment::to_proto).collect(),
        };
        Ok(v1::PartitionScanNode {
            table: leaf.table().name().to_owned(),
            schema: encode_schema(leaf.table().schema()).into(),
            column_ids: leaf.table().column_ids().iter().map(|id| id.0).collect(),
            projection: leaf.projection().iter().map(position).collect::<Result<_>>()?,
            groups: leaf.groups().iter().map(group).collect(),
            filters: encode(leaf.filters())?,
            dynamic_filters: encode(leaf.dynamic_filters())?,
            limit: leaf.limit().map(u64::try_from).transpose().map_err(external)?,
        })
    }

    /// Returns the leaf that a node describes.
    pub fn from_node(
        self,
        node: v1::PartitionScanNode,
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<PartitionScanExec> {
        let schema = decode_schema(&node.schema)?;
        let column_ids = node.column_ids.into_iter().map(ColumnId).collect();
        let table = ScanTable::try_new(node.table, Arc::new(schema), column_ids)?;
        let projection = node
            .projection
            .into_iter()
            .map(|position| usize::try_from(position).map_err(external))
            .collect::<Result<Vec<_>>>()?;
        let projected = table.schema().project(&projection)?;
        let decode_context = PhysicalPlanDecodeContext::new(context, &self);
        let decode = |filters: Vec<bytes::Bytes>, schema: &Schema| {
            filters
                .into_iter()
                .map(|bytes| {
                    let node = PhysicalExprNode::decode(bytes).map_err(external)?;
                    converter.proto_to_physical_expr(&node, schema, &decode_context)
                })
                .collect::<Result<Vec<_>>>()
        };
        let filters = decode(node.filters, table.schema())?;
        let dynamic_filters = decode(node.dynamic_filters, &projected)?;
        let limit = node.limit.map(usize::try_from).transpose().map_err(external)?;
        let groups = node.groups.into_iter().map(decode_group).collect::<Result<Vec<_>>>()?;
        Ok(PartitionScanExec::try_new(Arc::new(table), projection, groups)?
            .with_filters(filters)
            .with_dynamic_filters(dynamic_filters)
            .with_limit(limit))
    }
}

fn decode_group(group: v1::AssignmentGroup) -> Result<Vec<Assignment>> {
    group.assignments.into_iter().map(|wire| Assignment::try_from(wire).map_err(external)).collect()
}

fn encode_schema(schema: &Schema) -> Vec<u8> {
    let mut dictionaries = DictionaryTracker::new(false);
    let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        schema,
        &mut dictionaries,
        &IpcWriteOptions::default(),
    );
    encoded.ipc_message
}

fn decode_schema(bytes: &[u8]) -> Result<Schema> {
    // Arrow checks the layout of the message, but panics on a type that it does not know.
    match catch_unwind(|| try_schema_from_flatbuffer_bytes(bytes)) {
        Ok(schema) => Ok(schema?),
        Err(_panic) => plan_err!("the schema of a leaf has a type that Arrow does not know"),
    }
}

impl PhysicalExtensionCodec for PartitionScanCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        _inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let node = v1::PartitionScanNode::decode(buf).map_err(external)?;
        Ok(Arc::new(self.from_node(node, context, converter)?))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(leaf) = node.downcast_ref::<PartitionScanExec>() else {
            return internal_err!("no wire form for the plan node {}", node.name());
        };
        self.to_node(leaf, converter)?.encode(buf).map_err(external)
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};
    use datafusion::common::ToDFSchema as _;
    use datafusion::prelude::SessionContext;
    use datafusion_proto::physical_plan::DefaultPhysicalProtoConverter;

    use super::*;

    #[test]
    fn a_leaf_survives_the_wire() {
        let schema = Arc::new(Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Utf8, true),
        ]));
        let context = SessionContext::new();
        let df_schema = Arc::clone(&schema).to_dfschema().expect("a valid schema");
        let expr = context.parse_sql_expr("a > 5 AND b LIKE 'x%'", &df_schema).expect("parses");
        let filter = context.create_physical_expr(expr, &df_schema).expect("plans");
        let ids = vec![ColumnId(3), ColumnId(9)];
        let table = ScanTable::try_new("db.t".to_owned(), schema, ids).expect("fits");
        let leaf = PartitionScanExec::try_new(Arc::new(table), vec![1], vec![Vec::new(); 2])
            .expect("a leaf")
            .with_filters(vec![filter])
            .with_limit(Some(7));
        let converter = DefaultPhysicalProtoConverter {};
        let node = PartitionScanCodec.to_node(&leaf, &converter).expect("encodes");
        let decoded = PartitionScanCodec
            .from_node(node.clone(), &context.task_ctx(), &converter)
            .expect("decodes");
        assert_eq!(PartitionScanCodec.to_node(&decoded, &converter).expect("encodes again"), node);
        assert_eq!(decoded.table(), leaf.table());
        assert_eq!((decoded.limit(), decoded.groups().len()), (Some(7), 2));
        let broken = v1::PartitionScanNode { schema: vec![1, 2, 3].into(), ..node };
        PartitionScanCodec
            .from_node(broken, &context.task_ctx(), &converter)
            .expect_err("three bytes are no schema");
    }
}
