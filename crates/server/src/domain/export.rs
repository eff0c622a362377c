//! The formats of an export: the columns, and writers that process one metric at a time, so that no writer holds all of them.

use std::{
    borrow::Cow,
    io::{self, Write},
    sync::Arc,
};

use parquet::{
    basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        properties::{EnabledStatistics, WriterProperties},
        writer::SerializedFileWriter,
    },
    schema::types::Type,
};
use serde::{Deserialize, Serialize, Serializer};
use tidemark_api::{MeasureDirection, Timestamp};
use tidemark_store::export::ExportedMetric;
use utoipa::ToSchema;

/// A format of exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// Comma-separated values with a header line.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    pub(crate) const ALL: [Self; 3] = [Self::Csv, Self::Ndjson, Self::Parquet];

    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv",
            Self::Ndjson => "application/x-ndjson",
            Self::Parquet => PARQUET,
        }
    }

    /// Returns the file extension.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
        }
    }
}

/// Media type of Parquet, which is already compressed.
pub(crate) const PARQUET: &str = "application/vnd.apache.parquet";

type Text = for<'a> fn(&'a ExportedMetric<'a>) -> Option<Cow<'a, str>>;
type Time = fn(&ExportedMetric<'_>) -> Timestamp;
type Whole = fn(&ExportedMetric<'_>) -> u32;
type Real = fn(&ExportedMetric<'_>) -> Option<f64>;

/// The type of a column, and the function that reads it from a metric. Texts and real numbers may be absent.
enum Column {
    Text(Text),
    Time(Time),
    Whole(Whole),
    Real(Real),
}

/// All columns with their names, in order.
const COLUMNS: [(&str, Column); 21] = [
    ("report", Column::Text(|entry| Some(entry.report.uuid.to_string().into()))),
    ("metric", Column::Text(|entry| Some(entry.metric.uuid.to_string().into()))),
    ("start_time", Column::Time(|entry| entry.report.start_time)),
    ("end_time", Column::Time(|entry| entry.report.end_time)),
    ("branch", Column::Text(|entry| Some(entry.report.branch.as_str().into()))),
    ("version", Column::Whole(|entry| entry.report.version.number)),
    ("hash", Column::Text(|entry| entry.report.version.hash.as_ref().map(|hash| hash.as_str().into()))),
    ("testbed", Column::Text(|entry| Some(entry.report.testbed.as_str().into()))),
    ("benchmark", Column::Text(|entry| Some(entry.benchmark.name.as_str().into()))),
    ("parameters", Column::Text(parameters)),
    ("measure", Column::Text(|entry| Some(entry.measure.name.as_str().into()))),
    ("units", Column::Text(|entry| Some(entry.measure.units.as_str().into()))),
    ("iteration", Column::Whole(|entry| entry.iteration)),
    ("value", Column::Real(|entry| Some(entry.metric.value))),
    ("lower_value", Column::Real(|entry| entry.metric.lower_value)),
    ("upper_value", Column::Real(|entry| entry.metric.upper_value)),
    ("baseline", Column::Real(|entry| entry.boundary.baseline)),
    ("lower_limit", Column::Real(|entry| entry.boundary.lower_limit)),
    ("upper_limit", Column::Real(|entry| entry.boundary.upper_limit)),
    ("alert", Column::Text(|entry| entry.alert.map(|status| status.as_str().into()))),
    ("direction", Column::Text(direction)),
];

fn parameters<'a>(entry: &'a ExportedMetric<'a>) -> Option<Cow<'a, str>> {
    let parameters = &entry.variant?.parameters;
    Some(serde_json::to_string(parameters).expect("a map from text to text is JSON").into())
}

fn direction<'a>(entry: &'a ExportedMetric<'a>) -> Option<Cow<'a, str>> {
    let direction = MeasureDirection::resolve(entry.measure.slug.as_str(), entry.measure.direction)?;
    Some(direction.as_str().into())
}

/// Writes metrics in one of the formats.
pub(crate) enum Writer<W: Write + Send> {
    Csv(csv::Writer<W>),
    Ndjson(W),
    Parquet(ParquetWriter<W>),
}

impl<W: Write + Send> Writer<W> {
    /// Starts an export.
    pub(crate) fn new(format: Format, sink: W) -> io::Result<Self> {
        Ok(match format {
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(sink);
                writer.write_record(COLUMNS.map(|(name, _)| name))?;
                Self::Csv(writer)
            }
            Format::Ndjson => Self::Ndjson(sink),
            Format::Parquet => Self::Parquet(ParquetWriter::new(sink)?),
        })
    }

    /// Writes one metric.
    pub(crate) fn write(&mut self, entry: &ExportedMetric<'_>) -> io::Result<()> {
        match self {
            Self::Csv(writer) => Ok(writer.serialize(Cells(entry))?),
            Self::Ndjson(sink) => {
                serde_json::to_writer(&mut *sink, &Members(entry))?;
                sink.write_all(b"\n")
            }
            Self::Parquet(writer) => writer.write(entry),
        }
    }

    /// Finishes the export.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(mut writer) => writer.flush(),
            Self::Ndjson(_) => Ok(()),
            Self::Parquet(writer) => writer.finish(),
        }
    }
}

/// A metric as the list of its cells.
struct Cells<'a>(&'a ExportedMetric<'a>);

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(COLUMNS.iter().map(|(_, column)| Cell(column, self.0)))
    }
}

/// A metric as an object.
struct Members<'a>(&'a ExportedMetric<'a>);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(COLUMNS.iter().map(|(name, column)| (name, Cell(column, self.0))))
    }
}

/// The value of a metric in a column.
struct Cell<'a>(&'a Column, &'a ExportedMetric<'a>);

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(column, entry) = *self;
        match column {
            Column::Text(read) => read(entry).serialize(serializer),
            Column::Time(read) => read(entry).serialize(serializer),
            Column::Whole(read) => read(entry).serialize(serializer),
            Column::Real(read) => read(entry).serialize(serializer),
        }
    }
}

/// Number of rows of a row group: enough for efficient reading, few enough to buffer.
const ROW_GROUP: usize = 65_536;

/// Buffers rows and writes them column by column as row groups.
pub(crate) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Gathered>,
    rows: usize,
}

/// A column of the current row group, with the function that reads it. A definition level is 1 for a value and 0 for an absent
/// value.
enum Gathered {
    Text { read: Text, values: Vec<ByteArray>, levels: Vec<i16> },
    Time { read: Time, values: Vec<i64> },
    Whole { read: Whole, values: Vec<i64> },
    Real { read: Real, values: Vec<f64>, levels: Vec<i16> },
}

impl<W: Write + Send> ParquetWriter<W> {
    fn new(sink: W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            // The writer would keep the index of pages until the end, and it would grow with the export.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let file =
            SerializedFileWriter::new(sink, Arc::new(schema().map_err(failure)?), Arc::new(properties))
                .map_err(failure)?;
        let columns = COLUMNS.iter().map(|(_, column)| Gathered::new(column)).collect();
        Ok(Self { file, columns, rows: 0 })
    }

    fn write(&mut self, entry: &ExportedMetric<'_>) -> io::Result<()> {
        self.columns.iter_mut().for_each(|column| column.push(entry));
        self.rows += 1;
        if self.rows == ROW_GROUP { self.end_row_group().map_err(failure) } else { Ok(()) }
    }

    fn end_row_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for gathered in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            match gathered {
                Gathered::Text { values, levels, .. } => {
                    column.typed::<ByteArrayType>().write_batch(values, Some(levels), None)?;
                    values.clear();
                    levels.clear();
                }
                Gathered::Time { values, .. } | Gathered::Whole { values, .. } => {
                    column.typed::<Int64Type>().write_batch(values, None, None)?;
                    values.clear();
                }
                Gathered::Real { values, levels, .. } => {
                    column.typed::<DoubleType>().write_batch(values, Some(levels), None)?;
                    values.clear();
                    levels.clear();
                }
            }
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.end_row_group().map_err(failure)?;
        }
        self.file.finish().map(drop).map_err(failure)
    }
}

impl Gathered {
    fn new(column: &Column) -> Self {
        match *column {
            Column::Text(read) => Self::Text { read, values: Vec::new(), levels: Vec::new() },
            Column::Time(read) => Self::Time { read, values: Vec::new() },
            Column::Whole(read) => Self::Whole { read, values: Vec::new() },
            Column::Real(read) => Self::Real { read, values: Vec::new(), levels: Vec::new() },
        }
    }

    fn push(&mut self, entry: &ExportedMetric<'_>) {
        match self {
            Self::Text { read, values, levels } => {
                let text = read(entry);
                levels.push(text.is_some().into());
                if let Some(text) = text {
                    // Most texts repeat from row to row. A clone of a value shares its bytes.
                    let value = match values.last() {
                        Some(last) if last.data() == text.as_bytes() => last.clone(),
                        _ => ByteArray::from(text.into_owned().into_bytes()),
                    };
                    values.push(value);
                }
            }
            Self::Time { read, values } => values.push(read(entry).micros() / 1_000),
            Self::Whole { read, values } => values.push(read(entry).into()),
            Self::Real { read, values, levels } => {
                let number = read(entry);
                levels.push(number.is_some().into());
                values.extend(number);
            }
        }
    }
}

fn schema() -> Result<Type, ParquetError> {
    let fields = COLUMNS.iter().map(|(name, column)| {
        let (physical, logical, repetition) = match column {
            Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::OPTIONAL),
            Column::Time(_) => {
                let milliseconds = LogicalType::timestamp(true, TimeUnit::MILLIS);
                (Physical::INT64, Some(milliseconds), Repetition::REQUIRED)
            }
            Column::Whole(_) => (Physical::INT64, None, Repetition::REQUIRED),
            Column::Real(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()?;
        Ok(Arc::new(field))
    });
    let fields = fields.collect::<Result<_, ParquetError>>()?;
    Type::group_type_builder("metric").with_fields(fields).build()
}

fn failure(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
