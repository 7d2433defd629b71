;; Source of the function that errors.tsv appends. A test compares the two and prints the row that is wanted;
;; imports are named like the engine's functions.
;; global 0 is the stack pointer. An object begins with its reference count; from 2^30 on it is immortal.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "stack" (global $stack (mut i32)))
  (import "engine" "PyObject_Call" (func $call (param i32 i32 i32) (result i32)))
  (import "engine" "PySys_GetObject" (func $sys_get (param i32) (result i32)))
  (import "engine" "PyDict_GetItem" (func $lookup (param i32 i32) (result i32)))
  (import "engine" "PyTuple_GetItem" (func $get (param i32 i32) (result i32)))
  (import "engine" "PyTuple_SetItem" (func $set (param i32 i32 i32) (result i32)))
  (import "engine" "PyTuple_Size" (func $items (param i32) (result i32)))
  (import "engine" "PyObject_Size" (func $length (param i32) (result i32)))
  (import "engine" "PyErr_Clear" (func $clear_error))
  (import "engine" "PyLong_AsLong" (func $value (param i32) (result i32)))
  (import "engine" "PyLong_FromLong" (func $number (param i32) (result i32)))

  ;; The number in a new tuple (errno, text, path, ...): that of a missing file (44) instead of that of a folder (31) if the
  ;; path is empty. C's library takes an empty path for the current folder. Small numbers are immortal.
  (func $errno_of (param $args i32) (result i32)
    (local $found i32) (local $length i32)
    (local.set $found (call $get (local.get $args) (i32.const 0)))
    (if (i32.and (i32.eq (call $value (local.get $found)) (i32.const 31))
          (i32.gt_s (call $items (local.get $args)) (i32.const 2)))
      (then
        (local.set $length (call $length (call $get (local.get $args) (i32.const 2))))
        (if (i32.lt_s (local.get $length) (i32.const 0)) (then (call $clear_error)))
        (if (i32.eqz (local.get $length)) (then (return (call $number (i32.const 44)))))))
    (local.get $found))

  ;; Calls the type of an exception with a new tuple (errno, text, ...). `sys._errnos` maps the numbers of WASI to pairs of
  ;; Linux's number and text, which replace the two. It is missing until the image is prepared.
  (func $call_with_linux_errno (param $type i32) (param $args i32) (param $named i32) (result i32)
    (local $known i32) (local $index i32) (local $part i32)
    (global.set $stack (local.tee $known (i32.sub (global.get $stack) (i32.const 16))))
    (i64.store (local.get $known) (i64.const 32492142478910815))  ;; "_errnos"
    (local.set $known (call $sys_get (local.get $known)))
    (global.set $stack (i32.add (global.get $stack) (i32.const 16)))
    (block $done
      (br_if $done (i32.eqz (local.get $known)))
      (br_if $done (i32.eqz (local.tee $known
        (call $lookup (local.get $known) (call $errno_of (local.get $args))))))
      (loop $next
        (if (i32.eqz (local.tee $part (call $get (local.get $known) (local.get $index))))
          (then (return (i32.const 0))))
        (if (i32.lt_u (i32.load (local.get $part)) (i32.const 1073741824))
          (then (i32.store (local.get $part) (i32.add (i32.load (local.get $part)) (i32.const 1)))))
        (if (call $set (local.get $args) (local.get $index) (local.get $part))
          (then (return (i32.const 0))))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br_if $next (i32.eq (local.get $index) (i32.const 1)))))
    (call $call (local.get $type) (local.get $args) (local.get $named)))

  ;; The number of a BlockingIOError that C code builds itself: EAGAIN, 6 in C and 11 in exceptions. A file that is written in
  ;; Python may block without setting errno, which is at 28058676.
  (func $errno_of_blocking (result i32)
    (select (i32.const 11) (i32.const 0) (i32.eq (i32.load (i32.const 28058676)) (i32.const 6)))))
