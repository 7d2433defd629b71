;; Source of the functions that indices.tsv appends. A test compares the two and prints the rows that are wanted;
;; imports are named like the engine's functions.
;; NumPy casts arrays of indices to `intp` and relies on casts between integers to succeed. A value beyond 32 bits is out of
;; bounds for every array here, so it is refused before the cast, with the text of 64-bit Linux.
;; 26079528 = &PyExc_IndexError; global 0 is the stack pointer. An array has its data at 8, its number of axes at 12, its
;; shape at 16, its strides at 20 and its descriptor at 28; a descriptor has its byte order at 14 and its number at 16.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "stack" (global $stack (mut i32)))
  (import "engine" "PyArray_MapIterNew" (func $new_iterator
    (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "engine" "PyErr_Format" (func $format (param i32 i32 i32) (result i32)))

  ;; The item at an address if it is beyond 32 bits, else 0. kind 0: int64, 1: uint64, 2: uint32; 4 more: big-endian.
  (func $item_beyond (param $data i32) (param $kind i32) (result i64) (local $value i64) (local $end i32)
    (if (i32.and (local.get $kind) (i32.const 4))
      (then
        (local.set $end (i32.add (local.get $data)
          (select (i32.const 4) (i32.const 8) (i32.and (local.get $kind) (i32.const 2)))))
        (loop $next
          (local.set $value (i64.or (i64.shl (local.get $value) (i64.const 8)) (i64.load8_u (local.get $data))))
          (local.set $data (i32.add (local.get $data) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $data) (local.get $end)))))
      (else
        (if (i32.eq (local.get $kind) (i32.const 2))
          (then (local.set $value (i64.load32_u align=1 (local.get $data))))
          (else (local.set $value (i64.load align=1 (local.get $data)))))))
    (if (i32.and (local.get $kind) (i32.const 3))
      (then (if (i64.le_u (local.get $value) (i64.const 2147483647)) (then (return (i64.const 0)))))
      (else (if (i64.eq (local.get $value) (i64.extend32_s (local.get $value))) (then (return (i64.const 0))))))
    (local.get $value))

  ;; The address of the first item beyond 32 bits of an array with these axes, else 0.
  (func $first_beyond (param $data i32) (param $axes i32) (param $shape i32) (param $strides i32) (param $kind i32)
    (result i32)
    (local $count i32) (local $step i32) (local $found i32) (local $value i64)
    (if (i32.eqz (local.get $axes))
      (then (return (select (i32.const 0) (local.get $data)
        (i64.eqz (call $item_beyond (local.get $data) (local.get $kind)))))))
    (local.set $axes (i32.sub (local.get $axes) (i32.const 1)))
    (local.set $count (i32.load (local.get $shape)))
    (local.set $step (i32.load (local.get $strides)))
    (if (i32.or (local.get $axes) (local.get $kind))
      (then
        (loop $next
          (if (i32.le_s (local.get $count) (i32.const 0)) (then (return (i32.const 0))))
          (local.set $found (call $first_beyond (local.get $data) (local.get $axes)
            (i32.add (local.get $shape) (i32.const 4)) (i32.add (local.get $strides) (i32.const 4)) (local.get $kind)))
          (if (local.get $found) (then (return (local.get $found))))
          (local.set $data (i32.add (local.get $data) (local.get $step)))
          (local.set $count (i32.sub (local.get $count) (i32.const 1)))
          (br $next))))
    ;; The last axis of int64, which nearly all indices are.
    (loop $next
      (if (i32.le_s (local.get $count) (i32.const 0)) (then (return (i32.const 0))))
      (local.set $value (i64.load align=1 (local.get $data)))
      (if (i64.ne (local.get $value) (i64.extend32_s (local.get $value))) (then (return (local.get $data))))
      (local.set $data (i32.add (local.get $data) (local.get $step)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $next))
    (i32.const 0))

  ;; The kind of an array's items, -1 if all fit into 32 bits.
  (func $kind_of (param $descriptor i32) (result i32) (local $kind i32) (local $number i32)
    (local.set $number (i32.load offset=16 (local.get $descriptor)))
    (local.set $kind
      (select (i32.sub (local.get $number) (i32.const 9)) (i32.const 2)
        (i32.ge_u (local.get $number) (i32.const 9))))
    (if (i32.eqz (i32.or
          (i32.or (i32.eq (local.get $number) (i32.const 6)) (i32.eq (local.get $number) (i32.const 8)))
          (i32.or (i32.eq (local.get $number) (i32.const 9)) (i32.eq (local.get $number) (i32.const 10)))))
      (then (return (i32.const -1))))
    (i32.or (local.get $kind)
      (i32.shl (i32.eq (i32.load8_u offset=14 (local.get $descriptor)) (i32.const 62)) (i32.const 2))))

  (func $index_error (param $value i64) (param $axis i32) (param $size i32) (local $frame i32)
    (global.set $stack (local.tee $frame (i32.sub (global.get $stack) (i32.const 80))))
    (i64.store (local.get $frame) (local.get $value))
    (i32.store offset=8 (local.get $frame) (local.get $axis))
    (i32.store offset=12 (local.get $frame) (local.get $size))
    (i64.store offset=16 align=1 (local.get $frame) (i64.const 7792670431703756393))  ;; "index %l"
    (i64.store offset=24 align=1 (local.get $frame) (i64.const 8462017904909509740))  ;; "ld is ou"
    (i64.store offset=32 align=1 (local.get $frame) (i64.const 8462090116149485684))  ;; "t of bou"
    (i64.store offset=40 align=1 (local.get $frame) (i64.const 2338053640980489326))  ;; "nds for "
    (i64.store offset=48 align=1 (local.get $frame) (i64.const 2334031328190232673))  ;; "axis %d "
    (i64.store offset=56 align=1 (local.get $frame) (i64.const 8820707928210434423))  ;; "with siz"
    (i64.store offset=64 align=1 (local.get $frame) (i64.const 1680154725))  ;; "e %d"
    (drop (call $format (i32.load (i32.const 26079528)) (i32.add (local.get $frame) (i32.const 16)) (local.get $frame)))
    (global.set $stack (i32.add (local.get $frame) (i32.const 80))))

  ;; As PyArray_MapIterNew, after a look at the indices. An index takes 12 bytes: object, number, and type, which is 16 for an
  ;; array, 144 for a single truth value, 8 for an ellipsis of `number` axes, and 2 for a new axis.
  (func $map_iter_new (param $indices i32) (param $count i32) (param $kinds i32) (param $ndim i32) (param $fancy_ndim i32)
    (param $array i32) (param $subspace i32) (param $subspace_iter_flags i32) (param $subspace_flags i32)
    (param $extra_flags i32) (param $extra i32) (param $extra_dtype i32) (result i32)
    (local $at i32) (local $end i32) (local $axis i32) (local $type i32) (local $index i32) (local $kind i32) (local $found i32)
    (local.set $at (local.get $indices))
    (local.set $end (i32.add (local.get $indices) (i32.mul (local.get $count) (i32.const 12))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $type (i32.load offset=8 (local.get $at)))
        (block $counted
          (if (i32.eq (local.get $type) (i32.const 16))
            (then
              (local.set $index (i32.load (local.get $at)))
              (local.set $kind (call $kind_of (i32.load offset=28 (local.get $index))))
              (if (i32.ge_s (local.get $kind) (i32.const 0))
                (then
                  (local.set $found (call $first_beyond
                    (i32.load offset=8 (local.get $index)) (i32.load offset=12 (local.get $index))
                    (i32.load offset=16 (local.get $index)) (i32.load offset=20 (local.get $index)) (local.get $kind)))
                  (if (local.get $found)
                    (then
                      (call $index_error
                        (call $item_beyond (local.get $found) (local.get $kind))
                        (local.get $axis)
                        (i32.load (i32.add (i32.load offset=16 (local.get $array))
                          (i32.shl (local.get $axis) (i32.const 2)))))
                      (return (i32.const 0))))))))
          (br_if $counted (i32.eq (local.get $type) (i32.const 144)))
          (br_if $counted (i32.eq (local.get $type) (i32.const 2)))
          (local.set $axis (i32.add (local.get $axis)
            (select (i32.load offset=4 (local.get $at)) (i32.const 1) (i32.eq (local.get $type) (i32.const 8))))))
        (local.set $at (i32.add (local.get $at) (i32.const 12)))
        (br $next)))
    (call $new_iterator (local.get $indices) (local.get $count) (local.get $kinds) (local.get $ndim) (local.get $fancy_ndim)
      (local.get $array) (local.get $subspace) (local.get $subspace_iter_flags) (local.get $subspace_flags)
      (local.get $extra_flags) (local.get $extra) (local.get $extra_dtype))))
