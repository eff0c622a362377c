//! Embeds the web console and the manual in the server: generates a table of the files in `console/dist` and `docs/book`, which
//! `cargo xtask console` has compressed.
//!
//! Runs no other program. If a folder was not built, its table is empty, and `src/transport/console.rs` or
//! `src/transport/manual.rs` serves a page that says so.

use std::{
    env,
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    embed("console", "console/dist", "")?;
    embed("manual", "docs/book", "/docs")
}

/// Generates the table of the files of a folder, with their paths on the server.
fn embed(name: &str, folder: &str, prefix: &str) -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").join(folder);
    println!("cargo::rerun-if-changed={}", folder.display());
    let folder = folder.canonicalize()?;
    let mut found = Vec::new();
    collect(&folder, &mut found)?;
    let mut files = Vec::new();
    for file in found {
        let path = format!("{prefix}/{}", file.strip_prefix(&folder)?.with_extension("").display());
        files.push((path, file));
    }
    // Sorted by the path as text, because the lookup uses a binary search.
    files.sort();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut table = String::from("&[\n");
    for (number, (path, file)) in files.iter().enumerate() {
        let kind =
            media_type(Path::new(path)).ok_or_else(|| format!("add the media type of {path} to build.rs"))?;
        // Copy the file: the console can be rebuilt before the compiler reads it.
        let copy = out.join(format!("{name}-{number}.br"));
        fs::copy(file, &copy)?;
        writeln!(
            table,
            "    File {{ path: {path:?}, media_type: {kind:?}, brotli: include_bytes!({copy:?}) }},"
        )?;
    }
    table.push_str("]\n");
    fs::write(out.join(format!("{name}.rs")), table)?;
    Ok(())
}

/// Collects all compressed files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "br") {
            files.push(path);
        }
    }
    Ok(())
}

fn media_type(path: &Path) -> Option<&'static str> {
    Some(match path.extension()?.to_str()? {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}
