//! Tests of the merge on small modules: what they compute, what is refused, and that nothing panics.

use std::sync::Arc;

use proptest::prelude::*;
use wasmparser::{KnownCustom, Name, Parser, Payload, WasmFeatures};
use wasmtime::{Config, Engine, Func, Instance, Module, Store};

use super::*;

/// An engine with what the merge looks for. `get` calls the functions that were made importable, and sums
/// what they return and the first bytes of their names.
const ENGINE: &str = r#"(module
    (type $init (func (result i32)))
    (import "host" "call" (func $call (param i32) (result i32)))
    (memory (export "memory") 1)
    (table 4 4 funcref)
    (tag $other (param i64))
    (tag $thrown (param i32))
    (global $__stack_pointer (mut i32) (i32.const 65536))
    (func $_Unwind_RaiseException (export "raise") (param i32) (result i32)
        (throw $thrown (local.get 0)))
    (func $PyImport_AppendInittab (param $name i32) (param $slot i32) (result i32)
        (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0))
            (i32.add
                (i32.load8_u (local.get $name))
                (call_indirect (type $init) (local.get $slot)))))
        (i32.const 0))
    (func $PyObject_Twice (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
    (func $twin (result i32) (i32.const 1))
    (func (@name "twin") (result i32) (i32.const 2))
    (func (export "get") (result i32) (i32.load (i32.const 0)))
    (elem (i32.const 1) func $PyObject_Twice)
    (data (i32.const 16) "\01"))"#;

/// What a native module imports at least, as Emscripten's linker writes it.
const IMPORTS: &str = r#"
    (import "env" "memory" (memory 1))
    (import "env" "__indirect_function_table" (table 1 funcref))
    (import "env" "__stack_pointer" (global $sp (mut i32)))
    (import "env" "__memory_base" (global $mb i32))
    (import "env" "__table_base" (global $tb i32))"#;

/// 64 bytes of memory and two slots.
const SIZES: &str = r#"(@custom "dylink.0" (before first) "\01\04\40\02\02\00")"#;

const ADDRESSES: &str = "PyLong_Type\t16\n=PyExc_ValueError\t4242\n";

fn engine() -> Vec<u8> {
    wat::parse_str(ENGINE).unwrap()
}

/// A native module with these imports and this code.
pub(super) fn side(imports: &str, code: &str) -> Vec<u8> {
    wat::parse_str(format!("(module {SIZES} {IMPORTS} {imports} {code})")).unwrap()
}

/// The same with the tag of exceptions, and `$raise`, which throws.
fn throwing(code: &str) -> Vec<u8> {
    let imports = r#"(import "env" "__cpp_exception" (tag $e (param i32)))
        (import "env" "_Unwind_RaiseException" (func $raise (param i32) (result i32)))"#;
    side(imports, code)
}

pub(super) fn extension(bytes: &[u8]) -> NativeModule<'_> {
    NativeModule { name: "pkg._mod", bytes, role: NativeRole::Extension }
}

pub(super) fn merged_with(modules: &[NativeModule<'_>]) -> Result<Vec<u8>, MergeError> {
    merge(&engine(), modules, &DataAddresses::parse(ADDRESSES).unwrap())
}

/// Checks a merged module with the features that the engine is compiled with.
fn ensure_valid(module: &[u8]) {
    let features = WasmFeatures::WASM2 | WasmFeatures::EXCEPTIONS;
    wasmparser::Validator::new_with_features(features).validate_all(module).unwrap();
}

/// What the `PyInit` of a merged module returns, or nothing if it throws or traps.
fn run(merged: &[u8]) -> Option<i32> {
    ensure_valid(merged);
    let merged = with_prepare_exported(merged);
    let mut config = Config::new();
    config.wasm_exceptions(true);
    let engine = Engine::new(&config).unwrap();
    let module = Module::new(&engine, merged).unwrap();
    let mut store = Store::new(&engine, ());
    let call = Func::wrap(&mut store, |value: i32| value + 1000);
    let instance = Instance::new(&mut store, &module, &[call.into()]).unwrap();
    let prepare = instance.get_typed_func::<(), i32>(&mut store, "prepare").unwrap();
    assert_eq!(prepare.call(&mut store, ()).ok()?, 0);
    let get = instance.get_typed_func::<(), i32>(&mut store, "get").unwrap();
    Some(get.call(&mut store, ()).unwrap() - i32::from(b'p'))
}

/// Exports the function that prepares, as the split does for the real engine.
pub(super) fn with_prepare_exported(merged: &[u8]) -> Vec<u8> {
    let (index, _) = names(merged).pop().unwrap();
    let mut module = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(merged) {
        let payload = payload.unwrap();
        let Some((id, range)) = payload.as_section() else { continue };
        let mut data = merged[range].to_vec();
        if matches!(payload, Payload::ExportSection(_)) {
            let mut exports = wasm_encoder::ExportSection::new();
            exports.export("prepare", wasm_encoder::ExportKind::Func, index);
            let mut added = Entries::default();
            added.append(&exports).unwrap();
            data = added.after(&data).unwrap();
        }
        module.section(&wasm_encoder::RawSection { id, data: &data });
    }
    module.finish()
}

/// The names of all functions, in the order of the section.
fn names(module: &[u8]) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        let Payload::CustomSection(custom) = payload.unwrap() else { continue };
        let KnownCustom::Name(parts) = custom.as_known() else { continue };
        for part in parts {
            let Name::Function(functions) = part.unwrap() else { continue };
            let functions = functions.into_iter().map(Result::unwrap);
            found.extend(functions.map(|naming| (naming.index, naming.name.to_owned())));
        }
    }
    found
}

/// The value of `PyInit__mod` with this body in a module that throws.
fn value_of(body: &str) -> Option<i32> {
    let module = throwing(&format!(r#"(func (export "PyInit__mod") (result i32) {body})"#));
    run(&merged_with(&[extension(&module)]).unwrap())
}

/// Why a module is refused.
fn refusal(bytes: &[u8]) -> String {
    match merged_with(&[extension(bytes)]) {
        Err(MergeError::Side { module, fault }) => format!("{module}: {fault}"),
        other => panic!("{other:?}"),
    }
}

/// Checks why each module is refused.
fn ensure_refused(cases: &[(Vec<u8>, &str)]) {
    for (module, expected) in cases {
        let error = refusal(module);
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn data_functions_and_pointers_are_linked() {
    let imports = r#"
        (import "env" "PyObject_Twice" (func $twice (param i32) (result i32)))
        (import "host" "call" (func $call (param i32) (result i32)))
        (import "GOT.mem" "PyLong_Type" (global $int (mut i32)))
        (import "GOT.mem" "PyExc_ValueError" (global $error (mut i32)))
        (import "GOT.mem" "own" (global $own (mut i32)))
        (import "GOT.func" "PyObject_Twice" (global $slot_of_twice (mut i32)))
        (import "GOT.func" "mine" (global $slot_of_mine (mut i32)))"#;
    let code = r#"
        (type $unary (func (param i32) (result i32)))
        (global $at i32 (i32.const 8))
        (export "own" (global $at))
        (func $mine (export "mine") (param i32) (result i32)
            (i32.add (local.get 0) (i32.const 5)))
        (func $clear (memory.fill
            (i32.add (global.get $mb) (i32.const 32)) (i32.const 0) (i32.const 16)))
        (start $clear)
        (func (export "__wasm_apply_data_relocs")
            (i32.store offset=12 (global.get $mb) (i32.add (global.get $mb) (i32.const 4))))
        (func (export "__wasm_call_ctors")
            (i32.store offset=36 (global.get $mb) (i32.const 100000)))
        (func (export "PyInit__mod") (result i32)
            ;; The stack pointer is the engine's.
            (global.set $sp (i32.sub (global.get $sp) (i32.const 16)))
            (global.set $sp (i32.add (global.get $sp) (i32.const 16)))
            (i32.add (i32.eqz (i32.sub (global.get $sp) (i32.const 65536)))          ;; 1
            (i32.add (call $twice (i32.const 20))                                    ;; 40
            (i32.add (call $call (i32.const 0))                                      ;; 1000
            (i32.add (i32.load8_u (global.get $int))                                 ;; 1
            (i32.add (i32.load (global.get $error))                                  ;; 4242
            (i32.add (i32.load8_u (global.get $own))                                 ;; 7
            (i32.add (i32.load8_u (i32.load offset=12 (global.get $mb)))             ;; 3
            (i32.add (i32.load offset=36 (global.get $mb))                           ;; 100000
            (i32.add (call_indirect (type $unary) (i32.const 1) (global.get $slot_of_twice))  ;; 2
            (i32.add (i32.sub (global.get $slot_of_twice) (i32.const 1))             ;; 0
                (call_indirect (type $unary) (i32.const 1) (global.get $tb))         ;; 6
            )))))))))))
        (elem (global.get $tb) func $mine $mine)
        (data (global.get $mb) "\00\00\00\00\03\00\00\00\07")"#;
    let module = side(imports, code);
    let merged = merged_with(&[extension(&module)]).unwrap();
    assert_eq!(run(&merged), Some(1 + 40 + 1000 + 1 + 4242 + 7 + 3 + 100_000 + 2 + 6));

    let names = names(&merged);
    assert!(names.iter().any(|(_, name)| name == "pkg._mod:mine"), "{names:?}");
    assert!(names.iter().is_sorted_by_key(|(index, _)| index), "{names:?}");
    assert_eq!(names.last().unwrap().1, "wardian_prepare_native");
    let payloads = Parser::new(0).parse_all(&merged).filter_map(Result::ok);
    let globals = payloads.filter_map(|payload| match payload {
        Payload::GlobalSection(globals) => Some(globals.count()),
        _ => None,
    });
    assert_eq!(globals.sum::<u32>(), 1, "no global was added");
}

#[test]
fn constants_may_be_sums_as_rusts_linker_writes_them() {
    let code = r#"
        (type $nullary (func (result i32)))
        (global $slot i32 (i32.add (global.get $tb) (i32.const 1)))
        (func $one (result i32) (i32.const 1))
        (func $ten (result i32) (i32.const 10))
        (func $clear (memory.fill
            (i32.add (i32.const 32) (global.get $mb)) (i32.const 0) (i32.const 16)))
        (start $clear)
        (func (export "PyInit__mod") (result i32)
            (i32.add (call_indirect (type $nullary) (global.get $slot))
                (i32.load8_u offset=9 (global.get $mb))))
        (elem (global.get $tb) func $one $ten)
        (data (i32.add (global.get $mb) (i32.const 8)) "\00\07")"#;
    let module = side("", code);
    let merged = merged_with(&[extension(&module)]).unwrap();
    assert_eq!(run(&merged), Some(17));
    let init = r#"(func (export "PyInit__mod") (result i32) (i32.const 0))"#;
    ensure_refused(&[
        (
            side("", &format!("{init} (data (i32.add (global.get $mb) (i32.const 64)) \"x\")")),
            "data outside its memory",
        ),
        (
            side("", &format!("{init} (data (i32.sub (global.get $mb) (i32.const 1)) \"x\")")),
            "a constant other than a number, a global or their sum",
        ),
        (
            side(
                "",
                &format!(
                    "{init} (data (i32.add (i32.const 1) (i32.add (global.get $mb) \
                     (i32.const 1))) \"x\")"
                ),
            ),
            "a constant other than a number, a global or their sum",
        ),
    ]);
}

#[test]
fn several_modules_have_places_of_their_own_and_use_shims() {
    let shims = wat::parse_str(
        r#"(module (import "env" "PyObject_Twice" (func $twice (param i32) (result i32)))
            (func (export "four_times") (param i32) (result i32)
                (call $twice (call $twice (local.get 0)))))"#,
    )
    .unwrap();
    let shims = NativeModule { name: "shims", bytes: &shims, role: NativeRole::Shims };
    let imports = r#"(import "env" "four_times" (func $four (param i32) (result i32)))"#;
    let code = r#"(func (export "PyInit__mod") (result i32)
            (call $four (i32.load8_u (global.get $mb))))
        (data (global.get $mb) "BYTE")"#;
    let first = side(imports, &code.replace("BYTE", "\\05"));
    let second = side(imports, &code.replace("BYTE", "\\07"));
    let merged = merged_with(&[shims, extension(&first), extension(&second)]).unwrap();
    assert_eq!(run(&merged), Some(20 + 28 + i32::from(b'p')));
    assert_eq!(merged, merged_with(&[shims, extension(&first), extension(&second)]).unwrap());

    let error = refusal(&first);
    assert_eq!(error, "pkg._mod: it imports `four_times`, which the engine lacks");
    let again = wat::parse_str(
        r#"(module (func (export "PyObject_Twice") (param i32) (result i32) (i32.const 0)))"#,
    );
    let again = again.unwrap();
    let again = NativeModule { name: "shims", bytes: &again, role: NativeRole::Shims };
    let error = merged_with(&[again]).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "its export `PyObject_Twice` is a function of the engine");
}

#[test]
fn handlers_get_values_and_the_right_one_is_chosen() {
    let of = |handlers: &str| {
        let body =
            format!("try (result i32) i32.const 7 call $raise drop i32.const 1 {handlers} end");
        value_of(&body)
    };
    assert_eq!(of("catch $e"), Some(7));
    assert_eq!(of("catch_all i32.const 3"), Some(3));
    assert_eq!(of("catch $e i32.const 10 i32.add catch_all i32.const 3"), Some(17));
    assert_eq!(of(""), None, "a `try` without handlers catches nothing");
    let quiet = "try (result i32) i32.const 1 catch $e end";
    assert_eq!(value_of(quiet), Some(1), "nothing is thrown");
}

#[test]
fn exceptions_are_thrown_again_from_any_depth() {
    // The inner handler throws the outer exception again, by its depth.
    let body = "
        (local $x i32)
        try $whole (result i32)
            try $outer (result i32)
                i32.const 5 call $raise
            catch $e
                local.set $x
                try $inner (result i32)
                    i32.const 6 call $raise
                catch $e
                    local.get $x i32.add local.set $x
                    block
                        rethrow $outer
                    end
                    i32.const 0
                end
            end
        catch $e
            local.get $x i32.const 100 i32.mul i32.add
        end";
    assert_eq!(value_of(body), Some(1105));
    // A handler without values, and one after it whose local is the same again.
    let body = "
        try (result i32)
            try
                i32.const 1 call $raise drop
            catch_all
            end
            try (result i32)
                i32.const 9 call $raise
            catch_all
                rethrow 0
            end
        catch $e
        end";
    assert_eq!(value_of(body), Some(9));
    let body = "try i32.const 2 call $raise drop catch_all rethrow 0 end i32.const 0";
    assert_eq!(value_of(body), None, "the caller gets it");
}

#[test]
fn delegated_exceptions_pass_by_the_handlers_in_between() {
    // To the outermost one, past the one in the middle.
    let body = "
        try $outer (result i32)
            try $middle (result i32)
                try $inner (result i32)
                    i32.const 4 call $raise
                delegate $outer
            catch $e
                drop i32.const 100
            end
        catch $e
            i32.const 20 i32.add
        end";
    assert_eq!(value_of(body), Some(24));
    // To a block: the `try` around it is meant.
    let body = "
        try $outer (result i32)
            block $block (result i32)
                try $middle (result i32)
                    try (result i32)
                        i32.const 4 call $raise
                    delegate $block
                catch $e
                    drop i32.const 100
                end
            end
        catch $e
            i32.const 30 i32.add
        end";
    assert_eq!(value_of(body), Some(34));
}

#[test]
fn delegated_exceptions_need_help_only_if_they_pass_by_a_handler() {
    // To the nearest one, which needs no help, and from a handler to the one around.
    let body = "
        try $outer (result i32)
            try $middle (result i32)
                i32.const 1 call $raise
            catch $e
                drop
                try (result i32)
                    i32.const 4 call $raise
                delegate $middle
            end
        catch $e
            i32.const 40 i32.add
        end";
    assert_eq!(value_of(body), Some(44));
    // Without an exception the values pass.
    let body = "
        try $outer (result i32)
            try $middle (result i32)
                try (result i32)
                    i32.const 4
                delegate $outer
            catch $e
                drop i32.const 100
            end
        catch $e
            i32.const 20 i32.add
        end";
    assert_eq!(value_of(body), Some(4));
    // Through one that delegates itself.
    let body = "
        try $outer (result i32)
            try $second (result i32)
                try $third (result i32)
                    try $fourth (result i32)
                        try (result i32)
                            i32.const 4 call $raise
                        delegate $third
                    catch $e
                        drop i32.const 100
                    end
                delegate $outer
            catch $e
                drop i32.const 200
            end
        catch $e
            i32.const 50 i32.add
        end";
    assert_eq!(value_of(body), Some(54));
}

#[test]
fn an_exception_that_is_delegated_to_the_caller_leaves_the_function() {
    let code = r#"
        (func $inner (result i32)
            try $middle (result i32)
                try (result i32)
                    i32.const 4 call $raise
                delegate 1
            catch $e
                drop i32.const 100
            end)
        (func (export "PyInit__mod") (result i32)
            try (result i32)
                call $inner
            catch $e
                i32.const 60 i32.add
            end)"#;
    let module = throwing(code);
    assert_eq!(run(&merged_with(&[extension(&module)]).unwrap()), Some(64));
    let quiet = throwing(&code.replace("i32.const 4 call $raise", "i32.const 8"));
    assert_eq!(run(&merged_with(&[extension(&quiet)]).unwrap()), Some(8));
}

#[test]
fn branches_reach_the_blocks_that_they_meant() {
    // Out of bodies and handlers, by `br`, `br_if` and `br_table`, and to the `try` itself.
    let body = "
        (local $i i32)
        block $done (result i32)
            loop $again
                try $try
                    local.get $i i32.const 1 i32.add local.set $i local.get $i
                    i32.const 1 i32.eq br_if $try local.get $i i32.const 2 i32.eq
                    br_if $again i32.const 3 call $raise drop
                catch $e
                    drop local.get $i i32.const 5 i32.lt_u br_if $again
                    local.get $i i32.const 6 i32.eq br_if $try local.get $i
                    local.get $i i32.const 8 i32.gt_u br_if $done drop
                    block $a
                        block $b
                            local.get $i br_table $a $b $again $try
                        end
                        local.get $i i32.const 10 i32.add local.set $i
                    end
                catch_all
                    unreachable
                end
                br $again
            end
            i32.const 0
        end";
    assert_eq!(value_of(body), Some(9));
}

#[test]
fn imports_that_the_engine_lacks_are_refused() {
    let init = r#"(func (export "PyInit__mod") (result i32) (i32.const 0))"#;
    let cases = [
        (side(r#"(import "env" "nothing" (func))"#, init), "`nothing`, which the engine lacks"),
        (side(r#"(import "env" "twin" (func (result i32)))"#, init), "a name of several functions"),
        (
            side(r#"(import "env" "PyObject_Twice" (func (param i64) (result i32)))"#, init),
            "`PyObject_Twice`, which has another type in the engine",
        ),
        (
            side(r#"(import "wasi_snapshot_preview1" "fd_read" (func))"#, init),
            "`fd_read`, which the engine lacks",
        ),
        (
            side(r#"(import "GOT.mem" "PyDict_Type" (global (mut i32)))"#, init),
            "`PyDict_Type`, whose address is unknown",
        ),
        (
            side(r#"(import "GOT.func" "missing" (global (mut i32)))"#, init),
            "`missing`, which the engine lacks",
        ),
        (side(r#"(import "env" "other" (global i32))"#, init), "`other`, an unknown global"),
        (
            side(r#"(import "GOT.mem" "PyLong_Type" (global (mut i64)))"#, init),
            "`PyLong_Type`, a global that is not an address",
        ),
        (side(r#"(import "env" "other" (tag))"#, init), "`other`, an unknown tag"),
        (
            side(r#"(import "env" "__cpp_exception" (tag (param i64)))"#, init),
            "`__cpp_exception`, whose values differ",
        ),
    ];
    ensure_refused(&cases);
}

#[test]
fn known_parts_alone_are_merged() {
    let init = r#"(func (export "PyInit__mod") (result i32) (i32.const 0))"#;
    let cases = [
        (side("", &format!("{init} (global (mut i32) (i32.const 0))")), "no constant of 32 bits"),
        (side("", &format!("{init} (data \"x\")")), "a passive data segment"),
        (side("", &format!("{init} (elem func 0)")), "elements that are no functions"),
        (side("", &format!("{init} (tag)")), "a tag of its own"),
        (side("", &format!("{init} (data (i32.const 16) \"\\02\")")), "data outside its memory"),
        (
            side("", &format!("{init} (data (global.get $mb) \"{}\")", "x".repeat(65))),
            "data outside its memory",
        ),
        (
            side("", &format!("{init} (elem (i32.const 0) func 0)")),
            "elements outside its part of the table",
        ),
    ];
    ensure_refused(&cases);
}

#[test]
fn code_that_the_merge_does_not_know_is_refused() {
    let init = r#"(func (export "PyInit__mod") (result i32) (i32.const 0))"#;
    let cases = [
        (
            side("", &format!("{init} (func $f (drop (memory.grow (i32.const 1))))")),
            "an instruction that changes its table, grows its memory or copies segments",
        ),
        (
            side(
                r#"(import "GOT.mem" "PyLong_Type" (global $g (mut i32)))"#,
                &format!("{init} (func (global.set $g (i32.const 1)))"),
            ),
            "sets a global other than the stack pointer",
        ),
        (side("", ""), "its export `PyInit__mod` is missing"),
        (
            side("", r#"(func (export "PyInit__mod") (param i32))"#),
            "its export `PyInit__mod` has another type",
        ),
        (wat::parse_str(format!("(module (memory 1) {init})")).unwrap(), "a memory of its own"),
        (
            wat::parse_str(format!("(module (table 1 funcref) {init})")).unwrap(),
            "a table of its own",
        ),
        (b"\0asm\x01\0\0\0\xff".to_vec(), "it is not a valid module"),
        (
            throwing(&format!(
                "{init} (func (param i32) local.get 0 try (param i32) drop catch_all end)"
            )),
            "a `try` with parameters",
        ),
        (
            throwing(&format!(
                "{init} (func try (block $b (try_table (catch_all $b))) catch_all end)"
            )),
            "a function with `try` and `try_table`",
        ),
    ];
    ensure_refused(&cases);
}

#[test]
fn start_functions_that_do_more_than_clear_memory_are_refused() {
    let init = r#"(func (export "PyInit__mod") (result i32) (i32.const 0))"#;
    let cases = [
        (
            side(
                "",
                &format!("{init} (func $f (i32.store (i32.const 0) (i32.const 1))) (start $f)"),
            ),
            "a start function that does more than clear memory",
        ),
        (
            side(
                "",
                &format!(
                    "{init} (start $f) (func $f (memory.fill (i32.add (global.get $mb) \
                     (i32.const 60)) (i32.const 0) (i32.const 16)))"
                ),
            ),
            "a start function that does more than clear memory",
        ),
        (
            side(
                "",
                &format!(
                    "{init} (start $f) (func $f (memory.fill (i32.add (global.get $mb) \
                     (i32.const 0)) (i32.const 0) (i32.const 16))) (data (global.get $mb) \"x\")"
                ),
            ),
            "a start function that clears its data",
        ),
    ];
    ensure_refused(&cases);
}

#[test]
fn an_engine_of_another_layout_is_refused() {
    let init = side("", r#"(func (export "PyInit__mod") (result i32) (i32.const 0))"#);
    let cases = [
        ("(data (i32.const 16) \"\\01\")", "", "has no data"),
        ("(table 4 4 funcref)", "(table 4 funcref)", "has a table of an unusual kind"),
        ("(global $__stack_pointer", "(global $other", "does not name exactly one stack pointer"),
        ("$PyImport_AppendInittab", "$Other", "has no `PyImport_AppendInittab` of the known type"),
        ("\"memory\") 1)", "\"memory\") 1 2)", "has a memory of an unusual kind"),
        ("func $twin", "func $wardian_prepare_native", "was merged before"),
    ];
    for (old, new, expected) in cases {
        assert!(ENGINE.contains(old), "{old}");
        let engine = wat::parse_str(ENGINE.replace(old, new)).unwrap();
        let table = DataAddresses::parse(ADDRESSES).unwrap();
        let error = merge(&engine, &[extension(&init)], &table).unwrap_err();
        assert_eq!(error.to_string(), format!("the engine's module {expected}"));
    }
    let error = merge(b"\0asm", &[], &DataAddresses::default()).unwrap_err();
    assert!(matches!(error, MergeError::Malformed(_)), "{error}");
}

/// A module with something of everything, to be damaged.
fn rich() -> Vec<u8> {
    throwing(
        r#"(func (export "PyInit__mod") (result i32) (local $x i32)
            try $outer (result i32)
                try (result i32)
                    try (result i32) i32.const 4 call $raise delegate $outer
                catch_all rethrow 0
                end
            catch $e (br_table 0 0 (local.get $x))
            catch_all i32.const 1
            end)
        (func $clear (memory.fill
            (i32.add (global.get $mb) (i32.const 32)) (i32.const 0) (i32.const 16)))
        (start $clear)
        (func (export "__wasm_call_ctors") (call_indirect (global.get $tb)))
        (elem (global.get $tb) func $clear)
        (data (global.get $mb) "abc")"#,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A damaged module is refused, or what comes out is a valid module.
    #[test]
    fn damaged_modules_are_refused_or_give_valid_ones(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut module = rich();
        for (at, byte) in &changes {
            let at = at.index(module.len());
            module[at] = *byte;
        }
        if let Some(cut) = cut {
            module.truncate(cut.index(module.len()));
        }
        if let Ok(merged) = merged_with(&[extension(&module)]) {
            ensure_valid(&merged);
        }
    }

    /// The same for an engine: an error, or a module that can be read.
    #[test]
    fn a_damaged_engine_is_no_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let module = Arc::<[u8]>::from(rich());
        let mut engine = engine();
        for (at, byte) in &changes {
            let at = at.index(engine.len());
            engine[at] = *byte;
        }
        let table = DataAddresses::parse(ADDRESSES).unwrap();
        drop(merge(&engine, &[extension(&module)], &table));
    }
}
