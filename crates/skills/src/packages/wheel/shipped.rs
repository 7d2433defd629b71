//! The wheels that are part of the program, because no registry has them: their native modules were built by
//! `scripts/build-native` and belong to the engine, and a layer gets their Python files.

use crate::packages::wheel::file_name::WheelName;

/// The wheels by their file names.
const SHIPPED: [(&str, &[u8]); 2] = [
    (
        "rpds_py-2026.9.1-cp315-cp315-wasi_wasm32.whl",
        include_bytes!(
            "../../../../../wasm/native/wheels/rpds_py-2026.9.1-cp315-cp315-wasi_wasm32.whl"
        ),
    ),
    (
        "orjson-3.13.0-cp315-cp315-wasi_wasm32.whl",
        include_bytes!(
            "../../../../../wasm/native/wheels/orjson-3.13.0-cp315-cp315-wasi_wasm32.whl"
        ),
    ),
];

/// The content of a wheel, if it is part of the program.
pub(crate) fn shipped(name: &WheelName) -> Option<&'static [u8]> {
    let wheel = SHIPPED.iter().find(|(file, _)| *file == name.as_str());
    wheel.map(|(_, content)| *content)
}
