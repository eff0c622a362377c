//! Tests of invalid images.

use std::fs;

use serde_json::json;
use tar::{Builder, Header};
use tidemark_runner::image::{
    Images, Source,
    limit::{LAYERS_MAX, Quota},
};

use crate::layout;

#[test]
fn an_image_is_verified_and_unpacked_once() {
    let work = tempfile::tempdir().unwrap();
    let layout_folder = work.path().join("layout");
    let digest = layout::busybox(&layout_folder, &json!({ "Cmd": ["id"], "User": "ben" }));
    let images = Images::open(work.path().join("images")).unwrap();
    let (source, reference) = Source::parse(layout_folder.to_str().unwrap(), None).unwrap();
    let image = images.get(&source, &reference).unwrap();
    assert_eq!(image.config.user.as_deref(), Some("ben"));
    assert!(image.root.join("bin/busybox").is_file());

    // Content that does not match its digest is rejected.
    let blobs = layout_folder.join("blobs/sha256");
    fs::write(blobs.join(digest.trim_start_matches("sha256:")), "{}").unwrap();
    let others = Images::open(work.path().join("others")).unwrap();
    let error = others.get(&source, &digest).unwrap_err().to_string();
    assert!(error.contains("instead of"), "{error}");

    // The unpacked image is found by its digest, although the source is gone.
    fs::remove_dir_all(&layout_folder).unwrap();
    assert_eq!(images.get(&source, &digest).unwrap().root, image.root);
}

#[test]
fn an_image_with_a_changed_layer_is_rejected_and_removed() {
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
    assert!(error.contains("does not match its digest"), "{error}");
    assert_eq!(fs::read_dir(work.path().join("images")).unwrap().count(), 0);
}

#[test]
fn an_image_with_an_invalid_digest_is_rejected() {
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

/// Returns a layer with one file of `size` bytes.
fn layer(name: &str, size: usize) -> Vec<u8> {
    let mut layer = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(size as u64);
    layer.append_data(&mut header, name, vec![b'x'; size].as_slice()).unwrap();
    layer.into_inner().unwrap()
}

/// Returns the error for an image with these layers, or `None` if it is accepted. A rejected image must leave no
/// files.
fn rejection(layers: &[Vec<u8>], quota: Quota) -> Option<String> {
    let work = tempfile::tempdir().unwrap();
    let layout_folder = work.path().join("layout");
    layout::write(&layout_folder, &json!({}), layers);
    let images = Images::open(work.path().join("images")).unwrap().with_quota(quota);
    let (source, reference) = Source::parse(layout_folder.to_str().unwrap(), None).unwrap();
    let rejection = images.get(&source, &reference).err().map(|error| error.to_string());
    let left = fs::read_dir(work.path().join("images")).unwrap().count();
    assert_eq!(left, usize::from(rejection.is_none()));
    rejection
}

#[test]
fn the_number_of_layers_is_limited() {
    let layers = vec![layer("a", 1); LAYERS_MAX + 1];
    let expected = "The image has 513 layers; the maximum is 512.";
    assert_eq!(rejection(&layers, Quota::default()).as_deref(), Some(expected));
    assert_eq!(rejection(&layers[1..], Quota::default()), None);
}

#[test]
fn the_layers_of_an_image_share_its_quota() {
    let layers = [layer("a", 3000), layer("b", 3000)];
    let whole = |layers: &[Vec<u8>]| layers.iter().map(|layer| layer.len() as u64).sum::<u64>();
    let many = Quota::default();
    let too_large = "The image is too large: its layers have more than 32 GiB, the limit of a runner.";
    let too_many = "The image has more than 1000000 files, folders and links, the limit of a runner.";
    assert_eq!(rejection(&layers, Quota { bytes: whole(&layers), ..many }), None);
    let enough_for_one = Quota { bytes: whole(&layers) * 3 / 4, ..many };
    assert_eq!(rejection(&layers, enough_for_one).as_deref(), Some(too_large));
    assert_eq!(rejection(&layers[..1], enough_for_one), None);
    assert_eq!(rejection(&layers, Quota { entries: 2, ..many }), None);
    assert_eq!(rejection(&layers, Quota { entries: 1, ..many }).as_deref(), Some(too_many));
    assert_eq!(rejection(&layers[..1], Quota { entries: 1, ..many }), None);
}
