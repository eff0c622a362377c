//! The Python wheel, built by maturin.

use super::{Dist, binary::PROFILE, binary::compiler_flags, binary::without_lints};
use crate::{Result, tools};

/// Version of maturin.
const VERSION: &str = "1.16.0";

/// Writes the wheel. maturin runs cargo with the flags of the first build, so that cargo finds the binary up to date.
pub(super) fn build(dist: &Dist) -> Result {
    let programs =
        tools::python(&format!("maturin-{VERSION}"), &[format!("maturin=={VERSION}")], "import maturin")?;
    let mut command = std::process::Command::new(programs.join("maturin"));
    command
        .args(["build", "--locked", "--profile", PROFILE, "--out"])
        .arg(&dist.folder)
        .arg("--target-dir")
        .arg(tools::target()?)
        .arg("--")
        .args(compiler_flags(dist.platform)?)
        .current_dir(tools::root()?.join("packaging/python"))
        .env("SOURCE_DATE_EPOCH", dist.time.to_string());
    tools::run(without_lints(&mut command))
}
