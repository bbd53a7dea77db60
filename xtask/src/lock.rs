//! A lock between processes, for folders that several checkouts share.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use crate::Error;
use crate::error::io_error;

/// Waits for the lock and holds it until the file is dropped; says `waiting` first when somebody else has it.
#[expect(clippy::print_stderr, reason = "a command that waits has to say for what")]
pub(crate) fn lock(path: &Path, waiting: &str) -> Result<File, Error> {
    let doing = || io_error(format!("locking `{}`", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(doing())?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(path).map_err(doing())?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("waiting for another process that {waiting} …");
            file.lock().map_err(doing())?;
        }
        Err(TryLockError::Error(error)) => return Err(doing()(error)),
    }
    Ok(file)
}
