//! Images that are not what they seem.

use std::fs;

use serde_json::json;
use tidemark_runner::image::{Images, Source};

use crate::layout;

#[test]
fn an_image_is_unpacked_once_and_checked() {
    let work = tempfile::tempdir().unwrap();
    let layout_folder = work.path().join("layout");
    let digest = layout::busybox(&layout_folder, &json!({ "Cmd": ["id"], "User": "ben" }));
    let images = Images::open(work.path().join("images")).unwrap();
    let (source, reference) = Source::parse(layout_folder.to_str().unwrap(), None).unwrap();
    let image = images.get(&source, &reference).unwrap();
    assert_eq!(image.config.user.as_deref(), Some("ben"));
    assert!(image.root.join("bin/busybox").is_file());

    // A source that answers with something else is found out.
    let blobs = layout_folder.join("blobs/sha256");
    fs::write(blobs.join(digest.trim_start_matches("sha256:")), "{}").unwrap();
    let others = Images::open(work.path().join("others")).unwrap();
    let error = others.get(&source, &digest).unwrap_err().to_string();
    assert!(error.contains("another image than was asked for"), "{error}");

    // By its digest it is found again, even though it is nowhere else.
    fs::remove_dir_all(&layout_folder).unwrap();
    assert_eq!(images.get(&source, &digest).unwrap().root, image.root);
}

#[test]
fn an_image_with_a_changed_layer_is_refused_and_leaves_nothing() {
    let work = tempfile::tempdir().unwrap();
    let layout_folder = work.path().join("layout");
    layout::write(&layout_folder, &json!({}), &[b"this is no archive".to_vec()]);
    for blob in fs::read_dir(layout_folder.join("blobs/sha256")).unwrap().map(Result::unwrap) {
        if fs::read(blob.path()).unwrap() == b"this is no archive" {
            fs::write(blob.path(), "this is no ARCHIVE").unwrap();
        }
    }
    let images = Images::open(work.path().join("images")).unwrap();
    let (source, reference) = Source::parse(layout_folder.to_str().unwrap(), None).unwrap();
    let error = images.get(&source, &reference).unwrap_err().to_string();
    assert!(error.contains("is not what its digest says"), "{error}");
    assert_eq!(fs::read_dir(work.path().join("images")).unwrap().count(), 0);
}

#[test]
fn an_image_for_another_machine_is_refused() {
    let work = tempfile::tempdir().unwrap();
    let folder = work.path();
    fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
    let platform = json!({ "os": "linux", "architecture": "s390x" });
    let index =
        json!({ "manifests": [{ "digest": "sha256:00", "size": 2, "platform": platform }] }).to_string();
    let hex = "4e3ca8f6";
    assert!(Source::parse("no-such-folder", None).is_err());
    fs::write(folder.join("index.json"), &index).unwrap();
    let images = Images::open(folder.join("images")).unwrap();
    let (source, _) = Source::parse(folder.to_str().unwrap(), None).unwrap();
    let error = images.get(&source, &format!("sha256:{hex}")).unwrap_err().to_string();
    assert!(error.contains("not SHA-256"), "{error}");
}
