//! Tests of the tables and of their application.

use wasm_encoder::Encode as _;
use wasmparser::{Operator, Parser, Payload, TypeRef};
use wasmtime::{Engine, Func, Instance, Store};

use crate::patches::layout::Layout;
use crate::patches::table::Piece;
use crate::patches::{PatchError, Patches};
use wardian_vocabulary::ids::Digest;

/// The sources of appended functions, by the table that appends them.
const SOURCES: &[(&str, &str)] = &[
    ("positions.tsv", include_str!("../../../../wasm/patches/positions.wat")),
    ("overflow.tsv", include_str!("../../../../wasm/patches/overflow.wat")),
    ("depth.tsv", include_str!("../../../../wasm/patches/depth.wat")),
    ("errors.tsv", include_str!("../../../../wasm/patches/errors.wat")),
    ("limits.tsv", include_str!("../../../../wasm/patches/limits.wat")),
    ("casts.tsv", include_str!("../../../../wasm/patches/casts.wat")),
    ("memory.tsv", include_str!("../../../../wasm/patches/memory.wat")),
    ("bounds.tsv", include_str!("../../../../wasm/patches/bounds.wat")),
    ("indices.tsv", include_str!("../../../../wasm/patches/indices.wat")),
];

/// `go` returns 7 and the byte at address 16.
const MODULE: &str = r#"(module
    (import "host" "call" (func $call (result i32)))
    (memory (export "memory") 1)
    (func $answer (result i32) (i32.const 40))
    (func $twin (result i32) (i32.const 1))
    (func (@name "twin") (result i32) (i32.const 2))
    (func $go (export "go") (result i32)
        (i32.add (i32.const 7) (nop) (nop) (nop) (nop) (i32.load8_u (i32.const 16))))
    (data (i32.const 16) "\02\03"))"#;

/// The code of `go` that most rows change: `i32.const 7` and four `nop`.
const SEVEN: &str = "410701010101";

fn module() -> Vec<u8> {
    wat::parse_str(MODULE).unwrap()
}

/// The offset of `bytes` in the module, as a table writes it.
fn offset(bytes: &str) -> String {
    let bytes = data_encoding::HEXLOWER.decode(bytes.as_bytes()).unwrap();
    let module = module();
    let mut found = (0..module.len()).filter(|at| module[*at..].starts_with(&bytes));
    let first = found.next().unwrap();
    assert_eq!(found.next(), None);
    format!("0x{first:x}")
}

/// A row that changes `expected` in `function`, wherever it lies.
fn row(function: &str, expected: &str, new: &str) -> String {
    format!("{function}\t{}\t{expected}\t{new}\twhy\n", offset(expected))
}

/// A table of `rows` for `module`.
fn table(module: &[u8], rows: &str) -> Patches {
    let text = format!("# comment\n\ninput\t{}\n{rows}", Digest::of(module));
    Patches::parse(&[("t.tsv", &text)]).unwrap()
}

fn apply(rows: &str) -> Result<Vec<u8>, PatchError> {
    table(&module(), rows).apply_any(&module())
}

/// The value that `go` of a module returns.
fn go(module: &[u8]) -> i32 {
    let engine = Engine::default();
    let module = wasmtime::Module::new(&engine, module).unwrap();
    let mut store = Store::new(&engine, ());
    let call = Func::wrap(&mut store, || 100);
    let instance = Instance::new(&mut store, &module, &[call.into()]).unwrap();
    instance.get_typed_func::<(), i32>(&mut store, "go").unwrap().call(&mut store, ()).unwrap()
}

#[test]
fn exact_patches_change_code_and_data_and_nothing_else() {
    assert_eq!(go(&module()), 9);
    let rows = row("go", SEVEN, "412001010101") + &row("-", "0203", "0503");
    let patched = apply(&rows).unwrap();
    assert_eq!(go(&patched), 37);
    let differences = module().iter().zip(&patched).filter(|(old, new)| old != new).count();
    assert_eq!((differences, patched.len()), (2, module().len()));
}

#[test]
fn appended_functions_are_called_by_name_and_call_others() {
    // `first` returns `answer() + 1`, `second` returns `first() + call()`.
    let rows = row("go", SEVEN, "10{second}")
        + "+first\t() -> i32\t-\t0010{answer}41016a0b\twhy\n"
        + "+second\t() -> i32\t-\t0010{first}10{call}6a0b\twhy\n";
    let patched = apply(&rows).unwrap();
    wasmparser::validate(&patched).unwrap();
    assert_eq!(go(&patched), 40 + 1 + 100 + 2);
}

#[test]
fn every_row_that_does_not_fit_is_refused() {
    let at = offset(SEVEN);
    let cases = [
        (row("answer", SEVEN, "412001010101"), "line 4: `answer` is not the function"),
        (row("nowhere", SEVEN, "412001010101"), "`nowhere` is not the function at this offset"),
        (row("-", SEVEN, "412001010101"), "`the data` is not at this offset"),
        (row("go", "0203", "0503"), "`go` is not the function at this offset"),
        (row("go", SEVEN, "4120"), "`go` would change its length"),
        (row("go", SEVEN, SEVEN), "`go` would not change"),
        (format!("go\t{at}\t4108\t4109\twhy"), "`go` has other bytes than expected"),
        ("go\t0xffffffff\t4108\t4109\twhy".to_owned(), "`go` is not the function at this offset"),
        ("-\t0xffffffffffffffff\t41\t42\twhy".to_owned(), "is not at this offset"),
        (row("go", SEVEN, "10{twin}"), "line 4: `twin` is not exactly one function's name"),
        (row("go", SEVEN, "10{nowhere}"), "`nowhere` is not exactly one function's name"),
        (
            row("go", SEVEN, "412001010101") + &format!("go\t{at}\t4107\t4108\twhy"),
            "`go` overlaps another row",
        ),
        ("+answer\t() -> i32\t-\t0041000b\twhy".to_owned(), "`answer` already exists"),
        ("+new\t() -> i32\t-\t00\twhy\n".repeat(2), "line 5: `new` already exists"),
        ("+new\t(i64) -> ()\t-\t000b\twhy".to_owned(), "`new` has a type that is not there"),
    ];
    for (rows, expected) in cases {
        let error = apply(&rows).unwrap_err().to_string();
        assert!(error.contains(expected), "{rows}: {error}");
    }
}

#[test]
fn other_modules_and_other_results_are_refused() {
    let rows = row("go", SEVEN, "412001010101");
    let patches = table(&module(), &rows);
    let patched = patches.apply_any(&module()).unwrap();
    assert_eq!(patches.apply(&module(), Digest::of(&patched)).unwrap(), patched);

    let error = patches.apply(&module(), Digest::of(b"")).unwrap_err();
    assert!(matches!(error, PatchError::Result { found, .. } if found == Digest::of(&patched)));
    let second = patches.apply(&patched, Digest::of(&patched)).unwrap_err();
    assert!(matches!(second, PatchError::OtherModule { .. }), "{second}");
    // A table that names the digest of the result still finds other bytes there.
    let second = table(&patched, &rows).apply_any(&patched).unwrap_err().to_string();
    assert!(second.contains("other bytes than expected"), "{second}");
    assert!(Patches::default().apply_any(b"no module").is_err());
}

#[test]
fn malformed_tables_are_refused() {
    let digest = Digest::of(b"");
    let head = format!("input\t{digest}\n");
    for (text, expected) in [
        (String::new(), "line 0: no digest of the input"),
        ("input\tabc".to_owned(), "line 1: not a digest"),
        (head.repeat(2), "line 2: a second digest"),
        (format!("{head}go\t0x1\t00\t01"), "line 2: not a row of five columns"),
        (format!("{head}go\t0x1\t00\t01\t"), "no function or no reason"),
        (format!("{head}\t0x1\t00\t01\twhy"), "no function or no reason"),
        (format!("{head}go\t1\t00\t01\twhy"), "not an offset"),
        (format!("{head}go\t0xg\t00\t01\twhy"), "not an offset"),
        (format!("{head}go\t0x1\t0\t01\twhy"), "not a sequence of bytes"),
        (format!("{head}go\t0x1\t00\t\twhy"), "not a sequence of bytes"),
        (format!("{head}go\t0x1\t00\t10{{a\twhy"), "not a sequence of bytes"),
        (format!("{head}+new\t() -> ()\t00\t000b\twhy"), "a new function has no expected bytes"),
    ] {
        let error = Patches::parse(&[("t.tsv", &text)]).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn no_change_leaves_the_module_as_it_is() {
    assert_eq!(Patches::default().apply_any(&module()).unwrap(), module());
}

#[test]
fn embedded_tables_are_well_formed_and_hold_their_sources() {
    let patches = Patches::embedded().unwrap();
    for table in &patches.tables {
        let sources = SOURCES.iter().filter(|(name, _)| *name == table.name);
        let wanted = sources.flat_map(|(_, text)| rows_of(text)).collect::<Vec<_>>();
        let found = table
            .added
            .iter()
            .map(|added| (added.name.clone(), added.signature.clone(), text_of(&added.body)));
        let found = found.collect::<Vec<_>>();
        let rows = wanted.iter().map(|(name, of, body)| format!("+{name}\t{of}\t-\t{body}\t"));
        let rows = rows.collect::<Vec<_>>().join("\n");
        assert_eq!(found, wanted, "{} wants these rows:\n{rows}", table.name);
    }
}

/// A body as a table writes it.
fn text_of(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Bytes(bytes) => data_encoding::HEXLOWER.encode(bytes),
        Piece::Function(name) => format!("{{{name}}}"),
    };
    pieces.iter().map(text).collect()
}

/// Name, type and body of every function of a source. Calls name the functions that they call.
fn rows_of(source: &str) -> Vec<(String, String, String)> {
    let module = wat::parse_str(source).unwrap();
    let layout = Layout::read(&module).unwrap();
    let mut names = Vec::new();
    let mut signatures = Vec::new();
    for payload in Parser::new(0).parse_all(&module) {
        match payload.unwrap() {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import.unwrap();
                    if matches!(import.ty, TypeRef::Func(_)) {
                        names.push(import.name.to_owned());
                    }
                }
            }
            Payload::FunctionSection(functions) => {
                for index in functions {
                    let index = index.unwrap();
                    let (text, _) = layout.types.iter().find(|(_, of)| **of == index).unwrap();
                    signatures.push(text.clone());
                }
            }
            _ => {}
        }
    }
    let imported = names.len();
    names.extend(layout.bodies_names());
    let mut rows = Vec::new();
    for payload in Parser::new(0).parse_all(&module) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let (start, bytes) = (body.range().start, body.as_bytes());
        let mut operators = body.get_operators_reader().unwrap();
        let (mut text, mut copied) = (String::new(), 0);
        while !operators.eof() {
            let at = operators.original_position() - start;
            let operator = operators.read().unwrap();
            if let Operator::Call { function_index } = operator {
                let name = &names[usize::try_from(function_index).unwrap()];
                text += &data_encoding::HEXLOWER.encode(&bytes[copied..=at]);
                text += &format!("{{{name}}}");
                copied = operators.original_position() - start;
                let mut index = Vec::new();
                function_index.encode(&mut index);
                assert_eq!(bytes[at + 1..copied], index);
            }
        }
        text += &data_encoding::HEXLOWER.encode(&bytes[copied..]);
        let at = rows.len();
        rows.push((names[imported + at].clone(), signatures[at].clone(), text));
    }
    rows
}
