;; Source of the functions that limits.tsv appends. A test compares the two and prints the rows that are wanted;
;; imports are named like the engine's functions.
;; 26106228 = &PyLong_Type; global 0 is the stack pointer.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "stack" (global $stack (mut i32)))
  (import "engine" "PyLong_AsSsize_t" (func $as_size (param i32) (result i32)))
  (import "engine" "PyNumber_AsSsize_t" (func $number_as_size (param i32 i32) (result i32)))
  (import "engine" "PyLong_AsLongLongAndOverflow" (func $as_long_long (param i32 i32) (result i64)))
  (import "engine" "PyErr_Occurred" (func $occurred (result i32)))
  (import "engine" "PyErr_Clear" (func $clear))

  ;; The value of an int, -1 if it has more than 64 bits.
  (func $value_of (param $int i32) (result i64) (local $overflow i32) (local $value i64)
    (global.set $stack (local.tee $overflow (i32.sub (global.get $stack) (i32.const 16))))
    (local.set $value (call $as_long_long (local.get $int) (local.get $overflow)))
    (global.set $stack (i32.add (local.get $overflow) (i32.const 16)))
    (local.get $value))

  ;; As PyLong_AsSsize_t, but a limit beyond 32 bits is the largest size: no object has as many items.
  (func $at_most (param $int i32) (result i32) (local $size i32)
    (if (i32.ne (local.tee $size (call $as_size (local.get $int))) (i32.const -1))
      (then (return (local.get $size))))
    (if (i32.eqz (call $occurred)) (then (return (local.get $size))))
    (if (i64.gt_s (call $value_of (local.get $int)) (i64.const 0))
      (then (call $clear) (return (i32.const 2147483647))))
    (local.get $size))

  ;; As PyNumber_AsSsize_t, but `sys.maxsize`, 2^63-1, is the largest size.
  (func $for_ever (param $number i32) (param $error i32) (result i32) (local $size i32)
    (if (i32.ne (local.tee $size (call $number_as_size (local.get $number) (local.get $error))) (i32.const -1))
      (then (return (local.get $size))))
    (if (i32.eqz (call $occurred)) (then (return (local.get $size))))
    (if (i32.ne (i32.load offset=4 (local.get $number)) (i32.const 26106228)) (then (return (local.get $size))))
    (if (i64.eq (call $value_of (local.get $number)) (i64.const 9223372036854775807))
      (then (call $clear) (return (i32.const 2147483647))))
    (local.get $size)))
