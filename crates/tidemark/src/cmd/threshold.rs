//! `tidemark threshold`

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tidemark_api::{
    Boundary, Invalid, Model, ModelQuery, ModelTest, ModelUuid, NameId, NewModel, NewThreshold,
    ProjThresholdsSort, SampleSize, Threshold, ThresholdFilter, ThresholdPut, ThresholdUuid, Window,
};
use tidemark_client::{models, thresholds};
use tidemark_stats::Test;

use crate::{
    failure::Result,
    output,
    resource::{
        Fields, PageFlags, Printable, ProjectArgument, Session, SortFlag, Verb, optional, parse_number,
    },
};

/// Verbs of `tidemark threshold`.
#[derive(clap::Subcommand)]
pub(crate) enum ThresholdVerb {
    /// List the thresholds of a project
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        project: ProjectArgument,
        /// List only thresholds of this branch: UUID, slug or name
        #[arg(long)]
        branch: Option<NameId>,
        /// List only thresholds of this testbed: UUID, slug or name
        #[arg(long)]
        testbed: Option<NameId>,
        /// List only thresholds of this measure: UUID, slug or name
        #[arg(long)]
        measure: Option<NameId>,
        /// List only thresholds of archived branches, testbeds and measures
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        sort: SortFlag<ProjThresholdsSort>,
        #[command(flatten)]
        page: PageFlags,
    },
    /// Create a threshold
    #[command(visible_alias = "add")]
    Create {
        #[command(flatten)]
        project: ProjectArgument,
        /// Branch UUID, slug or name
        #[arg(long)]
        branch: NameId,
        /// Testbed UUID, slug or name
        #[arg(long)]
        testbed: NameId,
        /// Measure UUID, slug or name
        #[arg(long)]
        measure: NameId,
        /// Test of the model
        #[arg(long, value_parser = test_parser())]
        test: ModelTest,
        #[command(flatten)]
        model: ModelFlags,
    },
    /// Show a threshold
    #[command(visible_alias = "get")]
    View {
        #[command(flatten)]
        target: ThresholdTarget,
        /// UUID of the model to show [default: the current model]
        #[arg(long)]
        model: Option<ModelUuid>,
    },
    /// Replace or remove the model of a threshold
    #[command(visible_alias = "edit")]
    Update {
        #[command(flatten)]
        target: ThresholdTarget,
        /// Test of the new model
        #[arg(long, value_parser = test_parser(), required_unless_present = "remove_model")]
        test: Option<ModelTest>,
        #[command(flatten)]
        model: ModelFlags,
        /// Remove the model, so that the threshold raises no alerts
        #[arg(long, conflicts_with = "test")]
        remove_model: bool,
    },
    /// Delete a threshold that has judged no metric
    #[command(visible_alias = "rm")]
    Delete(ThresholdTarget),
    /// List the current and earlier models of a threshold
    Models {
        #[command(flatten)]
        target: ThresholdTarget,
        #[command(flatten)]
        page: PageFlags,
    },
}

/// A threshold of a project.
#[derive(clap::Args)]
pub(crate) struct ThresholdTarget {
    #[command(flatten)]
    project: ProjectArgument,
    /// Threshold UUID
    threshold: ThresholdUuid,
}

/// Settings of a model.
#[derive(clap::Args)]
pub(crate) struct ModelFlags {
    /// Minimum number of values in the sample
    #[arg(long, value_name = "COUNT", value_parser = parse_number::<u32, SampleSize>)]
    min_sample_size: Option<SampleSize>,
    /// Maximum number of values in the sample, the newest ones
    #[arg(long, value_name = "COUNT", value_parser = parse_number::<u32, SampleSize>)]
    max_sample_size: Option<SampleSize>,
    /// Maximum age of the values in the sample, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_number::<u32, Window>)]
    window: Option<Window>,
    /// Lower boundary
    #[arg(long, value_name = "NUMBER", value_parser = parse_number::<f64, Boundary>, allow_negative_numbers = true)]
    lower_boundary: Option<Boundary>,
    /// Upper boundary
    #[arg(long, value_name = "NUMBER", value_parser = parse_number::<f64, Boundary>, allow_negative_numbers = true)]
    upper_boundary: Option<Boundary>,
}

pub(crate) fn test_parser() -> impl TypedValueParser<Value = ModelTest> {
    // `run` accepts the short names, too.
    PossibleValuesParser::new(Test::ALL.map(Test::as_str).into_iter().chain(["z", "t"])).try_map(|word| {
        let test = match word.as_str() {
            "z" => Ok(Test::ZScore),
            "t" => Ok(Test::TTest),
            word => word.parse().map_err(|_| Invalid::new("this test does not exist")),
        };
        test.map(ModelTest)
    })
}

impl ModelFlags {
    /// Returns the model with these settings.
    pub(crate) fn model(&self, test: ModelTest) -> NewModel {
        let Self { min_sample_size, max_sample_size, window, lower_boundary, upper_boundary } = *self;
        NewModel { test, min_sample_size, max_sample_size, window, lower_boundary, upper_boundary }
    }
}

impl Verb for ThresholdVerb {
    fn run(&self, session: &Session) -> Result {
        match self {
            Self::List { project, branch, testbed, measure, archived, sort, page } => {
                let filter = ThresholdFilter {
                    branch: branch.clone(),
                    testbed: testbed.clone(),
                    measure: measure.clone(),
                    archived: archived.then_some(true),
                    sort: sort.sort,
                };
                session.list(thresholds(project.id()?).list(&filter), page)
            }
            Self::Create { project, branch, testbed, measure, test, model } => {
                let new = NewThreshold {
                    branch: branch.clone(),
                    testbed: testbed.clone(),
                    measure: measure.clone(),
                    test: *test,
                    min_sample_size: model.min_sample_size,
                    max_sample_size: model.max_sample_size,
                    window: model.window,
                    lower_boundary: model.lower_boundary,
                    upper_boundary: model.upper_boundary,
                };
                session.show(&thresholds(project.id()?).create(&new))
            }
            Self::View { target, model } => {
                let request = thresholds(target.project.id()?).view(&target.threshold);
                session.show(&request.query(&ModelQuery { model: *model }))
            }
            Self::Update { target, test, model, remove_model: _ } => {
                let put = ThresholdPut {
                    test: *test,
                    min_sample_size: model.min_sample_size,
                    max_sample_size: model.max_sample_size,
                    window: model.window,
                    lower_boundary: model.lower_boundary,
                    upper_boundary: model.upper_boundary,
                };
                session.show(&thresholds(target.project.id()?).update(&target.threshold, &put))
            }
            Self::Delete(target) => {
                let request = thresholds(target.project.id()?).delete(&target.threshold);
                session.confirm(&request, "The threshold is deleted.")
            }
            Self::Models { target, page } => {
                session.list(models(target.project.id()?, target.threshold), page)
            }
        }
    }
}

impl Printable for Threshold {
    const DROPPABLE: &'static [&'static str] =
        &["Window", "Samples", "Lower boundary", "Upper boundary", "Test", "Testbed"];

    fn fields(&self) -> Fields {
        let fields = Fields::default()
            .text("Branch", &self.branch.name)
            .text("Testbed", &self.testbed.name)
            .text("Measure", &self.measure.name);
        let fields = match &self.model {
            Some(model) => settings(fields, model),
            None => fields
                .column("Test", "none")
                .number("Lower boundary", "")
                .number("Upper boundary", "")
                .number("Samples", "")
                .number("Window", ""),
        };
        fields
            .column("UUID", self.uuid)
            .detail("Model", optional(self.model.as_ref().map(|model| model.uuid)))
            .detail("Project", self.project)
            .detail("Created", output::time(self.created))
            .detail("Changed", output::time(self.modified))
    }
}

impl Printable for Model {
    const DROPPABLE: &'static [&'static str] =
        &["Window", "Samples", "Created", "Lower boundary", "Upper boundary", "Replaced"];

    fn fields(&self) -> Fields {
        settings(Fields::default(), self)
            .column("UUID", self.uuid)
            .column("Created", output::time(self.created))
            .column("Replaced", optional(self.replaced.map(output::time)))
    }
}

fn settings(fields: Fields, model: &Model) -> Fields {
    let samples = match (model.min_sample_size, model.max_sample_size) {
        (Some(least), Some(most)) => format!("{least} … {most}"),
        (Some(least), None) => format!("≥ {least}"),
        (None, Some(most)) => format!("≤ {most}"),
        (None, None) => String::new(),
    };
    fields
        .column("Test", model.test.0.as_str())
        .number("Lower boundary", optional(model.lower_boundary.map(Boundary::get)))
        .number("Upper boundary", optional(model.upper_boundary.map(Boundary::get)))
        .number("Samples", samples)
        .number("Window", optional(model.window.map(|window| format!("{window} s"))))
}
