//! `THIRD-PARTY-LICENSES.txt`: the license texts of every crate in the binary, and of every npm package in its console.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Dist, Platform, archive::read, failed, sbom, write};
use crate::{Result, tools};

/// Name of the file.
pub(super) const NAME: &str = "THIRD-PARTY-LICENSES.txt";

/// Starts of the names of files with a license, in lower case.
const FILES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// A package: its name with its version, its license, and its folder.
#[derive(Debug)]
struct Package {
    title: String,
    license: String,
    folder: PathBuf,
}

/// Writes the file next to the binary.
pub(super) fn build(dist: &Dist) -> Result {
    let mut packages = crates(dist.platform)?;
    packages.extend(console()?);
    write(&dist.notices(), text(&packages)?.as_bytes())
}

/// Returns the crates of other authors in the binary.
fn crates(platform: &Platform) -> Result<Vec<Package>> {
    let mut command =
        tools::cargo(&["metadata", "--format-version=1", "--locked", "--filter-platform", platform.target])?;
    let metadata: Value = serde_json::from_str(&tools::read(&mut command)?)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"]["nodes"]).map(|node| (id(&node["id"]), node)).collect();
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).map(|package| (id(&package["id"]), package)).collect();
    let root =
        packages.iter().find(|(_, package)| package["name"] == "tidemark" && package["source"].is_null());
    let (root, _) = root.ok_or("cargo metadata has no package tidemark")?;
    let (mut reached, mut pending) = (BTreeSet::new(), vec![*root]);
    while let Some(next) = pending.pop() {
        let Some(node) = nodes.get(next).filter(|_| reached.insert(next)) else { continue };
        let normal = |dependency: &&Value| list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
        pending.extend(list(&node["deps"]).filter(normal).map(|dependency| id(&dependency["pkg"])));
    }
    let foreign = reached.iter().filter_map(|id| packages.get(id)).filter(|found| !found["source"].is_null());
    Ok(foreign
        .map(|package| Package {
            title: format!("{} {}", id(&package["name"]), id(&package["version"])),
            license: package["license"].as_str().unwrap_or("see the license file").to_owned(),
            folder: Path::new(id(&package["manifest_path"])).parent().unwrap_or(Path::new("")).to_owned(),
        })
        .collect())
}

/// Returns the npm packages in the console.
fn console() -> Result<Vec<Package>> {
    let root = tools::root()?.join("console");
    let package = |package: sbom::NpmPackage| Package {
        title: format!("{} {} (npm)", package.name, package.version),
        license: package.license,
        folder: root.join(package.path),
    };
    Ok(sbom::npm_packages(&sbom::console_lock()?)?.into_iter().map(package).collect())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn id(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the text: each license text once, with the packages that have it.
fn text(packages: &[Package]) -> Result<String> {
    let mut licenses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages {
        let title = format!("{}: {}", package.title, package.license);
        for license in license_texts(&package.folder)? {
            licenses.entry(license).or_default().insert(title.clone());
        }
    }
    let mut text = "Licenses of the libraries in Tidemark\n\n".to_owned();
    let titles: BTreeSet<String> =
        packages.iter().map(|package| format!("{}: {}", package.title, package.license)).collect();
    titles.iter().for_each(|title| text.push_str(&format!("{title}\n")));
    // In the order of the first package.
    let mut sections: Vec<_> = licenses.iter().map(|(license, titles)| (titles, license)).collect();
    sections.sort();
    for (titles, license) in sections {
        text.push_str(&format!("\n{}\n\n", "=".repeat(80)));
        titles.iter().for_each(|title| text.push_str(&format!("{title}\n")));
        text.push_str(&format!("\n{license}\n"));
    }
    Ok(text)
}

/// Returns the license files of a folder. A package without one has only the name of its license.
fn license_texts(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).map_err(|error| failed("read", folder, &error))?;
    let mut texts = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| failed("read", folder, &error))?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if FILES.iter().any(|start| name.starts_with(start)) && entry.path().is_file() {
            texts.push(String::from_utf8_lossy(&read(&entry.path())?).trim().replace('\r', ""));
        }
    }
    texts.sort();
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_license_text_occurs_once() {
        let root = crate::service::folder("notices-test").unwrap();
        let package = |name: &str, file: &str, license: &str| {
            let folder = root.join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(file), license).unwrap();
            fs::write(folder.join("README.md"), "not a license").unwrap();
            Package { title: format!("{name} 1.0.0"), license: "MIT".to_owned(), folder }
        };
        let packages = [
            package("b", "LICENSE-MIT", "One\r\n"),
            package("a", "license.txt", "One"),
            package("c", "COPYING", "Two"),
        ];
        let text = text(&packages).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert!(text.starts_with(
            "Licenses of the libraries in Tidemark\n\na 1.0.0: MIT\nb 1.0.0: MIT\nc 1.0.0: MIT\n"
        ));
        assert!(
            text.contains("\na 1.0.0: MIT\nb 1.0.0: MIT\n\nOne\n")
                && text.contains("\nc 1.0.0: MIT\n\nTwo\n"),
            "{text}"
        );
        assert!(text.matches("One").count() == 1 && !text.contains("not a license"), "{text}");
    }

    #[test]
    fn the_crates_of_the_binary_are_known() {
        let crates = crates(super::super::platform::host().unwrap()).unwrap();
        let has = |name: &str| crates.iter().any(|package| package.title.starts_with(&format!("{name} ")));
        assert!(has("tokio") && has("rusqlite"), "{crates:?}");
        // Of this repository, and only of tests.
        assert!(!has("tidemark-store") && !has("insta"), "{crates:?}");
    }
}
