//! Runs Python with pandas in this process: `cargo run --release --example pandas -- CACHE-FOLDER`
//!
//! This is one wall and not two: WebAssembly keeps the program in, and no worker process around it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example")]

use std::error::Error;
use std::path::Path;

use serde_json::json;
use wardian_embedded::{Engine, Image, PackageSet, RunLimits, Sandbox};

const CODE: &str = r#"
import pandas as pd

def main(args):
    return pd.DataFrame(args["sales"]).groupby("city")["amount"].sum().to_dict()
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let cache = std::env::args_os().nth(1).ok_or("name a cache folder, such as /tmp/python")?;
    println!("{}", amounts(cache.as_ref())?);
    Ok(())
}

pub(crate) fn amounts(cache: &Path) -> Result<String, Box<dyn Error>> {
    let engine = Engine::open(cache, |step| eprintln!("{step}"))?;
    let image = Image::with(&engine, PackageSet::of_source(CODE))?;
    let mut sandbox = Sandbox::new(&engine, &image, RunLimits::DEFAULT)?;
    let sales = json!({"city": ["Oslo", "Rome", "Oslo"], "amount": [3, 4, 5]});
    let outcome = sandbox.run(CODE, &json!({ "sales": sales }))?;
    let value = outcome.result.map_err(|failure| failure.to_string())?;
    Ok(value.get().to_owned())
}
