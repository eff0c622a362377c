//! Resolves the user of an image, by number or by a name that the image defines.

use std::{fs::File, io::Read, path::Path};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::open_root;
use crate::error::{Error, Result};

/// Maximum size in bytes of a list of users.
const USER_LIST_MAX: u64 = 1 << 20;

/// Returns the numeric identifiers of a user and of its group.
pub(super) fn resolve(root: &Path, user: &str) -> Result<(u32, u32)> {
    let (user, group) = user.split_once(':').map_or((user, None), |(user, group)| (user, Some(group)));
    if user.is_empty() && group.is_none() {
        return Ok((0, 0));
    }
    let unknown = |what: &str, name: &str| Error::new(format!("The image defines no {what} `{name}`."));
    let users = read(root, "etc/passwd");
    // name:password:uid:gid:…
    let entry = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.len() > 3 && (fields[0] == user || fields[2] == user));
    let uid = match (user.parse(), &entry) {
        (Ok(number), _) => number,
        (Err(_), Some(fields)) => fields[2].parse().map_err(|_| unknown("user", user))?,
        (Err(_), None) if user.is_empty() => 0,
        (Err(_), None) => return Err(unknown("user", user)),
    };
    let gid = match group {
        None => entry.and_then(|fields| fields[3].parse().ok()).unwrap_or(0),
        Some(group) => match group.parse() {
            Ok(number) => number,
            Err(_) => {
                let groups = read(root, "etc/group");
                let mut entries = groups.lines().map(|line| line.split(':').collect::<Vec<_>>());
                let found = entries.find(|fields| fields.len() > 2 && fields[0] == group);
                found.and_then(|fields| fields[2].parse().ok()).ok_or_else(|| unknown("group", group))?
            }
        },
    };
    Ok((uid, gid))
}

/// Reads a list of the image; empty if the image has none.
fn read(root: &Path, path: &str) -> String {
    let open = || {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        openat2(open_root(root).ok()?, path, flags, Mode::empty(), resolve).ok()
    };
    let mut bytes = Vec::new();
    if let Some(file) = open() {
        // A folder or a pipe contains no names.
        drop(File::from(file).take(USER_LIST_MAX).read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn users_are_resolved_by_number_and_name() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(resolve(root.path(), "1000").unwrap(), (1000, 0));
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/passwd"), "root:x:0:0::/:\nben:x:7:8::/:\n").unwrap();
        fs::write(root.path().join("etc/group"), "wheel:x:10:\n").unwrap();
        for (user, ids) in [
            ("", (0, 0)),
            ("ben", (7, 8)),
            ("7", (7, 8)),
            ("ben:wheel", (7, 10)),
            ("5:6", (5, 6)),
            (":10", (0, 10)),
        ] {
            assert_eq!(resolve(root.path(), user).unwrap(), ids, "{user}");
        }
        for wrong in ["ada", "ben:staff", "-1"] {
            resolve(root.path(), wrong).unwrap_err();
        }
    }
}
