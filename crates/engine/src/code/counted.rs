//! Compiles with the functions counted, since wasmtime does not say how far it is.
//!
//! The compiler tells a profiler of each of its passes, and of nothing else. So a profiler that
//! measures no time counts the passes that translate a function. They are as many as the functions
//! of the module: what the compiler adds has no such pass. A profiler belongs to a thread, so
//! compilation gets its own threads, and the code is the same as without.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use cranelift_codegen::timing::{Pass, Profiler, set_thread_profiler};
use wasmparser::{Parser, Payload};
use wasmtime::Engine;

use crate::error::EngineError;

/// The interval of reports.
const INTERVAL: Duration = Duration::from_millis(200);

/// The number of functions that a module defines.
pub(crate) fn functions_of(module: &[u8]) -> u64 {
    let count = |payload| match payload {
        Ok(Payload::CodeSectionStart { count, .. }) => Some(u64::from(count)),
        _ => None,
    };
    Parser::new(0).parse_all(module).find_map(count).unwrap_or_default()
}

/// Compiles `module`, and reports how many functions have been begun.
pub(super) fn compile_counted(
    engine: &Engine,
    module: &[u8],
    mut advanced: impl FnMut(u64),
) -> Result<Vec<u8>, EngineError> {
    let begun = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&begun);
    let threads = rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("compile-{number}"))
        .start_handler(move |_| {
            // The previous profiler measures time that nobody reads.
            drop(set_thread_profiler(Box::new(FunctionCounter(Arc::clone(&counter)))));
        })
        .build()
        .map_err(|cause| EngineError::Native {
            problem: "no threads can be started for compiling",
            cause: cause.into(),
        })?;
    let reporter = thread::current();
    let compiled = thread::scope(|scope| {
        let compiling = scope.spawn(|| {
            let compiled = threads.install(|| engine.precompile_module(module));
            reporter.unpark();
            compiled
        });
        while !compiling.is_finished() {
            thread::park_timeout(INTERVAL);
            advanced(begun.load(Ordering::Relaxed));
        }
        compiling.join()
    });
    match compiled {
        Ok(Ok(code)) => Ok(code),
        Ok(Err(cause)) => Err(EngineError::Native {
            problem: "the engine's module cannot be compiled",
            cause: cause.into(),
        }),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Counts the functions that are translated on one thread or more.
struct FunctionCounter(Arc<AtomicU64>);

impl Profiler for FunctionCounter {
    fn start_pass(&self, pass: Pass) -> Box<dyn Any> {
        if pass == Pass::wasm_translate_function {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Box::new(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::compile;
    use crate::code::instrumentation::Variant;

    /// A module that exports as many functions.
    fn with_functions(count: usize) -> Vec<u8> {
        let function = |number| format!("(func (export \"f{number}\") (result i32) (i32.const 1))");
        let functions: String = (0..count).map(function).collect();
        wat::parse_str(format!("(module {functions})")).unwrap()
    }

    #[test]
    fn each_function_is_counted_once() {
        for count in [0, 1, 2, 300] {
            let module = with_functions(count);
            assert_eq!(functions_of(&module), u64::try_from(count).unwrap());
            let engine = compile::start(Variant::Timed).unwrap();
            let mut last = 0;
            compile_counted(&engine, &module, |begun| {
                assert!(begun >= last);
                last = begun;
            })
            .unwrap();
            assert_eq!(last, u64::try_from(count).unwrap());
        }
    }

    #[test]
    fn counting_changes_nothing_in_the_code() {
        let module = with_functions(300);
        let engine = compile::start(Variant::Timed).unwrap();
        let counted = compile_counted(&engine, &module, |_| {}).unwrap();
        assert!(counted == engine.precompile_module(&module).unwrap());
    }

    #[test]
    fn a_module_that_is_none_has_no_functions_and_is_refused() {
        assert_eq!(functions_of(b"no module"), 0);
        let engine = compile::start(Variant::Timed).unwrap();
        assert!(compile_counted(&engine, b"no module", |_| {}).is_err());
    }
}
