//! The npm packages: `tidemark` with the launcher, and a package with the binary for each platform, of which npm installs the
//! one for its machine.

use std::{fs, path::Path, process::Command};

use serde_json::{Map, Value, json};

use super::{Dist, PLATFORMS, archive::read, failed, notices, write};
use crate::{Result, service, tools};

/// Writes the package of this platform and the package with the launcher, which is the same on every platform.
pub(super) fn build(dist: &Dist) -> Result {
    let folder = service::folder("npm")?;
    let outcome = launcher(dist, &folder).and_then(|()| platform(dist, &folder));
    let _ = fs::remove_dir_all(&folder);
    outcome
}

fn launcher(dist: &Dist, folder: &Path) -> Result {
    let source = tools::root()?.join("packaging/npm");
    let folder = folder.join("tidemark");
    fs::create_dir_all(folder.join("bin")).map_err(|error| failed("created", &folder, &error))?;
    for file in ["bin/tidemark.js", "README.md"] {
        fs::copy(source.join(file), folder.join(file))
            .map_err(|error| failed("copied", &source.join(file), &error))?;
    }
    let manifest = launcher_manifest(&read(&source.join("package.json"))?, &dist.version)?;
    pack(dist, &folder, &manifest)
}

/// Returns the manifest with the version and the packages of all platforms, which must have the same version.
fn launcher_manifest(template: &[u8], version: &str) -> Result<Value> {
    let mut manifest: Value =
        serde_json::from_slice(template).map_err(|error| format!("packaging/npm/package.json: {error}"))?;
    manifest["version"] = version.into();
    let platforms: Map<String, Value> =
        PLATFORMS.iter().map(|platform| (platform.npm_package(), version.into())).collect();
    manifest["optionalDependencies"] = platforms.into();
    Ok(manifest)
}

fn platform(dist: &Dist, folder: &Path) -> Result {
    let (system, processor) = dist.platform.npm;
    let folder = folder.join("platform");
    let program = folder.join("bin/tidemark");
    fs::create_dir_all(folder.join("bin"))
        .and_then(|()| fs::copy(&dist.binary, &program))
        .and_then(|_| fs::copy(dist.notices(), folder.join(notices::NAME)))
        .map_err(|error| failed("written", &program, &error))?;
    let mut manifest = json!({
        "name": dist.platform.npm_package(),
        "version": dist.version,
        "description": format!("The tidemark binary for {system} {processor}"),
        "license": "MIT OR Apache-2.0",
        "repository": { "type": "git", "url": "git+https://github.com/tidemark-dev/tidemark.git" },
        "files": ["bin", "LICENSE-MIT", "LICENSE-APACHE", notices::NAME],
        "preferUnplugged": true,
        "os": [system],
        "cpu": [processor],
    });
    if system == "linux" {
        manifest["libc"] = json!(["glibc"]);
    }
    pack(dist, &folder, &manifest)
}

/// Writes the manifest and the licenses, and packs the folder.
fn pack(dist: &Dist, folder: &Path, manifest: &Value) -> Result {
    let root = tools::root()?;
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root.join(license), folder.join(license))
            .map_err(|error| failed("copied", &root.join(license), &error))?;
    }
    write(&folder.join("package.json"), format!("{manifest:#}\n").as_bytes())?;
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--pack-destination"]).arg(&dist.folder).current_dir(folder);
    tools::read(&mut npm).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_depends_on_the_same_version_of_all_platforms() {
        let manifest = launcher_manifest(br#"{"name": "tidemark"}"#, "1.2.3").unwrap();
        let expected = json!({
            "name": "tidemark",
            "version": "1.2.3",
            "optionalDependencies": {
                "@tidemark-dev/darwin-arm64": "1.2.3",
                "@tidemark-dev/darwin-x64": "1.2.3",
                "@tidemark-dev/linux-arm64": "1.2.3",
                "@tidemark-dev/linux-x64": "1.2.3",
            },
        });
        assert_eq!(manifest, expected);
    }
}
