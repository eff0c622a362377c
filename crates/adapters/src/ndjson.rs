//! Reads NDJSON: JSON objects, one per line, with any other text between them. The adapters interpret the objects.

use serde::de::DeserializeOwned;

use crate::{
    Failure, Input,
    text::{self, Line},
};

/// Reason if a line is not an object of the tool.
const INVALID: &str = "their lines are not complete objects of the tool";

/// Passes the object of each line that starts with a brace to a function. If a line is not such an object, for example because it is
/// truncated, its number is recorded as skipped, unless no line is such an object.
pub(crate) fn read<'a, Object: DeserializeOwned>(
    input: &Input<'a>,
    mut each: impl FnMut(Line<'a>, Object) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut invalid = Vec::new();
    let mut is_recognized = false;
    for line in text::lines(input.text).filter(|line| line.text.starts_with('{')) {
        match serde_json::from_str(line.text) {
            Ok(object) => {
                is_recognized = true;
                each(line, object)?;
            }
            Err(_) => invalid.push(line.number),
        }
    }
    for number in invalid.into_iter().filter(|_| is_recognized) {
        input.skip(format!("line {number}"), INVALID);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Object {
        n: u32,
    }

    fn numbers(text: &str) -> (Vec<u32>, Vec<String>) {
        let input = Input::new(text, None);
        let mut numbers = Vec::new();
        read(&input, |_, Object { n }| {
            numbers.push(n);
            Ok(())
        })
        .unwrap();
        (numbers, input.skipped.take().into_iter().flat_map(|one| one.names).collect())
    }

    #[test]
    fn lines_that_are_not_complete_are_skipped() {
        let text = "log\n{\"n\":1}\n\n{\"n\":\n{\"m\":2}\n[3]\n{\"n\":4}\r\n{\"n\":5";
        let skipped = ["line 4", "line 5", "line 8"].map(str::to_owned);
        assert_eq!(numbers(text), (vec![1, 4], skipped.into()));
        assert_eq!(numbers("{\"m\":2}\n{"), (Vec::new(), Vec::new()));
    }
}
