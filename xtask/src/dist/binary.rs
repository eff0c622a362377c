//! The optimized build, and the checks of its size and its shared libraries.

use std::{fs, path::Path, path::PathBuf, process::Command};

use super::{Platform, failed, megabytes};
use crate::{
    Result,
    tools::{self, say},
};

/// Build profile of the binary that ships; defined in Cargo.toml.
pub(super) const PROFILE: &str = "dist";

/// Environment variable with the modification time of packaged files in seconds since 1970.
pub(super) const TIME: &str = "SOURCE_DATE_EPOCH";

/// Maximum size of the binary in bytes.
const MAX_SIZE: u64 = 45_000_000;

/// Libraries that the binary may load: the parts of the GNU C library.
const LIBRARIES: [&str; 4] = ["linux-vdso.so", "libc.so", "libm.so", "ld-linux"];

/// Linker script in place of the shared library of the C compiler, which is not part of the C library: unwinding is linked
/// statically.
const STATIC_LIBGCC: &str = "INPUT(-lgcc_eh -lgcc)\n";

/// Builds the binary. `time` is the modification time of packaged files.
pub(super) fn build(platform: &Platform, time: u64) -> Result {
    say("Building the optimized binary; this takes up to half an hour with two cores.");
    let mut command = tools::cargo(&["rustc", "--locked", "--profile", PROFILE])?;
    command.args(["--package", "tidemark", "--bin", "tidemark", "--"]).args(compiler_flags(platform)?);
    // maturin needs this variable. The build scripts of C libraries depend on it: without it here, maturin would compile
    // everything again.
    command.env(TIME, time.to_string());
    tools::run(without_lints(&mut command))
}

/// Checks the size and the shared libraries of the binary, and returns its path.
pub(super) fn check(platform: &Platform) -> Result<PathBuf> {
    let binary = tools::target()?.join(PROFILE).join("tidemark");
    let size = fs::metadata(&binary).map_err(|error| failed("read", &binary, &error))?.len();
    if size > MAX_SIZE {
        return Err(format!(
            "the binary has {:.1} MB; the maximum is {:.0} MB (see [profile.dist] in Cargo.toml)",
            megabytes(size),
            megabytes(MAX_SIZE)
        ));
    }
    if platform.debian.is_some() {
        let foreign: Vec<String> = libraries(&binary)?
            .into_iter()
            .filter(|(name, _)| !LIBRARIES.iter().any(|library| name.starts_with(library)))
            .map(|(name, _)| name)
            .collect();
        if !foreign.is_empty() {
            return Err(format!("the binary needs the shared libraries {}", foreign.join(", ")));
        }
    }
    Ok(binary)
}

/// Returns the flags of the compiler for the last step of the build. maturin needs the same flags to find the binary up to
/// date.
pub(super) fn compiler_flags(platform: &Platform) -> Result<Vec<String>> {
    // Not in the profile: cargo ignores the setting of a custom profile for crates with settings of their own.
    let mut flags = vec!["-C".to_owned(), "strip=symbols".to_owned()];
    if platform.debian.is_none() {
        return Ok(flags);
    }
    let folder = tools::target()?.join("static-libgcc");
    let file = folder.join("libgcc_s.so");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&file, STATIC_LIBGCC))
        .map_err(|error| failed("written", &file, &error))?;
    flags.extend(["-L".to_owned(), format!("native={}", folder.display())]);
    Ok(flags)
}

/// Removes the settings with which CI makes clippy the compiler: they are part of the fingerprint of every crate.
pub(super) fn without_lints(command: &mut Command) -> &mut Command {
    command.env_remove("RUSTC_WORKSPACE_WRAPPER").env_remove("CLIPPY_ARGS")
}

/// Returns the names of the shared libraries that a program loads, and their paths except for the library of the kernel.
pub(super) fn libraries(program: &Path) -> Result<Vec<(String, Option<PathBuf>)>> {
    Ok(parse_libraries(&tools::read(Command::new("ldd").arg(program))?))
}

fn parse_libraries(text: &str) -> Vec<(String, Option<PathBuf>)> {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim().split(" (0x").next()?;
        let (name, path) = line.split_once(" => ").unwrap_or((line, line));
        let name = name.rsplit('/').next()?.to_owned();
        Some((name, path.starts_with('/').then(|| PathBuf::from(path))))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_have_names_and_paths() {
        let text = "\tlinux-vdso.so.1 (0x00007faa8033b000)\n\
                    \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007faa801e6000)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007faa8033d000)\n";
        let expected = [
            ("linux-vdso.so.1", None),
            ("libm.so.6", Some("/lib/x86_64-linux-gnu/libm.so.6")),
            ("ld-linux-x86-64.so.2", Some("/lib64/ld-linux-x86-64.so.2")),
        ];
        let expected = expected.map(|(name, path)| (name.to_owned(), path.map(PathBuf::from)));
        assert_eq!(parse_libraries(text), expected);
    }
}
