//! Tests of the structure of the code: layers, and the map in ARCHITECTURE.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The layers of the server from the lowest to the highest; a layer imports itself and lower ones.
const LAYERS: [&str; 3] = ["infra", "domain", "transport"];

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns all Rust files below a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Returns the first segments of all paths that start with `crate::`, also of groups in braces.
fn imported(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (start, prefix) in text.match_indices("crate::") {
        let is_word = |before: char| before.is_alphanumeric() || before == '_';
        if text[..start].chars().next_back().is_some_and(is_word) {
            continue;
        }
        let rest = &text[start + prefix.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.extend(first_segment(rest));
            continue;
        };
        let (mut depth, mut item) = (0, 0);
        for (place, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                ',' | '}' if depth == 0 => {
                    found.extend(first_segment(group[item..place].trim_start()));
                    item = place + 1;
                    if character == '}' {
                        break;
                    }
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    found
}

fn first_segment(path: &str) -> Option<&str> {
    let end = path.find(|character: char| !character.is_alphanumeric() && character != '_');
    Some(&path[..end.unwrap_or(path.len())]).filter(|segment| !segment.is_empty())
}

#[test]
fn imports_are_found_in_groups_and_paths() {
    let text = "use crate::{App, domain::{a, infra::x}, http};\nuse crate::clock::Clock; fn f(x: crate::domain::T) {} \
                mycrate::transport::x()";
    assert_eq!(imported(text), BTreeSet::from(["App", "clock", "domain", "http"]));
}

#[test]
fn no_layer_of_the_server_imports_a_higher_one() {
    let source = root().join("crates/server/src");
    let mut upward = Vec::new();
    for (height, layer) in LAYERS.iter().enumerate() {
        let files = rust_files(&source.join(layer));
        assert!(!files.is_empty(), "{layer} has no files");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let higher = imported(&text).into_iter().filter(|module| LAYERS[height + 1..].contains(module));
            upward.extend(higher.map(|module| format!("{} imports {module}", file.display())));
        }
    }
    assert_eq!(upward, Vec::<String>::new());
}

/// The columns of the table of nouns in ARCHITECTURE.md, and their folders.
const NOUNS: [(&str, &str); 4] = [
    ("api", "crates/api/src"),
    ("store", "crates/store/src"),
    ("http", "crates/server/src/transport/http"),
    ("cmd", "crates/tidemark/src/cmd"),
];

/// Returns the modules that the map in ARCHITECTURE.md names, by folder.
fn mapped(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut map: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut section = "";
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("#") {
            section = title.trim_start_matches('#').trim();
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Some(module) = cells[0].strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        if section == "Nouns" {
            for ((_, folder), cell) in NOUNS.iter().zip(&cells[1..]) {
                if !cell.is_empty() {
                    map.entry((*folder).to_owned()).or_default().insert(module.to_owned());
                }
            }
        } else if let Some(folder) = section.strip_prefix('`').and_then(|folder| folder.strip_suffix('`')) {
            map.entry(folder.to_owned()).or_default().insert(module.to_owned());
        }
    }
    map
}

/// Returns all folders below one that contain modules.
fn module_folders(folder: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        rust_files(folder).into_iter().filter_map(|file| Some(file.parent()?.to_owned())).collect();
    folders.sort();
    folders.dedup();
    folders
}

#[test]
fn the_map_names_every_module() {
    let root = root().canonicalize().unwrap();
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let columns = NOUNS.map(|(column, _)| column).join(" | ");
    assert!(page.contains(&format!("| noun | {columns} |")), "the table of nouns has other columns");
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let sources = crates.chain([root.join("xtask/src"), root.join("benches/src")]);
    let mut tree: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in sources.flat_map(|source| module_folders(&source)) {
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let modules: BTreeSet<String> = files
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .filter(|stem| !["lib", "main", "tests"].contains(&stem.as_str()))
            .collect();
        if !modules.is_empty() {
            tree.insert(folder.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(), modules);
        }
    }
    let map = mapped(&page);
    for (folder, modules) in &tree {
        assert_eq!(map.get(folder), Some(modules), "ARCHITECTURE.md and {folder}");
    }
    assert_eq!(map.len(), tree.len(), "ARCHITECTURE.md names a folder without modules");
}
