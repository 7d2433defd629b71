//! Writes the table of settings into `docs/operators.md`: `cargo run -p wardian-config --example write_settings`.

use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators.md");
    let text = fs::read_to_string(page)?;
    let made = wardian_config::with_settings_table(&text)?;
    fs::write(page, made.ok_or("the page has no place for the table")?)?;
    Ok(())
}
