//! Starts the program, whose code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    wardian::cli::main()
}
