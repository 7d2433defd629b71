//! Compiles the module without data to native code and loads it, with one configuration of
//! wasmtime.
//!
//! Knows nothing of files and folders: a module goes in as bytes, native code comes out as bytes
//! and goes in again as an open file that was checked.
//!
//! INVARIANT(one-configuration): code is compiled and loaded only with the result of [`config`], so
//! the [`CompileKey`] holds everything that decides if code fits this process.

use std::fmt;
use std::fs::File;
use std::hash::{Hash as _, Hasher};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use wasmtime::{Collector, Config, Engine, Inlining, Module, OptLevel, WasmFeatures};

use crate::code::counted::compile_counted;
use crate::code::instrumentation::{Instrumentation, Variant};
use crate::code::polls::Interruption;
use crate::code::split_data::TRANSFORM_VERSION;
use crate::error::EngineError;
use wardian_vocabulary::ids::Digest;

/// The version of wasmtime; part of the key of the code that it compiles.
pub(crate) const WASMTIME_VERSION: &str = "48.0.8";

/// Address space of a linear memory in bytes: all that 32 bits can name, so that code needs no
/// bounds checks. A memory creator receives this number for linear memories.
pub const LINEAR_MEMORY_RESERVATION: u64 = 4 << 30;

/// Address space of the heap for exception objects in bytes. A memory creator distinguishes such a
/// heap from a linear memory by this number. A heap that grows beyond it moves.
pub const EXCEPTION_HEAP_RESERVATION: u64 = 1 << 20;

/// Native stack that one run of guest code may use, in bytes.
///
/// It is address space; only touched pages take memory. CPython limits its depth by the 15 MiB of
/// its [C stack](crate::CStack). The largest native stack seen at that limit is 63 MB, so
/// recursion ends as Python's `RecursionError` and not as a trap.
pub const MAX_WASM_STACK: usize = 96 << 20;

/// The instructions of the processor that native code may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetCpu {
    /// All that this machine's processor has. Code may not run on another machine.
    #[default]
    Native,
    /// Those that servers have had since 2009 (`x86-64-v2`, `armv8.0-a`): no AVX, FMA and BMI. Equal
    /// code on every machine, so a cache can be made on one and used on others.
    Baseline,
}

impl TargetCpu {
    /// Both, the default first.
    pub const ALL: [Self; 2] = [Self::Native, Self::Baseline];

    /// The extensions of `x86-64-v2` that wasmtime knows beyond those that it always uses.
    const X86_64_V2: [&str; 5] = ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"];

    /// This machine's kind. Wasmtime looks at no processor if it is given one.
    const TRIPLE: &str = match (cfg!(target_arch = "x86_64"), cfg!(target_env = "musl")) {
        (true, false) => "x86_64-unknown-linux-gnu",
        (true, true) => "x86_64-unknown-linux-musl",
        (false, false) => "aarch64-unknown-linux-gnu",
        (false, true) => "aarch64-unknown-linux-musl",
    };

    /// The name in settings and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Baseline => "baseline",
        }
    }

    fn apply(self, config: &mut Config) {
        if self == Self::Native {
            return;
        }
        // The name is a constant that wasmtime knows.
        config.target(Self::TRIPLE).ok();
        if cfg!(target_arch = "x86_64") {
            for extension in Self::X86_64_V2 {
                #[expect(unsafe_code, reason = "the only way to allow an extension")]
                // SAFETY: these flags only allow instructions, and wasmtime refuses to load code
                // whose instructions this processor lacks.
                unsafe {
                    config.cranelift_flag_enable(extension)
                };
            }
        }
    }
}

impl fmt::Display for TargetCpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The choices that decide the native code of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeOptions {
    /// The checks in the code.
    pub checks: Instrumentation,
    /// The instructions that it may use.
    pub cpu: TargetCpu,
}

/// The checks, for this machine's processor.
impl From<Instrumentation> for CodeOptions {
    fn from(checks: Instrumentation) -> Self {
        Self { checks, cpu: TargetCpu::default() }
    }
}

/// The variant with the default way to stop it, for this machine's processor.
impl From<Variant> for CodeOptions {
    fn from(variant: Variant) -> Self {
        Instrumentation::from(variant).into()
    }
}

/// Returns the configuration of wasmtime for code of this kind.
///
/// A caller may add `with_host_memory`, because the source of memory is not part of the code. Any
/// other change would make loading fail or, worse, succeed with other code than intended.
#[must_use]
pub fn config(options: impl Into<CodeOptions>) -> Config {
    let CodeOptions { checks: Instrumentation { variant, interruption }, cpu } = options.into();
    let mut config = Config::new();
    config
        .epoch_interruption(interruption == Interruption::Epochs)
        // The module counts by itself, at a fraction of what wasmtime's fuel costs.
        .consume_fuel(false)
        .wasm_branch_hinting(variant == Variant::Metered)
        // The module makes NaNs canonical by itself, and only where a program sees their bits.
        .cranelift_nan_canonicalization(false)
        .cranelift_opt_level(OptLevel::Speed)
        // The bound on the distance of polls holds for functions as they are in the module, so the
        // compiler must not merge functions.
        .compiler_inlining(Inlining::No)
        .parallel_compilation(true);

    // Features that the engine does not use stay off, since they add to the attack surface.
    config
        .wasm_exceptions(true)
        .wasm_simd(true)
        .wasm_relaxed_simd(false)
        .wasm_threads(false)
        .wasm_tail_call(false)
        .wasm_gc(false)
        .wasm_function_references(false)
        // The counter is in a separate memory.
        .wasm_multi_memory(variant == Variant::Metered)
        .wasm_memory64(false)
        .wasm_extended_const(false)
        .shared_memory(false)
        // Off in every build: a build whose test dependencies enable the feature must make the
        // same code under the same key as one without it.
        .wasm_features(WasmFeatures::COMPONENT_MODEL, false);

    config
        .max_wasm_stack(MAX_WASM_STACK)
        // Asynchronous execution is not used, but wasmtime requires at least `max_wasm_stack`.
        .async_stack_size(MAX_WASM_STACK)
        .memory_reservation(LINEAR_MEMORY_RESERVATION)
        .memory_may_move(false)
        .collector(Collector::DeferredReferenceCounting)
        .gc_heap_reservation(EXCEPTION_HEAP_RESERVATION)
        .gc_heap_reservation_for_growth(EXCEPTION_HEAP_RESERVATION)
        .gc_heap_guard_size(64 << 10)
        .gc_heap_may_move(true);

    // Wasm backtraces are not needed: the guest's own traceback is more useful. Without the address
    // map the code is 70 MB smaller, without symbols another 7 MB.
    config
        .generate_address_map(false)
        .debug_symbols(false)
        .wasm_backtrace_max_frames(None)
        .native_unwind_info(false);
    cpu.apply(&mut config);
    config
}

/// Starts wasmtime with [`config`].
///
/// # Errors
///
/// The processor or the operating system lacks something that the configuration needs.
pub fn start(options: impl Into<CodeOptions>) -> Result<Engine, EngineError> {
    Engine::new(&config(options)).map_err(|cause| EngineError::Native {
        problem: "wasmtime cannot run on this machine",
        cause: cause.into(),
    })
}

/// Everything that decides the native code and the machines that can run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CompileKey {
    /// Digest of the module after it was patched and before its data was split off.
    pub module: Digest,
    /// Version of the transform.
    pub transform: u32,
    /// Version of wasmtime.
    pub wasmtime: &'static str,
    /// Checks in the code.
    pub checks: Instrumentation,
    /// The choice of instructions, which `compatibility` holds one by one.
    pub cpu: TargetCpu,
    /// Wasmtime's own compatibility hash: target, processor features, compiler settings, layout.
    pub(crate) compatibility: Digest,
}

impl CompileKey {
    /// The key of `module` compiled by `engine`, which was started for `options`.
    #[must_use]
    pub fn new(engine: &Engine, module: Digest, options: impl Into<CodeOptions>) -> Self {
        let CodeOptions { checks, cpu } = options.into();
        let mut hasher = Sha256Hasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self {
            module,
            transform: TRANSFORM_VERSION,
            wasmtime: WASMTIME_VERSION,
            checks,
            cpu,
            compatibility: Digest::from_bytes(hasher.0.finalize().into()),
        }
    }

    /// The choices that the code was compiled with.
    #[must_use]
    pub const fn options(&self) -> CodeOptions {
        CodeOptions { checks: self.checks, cpu: self.cpu }
    }

    /// One digest of all parts, for naming a folder.
    #[must_use]
    pub fn digest(&self) -> Digest {
        // Two choices that come to the same instructions share their code.
        let Self { module, transform, wasmtime, checks, cpu: _, compatibility } = self;
        let Instrumentation { variant, interruption } = checks;
        let interruption = interruption.as_str();
        let parts =
            format!("{module} {transform} {wasmtime} {variant} {interruption} {compatibility}");
        Digest::of(parts.as_bytes())
    }
}

/// Collects the output of `Hash` implementations in a cryptographic hash: the usual 64 bits could
/// collide for two configurations.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Never called: the digest is read from the inner hasher.
    fn finish(&self) -> u64 {
        0
    }
}

/// Compiles `module`. The engine takes a minute on two cores and 2 GB of memory. `advanced` is called
/// a few times a second with the number of functions that were begun.
///
/// # Errors
///
/// The module is invalid, or uses a wasm feature that [`config`] leaves off.
pub fn compile(
    engine: &Engine,
    module: &[u8],
    advanced: impl FnMut(u64),
) -> Result<Vec<u8>, EngineError> {
    compile_counted(engine, module, advanced)
}

/// Loads native code that [`compile`] made. Maps the file, which takes milliseconds; all processes
/// that load the same file share its pages.
///
/// `file` has to come from [`EngineStore`](crate::EngineStore): native code is trusted
/// as this program itself is.
///
/// # Errors
///
/// The code was made by another wasmtime, for another configuration or another processor.
pub fn load(engine: &Engine, file: File) -> Result<Module, EngineError> {
    #[expect(unsafe_code, reason = "the only way to load native code without copying 150 MB")]
    // SAFETY: the file was opened and checked against its recorded digest by the cache, which is
    // a folder that only this user can write to, and it is the output of `compile`. It stays
    // unchanged while it is mapped because files in the cache are never written to once they
    // have their name: new content is a new file.
    let module = unsafe { Module::deserialize_open_file(engine, file) };
    module.map_err(|cause| EngineError::Native {
        problem: "the engine's native code cannot be loaded",
        cause: cause.into(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use wasmtime::{
        Instance, LinearMemory, MemoryCreator, MemoryType, Store, Trap, Val, WasmBacktrace,
    };

    use super::*;

    /// Throws, catches what it has thrown, and calculates with it.
    const THROWS: &str = r#"(module
        (memory (export "memory") 1)
        (tag $oops (param i32))
        (func $fails (throw $oops (i32.const 41)))
        (func (export "go") (result i32)
            (block $caught (result i32)
                (try_table (catch $oops $caught) (call $fails))
                (i32.const 0))
            (i32.add (i32.const 1))))"#;

    fn compiled(variant: Variant, text: &str) -> Result<Vec<u8>, EngineError> {
        compile(&start(variant)?, &wat::parse_str(text).unwrap(), |_| {})
    }

    fn loaded(engine: &Engine, code: &[u8]) -> Result<Module, EngineError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(code).unwrap();
        load(engine, file)
    }

    #[test]
    fn code_is_compiled_once_and_runs_after_loading() {
        for variant in Variant::ALL {
            let code = compiled(variant, THROWS).unwrap();
            let engine = start(variant).unwrap();
            let module = loaded(&engine, &code).unwrap();
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[]).unwrap();
            let mut result = [Val::I32(0)];
            instance
                .get_func(&mut store, "go")
                .unwrap()
                .call(&mut store, &[], &mut result)
                .unwrap();
            assert_eq!(result[0].unwrap_i32(), 42, "{variant}");
        }
    }

    #[test]
    fn exceptions_in_a_loop_are_collected() {
        let loops = THROWS.replace(
            "(func (export \"go\") (result i32)",
            "(func (export \"go\") (result i32) (local $left i32)
                (local.set $left (i32.const 20000))
                (loop $again
                    (block $caught (result i32)
                        (try_table (catch $oops $caught) (call $fails))
                        (i32.const 0))
                    (drop)
                    (local.tee $left (i32.sub (local.get $left) (i32.const 1)))
                    (br_if $again))",
        );
        let engine = start(Variant::Timed).unwrap();
        let module = loaded(&engine, &compiled(Variant::Timed, &loops).unwrap()).unwrap();
        // One page for the memory and one for the exceptions.
        let limits = wasmtime::StoreLimitsBuilder::new().memory_size(65_536).build();
        let mut store = Store::new(&engine, limits);
        store.limiter(|limits| limits);
        let instance = Instance::new(&mut store, &module, &[]).unwrap();
        let mut result = [Val::I32(0)];
        instance.get_func(&mut store, "go").unwrap().call(&mut store, &[], &mut result).unwrap();
        assert_eq!(result[0].unwrap_i32(), 42);
    }

    #[test]
    fn the_fuel_of_wasmtime_is_off() {
        for variant in Variant::ALL {
            let mut store = Store::new(&start(variant).unwrap(), ());
            assert!(store.set_fuel(1).is_err(), "{variant}");
        }
    }

    #[test]
    fn one_configuration_is_part_of_the_key_and_of_the_code() {
        let (timed, metered) = (start(Variant::Timed).unwrap(), start(Variant::Metered).unwrap());
        let (one, other) = (Digest::of(b"one"), Digest::of(b"other"));
        let key = CompileKey::new(&timed, one, Variant::Timed);
        assert_eq!(key.digest(), CompileKey::new(&timed, one, Variant::Timed).digest());
        let again = start(Variant::Timed).unwrap();
        assert_eq!(key, CompileKey::new(&again, one, Variant::Timed));
        assert_ne!(key.digest(), CompileKey::new(&timed, other, Variant::Timed).digest());
        let metered_key = CompileKey::new(&metered, one, Variant::Metered);
        assert_ne!(key.compatibility, metered_key.compatibility);
        let interruption = Interruption::Epochs;
        let checks = Instrumentation { variant: Variant::Timed, interruption };
        let stopped_by_epochs = CompileKey::new(&start(checks).unwrap(), one, checks);
        assert_ne!(key.digest(), stopped_by_epochs.digest());
        assert_ne!(key.compatibility, stopped_by_epochs.compatibility);

        let code = compiled(Variant::Timed, THROWS).unwrap();
        let error = loaded(&start(checks).unwrap(), &code).unwrap_err();
        assert_eq!(error.to_string(), "the engine's native code cannot be loaded");
        assert!(loaded(&timed, &code).is_ok());
    }

    #[test]
    fn one_configuration_for_any_machine_uses_none_of_the_instructions_of_this_one() {
        let sums = r#"(module (memory (export "memory") 1)
            (func (export "go") (param v128 f64) (result f64)
                (local.set 0 (f64x2.mul (local.get 0) (f64x2.splat (local.get 1))))
                (f64.add (f64x2.extract_lane 0 (local.get 0)) (f64x2.extract_lane 1 (local.get 0)))
                (f64.mul (f64.const 3)) (f64.floor)))"#;
        let options = TargetCpu::ALL.map(|cpu| CodeOptions { checks: Variant::Timed.into(), cpu });
        let keys = options.map(|options| {
            let engine = start(options).unwrap();
            let code = compile(&engine, &wat::parse_str(sums).unwrap(), |_| {}).unwrap();
            let module = loaded(&engine, &code).unwrap();
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[]).unwrap();
            let go = instance.get_func(&mut store, "go").unwrap();
            let (mut result, lanes) = ([Val::F64(0)], u128::from(2.5_f64.to_bits()) << 64);
            let inputs = [Val::V128(lanes.into()), Val::F64(3.1_f64.to_bits())];
            go.call(&mut store, &inputs, &mut result).unwrap();
            assert_eq!(result[0].unwrap_f64(), 23.0, "{options:?}");
            (CompileKey::new(&engine, Digest::of(b""), options).digest(), code)
        });
        #[cfg(target_arch = "x86_64")]
        assert_eq!(keys[0] != keys[1], std::is_x86_feature_detected!("avx"));
        // The choice itself is not part of the key, only what follows from it.
        let engine = start(options[1]).unwrap();
        assert_eq!(
            CompileKey::new(&engine, Digest::of(b""), Variant::Timed).digest(),
            CompileKey::new(&engine, Digest::of(b""), options[1]).digest()
        );
    }

    #[test]
    fn one_configuration_keeps_functions_apart() {
        let key_with = |inlining| {
            let mut config = config(Variant::Timed);
            config.compiler_inlining(inlining);
            CompileKey::new(&Engine::new(&config).unwrap(), Digest::of(b""), Variant::Timed)
        };
        let ours =
            CompileKey::new(&start(Variant::Timed).unwrap(), Digest::of(b""), Variant::Timed);
        assert_eq!(ours, key_with(Inlining::No));
        assert_ne!(ours, key_with(Inlining::Yes));
    }

    #[test]
    fn a_memory_creator_can_be_added_to_one_configuration() {
        let plain = r#"(module (memory (export "memory") 2))"#;
        // An instance that throws gets its exception heap first; then the creator refuses.
        for (text, expected) in [
            // Code has no bounds checks: the guard covers all that it can reach beyond the
            // reservation.
            (plain, (2 * 65_536, LINEAR_MEMORY_RESERVATION, 32 << 20)),
            (THROWS, (0, EXCEPTION_HEAP_RESERVATION, 64 << 10)),
        ] {
            let asked = Arc::new(Mutex::new(Vec::new()));
            let mut config = config(Variant::Timed);
            config.with_host_memory(Arc::new(Recorder(Arc::clone(&asked))));
            let engine = Engine::new(&config).unwrap();
            let key = |engine| CompileKey::new(engine, Digest::of(b""), Variant::Timed);
            assert_eq!(key(&engine), key(&start(Variant::Timed).unwrap()));

            let module = loaded(&engine, &compiled(Variant::Timed, text).unwrap()).unwrap();
            assert!(Instance::new(Store::new(&engine, ()), &module, &[]).is_err());
            assert_eq!(*asked.lock(), [expected], "{text}");
        }
    }

    #[test]
    fn features_that_the_engine_does_not_use_are_refused() {
        for text in [
            r#"(memory 1 1 shared)"#,
            r#"(memory i64 1)"#,
            r#"(func $f (return_call $f))"#,
            r#"(type $t (struct (field i32)))"#,
            r#"(type $f (func)) (func (param (ref $f)) (call_ref $f (local.get 0)))"#,
            r#"(func (result v128) (i32x4.relaxed_trunc_f32x4_s (v128.const i32x4 0 0 0 0)))"#,
            r#"(memory 1) (func (drop (i32.atomic.load (i32.const 0))))"#,
            r#"(func (atomic.fence))"#,
            r#"(global i32 (i32.add (i32.const 1) (i32.const 2)))"#,
            r#"(memory 1 (pagesize 1))"#,
            r#"(table i64 1 funcref)"#,
            r#"(func (drop (ref.i31 (i32.const 1))))"#,
            r#"(func (result i64 i64) (i64.mul_wide_s (i64.const 1) (i64.const 1)))"#,
            r#"(type $f (func)) (type $c (cont $f))"#,
        ] {
            let module = wat::parse_str(format!("(module {text})")).unwrap();
            for variant in Variant::ALL {
                let engine = start(variant).unwrap();
                assert!(compile(&engine, &module, |_| {}).is_err(), "{variant} accepted {text}");
            }
        }
        // Of metered code the second memory is ours.
        let several = wat::parse_str("(module (memory 1) (memory 1))").unwrap();
        assert!(compile(&start(Variant::Timed).unwrap(), &several, |_| {}).is_err());
        assert!(Instrumentation::from(Variant::Metered).apply(&several).is_err());
        let component = wat::parse_str("(component)").unwrap();
        assert!(compile(&start(Variant::Timed).unwrap(), &component, |_| {}).is_err());
    }

    #[test]
    fn a_trap_reveals_no_code_and_the_stack_is_bounded() {
        let deep = r#"(module (memory (export "memory") 1)
            (func $deep (export "go") (call $deep)))"#;
        let engine = start(Variant::Timed).unwrap();
        let module = loaded(&engine, &compiled(Variant::Timed, deep).unwrap()).unwrap();
        let run = move || {
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[]).unwrap();
            let go = instance.get_func(&mut store, "go").unwrap();
            go.call(&mut store, &[], &mut []).unwrap_err()
        };
        let roomy = std::thread::Builder::new().stack_size(2 * MAX_WASM_STACK);
        let error = roomy.spawn(run).unwrap().join().unwrap();
        assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::StackOverflow));
        assert!(error.downcast_ref::<WasmBacktrace>().is_none());
        assert!(!format!("{error:?}").contains("backtrace"), "{error:?}");
    }

    #[test]
    fn damaged_code_that_is_no_longer_an_object_is_refused() {
        let engine = start(Variant::Timed).unwrap();
        let code = compiled(Variant::Timed, THROWS).unwrap();
        assert!(loaded(&engine, &code[..code.len() / 2]).is_err());
        assert!(loaded(&engine, b"").is_err());
    }

    #[test]
    fn the_version_in_the_key_is_the_one_that_is_built_in() {
        let pinned = format!("wasmtime = {{ version = \"={WASMTIME_VERSION}\"");
        assert!(include_str!("../../../../Cargo.toml").contains(&pinned), "Cargo.toml has another");
    }

    /// Records the sizes of the requested memories, and refuses each.
    struct Recorder(Arc<Mutex<Vec<(usize, u64, usize)>>>);

    #[expect(unsafe_code, reason = "the trait is unsafe to implement")]
    // SAFETY: no memory is ever returned.
    unsafe impl MemoryCreator for Recorder {
        fn new_memory(
            &self,
            _of: MemoryType,
            minimum: usize,
            _maximum: Option<usize>,
            reservation: Option<usize>,
            guard: usize,
        ) -> Result<Box<dyn LinearMemory>, String> {
            let reservation = u64::try_from(reservation.unwrap_or_default()).unwrap();
            self.0.lock().push((minimum, reservation, guard));
            Err("no memory".to_owned())
        }
    }
}
