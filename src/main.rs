//! Starts the program; everything it can do lives in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    wardian::cli::main()
}
