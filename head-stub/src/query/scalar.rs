//! Scalar subqueries that could give more than one row: asked first, put in as constants.
//!
//! The distributed planner turns a scalar subquery into a join, which would multiply rows where SQL
//! wants an error. So whatever is not proven to give at most one row is run by itself, like in
//! ClickHouse; a second row is an error.

use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Subquery};
use datafusion::physical_plan::execute_stream;
use futures::TryStreamExt as _;
use futures::future::BoxFuture;

/// Subqueries of one query that are run by themselves.
const SUBQUERIES_MAX: usize = 64;

/// Returns the plan with the values of such subqueries in their place.
pub(super) fn evaluate(
    state: &SessionState,
    plan: LogicalPlan,
) -> BoxFuture<'_, Result<LogicalPlan>> {
    Box::pin(async move {
        let subqueries = unproven(&plan)?;
        if subqueries.is_empty() {
            return Ok(plan);
        }
        if subqueries.len() > SUBQUERIES_MAX {
            return exec_err!("more than {SUBQUERIES_MAX} scalar subqueries in one query");
        }
        let mut values = Vec::with_capacity(subqueries.len());
        for subquery in subqueries {
            let value = value_of(state, &subquery).await?;
            values.push((subquery, value));
        }
        replace(plan, &values)
    })
}

/// Returns the outermost subqueries, each once, that are not proven to give at most one row. Those
/// inside one of them are found when it is run.
fn unproven(plan: &LogicalPlan) -> Result<Vec<Subquery>> {
    let mut found: Vec<Subquery> = Vec::new();
    collect_unproven(plan, &mut found)?;
    Ok(found)
}

fn collect_unproven(plan: &LogicalPlan, found: &mut Vec<Subquery>) -> Result<()> {
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::ScalarSubquery(subquery) if is_unproven(subquery) => {
                        add_once(found, subquery);
                    }
                    Expr::ScalarSubquery(subquery) => collect_unproven(&subquery.subquery, found)?,
                    Expr::Exists(exists) => collect_unproven(&exists.subquery.subquery, found)?,
                    Expr::InSubquery(list) => collect_unproven(&list.subquery.subquery, found)?,
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(())
}

fn add_once(found: &mut Vec<Subquery>, subquery: &Subquery) {
    if !found.contains(subquery) {
        found.push(subquery.clone());
    }
}

fn is_unproven(subquery: &Subquery) -> bool {
    subquery.outer_ref_columns.is_empty() && !gives_one_row(&subquery.subquery)
}

/// Returns true when a plan gives at most one row, whatever the data is.
fn gives_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Values(values) => values.values.len() <= 1,
        LogicalPlan::Projection(node) => gives_one_row(&node.input),
        LogicalPlan::Filter(node) => gives_one_row(&node.input),
        LogicalPlan::Sort(node) => node.fetch == Some(1) || gives_one_row(&node.input),
        LogicalPlan::SubqueryAlias(node) => gives_one_row(&node.input),
        LogicalPlan::Limit(_) => plan.max_rows().is_some_and(|rows| rows <= 1),
        _ => false,
    }
}

async fn value_of(state: &SessionState, subquery: &Subquery) -> Result<ScalarValue> {
    let plan = evaluate(state, subquery.subquery.as_ref().clone()).await?;
    let data_type = plan.schema().field(0).data_type().clone();
    let plan = LogicalPlanBuilder::from(plan).limit(0, Some(2))?.build()?;
    let plan = state.create_physical_plan(&plan).await?;
    let batches: Vec<_> = execute_stream(plan, state.task_ctx())?.try_collect().await?;
    let mut value = None;
    for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
        if value.is_some() || batch.num_rows() > 1 {
            return exec_err!("Scalar subquery returned more than one row");
        }
        value = Some(ScalarValue::try_from_array(batch.column(0), 0)?);
    }
    value.map_or_else(|| ScalarValue::try_from(&data_type), Ok)
}

fn replace(plan: LogicalPlan, values: &[(Subquery, ScalarValue)]) -> Result<LogicalPlan> {
    let rewritten = plan.transform_down_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|expr| {
            let name = names.save(&expr);
            let rewritten = expr.transform_down(|expr| {
                Ok(match &expr {
                    Expr::ScalarSubquery(subquery) => {
                        match values.iter().find(|(other, _)| other == subquery) {
                            Some((_, value)) => {
                                Transformed::yes(Expr::Literal(value.clone(), None))
                            }
                            None => Transformed::no(expr),
                        }
                    }
                    _ => Transformed::no(expr),
                })
            })?;
            Ok(rewritten.update_data(|expr| name.restore(expr)))
        })?;
        node.map_data(|node| node.recompute_schema())
    })?;
    Ok(rewritten.data)
}
