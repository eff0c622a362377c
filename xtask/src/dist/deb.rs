//! The Debian package, built by cargo-deb from the section `package.metadata.deb` of `crates/tidemark/Cargo.toml`.

use super::{Dist, binary::PROFILE, binary::without_lints};
use crate::{Result, tools};

/// Version of cargo-deb.
const VERSION: &str = "3.8.0";

/// Writes the package.
pub(super) fn build(dist: &Dist) -> Result {
    let program = tools::cargo_tool("cargo-deb", VERSION)?;
    let mut command = tools::cargo_subcommand(&program, "deb")?;
    command
        .args(["--package", "tidemark", "--profile", PROFILE, "--no-build", "--no-strip", "--output"])
        .arg(&dist.folder)
        .env("SOURCE_DATE_EPOCH", dist.time.to_string());
    tools::run(without_lints(&mut command))
}
