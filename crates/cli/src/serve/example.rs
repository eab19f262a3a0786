//! The example folder, for whoever names no folder of their own.
//!
//! Its files are part of the program: a newcomer who installed it has no repository around them. They are written
//! into the command's folder for data, since tools read files by handles of their folders.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use attache_tools::{FileFilter, Folders};

use crate::model_by_name::SetupError;

/// The folder in the one for data.
const NAME: &str = "example";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_bytes!(concat!("../../example/", $name)).as_slice())),*]
    };
}

/// The files, as `docs/examples/inbox` has them.
const FILES: [(&str, &[u8]); 6] = files![
    "delivery-note-DN-5531.png",
    "expenses-2026-spring.csv",
    "invoice-2026-0417.pdf",
    "mail-2026-04-24-chairs.txt",
    "meeting-notes-2026-04-21.md",
    "supply-agreement-SA-2025-11.pdf",
];

/// The words above the first question.
pub(super) const GREETING: &str =
    "Ask about the example folder: an invoice, a supply agreement, expenses and more";

/// Questions that the chat offers.
pub(super) const QUESTIONS: [&str; 4] = [
    "What is the total of the invoice, and when is it due?",
    "What happens if a delivery is late?",
    "How long does the agreement run?",
    "How much did we spend on travel?",
];

/// Opens the example in the folder for data, and writes what is not there.
pub(super) async fn folders(data: &Path) -> Result<Arc<Folders>, SetupError> {
    let folder = data.join(NAME);
    let work = move || {
        write(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        // The folder around may be one of git's that leaves everything out.
        let filter = FileFilter::new().with_ignore_files(false);
        Folders::open([&folder], filter).map(Arc::new).map_err(|error| error.to_string())
    };
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| SetupError::new(error.to_string()))?;
    done.map_err(SetupError::new)
}

/// Files that are there are left as they are: they may be the user's by now.
fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, bytes) in FILES {
        let file = folder.join(name);
        if file.try_exists()? {
            continue;
        }
        // Nobody sees half of a file, another server that begins at the same time included.
        let part = folder.join(format!(".{name}.{}", std::process::id()));
        fs::write(&part, bytes)?;
        fs::rename(&part, &file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_guide() {
        let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/inbox");
        let mut names: Vec<_> =
            fs::read_dir(&guide).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, FILES.map(|(name, _)| name));
        for (name, bytes) in FILES {
            assert!(
                fs::read(guide.join(name)).unwrap() == bytes,
                "{name}: cp docs/examples/inbox/* crates/cli/example/"
            );
        }
    }

    #[test]
    fn a_file_of_the_user_stays() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(NAME);
        write(&folder).unwrap();
        let (name, bytes) = FILES[1];
        fs::write(folder.join(name), "mine").unwrap();
        fs::remove_file(folder.join(FILES[2].0)).unwrap();
        write(&folder).unwrap();
        assert_eq!(fs::read(folder.join(name)).unwrap(), b"mine");
        assert_ne!(bytes, b"mine");
        assert_eq!(fs::read(folder.join(FILES[2].0)).unwrap(), FILES[2].1);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), FILES.len(), "nothing else is left");
    }
}
