//! The software bill of materials: every crate in the binary, and every npm package in its console, with version and license, in
//! the format CycloneDX.
//!
//! maturin contains cargo-cyclonedx and adds the bill of the crates to the wheel. This is the same bill with the npm packages.

use std::process::Command;

use serde_json::{Value, json};

use super::{Dist, archive::read, artifacts, write};
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
    let bill = tools::read(Command::new("python3").args(["-c", PRINT]).arg(dist.folder.join(&wheel)))?;
    // The crates of the workspace are named by their folders.
    let folder = format!("path+file://{}/", tools::root()?.display());
    let bill = bill.replace(&folder, "path+file:///");
    let mut bill: Value = serde_json::from_str(&bill).map_err(|error| format!("{wheel}: {error}"))?;
    let components = bill["components"].as_array_mut().ok_or("the bill has no components")?;
    components.extend(npm_packages(&console_lock()?)?.iter().map(NpmPackage::component));
    write(&dist.folder.join(NAME), format!("{bill:#}\n").as_bytes())
}

/// An npm package in the console.
#[derive(Debug)]
pub(super) struct NpmPackage {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: String,
    /// Folder of the package in the folder of the console.
    pub(super) path: String,
}

impl NpmPackage {
    fn component(&self) -> Value {
        let Self { name, version, license, .. } = self;
        let url = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
        json!({
            "type": "library",
            "bom-ref": url,
            "name": name,
            "version": version,
            "purl": url,
            "licenses": [{ "expression": license }],
        })
    }
}

/// Returns the lock file of the console.
pub(super) fn console_lock() -> Result<Value> {
    let file = tools::root()?.join("console/package-lock.json");
    serde_json::from_slice(&read(&file)?).map_err(|error| format!("{}: {error}", file.display()))
}

/// Returns the npm packages of the console, without the packages that only build or test it.
pub(super) fn npm_packages(lock: &Value) -> Result<Vec<NpmPackage>> {
    let packages = lock["packages"].as_object().ok_or("console/package-lock.json has no packages")?;
    let mut found = Vec::new();
    for (path, package) in packages {
        let Some((_, name)) = path.rsplit_once("node_modules/") else { continue };
        if package["dev"] == true {
            continue;
        }
        let text = |field: &str| {
            let text = package[field].as_str().ok_or_else(|| format!("{name} has no {field}"))?;
            Ok::<_, String>(text.to_owned())
        };
        let (version, license) = (text("version")?, text("license")?);
        found.push(NpmPackage { name: name.to_owned(), version, license, path: path.clone() });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_the_console_are_components() {
        let lock = json!({ "packages": {
            "": { "name": "console" },
            "node_modules/@solidjs/router": { "version": "1.0.0", "license": "MIT" },
            "node_modules/a/node_modules/b": { "version": "2.0.0", "license": "(MIT OR Apache-2.0)" },
            "node_modules/vite": { "version": "8.0.0", "license": "MIT", "dev": true },
        } });
        let components: Vec<Value> = npm_packages(&lock).unwrap().iter().map(NpmPackage::component).collect();
        let urls: Vec<_> = components.iter().map(|component| component["purl"].as_str().unwrap()).collect();
        assert_eq!(urls, ["pkg:npm/%40solidjs/router@1.0.0", "pkg:npm/b@2.0.0"]);
        assert_eq!(components[1]["licenses"], json!([{ "expression": "(MIT OR Apache-2.0)" }]));
        let lock = json!({ "packages": { "node_modules/a": { "version": "1.0.0" } } });
        assert_eq!(npm_packages(&lock).unwrap_err(), "a has no license");
    }

    #[test]
    fn the_console_has_packages() {
        let packages = npm_packages(&console_lock().unwrap()).unwrap();
        let has = |name: &str| packages.iter().any(|package| package.name == name);
        assert!(has("solid-js") && !has("vite"), "{packages:?}");
    }
}
