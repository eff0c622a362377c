//! Creates images in the OCI image layout.

use std::{fs, path::Path};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

/// Names of the programs of the image; all are links to busybox.
const PROGRAMS: [&str; 12] =
    ["sh", "cat", "dd", "head", "id", "ls", "ln", "sleep", "true", "wget", "yes", "ps"];

/// Creates an image with busybox, and returns its digest.
pub(crate) fn busybox(folder: &Path, config: &Value) -> String {
    let program = fs::read("/bin/busybox");
    let program = program.expect("busybox-static is installed; `cargo xtask test` installs it");
    let mut layer = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_mode(0o755);
    header.set_size(program.len() as u64);
    layer.append_data(&mut header.clone(), "bin/busybox", program.as_slice()).unwrap();
    header.set_size(0);
    header.set_entry_type(EntryType::Symlink);
    for name in PROGRAMS {
        layer.append_link(&mut header, format!("bin/{name}"), "busybox").unwrap();
    }
    let users = "root:x:0:0::/:/bin/sh\nben:x:1234:1235::/:/bin/sh\n";
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(users.len() as u64);
    layer.append_data(&mut header, "etc/passwd", users.as_bytes()).unwrap();
    header.set_size(0);
    header.set_mode(0o1777);
    header.set_entry_type(EntryType::Directory);
    layer.append_data(&mut header, "tmp/", [].as_slice()).unwrap();
    write(folder, config, &[layer.into_inner().unwrap()])
}

/// Creates an image from layers, and returns its digest.
pub(crate) fn write(folder: &Path, config: &Value, layers: &[Vec<u8>]) -> String {
    fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
    let blob = |bytes: &[u8]| {
        let hex = hex::encode(Sha256::digest(bytes));
        fs::write(folder.join("blobs/sha256").join(&hex), bytes).unwrap();
        json!({ "digest": format!("sha256:{hex}"), "size": bytes.len() })
    };
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let config =
        blob(json!({ "os": "linux", "architecture": machine, "config": config }).to_string().as_bytes());
    let layers: Vec<Value> = layers.iter().map(|layer| blob(layer)).collect();
    let manifest =
        blob(json!({ "schemaVersion": 2, "config": config, "layers": layers }).to_string().as_bytes());
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
    fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    manifest["digest"].as_str().unwrap().to_owned()
}
