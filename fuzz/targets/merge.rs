//! Native modules that operators bring: the merge into the engine's module.
//!
//! Beyond "no panic": a module is refused with a reason, or what comes out is valid, is as large as what went in
//! allows, and is the same a second time. What is valid can be split, polled and metered.
//!
//! The first byte says whether the rest is a module in the binary form or in the text form.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use wardian_engine::code::instrumentation::{Instrumentation, Variant};
use wardian_engine::native::{DataAddresses, NativeModule, NativeRole, merge};
use wasmparser::{Validator, WasmFeatures};

/// What the merge looks for in an engine.
const ENGINE: &str = r#"(module
    (import "host" "call" (func $call (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (table 4 4 funcref)
    (tag $other (param i64))
    (tag $thrown (param i32))
    (global $__stack_pointer (mut i32) (i32.const 65536))
    (func $_Unwind_RaiseException (param i32) (result i32) (throw $thrown (local.get 0)))
    (func $PyImport_AppendInittab (param i32 i32) (result i32) (i32.const 0))
    (func $PyObject_Twice (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
    (elem (i32.const 1) func $PyObject_Twice)
    (data (i32.const 16) "\01"))"#;

static MODULE: LazyLock<Vec<u8>> = LazyLock::new(|| wat::parse_str(ENGINE).expect("a module"));

static ADDRESSES: LazyLock<DataAddresses> = LazyLock::new(|| {
    DataAddresses::parse("PyLong_Type\t16\n=PyExc_ValueError\t4242\n").expect("a table")
});

/// For each byte of a module at most so many come out: a `br_table` and handlers are written again.
const GROWTH: usize = 200;

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    match kind % 2 {
        0 => check(rest),
        _ => {
            let Ok(text) = std::str::from_utf8(rest) else { return };
            let Ok(module) = wat::parse_str(text) else { return };
            check(&module);
        }
    }
});

fn check(bytes: &[u8]) {
    for role in [NativeRole::Extension, NativeRole::Shims] {
        let module = NativeModule { name: "pkg._mod", bytes, role };
        let merged = match merge(&MODULE, &[module], &ADDRESSES) {
            Ok(merged) => merged,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        assert!(merged.len() <= MODULE.len() + 4096 + GROWTH * bytes.len(), "{}", merged.len());
        let features = WasmFeatures::WASM2 | WasmFeatures::EXCEPTIONS;
        Validator::new_with_features(features).validate_all(&merged).expect("a valid module");
        assert_eq!(merge(&MODULE, &[module], &ADDRESSES).expect("the same"), merged);
        for variant in Variant::ALL {
            // Polls and metering may refuse a module, such as one with too many loops.
            drop(Instrumentation::from(variant).apply(&merged));
        }
    }
}
