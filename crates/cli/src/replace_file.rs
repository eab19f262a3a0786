//! Files that take the place of others.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

/// True if two paths lead to one file. Of links that is known where the file is there.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let [one, other] =
        [one, other].map(|path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok());
    one.is_some() && one == other
}

/// Puts a text in the place of a file, all of it or nothing.
pub(crate) fn put(file: &Path, text: &str) -> io::Result<()> {
    // A link stays one.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let old = std::fs::metadata(&file).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        // Devices and pipes are written to, not replaced.
        return std::fs::write(&file, text);
    }
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = file.with_file_name(name);
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    if let Some(old) = &old {
        use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
        // Nobody reads it who may not read the old one, not even for a moment.
        options.mode(old.permissions().mode());
    }
    // Whatever stands there is not ours to overwrite.
    let mut written = options.write(true).create_new(true).open(&new)?;
    let all = written.write_all(text.as_bytes());
    // Open files cannot be moved everywhere.
    drop(written);
    let done = all
        .and_then(|()| old.map_or(Ok(()), |old| std::fs::set_permissions(&new, old.permissions())))
        .and_then(|()| std::fs::rename(&new, &file));
    if done.is_err() {
        // The first failure is told; a second one, that the file stays, would hide it.
        let _stays = std::fs::remove_file(&new);
    }
    done
}
