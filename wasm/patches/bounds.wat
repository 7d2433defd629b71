;; Source of the functions that bounds.tsv appends. A test compares the two and prints the rows that are wanted;
;; imports are named like the engine's functions.
;; 26079564 = &PyExc_OverflowError; 17990958 = "Python integer %R out of bounds for %S"; the addresses of the descriptors of
;; int32 and uint32 are 26425620 and 26425624; global 0 is the stack pointer.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "stack" (global $stack (mut i32)))
  (import "engine" "PyLong_AsLong" (func $as_long (param i32) (result i32)))
  (import "engine" "PyLong_AsLongLong" (func $as_long_long (param i32) (result i64)))
  (import "engine" "PyErr_Occurred" (func $occurred (result i32)))
  (import "engine" "PyErr_Clear" (func $clear))
  (import "engine" "PyErr_Format" (func $format (param i32 i32 i32) (result i32)))

  ;; As PyLong_AsLongLong, with the error of PyLong_AsLong: int64 is C `long` on 64-bit Linux.
  (func $long_of_64_bits (param $int i32) (result i64) (local $value i64)
    (if (i64.ne (local.tee $value (call $as_long_long (local.get $int))) (i64.const -1))
      (then (return (local.get $value))))
    (if (i32.eqz (call $occurred)) (then (return (local.get $value))))
    (call $clear)
    (drop (call $as_long (local.get $int)))
    (local.get $value))

  ;; As PyLong_AsLong, but every int of 64 bits has a value: what does not fit is the largest one, which the callers, the
  ;; setters of narrower types, refuse with their own text.
  (func $narrow_long (param $int i32) (result i32) (local $value i32)
    (if (i32.ne (local.tee $value (call $as_long (local.get $int))) (i32.const -1))
      (then (return (local.get $value))))
    (if (i32.eqz (call $occurred)) (then (return (local.get $value))))
    (call $clear)
    (if (i64.eq (call $long_of_64_bits (local.get $int)) (i64.const -1))
      (then (return (local.get $value))))
    (i32.const 2147483647))

  ;; As PyLong_AsLong; an int of 64 bits is out of bounds for the type of the descriptor.
  (func $long_within (param $int i32) (param $descriptor i32) (result i32) (local $value i32) (local $frame i32)
    (if (i32.ne (local.tee $value (call $as_long (local.get $int))) (i32.const -1))
      (then (return (local.get $value))))
    (if (i32.eqz (call $occurred)) (then (return (local.get $value))))
    (call $clear)
    (if (i64.ne (call $long_of_64_bits (local.get $int)) (i64.const -1))
      (then
        (global.set $stack (local.tee $frame (i32.sub (global.get $stack) (i32.const 16))))
        (i32.store (local.get $frame) (local.get $int))
        (i32.store offset=4 (local.get $frame) (i32.load (local.get $descriptor)))
        (drop (call $format (i32.load (i32.const 26079564)) (i32.const 17990958) (local.get $frame)))
        (global.set $stack (i32.add (local.get $frame) (i32.const 16)))))
    (local.get $value))

  (func $int32_of (param $int i32) (result i32)
    (call $long_within (local.get $int) (i32.const 26425620)))

  (func $uint32_of (param $int i32) (result i32)
    (call $long_within (local.get $int) (i32.const 26425624))))
