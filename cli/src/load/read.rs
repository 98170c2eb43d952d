//! Opening inputs as streams of bytes or as files to seek in.
//!
//! Invariant: every byte that is taken from the place of an input is counted, before it is
//! decompressed, so that progress is measured against the size of the input.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Buf, Bytes};
use flate2::read::MultiGzDecoder;
use futures::StreamExt;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::sync::mpsc;

use crate::load::input::{Compression, InputPlace, LoadInput};

/// Bytes that one read from a file asks for.
const READ_BYTES: usize = 256 << 10;

/// Pieces of an object that wait to be read: enough to keep the network busy.
const PIECES_WAITING: usize = 8;

/// Counts bytes, shared between a reader and the one that shows progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteCount(Arc<AtomicU64>);

impl ByteCount {
    /// Returns the bytes counted since the last call.
    pub(crate) fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }

    /// Adds bytes.
    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Counts what passes through.
struct Counting<R> {
    inner: R,
    count: ByteCount,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}

/// Opens an input as a stream of its decompressed bytes. Must run where blocking is allowed.
pub(crate) fn open_stream(
    input: &LoadInput,
    count: &ByteCount,
) -> io::Result<Box<dyn Read + Send>> {
    let raw = Counting { inner: open_raw(&input.place)?, count: count.clone() };
    Ok(match input.compression {
        Compression::None => Box::new(raw),
        Compression::Gzip => {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(READ_BYTES, raw)))
        }
        Compression::Zstd => Box::new(zstd::Decoder::new(raw)?),
    })
}

/// Opens an input as a file: itself if it is one, else a temporary copy that has no name and is gone
/// with the handle. Must run where blocking is allowed.
pub(crate) fn open_file(input: &LoadInput, count: &ByteCount) -> io::Result<File> {
    if let (InputPlace::File(path), Compression::None) = (&input.place, input.compression) {
        return File::open(path);
    }
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut open_stream(input, count)?, &mut copy)?;
    copy.rewind()?;
    Ok(copy)
}

/// Returns whether [`open_file`] gives the file itself, whose bytes are not counted.
pub(crate) fn is_plain_file(input: &LoadInput) -> bool {
    matches!((&input.place, input.compression), (InputPlace::File(_), Compression::None))
}

/// Opens the bytes as they are stored.
fn open_raw(place: &InputPlace) -> io::Result<Box<dyn Read + Send>> {
    Ok(match place {
        InputPlace::File(path) => Box::new(BufReader::with_capacity(READ_BYTES, File::open(path)?)),
        InputPlace::Stdin => Box::new(io::stdin()),
        InputPlace::Object { store, key } => Box::new(open_object(store, key)),
    })
}

/// Begins to fetch an object in the background.
fn open_object(store: &Arc<dyn ObjectStore>, key: &ObjectPath) -> ObjectReader {
    let (sender, pieces) = mpsc::channel(PIECES_WAITING);
    let (store, key) = (Arc::clone(store), key.clone());
    // The task ends with the object, with its first error, or when the reader is dropped.
    let fetch = async move {
        let mut stream = match store.get(&key).await {
            Ok(answer) => answer.into_stream(),
            Err(error) => return drop(sender.send(Err(error)).await),
        };
        while let Some(piece) = stream.next().await {
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    };
    tokio::runtime::Handle::current().spawn(fetch);
    ObjectReader { pieces, current: Bytes::new() }
}

/// Reads the pieces of an object as they arrive.
struct ObjectReader {
    pieces: mpsc::Receiver<object_store::Result<Bytes>>,
    current: Bytes,
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.current.has_remaining() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.current = piece.map_err(io::Error::other)?,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.current.remaining());
        if let Some(target) = buffer.get_mut(..length) {
            self.current.copy_to_slice(target);
        }
        Ok(length)
    }
}
