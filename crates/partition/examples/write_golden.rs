//! Writes the golden partitions of format version 1 into a directory. They were written once; later
//! versions must read them, so this refuses to write over what is there.
//!
//! `cargo run -p peerage-partition --example write_golden -- testdata/golden/v1`

#[allow(clippy::unwrap_used, reason = "shared with the tests")]
#[path = "../tests/it/all_types.rs"]
mod all_types;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use peerage_partition::{
    DATA_FILE, INDEX_FILE, MANIFEST_FILE, PartitionSchema, PartitionWriter, WriterOptions,
};
use ulid::Ulid;

fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::args_os().nth(1).map(PathBuf::from).ok_or("give the directory")?;
    fs::create_dir_all(&root)?;
    let schema = all_types::schema(true);
    write(&root.join("every-type"), schema.clone(), &all_types::batch(0, 10_000), 1)?;
    write(&root.join("no-primary"), all_types::schema(false), &all_types::batch(7, 5_000), 2)?;
    write(&root.join("one-row"), schema, &all_types::batch(8, 1), 3)
}

fn write(
    directory: &Path,
    schema: PartitionSchema,
    batch: &RecordBatch,
    id: u128,
) -> Result<(), Box<dyn Error>> {
    fs::create_dir(directory)?; // fails where there is one already
    let options = WriterOptions { row_group_rows: 8192, ..WriterOptions::default() };
    let mut writer = PartitionWriter::try_new(schema, options, Vec::new())?
        .with_id(Ulid((0x018c_c251_f400_u128 << 80) + id));
    writer.write(batch)?;
    let (data, finished) = writer.finish()?;
    fs::write(directory.join(DATA_FILE), data)?;
    fs::write(directory.join(INDEX_FILE), finished.index)?;
    fs::write(directory.join(MANIFEST_FILE), finished.manifest)?;
    Ok(())
}
