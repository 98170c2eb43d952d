//! The leaf of every plan: the partitions of one table, by output partition.
//!
//! Filters given at binding time are exact: the leaf puts out no other row, so the plan above does
//! not check again. Dynamic filters (top-k, joins) only skip work; the plan above keeps them.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_datafusion_err, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, StatisticsArgs,
};

use crate::assignment::Assignment;
use crate::scanner::{GroupScan, ScanMetrics, ScannerHandle};
use crate::table::ScanTable;

/// Share of the rows that a filter is guessed to keep, as DataFusion guesses it: one in this many.
const FILTER_KEEPS_ONE_IN: usize = 5;

/// Reads the partitions of one table.
#[derive(Debug, Clone)]
pub struct PartitionScanExec {
    table: Arc<ScanTable>,
    projection: Vec<usize>,
    groups: Vec<Vec<Assignment>>,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    dynamic_filters: Vec<Arc<dyn PhysicalExpr>>,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PartitionScanExec {
    /// Returns a leaf whose output partition `i` reads `groups[i]`.
    pub fn try_new(
        table: Arc<ScanTable>,
        projection: Vec<usize>,
        groups: Vec<Vec<Assignment>>,
    ) -> Result<Self> {
        let schema: SchemaRef = Arc::new(table.schema().project(&projection)?);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(groups.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self {
            table,
            projection,
            groups,
            filters: Vec::new(),
            dynamic_filters: Vec::new(),
            limit: None,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Sets the filters that every row must pass; over the table's schema.
    #[must_use]
    pub fn with_filters(mut self, filters: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        self.filters = filters;
        self
    }

    /// Sets the filters that may skip work; over the projected schema.
    #[must_use]
    pub fn with_dynamic_filters(mut self, filters: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        self.dynamic_filters = filters;
        self
    }

    /// Sets how many rows are wanted of each output partition at most.
    #[must_use]
    pub const fn with_limit(mut self, limit: Option<usize>) -> Self {
        self.limit = limit;
        self
    }

    /// Returns the same leaf over other partitions: one task's share.
    #[must_use]
    pub fn with_groups(&self, groups: Vec<Vec<Assignment>>) -> Self {
        let mut share = self.clone();
        let properties = self.properties.as_ref().clone();
        share.properties =
            Arc::new(properties.with_partitioning(Partitioning::UnknownPartitioning(groups.len())));
        share.groups = groups;
        share.metrics = ExecutionPlanMetricsSet::new();
        share
    }

    /// Returns the columns that the scan knows.
    #[must_use]
    pub const fn table(&self) -> &Arc<ScanTable> {
        &self.table
    }

    /// Returns the positions in the table's schema that are put out.
    #[must_use]
    pub fn projection(&self) -> &[usize] {
        &self.projection
    }

    /// Returns the partitions by output partition.
    #[must_use]
    pub fn groups(&self) -> &[Vec<Assignment>] {
        &self.groups
    }

    /// Returns the filters that every row must pass.
    #[must_use]
    pub fn filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.filters
    }

    /// Returns the filters that may skip work.
    #[must_use]
    pub fn dynamic_filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.dynamic_filters
    }

    /// Returns the rows wanted of each output partition at most.
    #[must_use]
    pub const fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn rows_of(&self, partition: Option<usize>) -> usize {
        let count = |group: &Vec<Assignment>| {
            let rows =
                group.iter().fold(0_u64, |sum, assignment| sum.saturating_add(assignment.rows));
            usize::try_from(rows).unwrap_or(usize::MAX)
        };
        match partition {
            Some(partition) => self.groups.get(partition).map_or(0, count),
            None => self.groups.iter().map(count).sum(),
        }
    }
}

/// Deals partitions over `group_count` groups by bytes, the largest first, so that the groups take
/// about equally long; within a group the order of `assignments` is kept.
#[must_use]
pub fn deal(assignments: Vec<Assignment>, group_count: usize) -> Vec<Vec<Assignment>> {
    let mut groups = vec![(0_u64, Vec::new()); group_count.max(1)];
    let mut by_size: Vec<_> = assignments.into_iter().enumerate().collect();
    by_size.sort_by_key(|(_, assignment)| std::cmp::Reverse(assignment.total_bytes()));
    for (order, assignment) in by_size {
        let smallest = groups.iter_mut().min_by_key(|(bytes, _)| *bytes);
        let (bytes, group) = smallest.expect("there is at least one group");
        *bytes = bytes.saturating_add(assignment.total_bytes());
        group.push((order, assignment));
    }
    let in_order = |(_, mut group): (u64, Vec<(usize, Assignment)>)| {
        group.sort_by_key(|(order, _)| *order);
        group.into_iter().map(|(_, assignment)| assignment).collect()
    };
    groups.into_iter().map(in_order).collect()
}

impl DisplayAs for PartitionScanExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions: usize = self.groups.iter().map(Vec::len).sum();
        let names = |positions: &[usize]| {
            let name = |&position: &usize| self.table.schema().field(position).name().as_str();
            positions.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        write!(
            f,
            "PartitionScanExec: table={}, partitions={partitions}, projection=[{}]",
            self.table.name(),
            names(&self.projection)
        )?;
        for (title, filters) in
            [("filters", &self.filters), ("dynamic_filters", &self.dynamic_filters)]
        {
            if !filters.is_empty() {
                let text: Vec<_> = filters.iter().map(ToString::to_string).collect();
                write!(f, ", {title}=[{}]", text.join(" AND "))?;
            }
        }
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for PartitionScanExec {
    fn name(&self) -> &'static str {
        "PartitionScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for filter in self.filters.iter().chain(&self.dynamic_filters) {
            if visit(filter)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn handle_child_pushdown_result(
        &self,
        _phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let count = result.parent_filters.len();
        let mut dynamic_filters = self.dynamic_filters.clone();
        dynamic_filters
            .extend(result.parent_filters.iter().map(|pushed| Arc::clone(&pushed.filter)));
        let updated_node = (count > 0).then(|| {
            Arc::new(self.clone().with_dynamic_filters(dynamic_filters)) as Arc<dyn ExecutionPlan>
        });
        Ok(FilterPushdownPropagation { filters: vec![PushedDown::No; count], updated_node })
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let rows = self.rows_of(args.partition());
        let mut statistics = Statistics::new_unknown(&self.schema());
        let reads_all = self.filters.is_empty() && self.dynamic_filters.is_empty();
        statistics.num_rows = match (reads_all, self.limit) {
            (true, None) => Precision::Exact(rows),
            (true, Some(limit)) => Precision::Inexact(rows.min(limit)),
            (false, limit) => {
                let kept = rows.div_ceil(FILTER_KEEPS_ONE_IN);
                Precision::Inexact(kept.min(limit.unwrap_or(usize::MAX)))
            }
        };
        Ok(Arc::new(statistics))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a leaf takes no children") }
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let config = context.session_config();
        let scanner = config.get_extension::<ScannerHandle>().ok_or_else(|| {
            internal_datafusion_err!("this process has no scanner for partitions in its session")
        })?;
        let assignments = self.groups.get(partition).ok_or_else(|| {
            internal_datafusion_err!("the leaf has no output partition {partition}")
        })?;
        scanner.0.scan(GroupScan {
            table: Arc::clone(&self.table),
            projection: self.projection.clone(),
            assignments: assignments.clone(),
            filters: self.filters.clone(),
            dynamic_filters: self.dynamic_filters.clone(),
            limit: self.limit,
            batch_rows: config.batch_size(),
            metrics: ScanMetrics::new(&self.metrics, partition),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment(number: u64, bytes: u64) -> Assignment {
        let file = peerage_partition::FileRef {
            bytes,
            checksum: peerage_partition::Checksum::from_bytes([0; 16]),
        };
        Assignment {
            name: format!("{number}-{number}-01ARZ3NDEKTSV4RRFFQ69G5FAV").parse().expect("a name"),
            storage: "main".to_owned(),
            path: "p".to_owned(),
            rows: 1,
            manifest: file,
            index: file,
            data: file,
        }
    }

    fn check(sizes: &[u64], group_count: usize, expected: &str) {
        let assignments =
            sizes.iter().zip(0..).map(|(&bytes, number)| assignment(number, bytes)).collect();
        let groups: Vec<Vec<_>> = deal(assignments, group_count)
            .iter()
            .map(|group| group.iter().map(|assignment| assignment.name.min_ms()).collect())
            .collect();
        assert_eq!(format!("{groups:?}"), expected);
    }

    #[test]
    fn groups_are_even_and_keep_order() {
        check(&[1, 1, 1, 1], 2, "[[0, 2], [1, 3]]");
        check(&[1, 9, 1, 1], 2, "[[1], [0, 2, 3]]");
        check(&[], 2, "[[], []]");
        check(&[5], 0, "[[0]]");
    }
}
