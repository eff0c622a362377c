//! The Python wheel, built by maturin.

use std::process::Command;

use sha2::{Digest, Sha256};

use super::{
    Dist,
    archive::read,
    artifacts,
    binary::{PROFILE, TIME, compiler_flags, without_lints},
};
use crate::{Result, tools};

/// Version of maturin.
const VERSION: &str = "1.16.0";

/// Python program that prints the SHA-256 checksum of the binary in a wheel.
const CHECKSUM: &str = "import hashlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name, = (name for name in wheel.namelist() if name.endswith('.data/scripts/tidemark'))
sys.stdout.write(hashlib.sha256(wheel.read(name)).hexdigest())";

/// Writes the wheel. maturin runs cargo with the flags of the first build, so that cargo finds the binary up to date.
pub(super) fn build(dist: &Dist) -> Result {
    let programs =
        tools::python(&format!("maturin-{VERSION}"), &[format!("maturin=={VERSION}")], "import maturin")?;
    let expected = hex::encode(Sha256::digest(read(&dist.binary)?));
    let mut command = Command::new(programs.join("maturin"));
    command
        .args(["build", "--locked", "--profile", PROFILE, "--out"])
        .arg(&dist.folder)
        .arg("--target-dir")
        .arg(tools::target()?)
        .arg("--")
        .args(compiler_flags(dist.platform)?)
        .current_dir(tools::root()?.join("packaging/python"))
        .env(TIME, dist.time.to_string());
    tools::run(without_lints(&mut command))?;
    // The other packages have the binary of the first build.
    let mut wheels = artifacts(&dist.folder)?.into_iter().filter(|(name, _)| name.ends_with(".whl"));
    let (wheel, _) = wheels.next().ok_or("maturin wrote no wheel")?;
    let found = tools::read(Command::new("python3").args(["-c", CHECKSUM]).arg(dist.folder.join(&wheel)))?;
    if found.trim() == expected {
        return Ok(());
    }
    Err(format!(
        "the binary in {wheel} has the checksum {}, but the other packages have {expected}",
        found.trim()
    ))
}
