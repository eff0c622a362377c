//! The results of the runs of a job, in a file: JSON objects separated by commas. Outputs are copied from the file of
//! a run to this file in small chunks, so that memory use depends neither on the size nor on the number of runs.

use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write},
    path::Path,
};

use tidemark_api::{JobIteration, channel::OUTPUT_MAX};

use super::OutputLimits;
use crate::{
    error::{Error, Explain, Result},
    sandbox::CapturedOutput,
};

/// Part of [`OUTPUT_MAX`] that is reserved for the rest of an upload.
const ENVELOPE_RESERVE: u64 = 1 << 20;
/// Maximum size in bytes of all results of a job, as JSON.
pub const RESULTS_MAX: u64 = OUTPUT_MAX - ENVELOPE_RESERVE;
/// Number of bytes of an output that are converted at a time.
const CHUNK: usize = 64 << 10;
/// Replaces bytes that are not UTF-8.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// The results of the runs of a job.
#[derive(Debug)]
pub struct RunResults {
    file: File,
    /// Size of the file in bytes.
    size: u64,
    /// Limits of each run and of all runs together.
    pub(super) bounds: OutputLimits,
}

/// A text of a result, which may be larger than memory allows.
pub(super) enum LongText {
    /// In a file.
    File(CapturedOutput),
    /// In memory.
    Memory(String),
}

impl RunResults {
    /// Creates an empty file.
    pub fn create(path: &Path, bounds: OutputLimits) -> Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
        Ok(Self { file: file.explain(|| "The file for the results cannot be created")?, size: 0, bounds })
    }

    /// Returns the remaining number of bytes within the limit.
    pub(super) fn remaining(&self) -> u64 {
        self.bounds.total.saturating_sub(self.size)
    }

    /// Appends the result of a run; `run` has all fields except the long texts. Appends nothing if the result exceeds
    /// the limit.
    pub(super) fn push(
        &mut self,
        run: &JobIteration,
        stdout: &CapturedOutput,
        stderr: &CapturedOutput,
        output: &[(String, LongText)],
    ) -> Result<()> {
        let mut writer = LimitedWriter { target: BufWriter::new(&self.file), left: self.remaining() };
        let mut write = || {
            if self.size > 0 {
                writer.write_all(b",")?;
            }
            write_run(&mut writer, run, stdout, stderr, output)?;
            writer.flush()
        };
        let written = write();
        let LimitedWriter { target, left } = writer;
        // The buffer belongs to a result that is rolled back.
        drop(target.into_parts());
        match written {
            Ok(()) => {
                self.size = self.bounds.total - left;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                let mut file = &self.file;
                file.set_len(self.size)
                    .and_then(|()| file.seek(SeekFrom::Start(self.size)))
                    .explain(|| "A result over the limit cannot be removed")?;
                Err(Error::new(format!(
                    "The total output of the job exceeds {} MiB (as JSON), the limit of this runner. Print less, run fewer \
                     iterations, or raise --max-job-output-size.",
                    self.bounds.total >> 20
                )))
            }
            Err(error) => Err(error).explain(|| "The result of a run cannot be written"),
        }
    }

    /// Reads all results into memory.
    pub fn read(&mut self) -> Result<Vec<JobIteration>> {
        let rewound = self.file.rewind();
        rewound.explain(|| "The results of the job cannot be read")?;
        parse(&self.file)
    }
}

/// Reads the results in a file.
pub(crate) fn parse(mut file: &File) -> Result<Vec<JobIteration>> {
    let mut text = "[".to_owned();
    file.read_to_string(&mut text).explain(|| "The results of the job cannot be read")?;
    text.push(']');
    serde_json::from_str(&text).map_err(|_| Error::new("The results of the job cannot be read."))
}

/// Writes results from memory, in the format of the file.
pub(crate) fn write_all(target: &mut impl Write, results: &[JobIteration]) -> io::Result<()> {
    for (index, result) in results.iter().enumerate() {
        if index > 0 {
            target.write_all(b",")?;
        }
        serde_json::to_writer(&mut *target, result)?;
    }
    target.flush()
}

/// A writer that rejects more than a number of bytes.
struct LimitedWriter<W> {
    target: W,
    left: u64,
}

impl<W: Write> Write for LimitedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or(ErrorKind::FileTooLarge)?;
        self.target.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

/// Writes a result: the short fields, from `run`, then the long texts.
fn write_run(
    target: &mut impl Write,
    run: &JobIteration,
    stdout: &CapturedOutput,
    stderr: &CapturedOutput,
    output: &[(String, LongText)],
) -> io::Result<()> {
    let short = serde_json::to_string(run)?;
    target.write_all(short.strip_suffix('}').unwrap_or(&short).as_bytes())?;
    for (name, captured) in [("stdout", stdout), ("stderr", stderr)] {
        if !captured.is_empty() {
            write!(target, ",\"{name}\":")?;
            write_captured(target, captured)?;
        }
    }
    for (index, (path, text)) in output.iter().enumerate() {
        target.write_all(if index == 0 { b",\"output\":{" } else { b"," })?;
        serde_json::to_writer(&mut *target, path)?;
        target.write_all(b":")?;
        match text {
            LongText::File(captured) => write_captured(target, captured)?,
            LongText::Memory(text) => serde_json::to_writer(&mut *target, text)?,
        }
    }
    target.write_all(if output.is_empty() { b"}" } else { b"}}" })
}

/// Writes captured output as a JSON string, with a line that states how many bytes are left out.
fn write_captured(target: &mut impl Write, captured: &CapturedOutput) -> io::Result<()> {
    target.write_all(b"\"")?;
    write_text(target, captured.reader()?)?;
    if captured.left_out > 0 {
        escape(target, &format!("\n[{} more bytes are left out]\n", captured.left_out))?;
    }
    target.write_all(b"\"")
}

/// Writes bytes as the content of a JSON string. Replaces bytes that are not UTF-8.
fn write_text(target: &mut impl Write, mut source: impl Read) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    // Number of bytes at the start of the buffer that belong to a character that continues in the next chunk.
    let mut incomplete = 0;
    loop {
        let read = source.read(&mut buffer[incomplete..])?;
        let (end, mut from) = (incomplete + read, 0);
        while from < end {
            let (good, bad) = match std::str::from_utf8(&buffer[from..end]) {
                Ok(_) => (end - from, None),
                Err(error) => (error.valid_up_to(), Some(error.error_len())),
            };
            escape(target, &String::from_utf8_lossy(&buffer[from..from + good]))?;
            from += good;
            match bad {
                Some(Some(length)) => from += length,
                Some(None) if read == 0 => from = end,
                Some(None) | None => break,
            }
            target.write_all(REPLACEMENT)?;
        }
        if read == 0 {
            return Ok(());
        }
        buffer.copy_within(from..end, 0);
        incomplete = end - from;
    }
}

fn escape(target: &mut impl Write, text: &str) -> io::Result<()> {
    let json = serde_json::to_string(text)?;
    target.write_all(&json.as_bytes()[1..json.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(limit: u64) -> (tempfile::TempDir, RunResults) {
        let folder = tempfile::tempdir().unwrap();
        let bounds = OutputLimits { total: limit, ..OutputLimits::default() };
        let results = RunResults::create(&folder.path().join("results"), bounds).unwrap();
        (folder, results)
    }

    fn captured(bytes: &[u8], left_out: u64) -> CapturedOutput {
        let mut captured = CapturedOutput::create(&std::env::temp_dir()).unwrap();
        captured.write(bytes).unwrap();
        captured.left_out = left_out;
        captured
    }

    #[test]
    fn results_are_read_back_unchanged() {
        let (_folder, mut results) = results(1 << 20);
        // Characters of several bytes cross the ends of chunks, and some bytes are not UTF-8.
        let long = format!("x{}", "€\n\"".repeat(CHUNK / 2));
        let broken = [b"a\xff\xf0\x9f".as_slice(), b"b\0", b"\xe2\x82"].concat();
        let noise = Some(tidemark_api::JobNoise { before: 0.5, after: 1.5 });
        let run = JobIteration { exit_code: 3, noise, ..JobIteration::default() };
        let files = vec![
            ("a \"b\"".to_owned(), LongText::File(captured(&broken, 0))),
            ("c".to_owned(), LongText::Memory("{}".to_owned())),
        ];
        results.push(&run, &captured(long.as_bytes(), 0), &captured(b"", 0), &files).unwrap();
        results.push(&run, &captured(b"", 0), &captured(b"abc", 7), &[]).unwrap();
        let output = files
            .iter()
            .map(|(path, _)| path.clone())
            .zip([String::from_utf8_lossy(&broken).into_owned(), "{}".to_owned()]);
        let first = JobIteration { stdout: Some(long), output: Some(output.collect()), ..run.clone() };
        let stderr = Some("abc\n[7 more bytes are left out]\n".to_owned());
        assert_eq!(results.read().unwrap(), [first, JobIteration { stderr, ..run }]);
    }

    #[test]
    fn a_result_over_the_limit_is_an_error_and_is_not_written() {
        let (_folder, mut results) = results(1 << 20);
        let run = JobIteration::default();
        results.push(&run, &captured(b"kept", 0), &captured(b"", 0), &[]).unwrap();
        // 200 KiB as bytes, 1.2 MiB as JSON.
        let error = results.push(&run, &captured(&[1; 200 << 10], 0), &captured(b"", 0), &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "The total output of the job exceeds 1 MiB (as JSON), the limit of this runner. Print less, run fewer \
             iterations, or raise --max-job-output-size."
        );
        results.push(&run, &captured(b"too", 0), &captured(b"", 0), &[]).unwrap();
        let kept: Vec<_> = results.read().unwrap().into_iter().map(|run| run.stdout.unwrap()).collect();
        assert_eq!(kept, ["kept", "too"]);
    }
}
