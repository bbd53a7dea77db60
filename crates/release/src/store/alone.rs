//! One writer at a time: for each digest inside of this process, and for a whole place among processes.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::{StoreError, io_error};
use crate::digest::Digest;

/// Whose turn it is to write a digest.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<HashMap<Digest, Arc<tokio::sync::Mutex<()>>>>);

// === impl Turns ===

impl Turns {
    /// Waits until nobody else writes the digest; the turn ends when the answer is dropped.
    pub(super) async fn take(&self, digest: &Digest) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut busy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(busy.entry(digest.clone()).or_default())
        };
        turn.lock_owned().await
    }
}

/// Makes this process the only one that writes to a place, for as long as the file is open.
pub(super) fn lock(file: &File, path: &Path) -> Result<(), StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let why = "another process writes to it; wait until that has ended";
            Err(StoreError::Refused(format!("{}: {why}", path.display())))
        }
        // Some file systems know no locks.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(io_error(path)(error)),
    }
}
