//! Tests of the structure of the code: layers, cycles of modules, the length of files, and the map in ARCHITECTURE.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The layers of the server from the lowest to the highest; a layer imports itself and lower ones.
const LAYERS: [&str; 3] = ["infra", "domain", "transport"];

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Returns all files below a folder that have one of the extensions.
fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extensions));
        } else if path
            .extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(|extension| extensions.contains(&extension))
        {
            found.push(path);
        }
    }
    found
}

/// Returns the folders with the Rust code of the workspace, without integration tests.
fn rust_sources() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    crates.chain([root().join("xtask/src"), root().join("benches/src")]).collect()
}

/// Returns all paths in a text that start with `crate`, `super` or `self`, with groups in braces expanded.
fn paths(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for prefix in ["crate", "super", "self"] {
        for (start, _) in text.match_indices(&format!("{prefix}::")) {
            // The rest of a longer word or path was found with the start of that path.
            if !text[..start].ends_with(|before: char| before.is_alphanumeric() || "_:".contains(before)) {
                expand("", &text[start..], &mut found);
            }
        }
    }
    found
}

/// Adds the paths of the import tree at the start of a text, and returns the text after the tree.
fn expand<'a>(prefix: &str, text: &'a str, found: &mut BTreeSet<String>) -> &'a str {
    let end = text.find(|character: char| !character.is_alphanumeric() && !"_:".contains(character));
    let (path, mut rest) = text.split_at(end.unwrap_or(text.len()));
    let path = format!("{prefix}{path}");
    if !path.ends_with("::") || !rest.starts_with('{') {
        found.insert(path);
        return rest;
    }
    while let Some(item) = rest.strip_prefix(['{', ',']).map(str::trim_start) {
        rest = if item.starts_with('}') { item } else { expand(&path, item, found).trim_start() };
        // Skip the new name of an import (`a as b`).
        rest = rest.trim_start_matches(|character| !",}".contains(character));
    }
    rest.strip_prefix('}').unwrap_or(rest)
}

#[test]
fn paths_are_found_in_groups_and_code() {
    let text = "use crate::{App, domain::{a, infra::x as y,\n}, http};\nuse super::clock::Clock; \
                fn f(x: crate::domain::T) { self::g() } mycrate::transport::x()";
    let expected = [
        "crate::App",
        "crate::domain::T",
        "crate::domain::a",
        "crate::domain::infra::x",
        "crate::http",
        "self::g",
        "super::clock::Clock",
    ];
    assert_eq!(paths(text), expected.map(str::to_owned).into());
}

/// Returns the names of a module and its parents, from the file of the module.
fn module(source: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(source).unwrap().with_extension("");
    path.iter().map(|segment| segment.to_str().unwrap().to_owned()).collect()
}

/// Returns the absolute path of a path in a module.
fn resolve<'a>(module: &'a [String], path: &'a str) -> Vec<&'a str> {
    let mut target: Vec<&str> = module.iter().map(String::as_str).collect();
    for segment in path.split("::") {
        match segment {
            "crate" => target.clear(),
            "super" => drop(target.pop()),
            "self" => {}
            segment => target.push(segment),
        }
    }
    target
}

/// Returns the code of a file without comments and without its tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_layer_of_the_server_imports_a_higher_one() {
    let source = root().join("crates/server/src");
    let mut upward = Vec::new();
    for (height, layer) in LAYERS.iter().enumerate() {
        let files = files(&source.join(layer), &["rs"]);
        assert!(!files.is_empty(), "{layer} has no files");
        for file in files {
            let (module, text) = (module(&source, &file), fs::read_to_string(&file).unwrap());
            let higher = |path: &String| {
                resolve(&module, path).first().is_some_and(|layer| LAYERS[height + 1..].contains(layer))
            };
            let paths = paths(&text).into_iter().filter(higher);
            upward.extend(paths.map(|path| format!("{} imports {path}", file.display())));
        }
    }
    assert_eq!(upward, Vec::<String>::new());
}

/// Folders of the server whose modules must not import each other in a cycle.
const ACYCLIC: [&str; 4] = ["infra", "domain", "transport", "transport/http"];
/// `domain/app.rs` contains the state of all modules, and the modules use the state.
const STATE: &str = "app";

/// Returns which modules of a folder each of its modules imports.
fn imports(source: &Path, folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let folder: Vec<&str> = folder.split('/').collect();
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files(&source.join(folder.join("/")), &["rs"]) {
        let module = module(source, &file);
        let importing = module[folder.len()].as_str();
        if importing == STATE || file.ends_with("tests.rs") {
            continue;
        }
        for path in paths(&code(&file)) {
            let target = resolve(&module, &path);
            if let Some(imported) = target.strip_prefix(folder.as_slice()).and_then(<[_]>::first)
                && ![importing, STATE].contains(imported)
            {
                imports.entry(importing.to_owned()).or_default().insert((*imported).to_owned());
            }
        }
    }
    imports
}

/// Returns the modules that are part of a cycle or import one: the rest after repeated removal of modules whose imports are
/// all removed.
fn cyclic(mut imports: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    loop {
        let modules: BTreeSet<String> = imports.keys().cloned().collect();
        imports.values_mut().for_each(|imported| imported.retain(|module| modules.contains(module)));
        imports.retain(|_, imported| !imported.is_empty());
        if imports.len() == modules.len() {
            return imports;
        }
    }
}

#[test]
fn cycles_of_any_length_are_found() {
    let graph = |imports: &[(&str, &str)]| {
        let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (importing, imported) in imports {
            graph.entry((*importing).to_owned()).or_default().insert((*imported).to_owned());
        }
        graph
    };
    assert_eq!(cyclic(graph(&[("a", "b"), ("b", "c"), ("a", "c")])), BTreeMap::new());
    let cycle = [("a", "b"), ("b", "c"), ("c", "a")];
    assert_eq!(cyclic(graph(&[cycle.as_slice(), &[("b", "d")]].concat())), graph(&cycle));
}

#[test]
fn modules_of_a_layer_do_not_import_each_other_in_a_cycle() {
    let source = root().join("crates/server/src");
    for folder in ACYCLIC {
        let imports = imports(&source, folder);
        assert!(!imports.is_empty(), "{folder} has no imports");
        assert_eq!(cyclic(imports), BTreeMap::new(), "cycle in {folder}");
    }
}

/// Maximum number of lines of a source file, as CONTRIBUTING.md states.
const MAX_LINES: usize = 500;

/// Types that `npm run types` generates from openapi.json.
const GENERATED: &str = "api.gen.ts";

#[test]
fn no_source_file_exceeds_the_maximum_length() {
    let rust = rust_sources().into_iter().flat_map(|source| files(&source, &["rs"]));
    let console = files(&root().join("console/src"), &["ts", "tsx"]);
    let long: Vec<String> = rust
        .chain(console.into_iter().filter(|path| !path.ends_with(GENERATED)))
        .map(|path| (fs::read_to_string(&path).unwrap().lines().count(), path))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .map(|(lines, path)| format!("{} has {lines} lines; the maximum is {MAX_LINES}", path.display()))
        .collect();
    assert_eq!(long, Vec::<String>::new());
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
        files(folder, &["rs"]).into_iter().filter_map(|file| Some(file.parent()?.to_owned())).collect();
    folders.sort();
    folders.dedup();
    folders
}

#[test]
fn the_map_names_every_module() {
    let root = root();
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let columns = NOUNS.map(|(column, _)| column).join(" | ");
    assert!(page.contains(&format!("| noun | {columns} |")), "the table of nouns has other columns");
    let mut tree: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in rust_sources().iter().flat_map(|source| module_folders(source)) {
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
