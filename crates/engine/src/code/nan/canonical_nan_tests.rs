//! Tests against the compiler's own canonical NaNs.

use proptest::prelude::*;
use wasmtime::{Config, Engine, Instance, Linker, Module, Store};

use crate::code::compile::{CodeOptions, TargetCpu, config};
use crate::code::instrumentation::Variant;
use crate::code::metering::transform::with_metering;

/// The first bytes of memory: numbers and NaNs of all kinds, which are read with 32 and 64 bits.
const INPUTS: [u64; 12] = [
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_0000,
    0x7ff8_0000_dead_beef,
    0xfff0_0000_0000_0001,
    0x7fc0_0001_7fc0_0000,
    0xffc0_0000_ff80_0001,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_ff80_0000,
    0x8000_0000_0000_0000,
    0x3ff8_0000_3fc0_0000,
    0xc008_0000_c040_0000,
    0x0000_0001_0000_0001,
];

/// Bytes of memory that programs use.
const USED: i32 = 512;

/// Writes random programs.
struct Author {
    state: u64,
    text: String,
}

impl Author {
    fn below(&mut self, most: u64) -> u64 {
        self.state = self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767);
        (self.state >> 33) % most
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let count = u64::try_from(choices.len()).unwrap();
        choices[usize::try_from(self.below(count)).unwrap()]
    }

    fn input(&mut self) -> u64 {
        self.below(10) * 8
    }

    /// An expression of a scalar type, `f32` or `f64`.
    fn scalar(&mut self, of: &str, depth: u32) -> String {
        let (other, change, lanes) = match of {
            "f32" => ("f64", "f32.demote_f64", "f32x4"),
            _ => ("f32", "f64.promote_f32", "f64x2"),
        };
        if depth == 0 {
            return match self.below(5) {
                0 => format!("({of}.load (i32.const {}))", self.input()),
                1 => format!("({of}.const {})", self.one_of(&["0", "-1.5", "nan", "nan:0x200001"])),
                2 => format!("({of}.convert_i32_s (i32.load (i32.const {})))", self.input()),
                _ => format!("(local.get ${of}{})", self.below(4)),
            };
        }
        let less = depth - 1;
        match self.below(14) {
            0..=4 => {
                let name = self.one_of(&["add", "sub", "mul", "div", "min", "max"]);
                format!("({of}.{name} {} {})", self.scalar(of, less), self.scalar(of, less))
            }
            5 => {
                let name = self.one_of(&["sqrt", "ceil", "floor", "trunc", "nearest"]);
                format!("({of}.{name} {})", self.scalar(of, less))
            }
            6 => format!("({of}.{} {})", self.one_of(&["neg", "abs"]), self.scalar(of, less)),
            7 => format!("({of}.copysign {} {})", self.scalar(of, less), self.scalar(of, less)),
            8 => format!("({change} {})", self.scalar(other, less)),
            9 => format!(
                "(select {} {} {})",
                self.scalar(of, less),
                self.scalar(of, less),
                self.condition(less)
            ),
            10 => format!("(local.tee ${of}{} {})", self.below(4), self.scalar(of, less)),
            11 => format!("(call ${of} {})", self.scalar(of, less)),
            12 => format!("({lanes}.extract_lane 1 {})", self.vector(less)),
            _ => format!(
                "(block (result {of}) (br_if 0 {} {}) (drop) {})",
                self.scalar(of, less),
                self.condition(less),
                self.scalar(of, less)
            ),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let of = self.one_of(&["f32", "f64"]);
        let name = self.one_of(&["lt", "eq", "ne", "ge"]);
        format!("({of}.{name} {} {})", self.scalar(of, depth), self.scalar(of, depth))
    }

    fn vector(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.below(4) {
                0 => format!("(v128.load (i32.const {}))", self.input()),
                1 => format!("(v128.const i64x2 0 {})", self.one_of(&["0", "0x7ff8000000000007"])),
                _ => format!("(local.get $v128{})", self.below(4)),
            };
        }
        let less = depth - 1;
        let lanes = self.one_of(&["f32x4", "f64x2"]);
        let scalar = if lanes == "f32x4" { "f32" } else { "f64" };
        match self.below(12) {
            0..=3 => {
                let names = ["add", "sub", "mul", "div", "min", "max", "pmin", "pmax"];
                let name = self.one_of(&names);
                format!("({lanes}.{name} {} {})", self.vector(less), self.vector(less))
            }
            4 => {
                let name = self.one_of(&["sqrt", "ceil", "nearest", "neg", "abs"]);
                format!("({lanes}.{name} {})", self.vector(less))
            }
            5 => format!("({lanes}.splat {})", self.scalar(scalar, less)),
            6 => format!(
                "({lanes}.replace_lane 1 {} {})",
                self.vector(less),
                self.scalar(scalar, less)
            ),
            7 => format!("(f32x4.demote_f64x2_zero {})", self.vector(less)),
            8 => format!("(f64x2.promote_low_f32x4 {})", self.vector(less)),
            9 => {
                let name = self.one_of(&["v128.and", "v128.xor", "i32x4.add", "i8x16.swizzle"]);
                format!("({name} {} {})", self.vector(less), self.vector(less))
            }
            10 => format!(
                "(select {} {} {})",
                self.vector(less),
                self.vector(less),
                self.condition(less)
            ),
            _ => format!("(local.tee $v128{} {})", self.below(4), self.vector(less)),
        }
    }

    fn value(&mut self, of: &str) -> String {
        let depth = u32::try_from(self.below(4)).unwrap();
        if of == "v128" { self.vector(depth) } else { self.scalar(of, depth) }
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..=self.below(5) {
            let of = self.one_of(&["f32", "f64", "v128"]);
            let choice = self.below(if depth == 0 { 6 } else { 11 });
            if choice < 3 {
                let value = self.value(of);
                let number = self.below(4);
                self.text += &format!("(local.set ${of}{number} {value})\n");
            } else if choice < 6 {
                let value = self.value(of);
                let at = 96 + self.below(24) * 16;
                self.text += &format!("({of}.store (i32.const {at}) {value})\n");
            } else if choice == 6 {
                let condition = self.condition(1);
                self.text += &format!("(if {condition} (then\n");
                self.statements(depth - 1);
                self.text += ") (else\n";
                self.statements(depth - 1);
                self.text += "))\n";
            } else if choice == 7 {
                let leave = self.one_of(&["br_if 0", "br_if 1", "br_table 0 1 0"]);
                let condition = self.condition(1);
                self.text += "(block (block\n";
                self.statements(depth - 1);
                self.text += &format!("({leave} {condition})\n");
                if leave.starts_with("br_if") {
                    self.statements(depth - 1);
                }
                self.text += ")\n";
                self.statements(depth - 1);
                self.text += ")\n";
            } else if choice == 8 {
                let condition = self.condition(1);
                self.text += &format!("(if {condition} (then\n");
                self.statements(depth - 1);
                self.text += "))\n";
            } else {
                let count = format!("$count{depth}");
                self.text += &format!("(local.set {count} (i32.const 3))\n(loop\n");
                self.statements(depth - 1);
                self.text += &format!(
                    "(br_if 0 (local.tee {count} (i32.sub (local.get {count}) (i32.const 1)))))\n"
                );
            }
        }
    }
}

fn program(seed: u64) -> Vec<u8> {
    let mut author = Author { state: seed, text: String::new() };
    author.statements(2);
    let mut locals = String::new();
    for of in ["f32", "f64", "v128"] {
        for number in 0..4 {
            locals += &format!("(local ${of}{number} {of})");
        }
    }
    let text = format!(
        "(module
            (import \"host\" \"call\" (func (param i32 i32 i32 i32) (result i32)))
            (memory (export \"memory\") 1)
            (func $f32 (param f32) (result f32) (local.get 0))
            (func $f64 (param f64) (result f64) (f64.add (local.get 0) (local.get 0)))
            (func (export \"go\") {locals} (local $count1 i32) (local $count2 i32) {}))",
        author.text
    );
    wat::parse_str(text).unwrap()
}

/// The memory that a program leaves.
fn memory_after(config: &Config, module: &[u8]) -> Vec<u8> {
    let engine = Engine::new(config).unwrap();
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "call", |_: i32, _: i32, _: i32, _: i32| 0).unwrap();
    let mut store = Store::new(&engine, ());
    store.set_epoch_deadline(1 << 40);
    let module = Module::new(&engine, module).unwrap();
    let instance: Instance = linker.instantiate(&mut store, &module).unwrap();
    let memory = instance.get_memory(&mut store, "memory").unwrap();
    let inputs: Vec<u8> = INPUTS.iter().flat_map(|input| input.to_le_bytes()).collect();
    memory.write(&mut store, 0, &inputs).unwrap();
    let go = instance.get_typed_func::<(), ()>(&mut store, "go").unwrap();
    go.call(&mut store, ()).unwrap();
    memory.data(&store)[..usize::try_from(USED).unwrap()].to_vec()
}

/// The configuration of metered code for a processor.
fn of_cpu(cpu: TargetCpu) -> Config {
    config(CodeOptions { checks: Variant::Metered.into(), cpu })
}

fn metered(module: &[u8]) -> Vec<u8> {
    let metered = with_metering(module).unwrap();
    wasmparser::validate(&metered).unwrap();
    metered
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    })]

    #[test]
    fn canonical_nan_is_what_a_compiler_shows_that_makes_all_results_canonical(
        seed in any::<u64>(),
    ) {
        let module = program(seed);
        let mut expected = of_cpu(TargetCpu::Native);
        expected.cranelift_nan_canonicalization(true);
        let expected = memory_after(&expected, &module);
        let metered = metered(&module);
        for cpu in TargetCpu::ALL {
            prop_assert_eq!(&memory_after(&of_cpu(cpu), &metered), &expected, "{}", cpu);
        }
    }
}

/// The number of NaNs that a function makes canonical.
fn places(body: &str) -> usize {
    let module = wat::parse_str(format!(
        "(module (import \"host\" \"call\" (func (param i32 i32 i32 i32) (result i32)))
            (memory 1) (func $throws) (func (local $x f64) (local $y f64) (local $v v128) {body}))"
    ));
    let metered = metered(&module.unwrap());
    let mut found = 0;
    for payload in wasmparser::Parser::new(0).parse_all(&metered) {
        let wasmparser::Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        for operator in body.get_operators_reader().unwrap() {
            let operator = operator.unwrap();
            found += usize::from(matches!(
                operator,
                wasmparser::Operator::Select | wasmparser::Operator::V128Bitselect
            ));
        }
    }
    found
}

#[test]
fn canonical_nan_only_where_bits_show() {
    let cases = [
        (format!("(drop {SUM})"), 0),
        (format!("(drop (f64.lt {SUM} {SUM}))"), 0),
        (format!("(f64.store (i32.const 0) {SUM})"), 1),
        (format!("(f64.store (i32.const 0) (f64.mul {SUM} (f64.sqrt {SUM})))"), 1),
        (format!("(f64.store (i32.const 0) (f64.abs {SUM}))"), 1),
        (format!("(f64.store (i32.const 0) (f64.neg {SUM}))"), 1),
        (format!("(drop (i64.reinterpret_f64 {SUM}))"), 1),
        ("(f64.store (i32.const 0) (f64.load (i32.const 8)))".to_owned(), 0),
        ("(f64.store (i32.const 0) (f64.neg (f64.load (i32.const 8))))".to_owned(), 0),
        (
            "(local.set $v (f64x2.mul (local.get $v) (v128.load (i32.const 0))))
             (v128.store (i32.const 0) (f64x2.add (local.get $v) (local.get $v)))"
                .to_owned(),
            1,
        ),
        (
            "(v128.store (i32.const 0) (i32x4.add
                (f64x2.add (local.get $v) (local.get $v)) (local.get $v)))"
                .to_owned(),
            1,
        ),
    ];
    check(&cases);
}

const SUM: &str = "(f64.add (f64.load (i32.const 0)) (f64.load (i32.const 8)))";

fn check(cases: &[(String, usize)]) {
    for (body, expected) in cases {
        assert_eq!(places(body), *expected, "{body}");
    }
}

#[test]
fn canonical_nan_by_the_values_of_a_local() {
    let cases = [
        // A sum in a local that is used for nothing else.
        (
            format!(
                "(loop (local.set $x (f64.add (local.get $x) {SUM}))
                    (br_if 0 (f64.lt (local.get $x) (f64.const 5))))
                 (f64.store (i32.const 0) (local.get $x))"
            ),
            1,
        ),
        // A local that holds one thing after the other.
        (
            format!(
                "(local.set $x {SUM}) (drop (f64.lt (local.get $x) (local.get $x)))
                 (local.set $x (f64.load (i32.const 0)))
                 (f64.store (i32.const 0) (local.get $x))"
            ),
            0,
        ),
        (
            format!(
                "(loop (local.set $x {SUM}) (drop (f64.lt (local.get $x) (local.get $x)))
                       (local.set $x (f64.load (i32.const 0)))
                       (f64.store (i32.const 0) (local.get $x)) (br_if 0 (i32.const 0)))"
            ),
            0,
        ),
        // A sum that begins with a copy: arithmetic does not see its bits.
        (
            format!(
                "(local.set $x (f64.load (i32.const 0)))
                 (loop (local.set $x (f64.add (local.get $x) {SUM}))
                       (local.set $x (f64.mul (local.get $x) (f64.const 2)))
                       (br_if 0 (f64.lt (local.get $x) (f64.const 5))))
                 (f64.store (i32.const 0) (local.get $x))"
            ),
            1,
        ),
        // The same, but it may also end before the first addition.
        (
            format!(
                "(local.set $x (f64.load (i32.const 0)))
                 (block (loop (br_if 1 (f64.lt (local.get $x) (f64.const 5)))
                       (local.set $x (f64.add (local.get $x) {SUM}))
                       (local.set $x (f64.mul (local.get $x) (f64.const 2)))
                       (br 0)))
                 (f64.store (i32.const 0) (local.get $x))"
            ),
            1,
        ),
        // A copy or a sum, both shown.
        (
            format!(
                "(local.set $x (f64.load (i32.const 0)))
                 (if (f64.lt (local.get $x) (f64.const 5)) (then (local.set $x {SUM})))
                 (f64.store (i32.const 0) (local.get $x))"
            ),
            1,
        ),
    ];
    check(&cases);
}

#[test]
fn canonical_nan_in_code_that_few_ways_lead_to() {
    let cases = [
        // Code that is never reached, and takes a value from the stack.
        (
            format!(
                "(i32.const 0) {SUM}
                 (block (br 0) (f64.const 0) (block (param f64) (drop)))
                 (f64.store)"
            ),
            1,
        ),
        // A handler that only an exception leads to.
        (
            format!(
                "(local.set $x {SUM})
                 (block (try_table (catch_all 0) (call $throws)) (return))
                 (f64.store (i32.const 0) (local.get $x))"
            ),
            1,
        ),
        (
            format!(
                "(local.set $x {SUM})
                 (block (block (try_table (catch_all 0) (call $throws)) (br 1))
                        (local.set $x (f64.load (i32.const 0))))
                 (f64.store (i32.const 0) (local.get $x))"
            ),
            1,
        ),
    ];
    check(&cases);
}
