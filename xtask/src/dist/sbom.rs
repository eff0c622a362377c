//! The software bill of materials: every crate in the binary with its version and license, in the format CycloneDX.
//!
//! maturin contains cargo-cyclonedx and adds the bill to the wheel. This is the same bill as a file.

use std::process::Command;

use super::{Dist, artifacts, write};
use crate::{Result, tools};

/// Name of the file.
pub(crate) const NAME: &str = "tidemark.cdx.json";

/// Python program that prints the bill of a wheel.
const PRINT: &str = "import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name, = (name for name in wheel.namelist() if name.endswith('.cyclonedx.json'))
sys.stdout.write(wheel.read(name).decode())";

/// Writes the bill.
pub(super) fn build(dist: &Dist) -> Result {
    let mut wheels = artifacts(&dist.folder)?.into_iter().filter(|(name, _)| name.ends_with(".whl"));
    let (wheel, _) = wheels.next().ok_or("there is no wheel to read the bill from")?;
    let bill = tools::read(Command::new("python3").args(["-c", PRINT]).arg(dist.folder.join(wheel)))?;
    // The crates of the workspace are named by their folders.
    let folder = format!("path+file://{}/", tools::root()?.display());
    write(&dist.folder.join(NAME), bill.replace(&folder, "path+file:///").as_bytes())
}
