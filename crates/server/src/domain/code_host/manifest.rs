//! Reads the section `[on_demand]` of `tidemark.toml`. The command line validates the other settings of the file.

use serde::Deserialize;
use tidemark_api::OnDemand;

/// The file, without the settings that a job on demand does not use.
#[derive(Deserialize)]
struct Manifest {
    on_demand: Option<OnDemand>,
}

/// Returns the section, or the reason why it cannot be used, with its line.
pub(super) fn read(text: &str) -> Result<OnDemand, String> {
    let manifest: Manifest = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: {}", error.message().trim_end_matches('.').replace('\n', ", "))
    })?;
    manifest.on_demand.ok_or_else(|| "it has no section `[on_demand]`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        let error = |text: &str| read(text).unwrap_err();
        assert_eq!(error("project = \"lab\"\n"), "it has no section `[on_demand]`");
        let unknown = error("project = \"lab\"\n\n[on_demand]\ncmd = [\"x\"]\n");
        assert!(unknown.starts_with("line 4: unknown field `cmd`, expected one of `image`"), "{unknown}");
        assert!(
            error("[on_demand]\niter = \"x\"").starts_with("line 2: "),
            "{}",
            error("[on_demand]\niter = \"x\"")
        );
        assert!(error("\n[on_demand").starts_with("line 2: "));
        let read = read("testbed = \"ci\"\n[adapter.x]\nanything = 1\n[on_demand]\ncommand = [\"bench\"]\n")
            .unwrap();
        assert_eq!((read.command, read.testbed), (Some(vec!["bench".to_owned()]), None));
    }
}
