//! `/v0/projects/{project}/backtest`

use std::sync::Arc;

use axum::{Json, extract::State};
use tidemark_api::{Backtest, NewBacktest};
use tidemark_stats::{DetectionSettings, Sensitivity};
use tidemark_store::{Tx, lane};
use tokio::task::spawn_blocking;

use super::{
    access::{Project, View},
    body::Body,
    error::{Error, Result},
    project::ProjectPath,
    series_filter::SeriesNames,
};
use crate::domain::{
    app::App,
    backtest::{BacktestResult, Detector, LaneData},
    changes::false_alarm_budget,
};

/// Maximum number of values that a backtest analyzes.
const VALUES: i64 = 20_000_000;

/// Run a backtest.
///
/// Applies a false-alarm budget, a sensitivity, or the model of a threshold to the whole history of the project. Returns the
/// alarms that it would have raised, compared with the statuses that users set on the changes of the project. Writes nothing.
#[utoipa::path(post, path = "/v0/projects/{project}/backtest", operation_id = "proj_backtest_post", tag = "changes",
    params(ProjectPath), request_body = NewBacktest, responses((status = 200, body = Backtest)),
    extensions(("x-right" = json!("project:view"))))]
pub(super) async fn create(
    State(app): State<App>,
    project: Project<View>,
    Body(new): Body<NewBacktest>,
) -> Result<Json<Backtest>> {
    if usize::from(new.sensitivity.is_some())
        + usize::from(new.false_alarms_per_month.is_some())
        + usize::from(new.model.is_some())
        > 1
    {
        return Err(Error::Invalid(
            "`sensitivity`, `false_alarms_per_month` and `model` are mutually exclusive; give one of them."
                .into(),
        ));
    }
    let now = app.clock.now();
    let address = project.origin.address;
    let find = move |tx: &mut Tx<'_>| {
        let id = project.id;
        let names = SeriesNames {
            branch: new.branch.as_ref(),
            testbed: new.testbed.as_ref(),
            benchmark: new.benchmark.as_ref(),
            measure: new.measure.as_ref(),
        };
        let part = names.find(tx, id)?;
        let lanes = lane::of_project(tx, id, &part)?;
        let values = lane::count_metrics(tx, id, &part)?;
        if values > VALUES {
            return Err(Error::Invalid(format!(
                "The backtest covers {values} values; the maximum is {VALUES}. Select a branch or a testbed."
            )));
        }
        let detector = match (new.false_alarms_per_month, new.model) {
            (Some(per_month), _) => Detector::Budget(false_alarm_budget(tx, id, per_month, now)?),
            (None, Some(model)) => Detector::Threshold(model),
            (None, None) => {
                let sensitivity =
                    Sensitivity::new(new.sensitivity.unwrap_or_default().get()).unwrap_or_default();
                Detector::Changes(DetectionSettings { sensitivity, ..DetectionSettings::default() })
            }
        };
        Ok::<_, Error>((lanes, part, detector))
    };
    let (lanes, part, detector) = app.db.read(find).await?;
    // A backtest occupies a processor, and the memory for all values of a lane, until it ends, even if the client disconnects.
    let permit = app.analyses.acquire(address).await?;
    let mut result = BacktestResult::default();
    for lane in lanes {
        let held = Arc::clone(&permit);
        let read = move |tx: &mut Tx<'_>| {
            let _held = held;
            LaneData::read(tx, &lane, &part)
        };
        let lane_data = app.db.read(read).await?;
        let held = Arc::clone(&permit);
        let watch = move || {
            let _held = held;
            result.add(&lane_data, detector).map(|()| result)
        };
        let watched = spawn_blocking(watch).await;
        result = watched.map_err(|error| Error::Internal(error.into()))??;
    }
    Ok(Json(result.finish()))
}
