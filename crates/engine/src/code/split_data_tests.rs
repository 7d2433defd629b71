//! Tests of splitting a module into code and data.

use proptest::prelude::*;
use wasmtime::{Engine, Func, Instance, Store};

use super::*;

const ADDED: [AddedExport<'_>; 1] =
    [AddedExport { name: "added", symbol: "hidden", signature: "() -> ()" }];

/// A module whose `go` reads and writes what the data segments wrote.
const MODULE: &str = r#"(module
    (import "host" "call" (func $call (param i32 i32) (result i32)))
    (memory (export "memory") 2)
    (table 3 funcref)
    (global $stack (mut i32) (i32.const 1024))
    (func $hidden (i32.store8 (i32.const 200) (i32.const 9)))
    (func (export "go") (result i32)
        (memory.copy (i32.const 300) (i32.const 16) (i32.const 8))
        (i32.store (i32.const 400) (memory.grow (i32.const 1)))
        (i32.add (i32.load (i32.const 131068)) (call $call (i32.const 1) (i32.const 2))))
    (elem (i32.const 0) $hidden)
    (data (i32.const 16) "hello")
    (data (i32.const 18) "LL")
    (data (i32.const 131068) "\01\02\03\04"))"#;

fn bytes(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// Splits a module with its own interface as the pinned one.
fn split_any<'a>(
    module: &'a [u8],
    added: &[AddedExport<'_>],
) -> Result<SplitModule<'a>, SplitError> {
    split_data(module, &Parsed::read(module)?.abi, added)
}

/// Instantiates `module` (on `image`), calls `exports`, and returns the results and the
/// memory at the end.
fn run(module: &[u8], image: Option<&[u8]>, exports: &[&str]) -> (Vec<i32>, Vec<u8>) {
    let engine = Engine::default();
    let module = wasmtime::Module::new(&engine, module).unwrap();
    let mut store = Store::new(&engine, ());
    let call = Func::wrap(&mut store, |left: i32, right: i32| left * 10 + right);
    let imports = module.imports().map(|_| call.into()).collect::<Vec<_>>();
    let instance = Instance::new(&mut store, &module, &imports).unwrap();
    let memory = instance.get_memory(&mut store, "memory").unwrap();
    if let Some(image) = image {
        assert!(memory.data(&store).iter().all(|byte| *byte == 0), "there is data left");
        memory.write(&mut store, 0, image).unwrap();
    }
    let mut results = Vec::new();
    for export in exports {
        let function = instance.get_func(&mut store, export).unwrap();
        let mut result = vec![wasmtime::Val::I32(0); function.ty(&store).results().len()];
        function.call(&mut store, &[], &mut result).unwrap();
        results.extend(result.iter().map(wasmtime::Val::unwrap_i32));
    }
    (results, memory.data(&store).to_vec())
}

#[test]
fn same_memory_and_same_results_with_code_and_data_apart() {
    let original = bytes(MODULE);
    let split = split_any(&original, &ADDED).unwrap();
    let image = split.cold.to_memory();
    assert_eq!(run(&original, None, &[]).1, image);
    let (results, memory) = run(&original, None, &["go"]);
    assert_eq!(results, [0x0403_0201 + 12]);
    assert_eq!((results, memory), run(&split.module, Some(&image), &["go"]));
}

#[test]
fn a_hidden_function_can_be_called_under_its_new_name() {
    let original = bytes(MODULE);
    let split = split_any(&original, &ADDED).unwrap();
    let (_, memory) = run(&split.module, Some(&[]), &["added"]);
    assert_eq!(memory[200], 9);
}

#[test]
fn the_interface_is_read_and_compared() {
    let original = bytes(MODULE);
    let mut abi = split_any(&original, &ADDED).unwrap().abi;
    assert_eq!((abi.memory_min_pages, abi.table_elements), (2, 3));
    assert_eq!((abi.data_segments, abi.mutable_globals), (3, 1));
    assert_eq!(abi.imports["host"]["call"], "(i32, i32) -> i32");
    assert_eq!(abi.exports["go"], "() -> i32");
    abi.mutable_globals = 2;
    let error = split_data(&original, &abi, &ADDED).unwrap_err();
    assert!(error.to_string().ends_with("1 mutable globals instead of 2"), "{error}");
}

#[test]
fn names_do_not_reach_the_module_without_data() {
    let original = bytes(MODULE);
    let split = split_any(&original, &ADDED).unwrap();
    let contains = |module: &[u8], text: &[u8]| module.windows(text.len()).any(|w| w == text);
    assert!(contains(&original, b"hidden") && !contains(&split.module, b"hidden"));
}

#[test]
fn modules_that_cannot_be_split_are_refused() {
    let memory = r#"(memory (export "memory") 1)"#;
    for (text, expected) in [
        (format!(r#"{memory} (data "passive")"#), "a passive data segment"),
        (
            format!(r#"{memory} (global $g i32 (i32.const 8)) (data (global.get $g) "computed")"#),
            "a data segment at a computed offset",
        ),
        (
            format!(r#"{memory} (data (i32.add (i32.const 1) (i32.const 1)) "computed")"#),
            "a data segment at a computed offset",
        ),
        (format!(r#"{memory} (data (i32.const 65533) "four")"#), "ends at 65537 bytes"),
        (format!(r#"{memory} (data (i32.const -1) "")"#), "ends at 4294967295 bytes"),
        (format!("{memory} (memory 1)"), "no memory or several memories"),
        (r#"(import "host" "memory" (memory 1))"#.to_owned(), "an import that is no function"),
        (String::new(), "no memory or several memories"),
        (r#"(memory (export "memory") i64 1)"#.to_owned(), "a memory of an unusual kind"),
        (r#"(memory (export "memory") 1 1 shared)"#.to_owned(), "a memory of an unusual kind"),
        (format!("{memory} (func $f) (start $f)"), "a start function"),
        ("(memory 1)".to_owned(), "no exports"),
        (
            format!(r#"{memory} (global (export "g") (mut i32) (i32.const 0))"#),
            "an exported global or tag",
        ),
    ] {
        let module = bytes(&format!("(module {text})"));
        let error = split_any(&module, &[]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn an_added_export_must_be_one_function_without_values() {
    let memory = r#"(memory (export "memory") 1)"#;
    for (text, expected) in [
        ("", "`hidden` is not in the name section"),
        ("(func $hidden (param i32))", "`hidden` has another type than the pinned one"),
        (r#"(func $hidden (export "added"))"#, "`added` is exported already"),
        (r#"(func $hidden) (func (@name "hidden"))"#, "`hidden` is there more than once"),
    ] {
        let module = bytes(&format!("(module {memory} {text})"));
        let error = split_any(&module, &ADDED).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn code_that_still_needs_its_data_does_not_compile() {
    let original = bytes(
        r#"(module (memory (export "memory") 1) (data $d (i32.const 0) "x")
            (func (memory.init $d (i32.const 0) (i32.const 0) (i32.const 0))))"#,
    );
    let split = split_any(&original, &[]).unwrap();
    assert!(wasmtime::Module::new(&Engine::default(), &split.module).is_err());
}

proptest! {
    #[test]
    fn same_memory_for_any_segments(
        segments in prop::collection::vec(
            (0u32..65_500, prop::collection::vec(any::<u8>(), 0..36)), 0..12),
    ) {
        let mut text = r#"(module (memory (export "memory") 1)"#.to_owned();
        for (offset, data) in &segments {
            let data = data.iter().map(|byte| format!("\\{byte:02x}")).collect::<String>();
            text.push_str(&format!("(data (i32.const {offset}) \"{data}\")"));
        }
        text.push(')');
        let original = bytes(&text);
        let split = split_any(&original, &[]).unwrap();
        prop_assert_eq!(run(&original, None, &[]).1, split.cold.to_memory());
        prop_assert!(run(&split.module, Some(&[]), &[]).1.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn no_bytes_make_the_transform_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..400,
    ) {
        drop(split_any(&bytes, &ADDED));
        let mut module = self::bytes(MODULE);
        for (index, byte) in bytes.iter().enumerate() {
            let place = cut + index * 7;
            if let Some(target) = module.get_mut(place) { *target = *byte; }
        }
        drop(split_any(&module, &ADDED));
    }
}
